"""A program may change a list returned by a function: the derivative uses the values returned."""

from __future__ import annotations

import functools
import itertools
import linecache
import math

import numpy as np
import pytest
from fuzz.judge import recording

import morula as mo
from morula.core.testing.differences import ridders


def direct(a):
    return [a * a, a]


def by_name(a):
    made = [a * a, a]
    made[1] = math.sin(a)
    return made


def of_both(a):
    return [a * a, a] if a > 0.1 else [a, a]


def through(a):
    made = direct(a)
    made[0] = made[0] * 2
    return made


class Maker:
    def __init__(self, s):
        self.s = s

    def make(self, a):
        return [a * self.s, a]

    def __call__(self, a):
        return [a, self.s * a * a]


def own(a):
    return [a * a, a]


@mo.adjoint(own)
def _(a):
    return [a * a, a], lambda dy: 2 * a * (dy[0] or 0.0) + (dy[1] or 0.0)


def with_default(a, k=2.0):
    return [a * k, a * a]


jitted = mo.jit(direct)
SOURCES = {
    "a function": direct,
    "a local list": by_name,
    "of a branch": of_both,
    "of another function": through,
    "a lambda": lambda a: [a * a, math.tanh(a)],
    "a method": Maker(1.5).make,
    "a callable object": Maker(1.5),
    "a default": with_default,
    "a partial": functools.partial(with_default, k=3.0),
    "a function with a cache": lambda a: functools.lru_cache(maxsize=None)(direct)(a),
    "a rule of the program": own,
    "a compiled function": jitted,
    "a checkpoint": lambda a: mo.checkpoint(direct, a),
    "nested lists": lambda a: [[a * a, a], a][0],
    "a tuple with a list": lambda a: (a, [a * a, a])[1],
    "sorted": lambda a: sorted([a * a, a]),
    "map": lambda a: list(map(math.sin, [a, a * a])),
    "accumulate": lambda a: list(itertools.accumulate([a, a * a])),
    "tolist": lambda a: (np.array([1.0, 2.0]) * a).tolist(),
    "divmod": lambda a: list(divmod(a * 3.0, 2.0)),
    "split": lambda a: [e[0] for e in np.split(np.array([a, a * a]), 2)],
}
CHANGES = {
    "an item from itself": "t[0] = t[0] * 0.5",
    "exchanged": "t[0], t[1] = t[1], t[0]",
    "reversed": "t.reverse()",
    "sorted": "t.sort(key=lambda e: -e)",
    "longer": "t.append(t[0] * 3); t[0] = t[1]",
    "shorter": "del t[0]",
    "popped": "t.insert(1, t.pop() * t[0])",
    "as a whole": "t[:] = t[::-1] + t[:1]",
    "emptied": "u = t[1]; t.clear(); t.append(u * u)",
    "added to": "t += [t[0], 2.0]; t[1] = 1.0",
    "by another name": "u = t; u[0] = u[1] * u[0]",
    "in a loop": "for i in range(2): t[1] += t[0]; t[0] = t[1] * 0.5",
}


def program(source, change):
    """A program in which a function that ``source`` stands for returns a list, which then changes."""
    text = f"def program(a):\n    t = make(a)\n    {change}\n    return sum((i + 1) * e for i, e in enumerate(t))\n"
    name = f"<a list that changes: {change}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    scope = {"make": source}
    exec(compile(text, name, "exec"), scope)
    return scope["program"]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_returned_list_may_change(source, change):
    f = program(source, change)
    expected, _ = ridders(lambda h: f(0.7 + h), 0.01)
    value, slope = mo.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-12)
    assert slope == pytest.approx(expected, rel=1e-7)
    with recording():
        assert mo.grad(f)(0.7) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("source", [direct, by_name, through], ids=["direct", "by_name", "through"])
def test_second_derivatives_of_a_returned_list_that_changes(source, change):
    f = program(source, change)
    first = mo.grad(f)
    assert mo.grad(first)(0.7) == pytest.approx(ridders(lambda h: first(0.7 + h), 0.01)[0], rel=1e-6, abs=1e-8)


def test_lists_that_are_given_may_change_afterwards():
    def use(t, k):
        return t[0][1] * t[1] * k

    def f(a):
        t = [[a, a * a], a]
        y = use(t, a)
        t[0][1], t[1] = 3.0, 2.0
        t.clear()
        return y

    assert mo.grad(f)(0.7) == pytest.approx(4 * 0.7**3)
