"""Log-determinants of operators; those of sparse and Toeplitz matrices and their derivatives do without the dense matrix."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from krylov_methods import convection_diffusion, poisson, random_matrix
from path_tester import PATHS, run_on

import morula as mo
from morula.linalg import Banded, BlockDiagonal, Dense, Jacobian, Kronecker, Sparse, Toeplitz, as_operator
from morula.linalg.operators import selected_inverse

PATTERN = scipy.sparse.csr_array(np.eye(7) + np.eye(7, k=3) + np.eye(7, k=-1) + np.eye(7, k=-6))
I, J = PATTERN.nonzero()


def sparse(by_columns):
    stored = PATTERN.tocsc() if by_columns else PATTERN
    return lambda d: Sparse(d, stored.indices, stored.indptr, (7, 7), by_columns).logdet()


def dense_sparse(by_columns):
    i, j = PATTERN.tocsc().T.nonzero()[::-1] if by_columns else (I, J)

    def f(d):
        a = np.zeros((7, 7), d.dtype)
        a[i, j] = d
        return np.linalg.slogdet(a)[1]

    return f


def toeplitz(d):
    return Toeplitz(d[:6], d[6:12]).logdet()


def dense_toeplitz(d):
    return np.linalg.slogdet(scipy.linalg.toeplitz(d[:6], d[6:12]))[1]


def hermitian(d):
    return Toeplitz(np.concatenate([3.0 * np.abs(d[:1]) + 2.0, d[1:6] / 4])).logdet()


def dense_hermitian(d):
    return np.linalg.slogdet(scipy.linalg.toeplitz(np.concatenate([3.0 * np.abs(d[:1]) + 2.0, d[1:6] / 4])))[1]


CASES = {
    "sparse by rows": (sparse(False), dense_sparse(False)),
    "sparse by columns": (sparse(True), dense_sparse(True)),
    "toeplitz": (toeplitz, dense_toeplitz),
    "hermitian toeplitz": (hermitian, dense_hermitian),
}


def every_derivative(f):
    """The value, the gradient, a tangent, and the gradient of a function of the gradient."""

    def found(d, t):
        value, slope = mo.value_and_grad(f)(d)
        return value, slope, mo.jvp(f, (d,), (t,))[1], mo.grad(lambda d: np.sum(np.abs(t * mo.grad(f)(d)) ** 2))(d)

    return found


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_values_and_derivatives_are_those_of_the_dense_matrix(name, dtype, path, rng):
    f, dense = CASES[name]
    d, t = random_matrix(rng, len(I), 2, dtype).T
    d = np.ascontiguousarray(d) + 1.5
    for got, expected in zip(run_on(path)(every_derivative(f))(d, t), every_derivative(dense)(d, t)):
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_single_precision_is_kept(dtype, rng):
    d = (random_matrix(rng, len(I), 1, "c16" if dtype == "c8" else "f8")[:, 0] + 2.0).astype(dtype)
    for f, dense in CASES.values():
        value, slope = mo.value_and_grad(f)(d)
        assert value.dtype == np.float32 and slope.dtype == dtype
        np.testing.assert_allclose(slope, mo.grad(dense)(d), rtol=1e-3, atol=1e-4)


class TestSparse:
    @pytest.mark.parametrize("matrix", [poisson(12), convection_diffusion(12)], ids=["symmetric", "not symmetric"])
    def test_gradient_of_a_grid_is_the_inverse_on_the_pattern(self, matrix):
        matrix = scipy.sparse.csr_array(matrix)
        value, slope = mo.value_and_grad(lambda A: as_operator(A).logdet())(matrix)
        np.testing.assert_allclose(value, np.linalg.slogdet(matrix.toarray())[1], rtol=1e-12)
        i, j = matrix.nonzero()
        np.testing.assert_allclose(slope.data, np.linalg.inv(matrix.toarray())[j, i], rtol=1e-9, atol=1e-12)

    def test_memory_is_that_of_the_factors(self):
        matrix = scipy.sparse.csr_array(poisson(45))
        mo.grad(lambda A: as_operator(A).logdet())(scipy.sparse.csr_array(poisson(4)))
        tracemalloc.start()
        mo.grad(lambda A: as_operator(A).logdet())(matrix)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < matrix.shape[0] ** 2 * 8 / 2

    def test_entries_that_are_stored_twice_or_without_order(self, rng):
        A = Sparse(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1, 0, 1, 1, 0]), np.array([0, 3, 5]), (2, 2))
        slope = mo.grad(lambda A: A.logdet())(A)
        inverse = np.linalg.inv([[2.0, 4.0], [5.0, 4.0]])
        assert A.logdet() == pytest.approx(np.log(12.0))
        np.testing.assert_allclose(
            slope.data, [inverse[1, 0], inverse[0, 0], inverse[1, 0], inverse[1, 1], inverse[0, 1]]
        )

    def test_a_zero_that_elimination_makes(self):
        """The pattern of SuperLU's factors may then lack an entry that the recurrence reads."""
        a = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 2.0, 1.0, 1.0], [1.0, 1.0, 3.0, 2.0], [0.0, 1.0, 2.0, 5.0]])
        slope = mo.grad(lambda A: as_operator(A).logdet())(scipy.sparse.csr_array(a))
        np.testing.assert_allclose(slope.toarray(), np.where(a != 0, np.linalg.inv(a).T, 0.0), atol=1e-14)
        factors = scipy.sparse.linalg.splu(scipy.sparse.csc_array(a))
        i, j = np.nonzero(a)
        np.testing.assert_allclose(selected_inverse._by_columns(factors, i, j), np.linalg.inv(a)[j, i], atol=1e-14)

    @pytest.mark.parametrize("path", PATHS)
    def test_of_a_singular_matrix(self, path):
        A = scipy.sparse.csr_array((np.array([1.0, 2.0, 0.0]), ([0, 1, 1], [0, 0, 1])), shape=(2, 2))
        assert run_on(path)(logdet)(A) == -np.inf
        with pytest.raises(mo.MorulaError, match=r"Sparse\.logdet: no derivative, since the matrix is singular"):
            run_on(path)(slope)(A)

    def test_of_a_matrix_that_is_not_finite_or_empty(self):
        A = scipy.sparse.csr_array(np.array([[1.0, np.nan], [0.0, 1.0]]))
        assert np.isnan(logdet(A)) and logdet(scipy.sparse.csr_array((0, 0))) == 0.0
        with pytest.raises(mo.MorulaError, match="an entry that is not finite"):
            slope(A)


def logdet(A):
    return as_operator(A).logdet()


def slope(A):
    return mo.grad(logdet)(A)


class TestToeplitz:
    @pytest.mark.parametrize("path", PATHS)
    def test_a_minor_that_is_singular_needs_the_dense_matrix(self, path, rng):
        d = rng.standard_normal(12)
        d[0] = 0.0
        for got, expected in zip(
            run_on(path)(every_derivative(toeplitz))(d, d + 1), every_derivative(dense_toeplitz)(d, d + 1)
        ):
            np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-8)

    def test_an_ill_conditioned_covariance(self):
        """Its leading minors decay much faster than a geometric progression, but it is positive definite."""
        column = np.exp(-0.5 * (np.arange(40.0) / 2.0) ** 2)
        column[0] += 1e-6
        value, slope = mo.value_and_grad(lambda c: Toeplitz(c).logdet())(column)
        expected, exact = mo.value_and_grad(lambda c: np.linalg.slogdet(scipy.linalg.toeplitz(c))[1])(column)
        np.testing.assert_allclose(value, expected, rtol=1e-9)
        np.testing.assert_allclose(slope, exact, rtol=1e-5, atol=1e-5 * np.max(np.abs(exact)))

    def test_singular_and_rectangular_operators(self):
        assert Toeplitz(np.ones(3)).logdet() == -np.inf == Dense(np.ones((3, 3))).logdet()
        with pytest.raises(mo.BadInput, match=r"logdet: Toeplitz of shape \(2, 3\), expected a square operator"):
            Toeplitz(np.ones(2), np.ones(3)).logdet()

    def test_memory_grows_with_the_length(self):
        column = 0.5 ** np.arange(1500.0)
        mo.grad(lambda c: Toeplitz(c).logdet())(column[:4])
        tracemalloc.start()
        mo.grad(lambda c: Toeplitz(c).logdet())(column)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < column.size**2 * 8 / 10


class TestOtherStructures:
    @pytest.mark.parametrize("lower, upper", [(1, 1), (2, 1), (1, 3), (0, 2), (2, 0)])
    def test_of_bands_that_need_other_pivots(self, rng, lower, upper):
        bands = rng.standard_normal((lower + upper + 1, 7))
        bands[upper] *= 1e-3 if min(lower, upper) > 0 else 1.0

        def found(bands):
            return Banded(bands, lower, upper).logdet()

        def exact(bands):
            return np.linalg.slogdet(Banded(bands, lower, upper).todense())[1]

        np.testing.assert_allclose(found(bands), exact(bands), rtol=1e-12)
        np.testing.assert_allclose(mo.grad(found)(bands), mo.grad(exact)(bands), rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("target", ["native", "xla"])
    def test_of_bands_in_compiled_code(self, target, rng):
        bands = rng.standard_normal((4, 40))

        def found(bands):
            return Banded(bands, 2, 1).logdet()

        value, slope = mo.jit(mo.value_and_grad(found), target=target)(bands)
        A = Banded(bands, 2, 1).todense()
        np.testing.assert_allclose(value, np.linalg.slogdet(A)[1])
        np.testing.assert_allclose(slope[1], np.diagonal(np.linalg.inv(A)), rtol=1e-7, atol=1e-9)

    def test_of_rectangular_factors(self, rng):
        a, b = rng.standard_normal((2, 3)), rng.standard_normal((3, 2))
        for A in (Kronecker(a, b), BlockDiagonal([a, b]), Dense(a) @ Dense(b)):
            np.testing.assert_allclose(A.logdet(), np.linalg.slogdet(A.todense() + 0.0)[1], rtol=1e-9)
        J = Jacobian(lambda x: np.sin(x) * x[0], np.array([1.0, 2.0]))
        np.testing.assert_allclose(J.T.logdet(), np.log(abs(np.linalg.det(J.todense()))))
        np.testing.assert_allclose(J.T.diag(), np.diagonal(J.todense()))
