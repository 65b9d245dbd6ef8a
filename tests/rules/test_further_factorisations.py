"""The rules of ``scipy.linalg``: LDL, RQ, changed QR factors, and eigenvalues in bands, of pairs, and left vectors."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import KINDS, SHAPES, dagger, random
from rule_tester import check_rule
from scipy import linalg

import morula as mo
import morula.core.rules.scipy_linear_algebra  # noqa: F401  (the tester reads the table, filled when it is imported)
from morula.testing import check_gradients

BOTH = pytest.mark.parametrize("lower", [False, True])


def indefinite(kind, n=4, hermitian=True):
    """A matrix that needs a block of two in D: small entries on the diagonal, large ones beside it."""
    a = random((n, n), kind)
    a = (a + (dagger(a) if hermitian else a.T)) / 2
    a[0, 0], a[1, 1] = 0.02, 0.03
    if hermitian:
        a[np.arange(n), np.arange(n)] = np.real(np.diagonal(a))
    a[0, 1] = a[1, 0] = 5.0
    return a


@KINDS
@BOTH
@pytest.mark.parametrize("hermitian", [True, False])
def test_ldl(hermitian, lower, kind):
    a = indefinite(kind, hermitian=hermitian)
    d = linalg.ldl(a, lower, hermitian)[1]
    assert np.any(np.diagonal(d, 1) != 0)

    def factors(a):
        lu, d, _ = linalg.ldl(a, lower, hermitian)
        return lu, d

    check_gradients(factors, a, order=2 if lower else 1)
    if kind == "real":
        check_rule(linalg.ldl, a, lower, hermitian, order=1)
    small = a[:3, :3] + np.diag([4.0, 5.0, 6.0])
    check_gradients(lambda a: linalg.ldl(a, lower, hermitian)[:2], small, order=1)


def test_ldl_of_a_singular_matrix():
    a = np.diag([1.0, 0.0, 2.0])
    with pytest.raises(mo.NoDerivative, match="no derivative of the triangle at a singular matrix"):
        mo.grad(lambda a: np.sum(linalg.ldl(a)[0] ** 2))(a)
    np.testing.assert_allclose(mo.grad(lambda a: np.trace(linalg.ldl(a)[1]))(a), np.eye(3))


@KINDS
@pytest.mark.parametrize("shape", SHAPES)
def test_rq(shape, kind):
    a = random(SHAPES[shape], kind)[..., ::-1]
    check_rule(linalg.rq, a, mode="economic", order=1)
    check_rule(linalg.rq, a, mode="r", order=1)
    if shape != "wide":  # the rows of Q that R does not use are not unique
        check_rule(linalg.rq, a, order=0)


@KINDS
@pytest.mark.parametrize("mode", ["left", "right"])
@pytest.mark.parametrize("pivoting", [False, True])
def test_products_with_q(pivoting, mode, kind):
    a = random((4, 3), kind)
    c = random((3, 2) if mode == "left" else (2, 4), kind, 1)
    for conjugate in (False, True):

        def products(a, c, conjugate=conjugate):
            return linalg.qr_multiply(a, c, mode, pivoting, conjugate)[:2]

        q = linalg.qr(a, mode="economic", pivoting=pivoting)[0]
        q = np.conj(q) if conjugate else q
        np.testing.assert_allclose(products(a, c)[0], q @ c if mode == "left" else c @ q, atol=1e-12)
        check_gradients(products, a, c, order=1)
    v = random((3,) if mode == "left" else (4,), kind, 2)
    check_gradients(lambda a, v: linalg.qr_multiply(a, v, mode)[0], a, v, order=1)


def sizes(q, r):
    """What the signs or phases of the columns of Q do not change."""
    return np.abs(q) ** 2, np.abs(r) ** 2, q @ (r / (1.0 + np.abs(r) ** 2))


@KINDS
@pytest.mark.parametrize("which", ["row", "col"])
@pytest.mark.parametrize("economic", [False, True])
def test_factors_without_rows_or_columns(economic, which, kind):
    if economic and which == "row" and kind == "complex":
        return  # the phases of R's rows differ there, and its diagonal is not real
    a = random((5, 3), kind)
    count = 3 if which == "row" else 2

    def deleted(a, k, p):
        q, r = linalg.qr(a, mode="economic" if economic else "full")
        q, r = linalg.qr_delete(q, r, k, p, which)
        k = min(q.shape[1], r.shape[1])
        return sizes(q[:, :k], r[:k])

    for k, p in ((1, 1), (0, 2), (-1, 1)):
        if count - p >= 0:
            check_gradients(lambda a, k=k, p=p: deleted(a, k, p), a, order=1)


@KINDS
@pytest.mark.parametrize("economic", [False, True])
def test_factors_after_a_change_of_rank_one_or_two(economic, kind):
    a, u, v = random((5, 3), kind), random((5,), kind, 1), random((3,), kind, 2)

    def updated(a, u, v):
        q, r = linalg.qr(a, mode="economic" if economic else "full")
        q, r = linalg.qr_update(q, r, u, v)
        return sizes(q[:, :3], r[:3])

    check_gradients(updated, a, u, v, order=1)
    check_gradients(updated, a, random((5, 2), kind, 1), random((3, 2), kind, 2), order=1)


# ---- eigenvalues


@KINDS
@BOTH
def test_eigenvalues_of_a_band(lower, kind):
    band = random((3, 5), kind)
    diagonal = 0 if lower else 2
    band[diagonal] = np.real(band[diagonal]) + 3.0 * np.arange(5)
    check_rule(linalg.eigvals_banded, band, lower, order=1)
    check_rule(linalg.eigvals_banded, band, lower, select="i", select_range=(1, 2), order=0)
    check_gradients(lambda b: linalg.eig_banded(b, lower, True), band, order=1)

    if kind == "real":
        check_rule(linalg.eig_banded, band, lower, order=1)

    def loss(band, **selected):
        lam, v = linalg.eig_banded(band, lower, **selected)
        return lam, np.abs(v) ** 2, (v * lam) @ dagger(v)

    check_gradients(loss, band, order=2 if lower and kind == "real" else 1)
    check_gradients(lambda b: loss(b, select="i", select_range=(1, 3)), band, order=1)


@KINDS
def test_eigenvalues_of_a_pair(kind):
    a, b = random((3, 3), kind), random((3, 3), kind, 1)

    def loss(a, b):
        lam, v = linalg.eig(a, b)
        return lam, np.abs(v) ** 2, (v * np.sin(lam)) @ dagger(v)

    check_gradients(loss, a, b, order=2)
    check_gradients(lambda a, b: linalg.eigvals(a, b), a, b, order=1)
    check_gradients(lambda a, b: linalg.eig(a, b, right=False), a, b, order=1)


def test_infinite_eigenvalues_are_refused():
    with pytest.raises(mo.NoDerivative, match="infinite eigenvalues: the second matrix is singular"):
        mo.grad(lambda a, b: np.sum(np.abs(linalg.eigvals(a, b))[:1]))(np.eye(2) + 0.1, np.diag([1.0, 0.0]))


@KINDS
def test_left_eigenvectors(kind):
    a = random((3, 3), kind)

    def both(a):
        lam, left, right = linalg.eig(a, left=True)
        return lam, left, right

    check_gradients(both, a, order=1)
    check_gradients(lambda a: linalg.eig(a, left=True, right=False), a, order=1)
    check_gradients(lambda a: linalg.eig(a, left=True, right=False)[1], a, order=1)


def test_left_eigenvectors_of_a_pair_are_refused():
    with pytest.raises(mo.NoDerivative, match="left eigenvectors with b="):
        mo.grad(lambda a: np.sum(np.abs(linalg.eig(a, np.eye(2), left=True)[1])))(random((2, 2)))
