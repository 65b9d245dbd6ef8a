"""Matrices of the standard families that are hard: Wilkinson, Grcar, Hilbert, Kahan; references of 30 digits or closed forms."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg
from krylov_methods import convection_diffusion, poisson

import morula as mo
from morula.linalg import (
    Status,
    Triangular,
    bicgstab,
    block_cg,
    block_gmres,
    cg,
    eigs,
    eigsh,
    gmres,
    idrs,
    lobpcg,
    lsmr,
    lsqr,
    minres,
    richardson,
    solve,
    svds,
    symmlq,
    tridiagonal,
)

ANGLE = 1.2


def wilkinson(n):
    """W+ of order n: the largest eigenvalues come in pairs that agree to many digits."""
    return np.diag(np.abs(np.arange(n) - (n - 1) / 2)) + np.eye(n, k=1) + np.eye(n, k=-1)


def grcar(n):
    """A Toeplitz matrix whose eigenvalues are very sensitive."""
    return -np.eye(n, k=-1) + sum(np.eye(n, k=k) for k in range(4))


def kahan(n):
    """A triangular matrix with one small singular value that its diagonal does not show."""
    s, c = np.sin(ANGLE), np.cos(ANGLE)
    return s ** np.arange(n)[:, None] * (np.eye(n) - c * np.triu(np.ones((n, n)), 1))


FAMILIES = {
    "hilbert": scipy.linalg.hilbert(24),
    "grcar": grcar(24),
    "kahan": kahan(24),
    "wilkinson": wilkinson(25),
    "poisson": poisson(5).toarray(),
    "convection": convection_diffusion(5, 3.0).toarray(),
    "singular": np.diag(np.concatenate([np.arange(1.0, 24.0), [0.0]])),
    "rotation": np.roll(np.eye(24), 1, axis=0),
}
SYMMETRIC = ("hilbert", "wilkinson", "poisson", "singular")
DEFINITE = ("hilbert", "poisson")
METHODS = {
    "cg": cg, "minres": minres, "symmlq": symmlq, "gmres": gmres, "bicgstab": bicgstab, "idrs": idrs, "lsqr": lsqr, "lsmr": lsmr,
    "richardson": richardson, "block_cg": block_cg, "block_gmres": block_gmres,
}  # fmt: skip


def exactly(f, *matrices, digits=30):
    """The result of a function of mpmath in so many digits, as floats."""
    with mpmath.workdps(digits):
        return np.array([float(x) for x in f(*(mpmath.matrix(a.tolist()) for a in matrices))])


@pytest.mark.parametrize("name, method", METHODS.items())
def test_no_solve_ends_silently(name, method):
    """Converged means that the residual is small; what has not converged says so, and has no gradient."""
    for family, A in FAMILIES.items():
        if (
            name in ("cg", "block_cg")
            and family not in DEFINITE
            or name in ("minres", "symmlq")
            and family not in SYMMETRIC
        ):
            continue
        b = np.cos(np.arange(float(len(A))))
        b = b[:, None] if name.startswith("block") else b
        options = {"restart": 6} if "gmres" in name else {}
        found = method(A, b, max_iterations=200, **options)
        norm = np.linalg.norm(b - A @ found.x)
        assert np.all(np.isfinite(found.x)) and np.max(found.residual_norm) == pytest.approx(norm, rel=1e-6, abs=1e-12)
        assert found.history.shape[0] == found.iterations + 1
        size = np.linalg.norm(b)
        is_solved = norm <= 1e-9 * size
        if name in ("lsqr", "lsmr"):
            slope = np.linalg.norm(A.T @ (b - A @ found.x))
            is_solved = is_solved or slope <= 1e-9 * np.linalg.norm(A, 2) * norm
            assert is_solved or not found.converged, (family, found.status)
        else:
            assert found.converged == is_solved, (family, found.status, norm)
        if not found.converged:
            assert found.status in (Status.MAX_ITERATIONS, Status.STAGNATED, Status.BREAKDOWN) and found.message
            with pytest.raises(mo.MorulaError, match=f"{name}: no gradient, since the solve did not converge"):
                mo.grad(lambda b: np.sum(method(A, b, max_iterations=200, **options).x))(b)


@pytest.mark.parametrize("method", [gmres, bicgstab, idrs, lsqr, lsmr])
@pytest.mark.parametrize("family", ["grcar", "convection"])
def test_well_conditioned_systems_agree_with_thirty_digits(method, family):
    A = FAMILIES[family]
    b = np.cos(np.arange(float(len(A))))
    exact = exactly(mpmath.lu_solve, A, b[:, None])
    found = method(A, b, rtol=1e-12)
    assert found.converged
    np.testing.assert_allclose(found.x, exact, atol=1e-9 * np.max(np.abs(exact)))


def test_the_stored_hilbert_matrix_is_solved_backward_stably():
    A = scipy.linalg.hilbert(8)
    b = A @ np.ones(8)
    exact = exactly(mpmath.lu_solve, A, b[:, None])
    for method in (cg, minres, symmlq, gmres):
        found = method(A, b, rtol=1e-15)
        assert found.residual_norm <= 4e-11 * np.linalg.norm(b)
        # The condition number is 1.5e10.
        np.testing.assert_allclose(found.x, exact, atol=0.1)
    np.testing.assert_allclose(solve(A, b, assume="positive definite").x, exact, atol=1e-5)


class TestWilkinson:
    def test_pairs_that_agree_to_many_digits(self):
        exact = exactly(lambda A: mpmath.eigsy(A, eigvals_only=True), wilkinson(41))
        for found in (
            eigsh(wilkinson(41), 4),
            eigsh(wilkinson(41), 4, sigma=21.0),
            lobpcg(wilkinson(41), 4, "largest"),
        ):
            assert found.converged
            np.testing.assert_allclose(found.values, exact[:-5:-1], rtol=1e-13)
            np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(4), atol=1e-12)

    def test_the_pair_has_gradients_and_its_vectors_have_none(self):
        A = wilkinson(41)

        def of_pair(d):
            return np.sum(eigsh(tridiagonal(np.ones(40), d, np.ones(40)), 2).values)

        def of_one(d):
            return np.sum(eigsh(tridiagonal(np.ones(40), d, np.ones(40)), 2).vectors[30:, 0] ** 4)

        X = np.linalg.eigh(A)[1][:, -2:]
        np.testing.assert_allclose(mo.grad(of_pair)(np.diagonal(A)), np.sum(X**2, axis=1), atol=1e-9)
        with pytest.raises(mo.MorulaError, match="eigsh: no gradient, since the loss depends on single vectors"):
            mo.grad(of_one)(np.diagonal(A))


class TestGrcar:
    def test_eigenvalues_to_their_condition(self):
        A = grcar(24)
        with mpmath.workdps(25):
            exact = np.array([complex(x) for x in mpmath.eig(mpmath.matrix(A.tolist()), right=False)])
        found = eigs(A, 2, sigma=1.0 + 2.0j)
        assert found.converged and np.max(found.residual_norms) < 1e-10
        np.testing.assert_allclose(found.values, exact[np.argsort(abs(exact - 1 - 2j))[:2]], rtol=1e-9)

    def test_stagnation_is_a_status(self):
        """The Ritz values with the largest real parts are no eigenvalues; ARPACK does not converge either."""
        found = eigs(grcar(24), 2, "largest real")
        assert found.status is Status.STAGNATED and np.max(found.residual_norms) > 1e-3

    def test_too_few_cycles_are_a_status(self):
        found = eigs(grcar(80), 4, "largest real", max_iterations=2)
        assert found.status is Status.MAX_ITERATIONS and np.max(found.residual_norms) > 1e-9
        with pytest.raises(mo.MorulaError, match="eigs: no gradient, since the iteration did not converge"):
            mo.grad(lambda A: np.sum(eigs(A, 4, "largest real", max_iterations=2).values.real))(grcar(80))


class TestHilbert:
    def test_eigenvalues_to_rounding_of_the_largest(self):
        A = scipy.linalg.hilbert(40)
        exact = exactly(lambda A: mpmath.eigsy(A, eigvals_only=True), A)
        for which, expected in (("largest", exact[:-5:-1]), ("smallest", exact[:4])):
            np.testing.assert_allclose(eigsh(A, 4, which).values, expected, atol=1e-14)


class TestKahan:
    def test_the_small_singular_value_and_the_determinant(self):
        A = kahan(40)
        exact = exactly(lambda A: mpmath.svd_r(A, compute_uv=False), A)
        found = svds(A, 2, "smallest")
        assert found.converged
        np.testing.assert_allclose(found.values, exact[[-1, -2]], rtol=1e-9)
        expected = np.log(np.sin(ANGLE)) * 40 * 39 / 2
        assert Triangular(A, lower=False).logdet() == pytest.approx(expected, rel=1e-13)

    def test_the_gradient_of_the_small_singular_value(self):
        A = kahan(40)
        U, _, Vh = np.linalg.svd(A)
        slope = mo.grad(lambda A: svds(A, 1, "smallest").values[0])(A)
        np.testing.assert_allclose(slope, np.outer(U[:, -1], Vh[-1]), atol=1e-8)


def test_the_largest_eigenvalues_of_a_grid_in_closed_form():
    line = 2 - 2 * np.cos(np.pi * np.arange(1, 13) / 13)
    exact = np.sort((line[:, None] + line).ravel())[::-1]
    np.testing.assert_allclose(eigsh(poisson(12), 3).values, exact[:3], rtol=1e-12)
