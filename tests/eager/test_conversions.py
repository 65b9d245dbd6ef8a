"""Objects that NumPy converts to numbers: by ``__float__``, by ``__array__``, or because they are exact numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy

import morula as mo
from morula.testing import check_gradients


class Reading:
    def __init__(self, x):
        self.x = x

    def __float__(self):
        return float(self.x * 2)


class Table:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return np.array([self.x * 2, 1.0])


def stored(x):
    a = np.zeros(2)
    a[0] = Reading(x)
    return a


CONVERTED = {
    "in a list": lambda x: np.array([Reading(x), 1.0], dtype=float),
    "in nested lists": lambda x: np.asarray([(Reading(x), 2.0), (x, Reading(x * x))], dtype=float),
    "in an array of objects": lambda x: np.array([[Reading(x), 2.0]]).astype(float),
    "as a NumPy number": lambda x: np.float64(Reading(x)),
    "as every entry": lambda x: np.full(2, Reading(x), dtype=float),
    "by math": lambda x: math.sin(Reading(x)),
    "from an iterator": lambda x: np.fromiter((Reading(k * x) for k in range(3)), float),
    "stored": stored,
    "an array": lambda x: np.asarray(Table(x)),
    "arrays in a list": lambda x: np.array([Table(x), Table(x * x)]),
    "joined arrays": lambda x: [np.stack([Table(x), Table(x)]), np.concatenate([Table(x), [x]])],
    "added to an array": lambda x: [np.zeros(2) + Table(x), Table(x) * np.ones(2), np.float64(x) - Table(x)],
    "by a ufunc": lambda x: np.add(Table(x), x),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_a_conversion_keeps_the_derivative(name):
    check_gradients(CONVERTED[name], 1.5)


T = sympy.Symbol("t")
EXACT = {
    "Fraction": lambda x: float(Fraction(x) * 2),
    "Decimal in a list": lambda x: np.array([Decimal(x)], dtype=float)[0],
    "mpmath": lambda x: float(mpmath.sin(x)),
    "mpmath number": lambda x: float(2.0 * mpmath.mpf(x)),
    "mpmath in an array": lambda x: float((np.array([1.0, 2.0]) * mpmath.mpf(x))[1]),
    "mpmath with a callback": lambda x: float(mpmath.quad(lambda t: t * x, [0, 1])),
    "sympy": lambda x: float((T**2).subs(T, x)),
    "sympy's matrix": lambda x: np.array(sympy.Matrix([[x, 1], [0, 2]]).tolist(), dtype=float)[0, 0],
    "by math": lambda x: math.sqrt(sympy.Float(x)),
}


@pytest.mark.parametrize("name", EXACT)
def test_numbers_that_are_computed_in_integers_are_refused(name):
    with pytest.raises(mo.NoDerivative, match="computed in integers|computes in integers|no derivative rule"):
        mo.gradient(EXACT[name], 1.5)


def test_functions_that_compute_in_integers_are_refused():
    with pytest.raises(mo.NoDerivative, match="computes in integers, which carry no derivative"):
        mo.gradient(mpmath.sin, 1.5)


def test_what_is_computed_in_integers_may_be_a_constant():
    assert mo.gradient(lambda x: float(mpmath.sqrt(4)) * x, 1.5) == (2.0,)
    assert mo.gradient(lambda x: sympy.lambdify(T, T**2)(x), 1.5) == (3.0,)
