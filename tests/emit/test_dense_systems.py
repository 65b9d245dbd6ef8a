"""Equations, determinants, norms, pseudo-inverses and least squares of NumPy and SciPy in native code, without Python."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import run_on
from scipy import linalg
from without_python import check_without_python

import morula as mo

N = 5
RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(N, N)) + np.diag(2.0 + np.arange(N)), RNG.normal(size=(N, N)) + 3 * np.eye(N)
W = np.cos(np.arange(128.0))
STRUCTURES = ("gen", "sym", "her", "diagonal", "tridiagonal", "upper triangular", "lower triangular", "banded")
ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)


def size(*arrays):
    """A loss that does not depend on signs and phases of columns."""
    return sum(np.sum(W[: np.size(x)].reshape(np.shape(x)) * np.abs(x) ** 2) for x in arrays)


def definite(a):
    return a @ np.conj(a.T) + np.eye(len(a))


def symmetric(a):
    return (a + np.conj(a.T)) / 2


def solve(a, b):
    stack = np.stack([a, b])
    return size(linalg.solve(a, b), linalg.solve(b, a[0]), linalg.solve(stack, b), linalg.solve(definite(a), b))


def solve_assumed(a, b):
    found = [linalg.solve(a, b[:, :2], assume_a=kind, lower=low) for kind in STRUCTURES for low in (False, True)]
    return size(
        *found, linalg.solve(definite(a), b, assume_a="pos"), linalg.solve(np.real(a), np.real(b), transposed=True)
    )


def inv(a, b):
    kinds = "gen", "sym", "her", "upper triangular", "lower triangular"
    found = [linalg.inv(a, assume_a=kind) for kind in kinds]
    return size(
        *found, linalg.inv(a), linalg.inv(np.stack([a, b])), linalg.inv(definite(b), assume_a="pos", lower=True)
    )


def det(a, b):
    logarithm = np.linalg.slogdet(a)[1] + np.sum(np.linalg.slogdet(np.stack([a, b]))[1])
    return size(linalg.det(a) / 99, linalg.det(np.stack([a, b])) / 999, np.linalg.det(a) / 999) + logarithm


def norm(a, b):
    matrices = [linalg.norm(a, order) + np.linalg.norm(b, order) for order in ORDERS]
    vectors = [linalg.norm(a[0], order) for order in (None, 1, 2, 3, 2.5, -2, np.inf, -np.inf)]
    along = (
        linalg.norm(a, axis=0),
        linalg.norm(b, 1, axis=1, keepdims=True),
        linalg.norm(np.stack([a, b]), 2, axis=(1, 2)),
    )
    return size(*matrices, *vectors, *along, np.linalg.matrix_norm(a), np.linalg.vector_norm(b, axis=(0, 1), ord=3))


def pseudo_inverse(a, b):
    tall, both = a[:, :3], np.stack([a, b])
    found, rank = linalg.pinv(tall, return_rank=True)
    found = [found, np.linalg.pinv(tall.T), np.linalg.pinv(both), linalg.pinv(both), linalg.pinvh(symmetric(a))]
    return size(*found, np.linalg.pinv(symmetric(b), hermitian=True), linalg.pinvh(a, lower=False)) + rank


def least_squares(a, b):
    by_numpy = [*np.linalg.lstsq(a[:, :3], b)[:2], np.linalg.lstsq(b[:, :3], a[0])[0], np.linalg.lstsq(a[:3], b[:3])[0]]
    by_scipy = [linalg.lstsq(a[:, :3], b, lapack_driver=driver)[0] for driver in ("gelsd", "gelss", "gelsy")]
    x, residual, rank, s = linalg.lstsq(a[:, :3], b[1])
    return size(*by_numpy, *by_scipy, x, residual, s) + rank


def others(a, b):
    whole = *linalg.rq(a), linalg.rq(b[:3])[0], *linalg.rq(b[:3], mode="economic"), linalg.rq(a[:, :2], mode="r")
    ranks = np.linalg.matrix_rank(a) + np.linalg.matrix_rank(b * 0)
    tensors = np.linalg.tensorsolve(a, b[0]), np.linalg.tensorinv(a, ind=1)
    return size(*whole, *tensors, np.linalg.cond(a), np.linalg.cond(a, 1), np.linalg.cond(b, "fro")) + ranks


def band(a):
    """Three diagonals of a positive definite matrix; the diagonal is last."""
    return a[:3] + np.array([[0.0], [0.0], [20.0]])


def bands(a, b):
    above = linalg.solveh_banded(band(a), b), *linalg.eig_banded(band(a)), linalg.eigvals_banded(band(b))
    below = linalg.solveh_banded(band(a)[::-1][:2], b[0], lower=True), linalg.eigvals_banded(band(b)[::-1], lower=True)
    some = (
        *linalg.eig_banded(band(a), select="i", select_range=(1, 3)),
        linalg.eigvals_banded(a[:2], select="i", select_range=(0, 1)),
    )
    return size(*above, *below, *some)


def tridiagonal(a, b):
    d, e = np.real(a[0]), np.real(b[0, 1:])
    some = linalg.eigh_tridiagonal(d, e, select="i", select_range=(1, 3))
    values = linalg.eigvalsh_tridiagonal(d, e), linalg.eigvalsh_tridiagonal(d, e, select="i", select_range=(0, 1))
    return size(*linalg.eigh_tridiagonal(d, e), *some, *values)


def hessenberg(a, b):
    return size(*linalg.hessenberg(a, calc_q=True), linalg.hessenberg(b), *linalg.hessenberg(b[:2, :2], calc_q=True))


PROGRAMS = (
    *(solve, solve_assumed, inv, det, norm, pseudo_inverse, least_squares, others),
    *(bands, tridiagonal, hessenberg),
)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("f", PROGRAMS)
def test_values_and_gradients_without_python(f, kind, monkeypatch):
    args = [x if kind is float else x + 0.5j * np.cos(x) for x in (A, B)]
    check_without_python(f, *args, monkeypatch=monkeypatch)


def of_equations(a, b):
    return linalg.solve(a, b), linalg.inv(a), linalg.det(a), np.linalg.det(a), np.linalg.slogdet(a)


def structures(dtype):
    """Matrices of a size at which LAPACK is called, of each structure that SciPy looks for."""
    n = 12
    a = RNG.normal(size=(n, n)) + 5 * np.eye(n)
    a = a + 0.5j * RNG.normal(size=(n, n)) if np.dtype(dtype).kind == "c" else a
    band = np.triu(np.tril(a, 1), -1)
    corner = np.where(np.arange(n * n).reshape(n, n) == n - 1, 0.0, a)
    found = [
        a,
        np.triu(a),
        np.tril(a),
        np.diag(np.diag(a)),
        band,
        np.triu(band),
        definite(a),
        symmetric(a) - 5 * np.eye(n),
    ]
    return [x.astype(dtype) for x in (*found, (a + a.T) / 2, corner)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_structures_that_are_found(dtype):
    tolerance = 2e-3 if dtype in (np.float32, np.complex64) else 1e-10
    b = RNG.normal(size=(12, 2)).astype(dtype)
    for a in structures(dtype):
        *found, (sign, logarithm) = run_on("native")(of_equations)(a, b)
        *expected, parts = of_equations(a, b)
        for x, y in zip((*found, sign, logarithm), (*expected, *parts), strict=True):
            assert np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * np.max(np.abs(y)))


def of_rank(a):
    return (
        linalg.pinv(a, return_rank=True),
        np.linalg.pinv(a, rtol=None),
        np.linalg.lstsq(a, a[:, 0]),
        np.linalg.matrix_rank(a),
    )


def test_matrices_without_full_rank():
    low = A[:, :2] @ B[:2]
    (p, rank), q, (x, residuals, count, s), again = run_on("native")(of_rank)(low)
    (p_, rank_), q_, (x_, _, count_, s_), _ = of_rank(low)
    assert rank == rank_ == count == count_ == again == 2
    assert residuals.shape == (0,)
    for found, expected in ((p, p_), (q, q_), (x, x_), (s, s_)):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def vector_norms(x):
    return (
        linalg.norm(x),
        linalg.norm(x * 1e200),
        linalg.norm(x * 1e-200),
        linalg.norm(0 * x),
        np.linalg.cond(np.ones((2, 2)) * x[0], 1),
    )


def test_norms_do_not_overflow():
    x = np.array([3.0, 4.0])
    np.testing.assert_allclose(run_on("native")(vector_norms)(x), [5.0, 5e200, 5e-200, 0.0, np.inf], rtol=1e-14)
    infinite = run_on("native")(lambda x: linalg.norm(x, check_finite=False))
    assert infinite(np.array([1.0, np.inf])) == np.inf and np.isnan(infinite(np.array([1.0, np.nan])))


NAN = np.full((2, 2), np.nan)


@pytest.mark.parametrize("f, args, error, text", [
    (linalg.solve, (np.ones((3, 3)), np.ones(3)), np.linalg.LinAlgError, r"A singular matrix detected: slice\(s\) \[0\] are singular."),
    (linalg.solve, (np.ones((13, 13)), np.ones(13)), np.linalg.LinAlgError, r"A singular matrix detected: slice\(s\) \[0\]"),
    (linalg.solve, (np.zeros((1, 1)), np.ones(1)), np.linalg.LinAlgError, r"A singular matrix detected\.$"),
    (lambda a: linalg.solve(a, a, assume_a="banded"), (np.zeros((3, 3)),), np.linalg.LinAlgError, "Matrix is singular."),
    (lambda a: linalg.solve(a, a, assume_a="pos"), (-np.eye(3),), np.linalg.LinAlgError, "A singular matrix detected"),
    (lambda a: linalg.solve(a, a, assume_a="pos"), (-np.eye(13),), np.linalg.LinAlgError, "A singular matrix detected"),
    (linalg.inv, (np.ones((13, 13)),), np.linalg.LinAlgError, "A singular matrix detected"),
    (linalg.inv, (NAN,), ValueError, "array must not contain infs or NaNs"),
    (linalg.det, (NAN,), ValueError, "array must not contain infs or NaNs"),
    (linalg.norm, (NAN,), ValueError, "array must not contain infs or NaNs"),
    (linalg.pinv, (NAN,), ValueError, "array must not contain infs or NaNs"),
    (np.linalg.pinv, (NAN,), np.linalg.LinAlgError, "SVD did not converge"),
    (linalg.lstsq, (NAN, np.ones(2)), ValueError, "array must not contain infs or NaNs"),
    (np.linalg.lstsq, (NAN, np.ones(2)), np.linalg.LinAlgError, "SVD did not converge in Linear Least Squares"),
    (linalg.lstsq, (np.ones((3, 2)), np.ones(3)), mo.BadInput, "no residuals for a matrix without full column rank"),
    (linalg.rq, (NAN,), ValueError, "array must not contain infs or NaNs"),
    (linalg.solveh_banded, (-np.eye(3), np.ones(3)), np.linalg.LinAlgError, "1th leading minor not positive definite"),
    (linalg.hessenberg, (NAN,), ValueError, "array must not contain infs or NaNs"),
    (linalg.eig_banded, (NAN,), ValueError, "array must not contain infs or NaNs"),
    (linalg.eigvalsh_tridiagonal, (NAN[0], NAN[0, :1]), ValueError, "array must not contain infs or NaNs"),
], ids=["solve", "lapack", "number", "banded", "definite", "posv", "inv", "inv_nan", "det", "norm", "pinv", "numpy_pinv", "lstsq", "numpy_lstsq", "rank", "rq", "band", "hessenberg", "eig_banded", "tridiagonal"])  # fmt: skip
def test_errors(f, args, error, text):
    with pytest.raises(error, match=text):
        run_on("native")(f)(*args)


@pytest.mark.parametrize("path", ["eager", "native"])
def test_inverse_of_a_diagonal_keeps_other_elements(path):
    def f(a):
        return np.sum(W[:9].reshape(3, 3) * linalg.inv(a, assume_a="diagonal"))

    a = A[:3, :3] + 1.0
    slope = np.where(np.eye(3, dtype=bool), -W[:9].reshape(3, 3) / a**2, W[:9].reshape(3, 3))
    np.testing.assert_allclose(run_on(path)(mo.grad(f))(a), slope, rtol=1e-12)


def of_blocks(d, e):
    return linalg.eigh_tridiagonal(d, e, select="i", select_range=(0, 4))


def test_eigenvalues_of_separate_blocks_are_in_order():
    d, e = np.array([5.0, 1.0, 7.0, 2.0, 2.0, 9.0]), np.array([1.0, 0.0, 2.0, 0.0, 0.5])
    (w, v), (w_, v_) = run_on("native")(of_blocks)(d, e), of_blocks(d, e)
    np.testing.assert_allclose(w, w_, rtol=1e-12)
    np.testing.assert_allclose(np.abs(v), np.abs(v_), atol=1e-10)
