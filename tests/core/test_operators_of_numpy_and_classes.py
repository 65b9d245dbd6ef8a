"""Operators of NumPy's numbers and arrays with objects of classes: who decides, on every path, is as in Python.

NumPy takes an object with ``__len__`` and ``__getitem__`` for an array, unless its class says that it decides itself.
"""

import operator

import numpy as np
import pytest
from path_tester import PATHS, assert_same, check_value, run_on

import morula as mo
from morula.core.testing.differences import ridders


class Vector:
    def __init__(self, *parts):
        self.parts = list(parts)

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, i):
        return self.parts[i]

    def __add__(self, other):
        return ("add", self.parts[0] + 0.0)

    def __radd__(self, other):
        return ("radd", self.parts[0] + 0.0)

    def __rmul__(self, other):
        return ("rmul", self.parts[0] * other)

    def __rsub__(self, other):
        return ("rsub", other)

    def __lt__(self, other):
        return True

    def __gt__(self, other):
        return "greater"

    def __eq__(self, other):
        return "equal"

    __hash__ = None


class First(Vector):
    __array_priority__ = 10.0


class Alone(Vector):
    __array_ufunc__ = None


class Converted(Vector):
    def __array__(self, dtype=None, copy=None):
        return np.array([self.parts[0] * 2.0, 1.0])


CLASSES = [Vector, First, Alone, Converted]
OPERATORS = [operator.add, operator.mul, operator.sub, operator.lt, operator.eq, operator.ne]
OPERANDS = {"number": np.float64(1.5), "float": 1.5, "array without axes": np.array(1.5), "integer": np.int64(2)}


def check_recorded_value(path, f, x):
    """Assert that the value is Python's, in a run that is recorded for a gradient if it is eager."""
    if path == "eager":
        assert_same(mo.pullback(f, x)[0], f(x), None, "the value")
    else:
        check_value(path, f, x)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("x", OPERANDS.values(), ids=OPERANDS)
@pytest.mark.parametrize("path", PATHS)
def test_each_operator_does_as_python(path, x, kind):
    for op in OPERATORS:
        if op in (operator.sub, operator.ne) and kind is Converted:
            continue

        def left(x, op=op):
            return op(x, kind(2.0, 3.0 * x))

        check_recorded_value(path, left, x)
    check_recorded_value(path, lambda x: kind(2.0, 3.0 * x) + x, x)


def scaled(s, x):
    y = s * Vector(x, 2.0 * x)
    return y[0] * y[1] if isinstance(y, np.ndarray) else y[1] * 100.0


@pytest.mark.parametrize("path", PATHS)
def test_gradients_go_through_the_array(path):
    for s in (np.float64(1.5), 1.5):
        value, (by_s, by_x) = run_on(path)(mo.value_and_grad(scaled, (0, 1)))(s, 0.7)
        assert value == scaled(s, 0.7)
        assert np.isclose(by_s, ridders(lambda h, s=s: scaled(s + h, 0.7), 0.1)[0])
        assert np.isclose(by_x, ridders(lambda h, s=s: scaled(s, 0.7 + h), 0.1)[0])
