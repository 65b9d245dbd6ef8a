"""Gradients through compiled functions whose results or arguments hold numbers in places that have no cotangent of their own."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders

X = 1.7


def objects(x):
    made = np.empty((1, 2), dtype=object)
    made[0, 0], made[0, 1] = np.array([x, 1.0]), x * x
    return made


def product_of_objects(made):
    return made[0, 0][0] * made[0, 1]


def masked(x):
    return np.ma.masked_array([x, 2.0 * x, x * x], [False, True, False])


VALUES = {
    "array of objects": (objects, product_of_objects),
    "array converted to objects": (lambda x: np.array([x, x * x]).astype(object), lambda a: a[0] * a[1]),
    "array of one object": (lambda x: np.array(x * x, dtype=object), lambda a: 2.0 * a.item()),
    "lists in an array of objects": (lambda x: _in_objects([x, [x * x]]), lambda a: a[0][0] * a[0][1][0]),
    "set": (lambda x: {x * x}, sum),
    "frozen set": (lambda x: frozenset([x * x]), sum),
    "keys of a dict": (lambda x: {x * x: 2.0}, lambda d: sum(k * v for k, v in d.items())),
    "masked array": (masked, lambda a: a.sum()),
    "filled array": (masked, lambda a: a.filled(3.0).sum()),
}
PLACES = {
    "alone": (lambda y: y, lambda y: y),
    "list": (lambda y: [y, 1.0], lambda y: y[0]),
    "tuple": (lambda y: (1.0, y), lambda y: y[1]),
    "dict": (lambda y: {"value": y}, lambda y: y["value"]),
}


def _in_objects(value):
    made = np.empty(1, dtype=object)
    made[0] = value
    return made


def _check(f, by_hand):
    """A gradient is that of finite differences, or an error."""
    expected, _ = ridders(lambda t: float(by_hand(X + t)), 0.01)
    try:
        y, (slope,) = mo.value_and_grad(f, (0,))(X)
    except mo.BadInput:
        return False
    assert y == pytest.approx(by_hand(X), rel=1e-12)
    assert slope == pytest.approx(expected, rel=1e-6)
    return True


@pytest.mark.parametrize("is_partial", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", VALUES)
def test_a_compiled_result(kind, place, is_partial):
    (make, use), (put, get) = VALUES[kind], PLACES[place]
    compiled = mo.jit(lambda x: put(make(x)), target="native", partial=is_partial)
    assert _check(lambda x: use(get(compiled(x))), lambda x: use(make(x))) or not is_partial


@pytest.mark.parametrize("is_partial", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", VALUES)
def test_a_compiled_argument(kind, place, is_partial):
    (make, use), (put, get) = VALUES[kind], PLACES[place]
    compiled = mo.jit(lambda y: use(get(y)), target="native", partial=is_partial)
    assert _check(lambda x: compiled(put(make(x))), lambda x: use(make(x))) or not is_partial


@pytest.mark.parametrize("constant", [{2.0, 3.0}, np.array([1, "a"], dtype=object), {0.5: 1}])
def test_constants_in_such_places_have_no_derivative(constant):
    compiled = mo.jit(lambda x: (x * x, constant), target="native")
    assert mo.grad(lambda x: compiled(x)[0])(3.0) == 6.0
