"""A differentiated Python int in NumPy has a right derivative or is refused with an error; sizes have none."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders


def squared(a):
    return a * a


def stored(a, n, index=0):
    a[index] = n
    return a.sum() * 1.0


def filled(n):
    a = np.zeros(2, int)
    a.fill(n)
    return a.sum() * 1.0


def updated(n):
    k = np.int64(1)
    k += n
    k *= np.int64(6)
    return [k][0] * 1.0


def scaled_in_place(n):
    a = np.arange(3)
    a *= n
    return a.sum() * 1.0


def added_at(n):
    a = np.zeros(2, int)
    np.add.at(a, [0, 0], n)
    return a[0] * 1.0


def unpacked(n):
    a, b = np.array([n, 2])
    return a * b * 1.0


def kept(x):
    """The value itself; the list holds the program off the structured tier, where integers are real numbers."""
    return [x][0]


NUMBERS = {
    "product": lambda n: kept(np.int64(2) * n) * 1.0,
    "product from the left": lambda n: kept(n * np.int64(2)) * 1.0,
    "of two": lambda n: kept(np.int64(2) * n) * kept(np.int64(3) * n) * 1.5,
    "conversion": lambda n: kept(np.int64(n)) * 1.0,
    "narrow": lambda n: kept(np.int32(n)) * 1.0,
    "back to Python": lambda n: kept(np.int64(n)).item() * 1.0,
    "real part": lambda n: kept(np.int64(n)).real * 1.0,
    "division": lambda n: kept(np.int64(n)) / 2,
    "remainder": lambda n: kept(np.int64(n)) % 4 * 1.0,
    "divmod": lambda n: divmod(kept(np.int64(n)), 4)[1] * 1.0,
    "power": lambda n: kept(np.int64(n)) ** 2 * 1.0 + pow(kept(np.int64(n)), 3),
    "negation": lambda n: -kept(np.int64(n)) * 1.0 + abs(kept(np.int64(-n))),
    "float": lambda n: float(kept(np.int64(n))) * 2,
    "np.float64": lambda n: np.float64(kept(np.int64(n))) * 2,
    "__float__": lambda n: kept(n).__float__() * 2 + kept(np.int64(n)).__float__(),
    "math": lambda n: math.sqrt(kept(np.int64(n))) + math.log(n),
    "ufunc": lambda n: np.sqrt(kept(np.int64(n))) + np.add(n, 3) * 1.0 + kept(np.power(n, 3)) + np.square(n),
    "ufunc of two": lambda n: kept(np.multiply(n, np.int64(2))) * 2.0,
    "result": lambda n: kept(np.int64(2) * n),
    "updated": updated,
    "sum": lambda n: sum([np.int64(n), n, 2]) * 1.0,
    "max": lambda n: max([np.int64(n), 2]) * 1.0,
    "reduce": lambda n: functools.reduce(operator.mul, [np.int64(n), n, 2]) * 1.0,
    "argument": lambda n: kept(squared(np.int64(n))) * 1.0,
    "in a container": lambda n: {"a": np.int64(n)}["a"] * 1.0,
    "beside floats": lambda n: np.array([kept(np.int64(n)), 2.0]).prod(),
    "into an array of floats": lambda n: stored(np.zeros(2), np.int64(n) * 2),
    "sum of a list": lambda n: np.sum(kept([n, 2])) * np.max(kept([n, n, 2])) * 1.0,
    "product of a list": lambda n: math.prod([np.int64(n), n, 2]) * np.prod(kept([n, n, 2])) * 1.0,
    "array of objects": lambda n: kept(np.array([n, 2], dtype=object))[0] * 2.0,
    "checkpoint": lambda n: mo.checkpoint(lambda k: kept(np.int64(2) * k) * k * 1.0, n),
}


REALS = {
    **dict.fromkeys(("product", "product from the left", "result", "float", "np.float64"), lambda t: 2 * t),
    **dict.fromkeys(("conversion", "narrow", "back to Python", "real part", "in a container", "max"), lambda t: t),
    **dict.fromkeys(("remainder", "divmod"), lambda t: t % 4),
    **dict.fromkeys(("checkpoint", "reduce"), lambda t: 2 * t * t),
    **dict.fromkeys(("sum", "array of objects", "beside floats", "into an array of floats"), lambda t: 2 * t),
    "of two": lambda t: 9 * t * t,
    "sum of a list": lambda t: (t + 2) * t,
    "product of a list": lambda t: 4 * t**4,
    "division": lambda t: t / 2,
    "power": lambda t: t**2 + t**3,
    "negation": lambda t: 0 * t,
    "__float__": lambda t: 3 * t,
    "math": lambda t: math.sqrt(t) + math.log(t),
    "ufunc": lambda t: math.sqrt(t) + t + t**3 + t**2,
    "ufunc of two": lambda t: 4 * t,
    "updated": lambda t: 6 * (1 + t),
    "argument": lambda t: t * t,
}
"""The same programs of a real number."""


@pytest.mark.parametrize("name", NUMBERS)
def test_an_integer_of_numpy_carries_on_the_derivative_by_a_python_int(name):
    slope = ridders(lambda t: REALS[name](5.0 + t), 0.1)[0]
    assert mo.gradient(NUMBERS[name], 5)[0] == pytest.approx(slope, rel=1e-9)


ARRAYS = {
    "arange times n": lambda n: kept(np.arange(3) * n).sum() * 1.0,
    "arange from n": lambda n: kept(np.arange(n, n + 3)).sum() * 1.0,
    "array": lambda n: kept(np.array([n, 2])).sum() * 1.0,
    "array in a product": lambda n: (kept(np.array([n, 2])) * 1.5).sum(),
    "matrix product": lambda n: kept(np.array([n, 2])) @ np.array([1.0, 2.0]),
    "determinant": lambda n: np.linalg.det(kept(np.array([[n, 2], [1, 3]]))),
    "stored": lambda n: stored(np.zeros(2, int), n),
    "stored as a slice": lambda n: stored(np.zeros(2, int), [n, n], slice(None)),
    "from a view": lambda n: stored(np.zeros((2, 2), int)[1], n),
    "into floats": lambda n: stored(np.zeros(2), np.array([n, 2]), slice(None)),
    "filled": filled,
    "full": lambda n: kept(np.full(2, n)).sum() * 1.0 + kept(np.full_like(np.arange(2), n)).sum(),
    "iterated": lambda n: sum([x * 1.0 for x in np.array([n, 2])]),
    "unpacked": lambda n: kept(unpacked(np.int64(n))),
    "tolist": lambda n: sum([x * 1.0 for x in np.array([n, 2]).tolist()]),
    "item": lambda n: kept(np.array([n, 2]).item(0)) * 1.0,
    "entry": lambda n: kept(np.array([n, 2]))[0] * 1.0,
    "entry of a view": lambda n: kept(np.array([n, 2]))[::-1][1:][0] * 1.0,
    "astype": lambda n: kept(np.array([n, 2])).astype(float).sum(),
    "copy": lambda n: kept(np.array([n, 2])).copy().sum() * 1.0,
    "where": lambda n: np.where(kept(np.array([n, 2])) > 1, kept(np.array([n, 2])), 0.5).sum(),
    "cumsum": lambda n: kept(np.array([n, 2])).cumsum()[1] * 1.0,
    "prod": lambda n: kept(np.array([n, 2])).prod() * 1.0,
    "mean": lambda n: kept(np.array([n, 2])).mean(),
    "max": lambda n: kept(np.array([n, 2])).max() * 1.0,
    "concatenate": lambda n: np.concatenate(([n], [2])).sum() * 1.0,
    "outer": lambda n: np.multiply.outer([n, 2], [1, 3]).sum() * 1.0,
    "fromiter": lambda n: np.fromiter([n, 2], int).sum() * 1.0,
    "in place": lambda n: kept(scaled_in_place(np.int64(n))),
    "add.at": added_at,
    "bincount": lambda n: np.bincount([0, 1], weights=[n, 2])[0] + kept(np.array([n]))[0],
    "meshgrid": lambda n: np.meshgrid(np.array([n, 2]), np.array([1, 2]))[0].sum() * 1.0,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_of_integers_computed_from_a_python_int_is_refused(name):
    with pytest.raises(mo.NoDerivative, match=r"float"):
        mo.gradient(ARRAYS[name], 5)


def test_the_refusal_names_the_call_that_left_python_and_its_line():
    def f(n):
        counts = np.array([n, 2])
        counts = [counts + 1][0]
        return (counts * 1.5).sum()

    line = f.__code__.co_firstlineno + 1
    with pytest.raises(mo.NoDerivative, match=rf"numpy.array, called at .*test_integers.py:{line} with a Python int"):
        mo.gradient(lambda n: kept(f(n)), 5)


FREE = {
    "size": lambda x, n: (np.zeros((n, 2)) + x).sum() + x * np.arange(n).sum() + x * len(range(n)),
    "arange": lambda x, n: (np.arange(n) * x).sum() + (np.arange(0, n) * x).sum(),
    "floor division": lambda x, n: (np.arange(6) // n * x).sum() + kept(np.int64(n)) // 2 * x,
    "comparison": lambda x, n: x * (np.arange(6) < n).sum() + (x if np.greater(n, 2) and np.sign(n) > 0 else 0.0),
    "index": lambda x, n: np.array([x, x * x, 2.0, 3.0])[np.array([n, 1])].sum(),
    "int": lambda x, n: x * int(np.int64(n)) + x * int(n) + x * operator.index(n),
    "random": lambda x, n: (np.random.default_rng(0).integers(0, n, n) * x).sum(),
    "text": lambda x, n: x * len(str(np.array([n, 2]))) + x * len(f"{np.int64(n)}"),
    "shape": lambda x, n: np.array([n, 2]).size * x + x * np.ones((np.int64(n), 2)).size,
    "array by position": lambda x, n: np.roll(np.array([x, x * x, 2.0]), n)[1] + np.repeat(x, n).sum(),
}


@pytest.mark.parametrize("name", FREE)
def test_counts_and_places_cost_nothing_and_have_derivative_zero(name):
    f = FREE[name]
    slope = ridders(lambda t: float(f(1.5 + t, 3)), 0.1)[0]
    assert mo.gradient(f, 1.5, 3) == (pytest.approx(slope, rel=1e-9), 0)


def test_a_run_without_a_python_int_keeps_no_list_of_integers():
    def f(x):
        k = np.int64(2) * 3
        return [x * k * np.arange(3)][0].sum()

    _, back = mo.pullback(f, 1.5)
    assert back.tape.integers is None
