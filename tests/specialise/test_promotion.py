"""Promotion follows NumPy 2 for every pair of dtypes and for Python's numbers; single precision stays single."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from path_tester import assert_same, gradient_of, run_on

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
]
ARRAYS = {name: np.array([1, 0, 3]).astype(name) for name in DTYPES}
NUMBERS = {name: array[2] for name, array in ARRAYS.items()}
PYTHON = (2, 0.5, 1.5j, True)


def pairs(function):
    """The results for all pairs that NumPy has a result for; those it refuses are left out of the program.

    Each pair is in one of its two orders: of any dtype's pairs, about half begin with it.
    """

    def table(arrays, numbers):
        found = {}
        for a in DTYPES:
            for b in DTYPES:
                if (a, b) in allowed:
                    found[a, b] = function(arrays[a], arrays[b])
                    found[a, b, "numbers"] = function(numbers[a], numbers[b])
        return found

    def is_allowed(a, b):
        try:
            with np.errstate(all="ignore"):
                function(ARRAYS[a], ARRAYS[b])
        except (TypeError, ValueError):
            return False
        return True

    ordered = [
        (a, b) for i, a in enumerate(DTYPES) for j, b in enumerate(DTYPES) if (i <= j) == ((i + j) % 2 == 0) or i == j
    ]
    allowed = {(a, b) for a, b in ordered if is_allowed(a, b)}
    return table


PAIRS = {
    name: pairs(f)
    for name, f in {
        "add": operator.add,
        "multiply": operator.mul,
        "divide": np.true_divide,
        "less": operator.lt,
        "maximum": np.maximum,
        "and": operator.and_,
        "where": lambda a, b: np.where(a == b, a, b),
    }.items()
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_pairs_of_dtypes(value, name):
    value(PAIRS[name], ARRAYS, NUMBERS)


def with_python(arrays, numbers):
    found = {}
    for name in DTYPES:
        for i, n in enumerate(PYTHON):
            found[name, i] = arrays[name] + n, n * arrays[name], numbers[name] + n
        found[name, "unary"] = +numbers[name] if name != "bool" else 0, abs(arrays[name])
        found[name, "sum"] = arrays[name].sum(), np.prod(arrays[name]), arrays[name].mean(), np.cumsum(arrays[name])
        if name not in ("bool", "int8", "uint8"):  # whose functions are in half precision
            found[name, "functions"] = np.sqrt(arrays[name]), np.square(arrays[name]), np.exp(numbers[name])
    return found


def test_python_numbers_give_way(value):
    value(with_python, ARRAYS, NUMBERS)


def python_numbers(i, x, z, b):
    return {
        "int": (i + i, i * 2, i - 7, -i, i // 2, i % 3, i**2, i / 2, i << 1, i & 3, i ^ 1, ~i, abs(i), divmod(i, 3)),
        "float": (x + i, x * x, x // 1, x % 1, x**2, -x, abs(x), x / i),
        "complex": (z + x, z * z, z / i, abs(z), z.real, z.imag, z.conjugate()),
        "bool": (b + b, b + 1, b * x, not b, b & True, b | False, b ^ b),
        "conversions": (int(x), float(i), bool(i), complex(x, 1.0), round(x), int(b)),
        "NumPy's": (np.float32(x), np.float32(2) * i, np.sqrt(i), np.sin(x), np.int8(3) + i, np.float32(1) + x),
    }


def test_python_numbers_among_themselves(value):
    value(python_numbers, 5, 2.75, 1 + 2j, True)


def negative_integers(i, j):
    return i // j, i % j, divmod(i, j), np.floor_divide(i, j), np.fmod(i, j), (i + 0.5) // j, (i + 0.5) % j, i >> 1


@pytest.mark.parametrize("i", [7, -7])
@pytest.mark.parametrize("j", [3, -3])
def test_division_rounds_down(value, i, j):
    value(negative_integers, i, j)


def wraps_around(a):
    return a + a, a * a, np.left_shift(a, 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_integers_wrap_around(value, dtype):
    value(wraps_around, np.array([np.iinfo(dtype).max, np.iinfo(dtype).min, 5], dtype))


def single(a, x):
    b = np.exp(a) * 2.0 + np.float32(0.5) / a
    b[0] = x
    return (b * np.arange(3, dtype=np.float32)).sum() * 0.5


def test_single_precision_stays_single(path):
    a = np.array([0.5, 1.5, 2.5], np.float32)
    value, (da,) = run_on(path)(gradient_of(single, (0,)))(a, 0.25)
    assert np.asarray(value).dtype == np.float32
    assert_same(da, np.asarray(mo_gradient(a), np.float32), 1e-5, "the gradient")


def mo_gradient(a):
    slope = (2 * np.exp(a) - 0.5 / a**2) * np.arange(3) * 0.5
    slope[0] = 0
    return slope


def complex_loss(z, x):
    w = np.exp(1j * z) * x + z.conj() ** 2
    return (w * w.conj()).real.sum() + np.abs(w).sum() + np.angle(w[0])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_gradients_point_uphill(check, dtype):
    check(complex_loss, np.array([0.5 + 1j, -0.3 + 0.2j], dtype), np.ones(2, np.float32) * 1.5)


def beyond_int64(i):
    a = np.arange(3) + i
    return i < 1 << 63, i == 1 << 70, -(1 << 64) < i, a >= 1 << 63, a != 1 << 64


def test_comparisons_with_integers_of_any_size(value):
    value(beyond_int64, 5)
