"""Exceptions of linear algebra that a program catches."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy.linalg import LinAlgError

import morula as mo


def cholesky(x):
    try:
        return np.sum(np.linalg.cholesky(np.array([[x, 1.0], [1.0, 2.0]])))
    except np.linalg.LinAlgError:
        return -10.0 * x


def solved(x):
    a = np.array([[x, 0.0], [x, 0.0]]) if x < 0.4 else np.array([[x, 1.0], [1.0, 3.0]])
    total = 0.0
    try:
        total = np.sum(np.linalg.solve(a, np.array([1.0, x])))
    except LinAlgError as error:
        total = x + 7.0 * ("Singular" in error.args[0])
    else:
        total = 2.0 * total
    return total


def ridge(x):
    """A factorisation that is tried with a growing diagonal."""
    a = np.array([[1.0, x], [x, 0.1]])
    for jitter in (0.0, 0.5, 1.0):
        try:
            factor = np.linalg.cholesky(a + jitter * np.eye(2))
            break
        except np.linalg.LinAlgError:
            continue
    else:
        factor = np.zeros((2, 2))
    return np.sum(factor * np.array([[1.0, 2.0], [3.0, 4.0]]))


def leading_minor(x):
    try:
        c = scipy.linalg.cholesky(np.array([[1.0, 1.0], [1.0, x + 0.5]]), lower=True)
    except ValueError as error:
        raise RuntimeError(f"with {x}: {error}") from error
    return np.sum(c)


def inverse_in_a_function(x):
    def tried(a):
        try:
            return scipy.linalg.inv(a)
        except (ZeroDivisionError, LinAlgError):
            return np.eye(2)

    return np.sum(tried(np.array([[x, 1.0], [1.0, 2.0]])) * np.array([[1.0, 2.0], [3.0, 4.0]]))


def never(x):
    try:
        q, _ = np.linalg.qr(np.array([[x, 1.0], [1.0, 2.0]]))
        d = np.linalg.det(np.array([[x, 1.0], [1.0, 2.0]]))
        u, s, v = np.linalg.svd(np.array([[x, 1.0], [1.0, 2.0]]))
    except LinAlgError:
        return 0.0
    finally:
        x = 0.0
    return abs(q[0, 0]) + d + s[0]


PROGRAMS = [cholesky, solved, ridge, leading_minor, inverse_in_a_function, never]


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_errors_of_linear_algebra_are_caught(f, target):
    compiled = mo.jit(mo.value_and_grad(f), target=target)
    for x in (0.3, 0.9, 0.6):
        try:
            expected = f(x)
        except RuntimeError as error:
            with pytest.raises(RuntimeError) as raised:
                compiled(x)
            assert str(raised.value) == str(error)
            continue
        value, slope = compiled(x)
        assert value == pytest.approx(expected, rel=1e-12)
        assert slope == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-5), x


def test_an_error_that_no_handler_takes_is_raised():
    def program(x):
        try:
            return np.sum(np.linalg.inv(x * np.ones((2, 2))))
        except ZeroDivisionError:
            return 0.0

    def not_finite(x):
        try:
            return np.sum(scipy.linalg.inv(x * np.eye(2)))
        except LinAlgError:
            return 7.0

    with pytest.raises(LinAlgError, match="Singular matrix"):
        mo.jit(program)(1.0)
    compiled = mo.jit(not_finite)
    assert (compiled(0.0), compiled(2.0)) == (7.0, 1.0)
    with pytest.raises(ValueError, match="array must not contain infs or NaNs"):
        compiled(np.nan)


def test_whether_arrays_share_memory():
    def program(x, y):
        z = x + y
        answers = [
            np.shares_memory(z, z[1:]),
            np.may_share_memory(z, x),
            np.shares_memory(x, x),
            np.shares_memory(x[:0], x),
        ]
        return z[0] * (1.0 + sum(2.0**i * found for i, found in enumerate(answers)))

    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    assert mo.jit(program)(x, y) == program(x, y)
    with pytest.raises(mo.BadInput, match="np.shares_memory of arrays that may be the same"):
        mo.jit(lambda x, y: x[0] * np.shares_memory(x, y))(x, y)
