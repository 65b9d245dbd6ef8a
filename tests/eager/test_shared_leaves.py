"""Within one argument, an array or an object in two places is one variable; numbers and separate arguments are not."""

from __future__ import annotations

import types

import numpy as np
import pytest

import morula as mo

W = [1.0, 2.0, 3.0]


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def _first(x):
    return x[0]


PLACES = {
    "dict": (lambda w: {"a": w, "b": w}, lambda h: (h["a"], h["b"])),
    "list": (lambda w: [w, w], lambda h: (h[0], h[1])),
    "tuple": (lambda w: (w, w), lambda h: (h[0], h[1])),
    "object": (lambda w: Thing(a=w, b=w), lambda h: (h.a, h.b)),
    "nested": (lambda w: [Thing(a=(w, 1.0)), {"b": [w]}], lambda h: (h[0].a[0], h[1]["b"][0])),
    "namespaces": (
        lambda w: {"x": types.SimpleNamespace(a=w), "y": types.SimpleNamespace(b=w)},
        lambda h: (h["x"].a, h["y"].b),
    ),
}
VARIABLES = {
    "array": (lambda: np.array(W), lambda w: w),
    "complex array": (lambda: np.array(W, complex), lambda w: w),
    "float32 array": (lambda: np.array(W, np.float32), lambda w: w),
    "array of a class": (lambda: np.array(W).view(np.matrix), lambda w: w),
    "list": (lambda: [np.array(W), "a"], _first),
    "dict": (lambda: {0: np.array(W)}, _first),
    "object": (lambda: Thing(w=np.array(W), n=1), lambda h: h.w),
}


def product(a, b):
    return np.sum(np.real(np.multiply(np.conj(a), b)))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_mutable_is_one_variable_in_all_its_places(place, variable):
    make, places = PLACES[place]
    new, array = VARIABLES[variable]
    w = new()
    argument = make(w)

    def loss(h):
        a, b = places(h)
        assert a is b
        return product(array(a), array(b))

    for g in (
        mo.grad(loss)(argument),
        mo.value_and_grad(loss)(argument)[1],
        mo.gradient(loss, argument)[0],
        mo.pullback(loss, argument)[1](1.0)[0],
    ):
        ga, gb = places(g)
        assert ga is gb and array(ga) is array(gb)
        assert np.ravel(array(ga)).tolist() == [2.0, 4.0, 6.0] and array(ga).dtype == array(w).dtype
    assert places(argument)[0] is w and places(argument)[1] is w


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("number", [3.0, 3, 3.0 + 0j, np.float32(3.0), np.float64(3.0)], ids=repr)
def test_a_number_is_a_value_each_of_whose_places_has_its_own_gradient(place, number):
    make, places = PLACES[place]
    g = mo.grad(lambda h: np.real(places(h)[0] ** 2 * places(h)[1]))(make(number))
    assert places(g) == (18.0, 9.0)


def test_a_named_tuple_of_numbers_is_a_value_too():
    t = (2.0, 5.0)
    assert mo.grad(lambda h: h[0][0] * h[1][0] ** 2)([t, t]) == [(4.0, 0.0), (8.0, 0.0)]


def test_two_positional_arguments_are_two_variables():
    w = np.array(W)
    ga, gb = mo.gradient(lambda a, b: product(a["w"], b["w"] ** 2), {"w": w}, {"w": w})
    assert ga["w"].tolist() == [1.0, 4.0, 9.0] and gb["w"].tolist() == [2.0, 8.0, 18.0]
    assert mo.grad(lambda a, b: product(a["w"], b["w"]))({"w": w}, {"w": w})["w"].tolist() == W


@pytest.mark.parametrize("holder", [[2.0], {"x": 2.0}, Thing(x=2.0), [np.ones(2)]], ids=lambda h: type(h).__name__)
def test_one_container_cannot_be_two_variables(holder):
    for f in (mo.gradient, mo.pullback):
        with pytest.raises(
            mo.BadInput, match="two differentiated arguments hold the same .*, or differentiate with respect to one of"
        ):
            f(lambda a, b: 1.0, [holder], {"b": holder})
    empty: list = []
    assert mo.gradient(lambda x, a, b: x, 2.0, empty, [empty]) == (1.0, [], [[]])


def test_a_constant_that_is_the_same_array_stays_a_constant():
    w = np.array(W)
    assert mo.grad(lambda h: product(h[0], w) + product(h[1], w))([w, w])[0].tolist() == [2.0, 4.0, 6.0]


def test_a_shared_array_may_be_written_to():
    w = np.array(W)

    def loss(h):
        h["a"][0] = 5.0 * h["b"][1]
        return h["a"][0] * h["b"][2]

    h = {"a": w, "b": w}
    g = mo.grad(loss)(h)
    assert g["a"] is g["b"] and g["a"].tolist() == [0.0, 15.0, 10.0]
    assert h["a"] is w and h["b"] is w and w.tolist() == [10.0, 2.0, 3.0]


def test_two_views_of_one_memory_are_two_variables_which_may_not_be_written_to():
    flat = np.arange(1.0, 5.0)
    h = {"flat": flat, "square": flat.reshape(2, 2)}
    g = mo.grad(lambda h: product(h["flat"], np.ravel(h["square"]) ** 2))(h)
    assert g["flat"].tolist() == [1.0, 4.0, 9.0, 16.0]
    assert g["square"].tolist() == [[2.0, 8.0], [18.0, 32.0]]

    def write(h):
        h["flat"][0] = 2.0
        return np.sum(h["square"])

    with pytest.raises(mo.BadInput, match="shares memory with another differentiated argument; pass separate copies"):
        mo.grad(write)(h)


def test_shared_leaves_in_nested_derivatives():
    w = np.array(W)

    def inner(h):
        return np.sum(h["a"] ** 2 * h["b"])

    def outer(h):
        g = mo.grad(inner)(h)
        assert g["a"] is g["b"]
        return np.sum(g["a"] * h["a"])

    g = mo.grad(outer)({"a": w, "b": w})  # the sum of 3 w^3
    assert g["a"] is g["b"] and g["a"].tolist() == [9.0, 36.0, 81.0]


def test_hessians_with_a_shared_leaf_made_inside():
    def f(x):
        return mo.grad(lambda h: np.sum(h[0] ** 2 * h[1]))([x, x])[1]

    assert np.array_equal(mo.jacobian(f)(np.array(W)), np.diag([6.0, 12.0, 18.0]))
    assert np.array_equal(mo.hessian(lambda x: product(*[x, x]))(np.array(W)), 2 * np.eye(3))


def test_a_gradient_shared_by_two_places_is_the_callers_own():
    w = np.array(W)
    g, h = (mo.grad(lambda v: np.sum(v[0] + v[1]))([w, w]) for _ in range(2))
    g[0] += 1.0
    assert g[1].tolist() == [3.0, 3.0, 3.0] and h[0].tolist() == [2.0, 2.0, 2.0]
