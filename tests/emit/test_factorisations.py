"""Factorisations and solutions with factors in compiled code: LAPACK by pointer in native code, XLA's own in XLA."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import run_on
from scipy import linalg

import morula as mo
from morula.core.emit.native.library import PythonCall
from morula.core.emit.xla import lower
from morula.core.testing.differences import numerical_vjp

TARGETS = ["native", "xla"]
RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(5, 5)) + 3 * np.eye(5), RNG.normal(size=(5, 2))
W = np.cos(np.arange(64.0))


def size(*arrays):
    """A loss that does not depend on signs and phases of columns."""
    return sum(np.sum(W[: x.size].reshape(x.shape) * np.abs(x) ** 2) for x in arrays)


def eigen(a, b):
    lam, v = np.linalg.eigh(a @ np.conj(a.T))
    return size(lam, v) + size(*np.linalg.eigh(a @ np.conj(a.T), "U")) + size(np.linalg.eigvalsh(a))


def singular(a, b):
    u, s, vh = np.linalg.svd(a[:, :3], full_matrices=False)
    return size(u, s, vh) + size(*np.linalg.svd(a[:2])[1:2], np.linalg.svdvals(a), np.linalg.svd(a, compute_uv=False))


def orthogonal(a, b):
    q, r = np.linalg.qr(a[:, :3])
    return size(q, r, *np.linalg.qr(a[:3]), np.linalg.qr(a, mode="r"), np.linalg.qr(a[:, :2], mode="complete")[1])


def by_lu(a, b):
    f = linalg.lu_factor(a)
    return size(*(linalg.lu_solve(f, x, trans) for x in (b, b[:, 0]) for trans in (0, 1, 2)))


def by_cholesky(a, b):
    s = a @ np.conj(a.T)
    upper, lower = linalg.cho_factor(s), linalg.cho_factor(s, lower=True)
    solved = [linalg.cho_solve(f, x) for f in (upper, lower) for x in (b, b[:, 0])]
    return size(*solved, np.diagonal(lower[0]), linalg.cholesky(s))


def triangles(a, b):
    found = [linalg.solve_triangular(a, b, trans, lower) for trans in (0, 1, 2) for lower in (False, True)]
    return size(*found, linalg.solve_triangular(a, b[:, 0], unit_diagonal=True))


def angles(a, b):
    return size(linalg.subspace_angles(a[:, :3], b), linalg.subspace_angles(b, a[:, :2]))


PROGRAMS = (eigen, singular, orthogonal, by_lu, by_cholesky, triangles, angles)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f, kind, target, monkeypatch):
    args = [x if kind is float else x + 0.5j * np.cos(x) for x in (A, B)]
    expected = numerical_vjp(f, 1.0, *args)[0]

    def in_python(*args, **kwargs):
        raise AssertionError("Python was called")

    monkeypatch.setattr(PythonCall, "run", in_python)
    monkeypatch.setattr(lower.LOWERINGS[None], "__code__", in_python.__code__) if target == "xla" else None
    value, found = run_on(target)(mo.value_and_grad(f, argnums=(0, 1)))(*args)
    np.testing.assert_allclose(value, f(*args), rtol=1e-10)
    for g, h in zip(found, expected):
        np.testing.assert_allclose(g, h, atol=1e-7 * max(1.0, np.max(np.abs(h))))


@pytest.mark.parametrize("target", TARGETS)
def test_stacks_and_single_precision(target):
    stack = np.stack([A, A.T]).astype(np.float32)

    def f(a):
        return (*np.linalg.svd(a), *np.linalg.eigh(a), *np.linalg.qr(a))

    for x, y in zip(run_on(target)(f)(stack), f(stack), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(np.abs(x), np.abs(y), atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("f, a, error, text", [
    (linalg.cho_factor, np.diag([1.0, 2.0, -1.0]), np.linalg.LinAlgError, "3-th leading minor of the array is not positive definite"),
    (lambda a: linalg.cholesky(a, lower=True), np.diag([1.0, -2.0, -1.0]), np.linalg.LinAlgError, "2-th leading minor"),
    (lambda a: linalg.solve_triangular(a, a), np.diag([1.0, 0.0, 2.0]), np.linalg.LinAlgError, "resolution failed at diagonal 1"),
    (linalg.lu_factor, np.full((3, 3), np.nan), ValueError, "array must not contain infs or NaNs"),
    (lambda a: linalg.cho_solve(linalg.cho_factor(a), np.inf * a[0]), np.eye(3), ValueError, "array must not contain infs or NaNs"),
    (lambda a: linalg.subspace_angles(a, a), np.ones((3, 2)), ValueError, "takes matrices of full column rank"),
], ids=["cho_factor", "cholesky", "solve_triangular", "lu_factor", "cho_solve", "subspace_angles"])  # fmt: skip
def test_errors_are_those_of_scipy(f, a, error, text, target):
    with pytest.raises(error, match=text):
        run_on(target)(f)(a)


@pytest.mark.parametrize("target", TARGETS)
def test_factors_that_the_program_has_changed_are_not_those_of_the_matrix(target):
    def f(a, b):
        lu, piv = linalg.lu_factor(a)
        lu[0, 0] = 2 * lu[0, 0]
        c, lower = linalg.cho_factor(a @ a.T)
        a[0] = 0.0
        return size(linalg.lu_solve((lu, piv), b), linalg.cho_solve((2 * c, lower), b), linalg.cho_solve((c, lower), b))

    def of_copies(a, b):
        return f(a.copy(), b)

    found = run_on(target)(mo.grad(of_copies, argnums=(0, 1)))(A, B)
    for g, h in zip(found, numerical_vjp(of_copies, 1.0, A, B)[0]):
        np.testing.assert_allclose(g, h, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_second_derivatives_through_factors(target):
    def f(a, b):
        s = a @ a.T
        return size(linalg.lu_solve(linalg.lu_factor(a), b, 1), linalg.cho_solve(linalg.cho_factor(s), b))

    def of_gradient(a, b):
        return sum(np.sum(g * x) for g, x in zip(mo.grad(f, argnums=(0, 1))(a, b), (A, B)))

    found = run_on(target)(mo.grad(of_gradient, argnums=(0, 1)))(A, B)
    for g, h in zip(found, numerical_vjp(of_gradient, 1.0, A, B)[0]):
        np.testing.assert_allclose(g, h, atol=1e-6 * np.max(np.abs(h)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_spacing_of_numbers_which_tells_equal_values_apart(dtype):
    x = np.array([0.0, -0.0, 1.0, -2.5, 1e30, np.finfo(dtype).max, np.inf, -np.inf, np.nan, 1e-310], dtype)
    found = mo.jit(np.spacing, target="native")(x)
    assert found.dtype == dtype
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.spacing(x))
