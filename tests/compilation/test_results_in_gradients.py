"""Gradients through calls of compiled functions, whatever their results share, and of which class their numbers are."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo


class Node:
    def __init__(self, value):
        self.value = value


class Length(float):
    pass


class Named(float):
    def __new__(cls, x):
        made = float.__new__(cls, x)
        made.name = "length"
        return made


def number_in(y):
    return y["value"] if isinstance(y, dict) else y.value if isinstance(y, Node) else y[0] if np.ndim(y) else y


HOLDERS = [
    lambda x: [x],
    lambda x: (x, 1.0),
    lambda x: {"value": x},
    lambda x: Node(x),
    lambda x: np.array([x, 1.0]),
    lambda x: x,
]


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_stands_twice_in_a_result_counts_once_for_each_use(holder, target):
    def twice(x):
        y = holder(x * x)
        return y, [y], {"same": y}

    def by_places(f, *weights):
        def loss(x):
            a, (b,), c = f(x)
            return sum(w * number_in(y) for w, y in zip(weights, (a, b, c["same"])))

        return loss

    compiled = mo.jit(twice, target=target)
    for weights in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 2.0, 3.0)):
        assert mo.grad(by_places(twice, *weights))(3.0) == 6.0 * sum(weights)
        assert mo.grad(by_places(compiled, *weights))(3.0) == 6.0 * sum(weights)
        assert mo.jit(mo.grad(by_places(twice, *weights)), target=target)(3.0) == 6.0 * sum(weights)


def test_objects_that_refer_to_each_other():
    def pair(x):
        a, b = Node(x * x), Node(2.0 * x)
        a.other, b.other = b, a
        return a

    def loss(f):
        return lambda x: (lambda a: a.value + 3.0 * a.other.value + 5.0 * a.other.other.value)(f(x))

    assert mo.grad(loss(pair))(3.0) == mo.grad(loss(mo.jit(pair)))(3.0) == 42.0


def test_an_array_and_a_view_of_it():
    def halves(x):
        a = x * x
        return a, a[:2], a

    def loss(f):
        return lambda x: (lambda a, b, c: np.sum(a) + 3.0 * np.sum(b) + 5.0 * c[0])(*f(x))

    x = np.array([1.0, 2.0, 3.0])
    assert np.allclose(mo.grad(loss(halves))(x), [18.0, 16.0, 6.0])
    assert np.allclose(mo.grad(loss(mo.jit(halves)))(x), [18.0, 16.0, 6.0])


@pytest.mark.parametrize("cls", [Length, Named])
@pytest.mark.parametrize("inside", [lambda y: y, lambda y: [y, 1.0], lambda y: {"value": y}])
def test_numbers_of_a_derived_class(cls, inside):
    compiled = mo.jit(lambda x: inside(cls(x * x)))

    def loss(x):
        return 2.0 * number_in(compiled(x))

    assert type(number_in(compiled(1.5))) is cls
    assert mo.grad(loss)(1.5) == 6.0
    assert mo.jvp(loss, (1.5,), (1.0,))[1] == 6.0
