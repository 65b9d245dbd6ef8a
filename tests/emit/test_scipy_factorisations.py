"""Schur forms, general eigenvalues, factorisations of SciPy with their options, and matrix equations in native code, without Python."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import run_on
from scipy import linalg
from without_python import check_without_python, refuse_python

import morula as mo

N = 5
RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(N, N)) + np.diag(2.0 + np.arange(N)), RNG.normal(size=(N, N)) + 3 * np.eye(N)
ROTATION = np.kron(np.diag([1.0, 2.0, 0.0]), [[0.0, 1.0], [-1.0, 0.0]])[:N, :N] * 3  # pairs of complex eigenvalues
W = np.cos(np.arange(128.0))


def size(*arrays):
    """A loss that does not depend on signs and phases of columns."""
    return sum(np.sum(W[: x.size].reshape(x.shape) * np.abs(x) ** 2) for x in arrays)


def hermitian(a):
    return a @ np.conj(a.T) + np.eye(len(a))


def schur(a, b):
    return size(*linalg.schur(b), *linalg.schur(b, output="complex"))


def schur_in_order(a, b):
    t, z, count = linalg.schur(b, output="complex", sort=lambda x: abs(x) > 3.0)
    return size(t, z, *linalg.schur(b - 3 * np.eye(N), output="complex", sort="ouc")[:2]) + count


def real_schur_in_order(a, b):
    t, z, count = linalg.schur(np.real(b) + ROTATION, sort=lambda x, y: y != 0.0)
    return size(z[:, -1], *linalg.schur(np.real(b) - 3 * np.eye(N), sort="lhp")[:2]) + count


def eigenvalues(a, b):
    return size(*np.linalg.eig(b), np.linalg.eigvals(a), *linalg.eig(a), linalg.eigvals(b))


def eigenvalues_of_pairs(a, b):
    left = linalg.eig(a + ROTATION, left=True)
    return size(*left, *linalg.eig(a + ROTATION, b), linalg.eigvals(a, b))


def hermitian_eigenvalues(a, b):
    s = hermitian(a)
    by_driver = [linalg.eigh(s, driver=d)[0] for d in ("ev", "evd", "evx")]
    return size(*linalg.eigh(s, subset_by_index=(1, 3)), *by_driver, linalg.eigvalsh(s, lower=False))


def hermitian_pairs(a, b):
    s, t = hermitian(a), hermitian(b)
    found = [linalg.eigh(s, t, type=kind)[1] for kind in (2, 3)]
    some = linalg.eigh(s, t, subset_by_index=(1, 2))
    return size(*found, *some, linalg.eigh(s, t, type=2, subset_by_index=(3, 4))[1], linalg.eigvalsh(s, t, driver="gv"))


def singular_values(a, b):
    u, s, vh = linalg.svd(a[:, :3], full_matrices=False, lapack_driver="gesvd")
    return size(u, vh, s**0.5, linalg.svd(a)[1], linalg.svdvals(b))


def orthogonal(a, b):
    tall = a[:, :3]
    q, r, order = linalg.qr(tall, mode="economic", pivoting=True)
    found = [q, r, linalg.qr(tall)[1], *linalg.qr(a[:3]), linalg.qr(tall, mode="r")[0]]
    return size(*found, linalg.qr(b, mode="r", pivoting=True)[0]) + np.sum(order)


def equations(a, b):
    c = linalg.solve_sylvester(a, b, a @ b) + linalg.solve_continuous_lyapunov(a, b)
    near = a / 20
    return size(c, linalg.solve_discrete_lyapunov(near, b), linalg.solve_discrete_lyapunov(near, b, "bilinear"))


def lu(a, b):
    p, l, u = linalg.lu(a)  # noqa: E741
    return size(p, l, u, *linalg.lu(b[:3], permute_l=True), *linalg.lu(b[:, :2], p_indices=True)[1:])


def toeplitz(a, b):
    c, unit = a[0] + 9 * np.eye(N)[0], np.real(b[1])
    return size(linalg.solve_toeplitz((c, b[0]), a), linalg.solve_toeplitz(np.real(c), unit))


def continuous_riccati(a, b):
    q, r = hermitian(b), hermitian(b[:2, :2])
    e, s = a + 3 * np.eye(N), b[:, :2] / 9
    x = linalg.solve_continuous_are(a / 3, b[:, :2], q, r)
    return size(x, linalg.solve_continuous_are(a / 3, b[:, :2], q + 9 * np.eye(N), r, e, s, balanced=False))


def discrete_riccati(a, b):
    q, r = hermitian(b), hermitian(b[:2, :2])
    e, s = a + 3 * np.eye(N), b[:, :2] / 9
    x = linalg.solve_discrete_are(a / 9, b[:, :2], q, r, s=s)
    return size(x, linalg.solve_discrete_are(a / 9, b[:, :2], q + 9 * np.eye(N), r, e, s, balanced=False))


def polar(a, b):
    return size(*linalg.polar(a), *linalg.polar(a[:3], side="left"))


def sorted_values(a, b):
    x, at = np.real(a), np.argsort(np.real(b), axis=0)
    found = np.sort(x, axis=0) @ np.sort(x, axis=1, kind="stable") + np.take_along_axis(x, at, 0)
    return size(found, x[np.lexsort((x[0], x[1]))], np.sort(x, axis=None))


PROGRAMS = (
    *(schur, schur_in_order, real_schur_in_order, eigenvalues, eigenvalues_of_pairs, hermitian_eigenvalues),
    *(hermitian_pairs, singular_values, orthogonal, equations, polar, sorted_values),
    *(lu, toeplitz, continuous_riccati, discrete_riccati),
)


CASES = [
    (f, kind)
    for f in PROGRAMS
    for kind in (float, complex)
    if kind is complex or f in (schur, eigenvalues_of_pairs, hermitian_pairs, equations)
]


@pytest.mark.parametrize("f, kind", CASES, ids=[f"{f.__name__}-{kind.__name__}" for f, kind in CASES])
def test_values_and_gradients_without_python(f, kind, monkeypatch):
    args = [x if kind is float else x + 0.5j * np.cos(x) for x in (A, B)]

    check_without_python(f, *args, monkeypatch=monkeypatch)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_single_precision(dtype):
    def f(a, b):
        s = hermitian(a)
        found = (
            *linalg.schur(b, output="complex"),
            *linalg.eigh(s),
            *linalg.svd(a),
            *linalg.qr(a),
            linalg.eigvals(b, a),
        )
        return (*found, *np.linalg.eig(s), linalg.solve_sylvester(a, b, a))

    args = A.astype(dtype), B.astype(dtype)
    for x, y in zip(run_on("native")(f)(*args), f(*args), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(np.abs(x), np.abs(y), atol=2e-3)


def test_generalised_schur_forms_without_python(monkeypatch):
    def f(a, b):
        return (*linalg.ordqz(a, b, sort="ouc"), *linalg.qz(a, b, output="complex"))

    refuse_python(monkeypatch)
    for x, y in zip(run_on("native")(f)(A, B), f(A, B), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-10)


@pytest.mark.parametrize("dtype", [float, complex, np.float32])
def test_gradients_of_generalised_schur_forms_without_python(dtype, monkeypatch):
    turned = np.real(B) + ROTATION  # with real blocks of two
    a, b = (turned + 0.2j * A, A + 0.3j * B) if dtype is complex else (turned.astype(dtype), A.astype(dtype))

    def f(a, b):
        s, t, alpha, beta, q, z = linalg.ordqz(a, b, sort="ouc")
        return size(s, t, q, z, alpha / beta)

    value, expected = f(a, b), mo.grad(f)(a, b)
    refuse_python(monkeypatch)
    found, g = run_on("native")(mo.value_and_grad(f))(a, b)
    np.testing.assert_allclose(found, value, rtol=1e-3 if dtype is np.float32 else 1e-10)
    np.testing.assert_allclose(g, expected, atol=np.max(np.abs(expected)) * (1e-3 if dtype is np.float32 else 1e-9))
    if dtype is float:
        tangent = run_on("native")(lambda a, b: mo.jvp(lambda a: f(a, b), (a,), (A,))[1])(a, b)
        np.testing.assert_allclose(tangent, np.sum(g * A), rtol=1e-9)


def test_orders_are_those_of_numpy():
    def f(x):
        by_axis = [g(x, axis=k, kind="stable") for g in (np.sort, np.argsort) for k in (0, 1, 2)]
        return (*by_axis, np.sort(x, axis=None))

    x = RNG.normal(size=(2, 40, 3)).round(1)
    whole = (x * 10 + 50).astype(np.uint8)
    x[0, ::7], x[1, 3] = np.nan, -0.0
    for given in (x, x.astype(np.float32), whole):
        for y, z in zip(run_on("native")(f)(given), f(given), strict=True):
            np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("f, args, error, text", [
    (linalg.eigh, (np.eye(2), np.diag([1.0, -1.0])), np.linalg.LinAlgError, "leading minor of order 2 of B is not positive definite"),
    (np.linalg.eig, (np.full((2, 2), np.inf),), np.linalg.LinAlgError, "Array must not contain infs or NaNs"),
    (lambda a: linalg.solve_toeplitz(a[0], a[1]), (np.ones((2, 2)),), np.linalg.LinAlgError, "Singular principal minor"),
    (lambda a: linalg.solve_discrete_are(a, a, a + np.eye(2)[1], a), (np.eye(2),), ValueError, "Matrix q should be symmetric"),
    (lambda a: linalg.solve_continuous_are(a, a, a, 0 * a), (np.eye(2),), ValueError, "Matrix r is numerically singular"),
    (lambda a: linalg.solve_continuous_are(a, 0 * a, a, a), (np.eye(2),), np.linalg.LinAlgError, "Failed to find a finite|imaginary axis"),
    (linalg.schur, (np.full((2, 2), np.nan),), ValueError, "array must not contain infs or NaNs"),
    (lambda a: linalg.schur(a, sort="left"), (np.eye(2),), ValueError, "'sort' parameter must either be"),
    (lambda a: linalg.eigh(a, subset_by_value=(0.0, 1.0)), (np.eye(2),), mo.BadInput, "whose number is not known"),
    (lambda a: linalg.eig_banded(a, select="v", select_range=(0, 1)), (np.eye(2),), mo.BadInput, "whose number is not known"),
    (mo.grad(lambda a: np.sum(W[:9].reshape(3, 3) * linalg.schur(a)[1])), (np.eye(3),), mo.NoDerivative, "two eigenvalues are equal to rounding"),
    (mo.grad(lambda a: np.sum(W[:9].reshape(3, 3) * linalg.qz(a, a)[2])), (np.eye(3) + 1,), mo.NoDerivative, "two generalised eigenvalues are equal"),
], ids=["pair", "eig", "toeplitz", "weights", "r", "unstable", "schur", "sort", "eigh", "banded", "equal", "equal pairs"])  # fmt: skip
def test_errors(f, args, error, text):
    with pytest.raises(error, match=text):
        run_on("native")(f)(*args)
