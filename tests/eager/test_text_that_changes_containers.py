"""``exec`` and ``eval`` of code that changes its containers are refused if a derivative passes through it."""

from __future__ import annotations

import collections
import types

import numpy as np
import pytest

import morula as mo


class Box:
    def __init__(self, w):
        self.w = w
        self.items = [w]


class Items(list):
    pass


HOLDERS = {
    "a list": (lambda a: [a], "t[0] = t[0] * 0.5", lambda t: t[0]),
    "a list that grows": (lambda a: [a], "t.append(t[0] * 0.5)", lambda t: t[1]),
    "a list subclass": (lambda a: Items([a]), "t[0] = t[0] * 0.5", lambda t: t[0]),
    "a UserList": (lambda a: collections.UserList([a]), "t[0] = t[0] * 0.5", lambda t: t[0]),
    "a deque": (lambda a: collections.deque([a]), "t[0] = t[0] * 0.5", lambda t: t[0]),
    "a dict": (lambda a: {"k": a}, "t['k'] = t['k'] * 0.5", lambda t: t["k"]),
    "a list in a dict": (lambda a: {"k": [a]}, "t['k'][0] = t['k'][0] * 0.5", lambda t: t["k"][0]),
    "a list in a tuple": (lambda a: (a, [a]), "t[1][0] = t[0] * 0.5", lambda t: t[1][0]),
    "an array": (lambda a: np.array([a]), "t[0] = t[0] * 0.5", lambda t: t[0]),
    "an object": (Box, "t.w = t.w * 0.5", lambda t: t.w),
    "a list of an object": (Box, "t.items[0] = t.w * 0.5", lambda t: t.items[0]),
    "a namespace": (lambda a: types.SimpleNamespace(l=[a]), "t.l[0] = t.l[0] * 0.5", lambda t: t.l[0]),
}


def as_globals(text, t):
    exec(text, {"t": t})


def as_locals(text, t):
    exec(text, {}, {"t": t})


def in_its_scope(text, t):
    exec(text)


def as_code(text, t):
    exec(compile(text, "<text>", "exec"), {"t": t})


def by_eval(text, t):
    place, _, value = text.partition(" = ")
    if not value:
        eval(text, {"t": t})
    else:
        eval(f"store(lambda: {value})", {"t": t, "store": lambda f: exec(f"{place} = y", {"t": t, "y": f()})})


@pytest.mark.parametrize("way", [as_globals, as_locals, in_its_scope, as_code, by_eval])
@pytest.mark.parametrize("kind", HOLDERS)
def test_a_text_that_changes_what_is_active_is_refused(kind, way):
    make, text, read = HOLDERS[kind]

    def f(a):
        t = make(a)
        way(text, t)
        return read(t)

    assert f(0.7) == 0.35
    with pytest.raises(mo.NoDerivative, match=r"(exec|eval), called at .*test_text_that_changes_containers"):
        mo.grad(f)(0.7)


@pytest.mark.parametrize("kind", HOLDERS)
def test_an_active_number_that_a_text_stores_is_refused(kind):
    make, text, read = HOLDERS[kind]
    place = text.partition(" = ")[0]
    if "append" in place:
        place = "t[0:] = [1.0, y]; t[1]"

    def f(a):
        t = make(1.0)
        exec(f"{place} = y * 2.0", {"t": t, "y": a})
        return read(t)

    assert f(0.7) == 1.4
    with pytest.raises(mo.NoDerivative, match="exec"):
        mo.grad(f)(0.7)


def test_a_text_that_changes_nothing_active_is_no_obstacle():
    def f(a):
        names, log = {}, [1.0]
        exec("def square(x): return x * x", names)
        exec("log.append(2.0)", {"log": log})
        return names["square"](a) * log[1]

    assert mo.grad(f)(0.7) == pytest.approx(2.8)


def test_what_a_text_has_read_is_what_it_held_then():
    class Place:
        def put(self, w):
            self.w = w

    def f(a):
        p = Place()
        p.put(a)
        p.put(eval("p.w * 0.5", {"p": p}))
        return p.w

    def g(a):
        t = [a]
        eval("store()", {"store": lambda: t.append(t[0] * 0.5)})
        return t[1]

    for program in (f, g):
        with pytest.raises(mo.NoDerivative, match="eval, called at"):
            mo.grad(program)(0.7)
