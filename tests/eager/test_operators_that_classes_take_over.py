"""Operators between arrays and objects: through ufuncs, as an array, or by the object's own operators."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders


class Held:
    def __init__(self, a):
        self.a = a


class TakesUfuncs(Held):
    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        given = [x.a if isinstance(x, Held) else x for x in inputs]
        if out is not None:
            kwargs["out"] = out
        return getattr(ufunc, method)(*given, **kwargs) * 3


class TakesUfuncsAndIsAnArray(TakesUfuncs):
    __array_priority__ = 5

    def __array__(self, dtype=None, copy=None):
        return self.a * 100


class IsAnArray(Held):
    def __array__(self, dtype=None, copy=None):
        return self.a * 2


class TakesUfuncsAndSomeOperators(TakesUfuncs):
    def __rmul__(self, other):
        return other * self.a * 7

    def __sub__(self, other):
        return self.a * 5 - other

    def __radd__(self, other):
        return NotImplemented


class RefusesUfuncs(Held):
    __array_ufunc__ = None

    def __radd__(self, other):
        return other + self.a * 2

    __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __radd__
    __add__ = __sub__ = __mul__ = __truediv__ = __pow__ = __radd__


class HasPriority(Held):
    __array_priority__ = 1000

    def __radd__(self, other):
        return other + self.a * 2

    __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __radd__
    __add__ = __sub__ = __mul__ = __truediv__ = __pow__ = __radd__


KINDS = [
    TakesUfuncs,
    TakesUfuncsAndIsAnArray,
    IsAnArray,
    TakesUfuncsAndSomeOperators,
    RefusesUfuncs,
    HasPriority,
]
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv]
W = np.array([1.0, 3.0])
X = np.array([0.7, 1.3])


def check(f):
    try:
        y = f(X)
    except TypeError:
        with pytest.raises(TypeError):
            mo.grad(f)(X)
        return
    expected = [ridders(lambda t, e=e: f(X + t * e), 0.01)[0] for e in np.eye(2)]
    value, gradient = mo.value_and_grad(f)(X)
    assert value == pytest.approx(y, rel=1e-13)
    assert gradient == pytest.approx(np.array(expected), rel=1e-7)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_an_operator(kind, op):
    check(lambda x: np.sum(op(x, kind(x + 1)) * W))
    check(lambda x: np.sum(op(kind(x + 1), x) * W))
    check(lambda x: np.sum(op(x[0], kind(x + 1)) * W))
    check(lambda x: np.sum(op(kind(x + 1), np.float64(2.0)) * W))


@pytest.mark.parametrize("op", IN_PLACE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_an_operator_in_place(kind, op):
    def f(x):
        y = x * 2
        view = y[:]
        z = op(y, kind(x + 1))
        return np.sum(z * W) + np.sum(view * W[::-1]) + np.sum(y * y)

    check(f)
