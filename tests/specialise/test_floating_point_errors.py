"""``np.errstate`` around the call of a compiled function has no effect; in it, it lets NumPy's operations raise (``docs/jit.md``)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders


def test_around_a_call_it_has_no_effect(target):
    f = mo.jit(lambda x, y: x / y, target=target)
    for _ in range(2):  # compiled, and entered again
        with np.errstate(all="raise"):
            assert f(np.ones(2), np.zeros(2)).tolist() == [math.inf, math.inf]
    with np.errstate(all="raise"), pytest.raises(ZeroDivisionError):  # of Python's numbers, whatever the state
        f(1.0, 0.0)


OPERATIONS = {
    "divide": lambda x: 1.0 / x,
    "divide by an array": lambda x: x[0] / x,
    "add": lambda x: x + x * 1.5,
    "subtract": lambda x: x - x[::-1],
    "multiply": lambda x: x * x[::-1],
    "power": lambda x: x**-1.5,
    "square": lambda x: x**2,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "arcsin": np.arcsin,
    "compared": lambda x: np.where(x < 1.0, x, np.maximum(x, 2.0)),
    "product of vectors": lambda x: np.dot(x, x[::-1]),
    "product of a matrix": lambda x: (np.stack([x, x[::-1]]) @ x)[0],
    "number": lambda x: x[0] / x[1],
    "product of numbers": lambda x: x[0] * x[1],
    "number squared": lambda x: x[0] ** 2,
    "power of numbers": lambda x: x[0] ** -0.5,
}
VALUES = (2.0, 0.0, -1.0, 1e300, 1000.0, np.inf, -np.inf, np.nan)


def ending(f, *args):
    try:
        return f(*args)
    except FloatingPointError as error:
        return str(error)


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_raises_what_numpy_raises(target, name):
    def f(x):
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            return OPERATIONS[name](x)

    compiled = mo.jit(f, target=target)
    for a in [a for a in VALUES if a != -np.inf or "power" not in name]:  # a power of -inf is NaN in native code
        for b in (0.5, 0.0, 1e300, np.nan):
            x = np.array([a, b])
            if name == "product of a matrix" and 1e300 in x and not np.all(np.isfinite(x)):
                with pytest.raises(mo.BadInput, match="depends on the order of its sums"):
                    compiled(x)
                continue
            expected, found = ending(f, x), ending(compiled, x)
            if isinstance(expected, str):
                assert found == expected, x
            else:
                assert not isinstance(found, str), (x, found)
                np.testing.assert_allclose(found, expected, rtol=1e-14)


def caught(x):
    with np.errstate(divide="raise"):
        try:
            z = 2.0 / x
        except FloatingPointError:
            z = 3.0 * x + 7.0
    return np.sum(z * z) + np.sum(np.log(x + 1.0))


@pytest.mark.parametrize("x", [np.array([1.5, 2.5]), np.array([0.0, 2.5]), np.array([[0.5], [0.0]])])
def test_a_try_catches_it(target, x):
    assert mo.jit(caught, target=target)(x) == pytest.approx(caught(x), rel=1e-14)
    gradient = mo.jit(mo.grad(caught), target=target)(x)
    assert np.allclose(gradient, mo.grad(caught)(x), rtol=1e-13)
    kept = x != 0.0  # at 0 the program has a kink
    for i in zip(*np.nonzero(kept)):

        def along(h, i=i):
            moved = x.copy()
            moved[i] += h
            return caught(moved)

        assert gradient[i] == pytest.approx(ridders(along, 0.01)[0], rel=1e-6)


def test_what_is_asked_for_and_where(target):
    def f(x):
        with np.errstate(divide="raise"):
            with np.errstate(divide="ignore"):
                a = 1.0 / x
            b = np.sqrt(x - 1.0)  # invalid, which only warns
        return a, b, np.log(x)

    found = mo.jit(f, target=target)(np.zeros(2))
    with np.errstate(all="ignore"):
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, f(np.zeros(2))))


def test_it_raises_on_one_path_only(target):
    def f(x):
        if x > 1.0:
            with np.errstate(over="raise"):
                return np.exp(np.array([x]))[0]
        return np.exp(np.array([1000.0 * x]))[0]

    compiled = mo.jit(f, target=target)
    assert compiled(2.0) == pytest.approx(np.exp(2.0))
    assert compiled(0.9) == np.inf
    with pytest.raises(FloatingPointError, match="^overflow encountered in exp$"):
        compiled(1000.0)


def test_numbers_of_python_raise_what_python_raises(target):
    def f(x):
        with np.errstate(all="raise"):
            return 1.0 / x + x * 1e300

    compiled = mo.jit(f, target=target)
    assert compiled(1e300) == np.inf
    with pytest.raises(ZeroDivisionError):
        compiled(0.0)


def in_place(x):
    x = x.copy()
    with np.errstate(divide="raise"):
        x /= x[::-1]
    return x


def summed(x):
    with np.errstate(over="raise"):
        return np.sum(x)


def underflow(x):
    with np.errstate(all="raise"):
        return x * x


def of_integers(x):
    n = np.argmax(x)
    with np.errstate(over="raise"):
        return n * n


def complex_numbers(x):
    with np.errstate(divide="raise"):
        return 1.0 / (x + 1j)


def derivative(x):
    with np.errstate(divide="raise"):
        return mo.grad(lambda x: np.max(1.0 / x))(x)


@pytest.mark.parametrize("f", [in_place, summed, underflow, of_integers, complex_numbers, derivative])
def test_what_cannot_be_checked_is_refused(target, f):
    with pytest.raises(mo.BadInput, match=r"cannot raise NumPy's floating-point errors of .*\n  in "):
        mo.jit(f, target=target)(np.ones(2))


@pytest.mark.parametrize("how", ["print", "log"])
def test_printing_and_logging_are_refused(target, how):
    def f(x):
        with np.errstate(divide=how):
            return 1.0 / x

    with pytest.raises(mo.BadInput, match=r"does not print, log or call .*np.isfinite"):
        mo.jit(f, target=target)(np.zeros(2))


def test_seterr_is_refused(target):
    def f(x):
        np.seterr(divide="raise")
        return 1.0 / x

    before = np.geterr()
    with pytest.raises(mo.BadInput, match="cannot change by np.seterr"):
        mo.jit(f, target=target)(np.zeros(2))
    assert np.geterr() == before
