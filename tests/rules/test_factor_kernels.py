"""Adjoints by kernels of LAPACK: Cholesky, least squares of full rank, the exponential, to the second order on every path."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from path_tester import PATHS, run_on

import morula as mo
from morula.core.rules.factor_kernels import congruence
from morula.core.testing.differences import numerical_vjp

RNG = np.random.default_rng(0)
N = 10  # smaller matrices have no kernel
A, W, B = RNG.normal(size=(N, N)), RNG.normal(size=(N, N)), RNG.normal(size=14)
Z = A + 1j * RNG.normal(size=(N, N))
S, H = A @ A.T / N + np.eye(N), Z @ Z.conj().T / N + np.eye(N)
TALL = RNG.normal(size=(14, N))


def factor(a):
    return np.sum(W * np.abs(np.linalg.cholesky(a) - 1j) ** 2)


def log_determinant(a):
    return np.sum(np.log(np.real(np.diagonal(np.linalg.cholesky(a))))) ** 2


def negative_diagonal(a):
    """A diagonal cotangent with negative entries."""
    return np.sum(np.cos(np.diagonal(scipy.linalg.cholesky(a, lower=True))))


def upper_factor(a):
    return np.sum(W * np.linalg.cholesky(a, upper=True) ** 2)


def fit(a, b):
    x, residuals, *_ = np.linalg.lstsq(a, b)
    return np.sum(np.sin(x)) + np.sum(residuals)


def exponential(a):
    return np.sum(W * np.sin(scipy.linalg.expm(a / 3)))


def eigenvectors(a):
    lam, v = np.linalg.eigh(a + a.T)
    return np.sum(W * v**2 * lam)


def general_eigenvectors(a):
    lam, v = np.linalg.eig(a)
    return np.sum(np.abs(v) ** 2 * np.abs(lam) ** 2 * np.arange(1.0, N + 1)[:, None])


CASES = [
    (factor, (S,)),
    (factor, (H,)),
    (log_determinant, (S,)),
    (log_determinant, (H,)),
    (negative_diagonal, (S,)),
    (upper_factor, (S,)),
    (fit, (TALL, B)),
    (fit, (TALL, np.outer(B, B[:3]))),
    (exponential, (A,)),
    (eigenvectors, (A,)),
    (general_eigenvectors, (A,)),
]


def assert_close(found, expected, tolerance):
    for g, h in zip(found, expected, strict=True):
        np.testing.assert_allclose(g, h, atol=tolerance * np.max(np.abs(h)))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f, args", CASES, ids=[f"{f.__name__}-{'-'.join(str(x.shape) + x.dtype.char for x in xs)}" for f, xs in CASES])  # fmt: skip
def test_gradients_are_right_to_the_second_order(path, f, args):
    each = tuple(range(len(args)))
    assert_close(run_on(path)(mo.grad(f, argnums=each))(*args), numerical_vjp(f, 1.0, *args)[0], 1e-8)

    weights = [np.cos(np.arange(x.size)).reshape(x.shape) for x in args]

    def of_gradients(*xs):
        return sum(np.sum(np.real(g) * w) for g, w in zip(mo.grad(f, argnums=each)(*xs), weights))

    expected = numerical_vjp(of_gradients, 1.0, *args)[0]
    assert_close(run_on(path)(mo.grad(of_gradients, argnums=each))(*args), expected, 1e-7)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("l", [np.tril(S), np.tril(H)], ids=["real", "complex"])
def test_a_congruence_is_that_of_the_inverse(path, adjoint, l):  # noqa: E741
    inverse = np.linalg.inv(l)
    wanted = inverse @ W @ inverse.conj().T if adjoint else inverse.conj().T @ W @ inverse
    found = run_on(path)(lambda l, m: congruence(l, m, adjoint))(l, W.astype(l.dtype))  # noqa: E741
    np.testing.assert_allclose(found, wanted, atol=1e-10)


@pytest.mark.parametrize("path", PATHS)
def test_least_squares_without_full_rank_go_through_the_pseudo_inverse(path):
    flat = TALL.copy()
    flat[:, 3] = flat[:, 1]

    def f(b):
        return np.sum(np.sin(np.linalg.lstsq(flat, b)[0]))

    assert_close([run_on(path)(mo.grad(f))(B)], numerical_vjp(f, 1.0, B)[0], 1e-8)


@pytest.mark.parametrize("path", PATHS)
def test_eigenvalues_of_a_matrix_that_is_not_finite_are_refused(path):
    with pytest.raises(np.linalg.LinAlgError, match="Array must not contain infs or NaNs"):
        run_on(path)(lambda a: np.abs(np.linalg.eigvals(a)))(np.full((N, N), np.nan))
