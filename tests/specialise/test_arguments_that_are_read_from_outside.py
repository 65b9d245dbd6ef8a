"""A list, dict, object or array that is an argument and also reached by a closure or a global.

Changes and derivatives of the argument apply under the other name too, or the call is refused.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from path_tester import run_on

import morula as mo
from morula.core.testing.differences import numeric_leaves

TARGETS = ("native", "xla")


class Slotted:
    __slots__ = ("a", "rest")

    def __init__(self, a, rest):
        self.a, self.rest = a, rest


def of_objects(p, q):
    return p.a * q.a**2 + p.rest[0] * q.rest[0]


KINDS: dict[str, tuple[Any, Any]] = {
    "list": (lambda: [0.7, 1.3], lambda p, q: p[0] * q[0] ** 2 + p[1] * q[0]),
    "dict": (lambda: {"a": 0.7, "b": 1.3}, lambda p, q: p["a"] * q["a"] ** 2 + q["b"]),
    "object": (lambda: SimpleNamespace(a=0.7, rest=[1.3]), of_objects),
    "object with slots": (lambda: Slotted(0.7, [1.3]), of_objects),
    "list of arrays": (lambda: [np.array([0.7, 1.3]), 2.0], lambda p, q: np.sum(p[0] * q[0]) * q[1]),
    "dict of tuples": (lambda: {"a": (0.7, [1.3])}, lambda p, q: p["a"][0] * q["a"][1][0] + q["a"][0] ** 2),
    "one list twice": (lambda: [[0.7]] * 2, lambda p, q: p[0][0] * q[1][0] ** 2),
    "list with what is not differentiated": (lambda: [2, "name", [0.7]], lambda p, q: p[2][0] ** q[0] * q[2][0]),
}


def of_a_closure(f, p):
    """The gradient of a function that knows its argument by a closure, too."""

    def loss(q):
        return f(p, q)

    return mo.grad(loss)(p)


def of_one_name(f, p):
    return mo.grad(lambda q: f(q, q))(p)


def numbers(g: Any) -> list[Any]:
    return [np.round(x, 12).tolist() for _, x in numeric_leaves(g) if not isinstance(x, str)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_derivative_by_what_the_function_knows_by_a_closure(kind, target):
    make, f = KINDS[kind]
    given = make()
    found = mo.jit(of_a_closure, target=target)(f, given)
    assert numbers(found) == numbers(of_a_closure(f, make())) == numbers(of_one_name(f, make()))
    assert numbers(given) == numbers(make())  # it holds its own numbers again


def changed_twice(p):
    def loss(q):
        p["a"] = p["a"] * q["a"]  # they are one dict
        p["new"] = q["a"] + 1.0
        q["rows"][0] = p["a"] * p["rows"][1]
        return p["rows"][0] * q["new"]

    y, g = mo.value_and_grad(loss)(p)
    return y, g, p["a"], p["rows"][0]


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_function_changes_under_both_names(target):
    plain, compiled = {"a": 0.7, "rows": [1.0, 2.0]}, {"a": 0.7, "rows": [1.0, 2.0]}
    expected, found = changed_twice(plain), run_on(target)(changed_twice)(compiled)
    assert [x for _, x in numeric_leaves(found)] == pytest.approx([x for _, x in numeric_leaves(expected)], rel=1e-14)
    assert [x for _, x in numeric_leaves(compiled)] == pytest.approx([x for _, x in numeric_leaves(plain)], rel=1e-14)


def in_a_branch(p, x):
    g = [0.0]
    if x > 0:
        g = mo.grad(lambda q: q[0] * p[0] * x)(p)
    for _ in range(2):
        p[0] = p[0] - 0.1 * mo.grad(lambda q: q[0] * p[0] ** 2)(p)[0]
    return g[0] + p[0]


@pytest.mark.parametrize("x", [2.0, -1.0])
@pytest.mark.parametrize("target", TARGETS)
def test_in_branches_and_loops(target, x):
    assert run_on(target)(in_a_branch)([0.7], x) == pytest.approx(in_a_branch([0.7], x), rel=1e-14)


def test_two_arguments_that_hold_one_list_are_refused():
    for path in ("eager", "native"):
        with pytest.raises(mo.BadInput, match="two differentiated arguments hold the same list"):
            run_on(path)(lambda p: mo.gradient(lambda a, b: a[0] * b[0], p, p))([1.0])


SHARED: Any = None
"""What the functions below know as a global variable."""


def writes(p):
    p[0] = p[0] * 2
    return SHARED[0] + p[0]


def writes_an_attribute(p):
    p.a = p.a * 2
    return SHARED.a + p.a


def differentiates(p):
    return mo.grad(lambda q: q[0] * SHARED[0])(p)[0]


def is_it(p):
    return p[0] if p is SHARED else 2 * p[0]


OUTSIDE: dict[str, tuple[Any, Any, str]] = {
    "list": (writes, lambda: [1.0], "holds a list, dict or object that the function also reads from outside"),
    "array": (writes, lambda: np.ones(2), "shares memory with another argument, or with an array from outside"),
    "object": (writes_an_attribute, lambda: SimpleNamespace(a=1.0), "also reads from outside"),
    "derivative": (differentiates, lambda: [1.0], "read it from the argument only, or pass a copy"),
    "identity": (is_it, lambda: [1.0], "compares by `is`"),
}


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("name", OUTSIDE)
def test_an_argument_that_is_a_global_as_well(name, is_first, monkeypatch):
    f, make, message = OUTSIDE[name]
    shared = make()
    monkeypatch.setitem(globals(), "SHARED", shared)
    compiled = mo.jit(f, target="native")
    for other in () if is_first else (make(), make()):  # the program is compiled, and entered the quick way
        expected = f(make())
        assert compiled(other) == expected
    for _ in range(2):
        with pytest.raises(mo.BadInput, match=message):
            compiled(shared)
    assert compiled(make()) == f(make())  # others may still be given


def test_an_argument_that_is_a_global_as_well_may_be_read(monkeypatch):
    shared = [1.5, 2.0]
    monkeypatch.setitem(globals(), "SHARED", shared)
    compiled = mo.jit(lambda p: p[0] * SHARED[1], target="native")
    assert compiled(shared) == compiled(shared) == 3.0
    shared[1] = 3.0
    assert compiled(shared) == 4.5


def test_a_derivative_by_an_object_from_outside_that_is_read_again(monkeypatch):
    monkeypatch.setitem(globals(), "SHARED", SimpleNamespace(a=2.0))
    compiled = mo.jit(lambda x: mo.grad(lambda m: m.a**2 * x)(SHARED).a, target="native")
    assert compiled(3.0) == 12.0
    with pytest.raises(
        mo.BadInput,
        match=r"a SimpleNamespace is an argument of a differentiated function, which also reads it from outside",
    ):
        mo.jit(lambda x: mo.grad(lambda m: m.a * SHARED.a * x)(SHARED).a, target="native")(3.0)
