"""Truncated singular value decompositions: triplets, statuses, derivatives, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from krylov_methods import random_matrix
from scipy.sparse.linalg import aslinearoperator

import morula as mo
from morula.core.testing.differences import ridders
from morula.linalg import FunctionOperator, Status, randomised_svd, svds
from morula.linalg.eigen import invariant_subspace


def with_gap(rng, m, n, k, dtype=np.float64):
    """Singular values k + 1, ..., 2, and others below 1."""
    U = np.linalg.qr(random_matrix(rng, m, min(m, n), dtype))[0]
    V = np.linalg.qr(random_matrix(rng, n, min(m, n), dtype))[0]
    values = np.concatenate([np.arange(k + 1, 1, -1.0), rng.uniform(0.1, 0.8, min(m, n) - k)])
    return ((U * values) @ V.conj().T).astype(dtype)


def assert_triplets(A, found, values, atol):
    k = len(values)
    assert found.converged and found.status is Status.CONVERGED and "meets the tolerance" in found.message
    np.testing.assert_allclose(found.values, values, atol=atol * values[0])
    np.testing.assert_allclose(A @ found.Vh.conj().T, found.U * found.values, atol=atol * values[0])
    for X in (found.U, found.Vh.conj().T):
        np.testing.assert_allclose(X.conj().T @ X, np.eye(k), atol=10 * atol)


@pytest.mark.parametrize("dtype, error", [("f8", 1e-10), ("c16", 1e-10), ("f4", 1e-4), ("c8", 1e-4)])
@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (5, 4), (4, 5)])
@pytest.mark.parametrize(
    "solve", [svds, lambda A, k: randomised_svd(A, k, power=25, rtol=1e-5)], ids=["svds", "random"]
)
def test_the_largest_triplets_in_the_dtype_given(rng, solve, shape, dtype, error):
    A = with_gap(rng, *shape, 3, dtype)
    found = solve(A, 3)
    assert found.U.dtype == found.Vh.dtype == dtype
    assert_triplets(A, found, [4, 3, 2], error)


def test_the_smallest_values(rng):
    A = np.diag(np.arange(1.0, 31.0)) @ np.linalg.qr(rng.standard_normal((30, 30)))[0]
    assert_triplets(A, svds(A, 2, "smallest"), [1, 2], 1e-9)
    assert svds(A, 2, "smallest", vectors=False).U is None


def test_small_values_are_as_accurate_as_large_ones():
    """The eigenvalues of A^H A would lose those below 1e-8."""
    found = svds(np.diag(np.concatenate([[1.0, 1e-4, 1e-9], np.full(60, 1e-16)])), 3)
    np.testing.assert_allclose(found.values, [1, 1e-4, 1e-9], rtol=1e-6)


def test_every_kind_of_matrix(rng):
    A = with_gap(rng, 60, 40, 2)
    A[np.abs(A) < 0.05] = 0.0
    values = np.linalg.svd(A)[1][:2]
    function = FunctionOperator(lambda x: A @ x, (60, 40))
    for kind in (A, scipy.sparse.csr_array(A), scipy.sparse.bsr_array(A), aslinearoperator(A), function):
        np.testing.assert_allclose(svds(kind, 2).values, values, rtol=1e-10)
        np.testing.assert_allclose(randomised_svd(kind, 2, power=30).values, values, rtol=1e-10)


def extrapolated(f, h=1e-2):
    """The derivative of f at 0 by extrapolated differences, without morula."""
    return ridders(f, h)[0]


class TestDerivatives:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    @pytest.mark.parametrize("shape", [(40, 30), (30, 40), (6, 5)])
    @pytest.mark.parametrize(
        "solve", [svds, lambda A, k: randomised_svd(A, k, power=25, key=1)], ids=["svds", "randomised"]
    )
    def test_of_values_and_vectors(self, rng, solve, shape, dtype):
        A, direction = with_gap(rng, *shape, 3, dtype), random_matrix(rng, *shape, dtype) / 5
        weights = random_matrix(rng, *shape, dtype)

        def loss(U, values, Vh):
            entries = np.conj(weights) * ((U * np.array([1.0, 2.0, 3.0])) @ Vh)
            return np.sum(values**3 * np.abs(U[1]) ** 2) + np.sum(np.real(entries)) + np.sum(np.abs(Vh[0, :3]) ** 4)

        def of(A):
            found = solve(A, 3)
            return loss(found.U, found.values, found.Vh)

        def reference(t):
            U, values, Vh = np.linalg.svd(A + t * direction, full_matrices=False)
            return loss(U[:, :3], values[:3], Vh[:3])

        product = np.sum(np.real(np.conj(mo.grad(of)(A)) * direction))
        assert product == pytest.approx(extrapolated(reference), rel=1e-7)
        assert mo.jvp(of, (A,), (direction,))[1] == pytest.approx(product, rel=1e-8)

    def test_of_the_best_approximation_it_is_that_of_a_projection(self, rng):
        """The squared distance to the matrices of rank 3 has the gradient 2 (A - A_3): Eckart and Young."""
        A = with_gap(rng, 40, 30, 3)

        def distance(A):
            found = svds(A, 3)
            return np.sum((A - (found.U * found.values) @ found.Vh) ** 2)

        U, values, Vh = np.linalg.svd(A, full_matrices=False)
        np.testing.assert_allclose(mo.grad(distance)(A), 2 * (U[:, 3:] * values[3:]) @ Vh[3:], atol=1e-9)

    def test_of_the_entries_of_a_sparse_matrix(self, rng):
        A = scipy.sparse.random_array((50, 40), density=0.2, rng=rng, format="csr")
        gradient = mo.grad(lambda A: svds(A, 1).values[0])(A)
        U, _, Vh = np.linalg.svd(A.toarray())
        places = A.tocoo()
        np.testing.assert_allclose(gradient.data, U[places.row, 0] * Vh[0, places.col], atol=1e-11)

    def test_second_derivatives(self, rng):
        A, B, w = with_gap(rng, 8, 6, 2), random_matrix(rng, 8, 6), random_matrix(rng, 8, 6)

        def of(t):
            found = svds(A + t * B + t * t * w, 2)
            return np.sum(w * ((found.U * found.values**2) @ found.Vh))

        first = mo.grad(of)
        expected = extrapolated(lambda t: first(0.1 + t))
        assert mo.grad(first)(0.1) == pytest.approx(expected, rel=1e-7)
        assert mo.jvp(first, (0.1,), (1.0,))[1] == pytest.approx(expected, rel=1e-7)

    def test_of_the_values_alone_it_needs_no_solve(self, rng, monkeypatch):
        A = with_gap(rng, 60, 40, 3)
        monkeypatch.setattr(invariant_subspace, "minres", None)
        U, _, Vh = np.linalg.svd(A)
        np.testing.assert_allclose(mo.grad(lambda A: svds(A, 3).values.sum())(A), U[:, :3] @ Vh[:3], atol=1e-11)

    def test_second_derivatives_where_the_gradient_is_zero(self, rng):
        A, B = with_gap(rng, 8, 6, 2), random_matrix(rng, 8, 6)

        def projector(t):
            U = svds(A + t * B, 2).U
            return U @ U.T

        P = projector(0.0)

        def of(t):
            return 0.5 * np.sum((projector(t) - P) ** 2)

        first = mo.grad(of)
        expected = extrapolated(first)
        assert mo.grad(first)(0.0) == pytest.approx(expected, rel=1e-7)
        assert mo.jvp(first, (0.0,), (1.0,))[1] == pytest.approx(expected, rel=1e-7)

    def test_repeated_values(self, rng):
        U, V = (np.linalg.qr(rng.standard_normal((30, 30)))[0] for _ in range(2))
        A = (U * np.concatenate([[3.0, 3.0, 2.0], np.full(27, 0.5)])) @ V.T
        w, direction = rng.standard_normal((30, 30)), rng.standard_normal((30, 30))

        def polar(A):
            found = svds(A, 3)
            return np.sum(w * (found.U @ found.Vh)) + np.sum(found.values**2)

        def reference(t):
            U, values, Vh = np.linalg.svd(A + t * direction)
            return np.sum(w * (U[:, :3] @ Vh[:3])) + np.sum(values[:3] ** 2)

        assert np.sum(mo.grad(polar)(A) * direction) == pytest.approx(extrapolated(reference, 1e-3), rel=1e-6)
        with pytest.raises(
            mo.MorulaError, match="svds: no gradient, since the loss depends on single vectors of a repeated"
        ):
            mo.grad(lambda A: np.sum(svds(A, 3).U[:, 0] ** 4))(A)

    def test_through_the_random_algorithm(self, rng):
        A, direction = rng.standard_normal((30, 20)), rng.standard_normal((30, 20))

        def of(A, adjoint="unrolled"):
            found = randomised_svd(A, 3, power=0, oversampling=4, adjoint=adjoint)
            return np.sum(found.values * np.abs(found.U[0]))

        expected = extrapolated(lambda t: of(A + t * direction))
        assert np.sum(mo.grad(of)(A) * direction) == pytest.approx(expected, rel=1e-8)
        with pytest.raises(
            mo.MorulaError, match="randomised_svd: no gradient, .*; raise power or rtol, or pass adjoint="
        ):
            mo.grad(lambda A: of(A, "implicit"))(A)


class TestBadInput:
    @pytest.mark.parametrize("solve", [svds, randomised_svd])
    def test_of_both(self, solve):
        name = solve.__name__
        with pytest.raises(
            mo.BadInput, match=f"{name}: k is 3, expected a number of eigenvalues or triplets from 1 to 2"
        ):
            solve(np.ones((2, 5)), 3)
        with pytest.raises(mo.BadInput, match=f"{name}: A is an array of shape"):
            solve(np.ones(3), 1)
        with pytest.raises(mo.BadInput, match=f"{name}: rtol is -1.0, expected a positive number"):
            solve(np.eye(3), 1, rtol=-1.0)
        for n in (3, 60):
            with pytest.raises(mo.MorulaError, match=f"{name}: A .* NaN or Inf"):
                solve(np.full((n, n), np.nan), 1)

    def test_of_each(self):
        with pytest.raises(mo.BadInput, match="svds: which is 'magnitude', expected one of 'largest', 'smallest'"):
            svds(np.eye(3), 1, "magnitude")
        with pytest.raises(mo.BadInput, match="randomised_svd: oversampling is -1"):
            randomised_svd(np.eye(3), 1, oversampling=-1)
        with pytest.raises(mo.BadInput, match='randomised_svd: adjoint is .exact., expected "implicit" or "unrolled"'):
            randomised_svd(np.eye(3), 1, adjoint="exact")

    def test_too_few_cycles(self, rng):
        A = rng.standard_normal((80, 60))
        found = svds(A, 3, max_iterations=0)
        assert found.status is Status.MAX_ITERATIONS
        with pytest.raises(mo.MorulaError, match="svds: no gradient, since the iteration did not converge"):
            mo.grad(lambda A: svds(A, 3, max_iterations=0).values[0])(A)

    def test_values_of_zero_have_no_derivative(self, rng):
        A = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
        with pytest.raises(mo.MorulaError, match="svds: no gradient, since the deflated system was not solved"):
            mo.grad(lambda A: np.sum(svds(A, 3).U[:, 2] ** 4))(A)
