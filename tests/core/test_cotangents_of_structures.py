"""A pullback takes the cotangent of a result of any structure, or refuses it: it never takes it for zero."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from path_tester import PATHS, run_on

import morula as mo


@dataclass
class Line:
    slope: Any
    offset: Any


class Named(list):
    pass


class NamedPair(tuple):
    pass


class NamedTable(dict):
    pass


def with_attribute(container, b):
    container.b = b
    return container


MADE = {
    "object": lambda a, b: Line(a, b),
    "namespace": lambda a, b: SimpleNamespace(a=a, b=b),
    "objects in a list": lambda a, b: [Line(a, "name"), {"b": Line(None, b)}],
    "list with an attribute": lambda a, b: with_attribute(Named([a]), b),
    "tuple with an attribute": lambda a, b: with_attribute(NamedPair([a]), b),
    "dict with an attribute": lambda a, b: with_attribute(NamedTable(a=a), b),
    "deque": lambda a, b: deque([a, b]),
    "partial": lambda a, b: partial(max, a, key=b),
    "view of a dict": lambda a, b: MappingProxyType({"a": a, "b": b}),
}
ONLY_EAGER = {"deque", "partial", "view of a dict"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", MADE)
def test_the_cotangent_of_a_structure(kind, path):
    made = MADE[kind]

    def pulled(x):
        return mo.pullback(lambda x: made(x * x, x), x)[1](made(1.0, 10.0))[0]

    def second(x):
        return mo.grad(lambda x: mo.pullback(lambda x: made(x**3, x), x)[1](made(1.0, None))[0])(x)

    if path != "eager" and kind in ONLY_EAGER:
        with pytest.raises(mo.BadInput, match="which has no cotangent in compiled code; return its contents as a list"):
            run_on(path)(pulled)(3.0)
        return
    assert run_on(path)(pulled)(3.0) == 16.0
    assert run_on(path)(second)(3.0) == 18.0


@pytest.mark.parametrize("path", PATHS)
def test_a_result_that_is_changed_before_its_pullback_is_called(path):
    def pulled(x):
        line, back = mo.pullback(lambda x: Line(x * x, x), x)
        line.slope = 0.0
        return back(Line(1.0, None))[0]

    assert run_on(path)(pulled)(3.0) == 6.0


def test_a_cotangent_of_another_length_is_refused():
    back = mo.pullback(lambda x: deque([x, x]), 1.0)[1]
    with pytest.raises(mo.BadInput, match="its cotangent must be one too"):
        back(deque([1.0]))


@pytest.mark.parametrize("path", PATHS)
def test_an_object_that_holds_no_number_has_the_gradient_none(path):
    names, empty = ["a"], Line("a", None)
    given = {
        "x": 2.0,
        "empty": empty,
        "the same": empty,
        "nested": Line("a", [Line(None, True)]),
        "half": Line("a", Line(None, 2.0)),
        "with names": Line(names, None),
        "names": names,
        "partial": partial(max, "a"),
        "tuple": ("a", None),
    }
    found = run_on(path)(mo.grad(lambda p: p["x"] ** 2))(given)
    assert found == {
        "x": 4.0,
        "empty": None,
        "the same": None,
        "nested": None,
        "half": Line(None, Line(None, 0.0)),
        "with names": None,
        "names": [None],
        "partial": None,
        "tuple": (None, None),
    }


class Scaling:
    def __init__(self, factor):
        self.factor = factor

    def applied(self, y):
        return self.factor * y


@pytest.mark.parametrize("path", PATHS)
def test_a_bound_method_has_the_gradient_of_its_object(path):
    def slope(p):
        return mo.grad(lambda p: p["method"](3.0) * p["x"])(p)["method"].__self__.factor

    assert run_on(path)(slope)({"method": Scaling(2.0).applied, "x": 5.0}) == 15.0
    found = run_on(path)(mo.grad(lambda p: p["x"] ** 2))({"method": Scaling("a").applied, "x": 5.0})
    assert found == {"method": None, "x": 10.0}


@pytest.mark.parametrize("path", ["native", "xla"])
def test_a_compiled_function_returns_no_gradient_of_a_bound_method(path):
    with pytest.raises(mo.BadInput, match="compiled code returns a method, which holds numbers"):
        run_on(path)(mo.grad(lambda method: method(3.0)))(Scaling(2.0).applied)


@pytest.mark.parametrize("path", PATHS)
def test_a_result_that_refers_to_itself(path):
    def circular(x):
        node = with_attribute(Named([x * x]), None)
        node.b = Line(x, node)
        return node

    def pulled(x):
        return mo.pullback(circular, x)[1](with_attribute(Named([1.0]), Line(10.0, None)))[0]

    assert run_on(path)(pulled)(3.0) == 16.0


@pytest.mark.parametrize("make", [Named, NamedPair, deque, list])
def test_a_pullback_by_hand_of_a_container_of_a_derived_class(make):
    def total(values):
        return 2.0 * values[0] + 3.0 * values[1]

    @mo.adjoint(total)
    def _(values):
        return total(values), lambda dy: (type(values)([2.0 * dy, 3.0 * dy]),)

    def f(x):
        values = make([x, x * x])
        return total(values if make in (deque, list) else with_attribute(values, x))

    assert mo.grad(f)(3.0) == 20.0
