"""Preconditioners: what they are, how many iterations they spare, compiled and transposed, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from krylov_methods import convection_diffusion, poisson

import morula as mo
from morula.linalg import FunctionOperator, Identity, bicgstab, cg, gmres, idrs, minres
from morula.linalg.preconditioners import InverseTriangular, Permutation, ic0, ilu0, incomplete_lu, jacobi, ssor


def band(n, dtype=np.float64):
    """A tridiagonal matrix, whose factors have no fill, not symmetric."""
    rng = np.random.default_rng(3)
    main, above, below = 4 + rng.random(n), rng.standard_normal(n - 1), rng.standard_normal(n - 1)
    matrix = np.diag(main).astype(dtype) + np.diag(above, 1) + np.diag(below, -1)
    return matrix + 1j * np.diag(above, 1) if np.dtype(dtype).kind == "c" else matrix


class TestOperators:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    @pytest.mark.parametrize("lower", [True, False])
    def test_the_inverse_of_a_triangular_matrix(self, rng, dtype, lower):
        full = band(6, dtype) + (rng.standard_normal((6, 6)) > 1)
        part = np.tril(full, -1) if lower else np.triu(full, 1)
        sparse, diagonal = scipy.sparse.csr_array(part), np.diagonal(full)
        inverse = InverseTriangular(sparse.data, sparse.indices, sparse.indptr, diagonal, lower)
        exact = np.linalg.inv(part + np.diag(diagonal))
        np.testing.assert_allclose(inverse.todense(), exact, atol=1e-14)
        np.testing.assert_allclose(inverse.T.todense(), exact.T, atol=1e-14)
        np.testing.assert_allclose(inverse.H.todense(), exact.conj().T, atol=1e-14)

    def test_a_permutation_and_its_transpose(self):
        P = Permutation(np.array([2, 0, 1]))
        np.testing.assert_array_equal(P.todense(), np.eye(3)[[2, 0, 1]])
        np.testing.assert_array_equal((P.T @ P).todense(), np.eye(3))
        with pytest.raises(mo.BadInput, match="order is not a permutation of 0 to n - 1"):
            Permutation(np.array([0, 0]))


class TestFactorisations:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    @pytest.mark.parametrize("make", [ilu0, incomplete_lu])
    def test_without_fill_they_are_exact(self, make, dtype):
        A = band(12, dtype)
        M = make(scipy.sparse.csr_array(A))
        np.testing.assert_allclose(M.todense() @ A, np.eye(12), atol=1e-10)
        np.testing.assert_allclose(M.H.todense() @ A.conj().T, np.eye(12), atol=1e-10)

    def test_ilu0_reproduces_the_matrix_on_its_pattern(self):
        A = convection_diffusion(6)
        product = np.linalg.inv(ilu0(A).todense())
        rows, columns = A.nonzero()
        np.testing.assert_allclose(product[rows, columns], A.toarray()[rows, columns], atol=1e-12)
        assert not np.allclose(product, A.toarray())

    def test_ic0_is_hermitian_positive_definite_and_agrees_with_ilu0(self):
        A = poisson(5)
        M = ic0(A).todense()
        np.testing.assert_allclose(M, M.T, atol=1e-14)
        assert np.all(np.linalg.eigvalsh(M) > 0)
        np.testing.assert_allclose(M, ilu0(A).todense(), atol=1e-12)

    def test_ssor_is_its_formula(self):
        A, omega = convection_diffusion(4).toarray(), 1.3
        D, L, U = np.diag(np.diagonal(A)), np.tril(A, -1), np.triu(A, 1)
        exact = omega * (2 - omega) * np.linalg.inv(D + omega * U) @ D @ np.linalg.inv(D + omega * L)
        np.testing.assert_allclose(ssor(A, omega).todense(), exact, atol=1e-14)

    def test_jacobi_takes_any_operator(self):
        A = convection_diffusion(3)
        expected = 1 / A.diagonal()
        for given in (A, A.toarray(), 1.0 * mo.linalg.as_operator(A), A.tocsc()):
            np.testing.assert_allclose(jacobi(given).diagonal, expected)
        shifted = mo.linalg.as_operator(A) + 2.0 * Identity(9)
        np.testing.assert_allclose(jacobi(shifted).diagonal, 1 / (A.diagonal() + 2))


class TestSolves:
    @pytest.mark.parametrize("make, factor", [(jacobi, 1.0), (ssor, 1.8), (ic0, 2.2), (incomplete_lu, 6.0)])
    @pytest.mark.parametrize("method", [cg, minres])
    def test_iterations_of_hermitian_methods(self, make, factor, method, rng):
        A, b = poisson(24), rng.standard_normal(576)
        plain, helped = method(A, b), method(A, b, preconditioner=make(A))
        assert helped.converged and helped.iterations * factor <= plain.iterations
        np.testing.assert_allclose(A @ helped.x, b, atol=1e-8)

    @pytest.mark.parametrize("make, factor", [(ssor, 1.5), (ilu0, 2.0), (incomplete_lu, 5.0)])
    @pytest.mark.parametrize("method", [gmres, bicgstab, idrs])
    def test_iterations_of_general_methods(self, make, factor, method, rng):
        A, b = convection_diffusion(20), rng.standard_normal(400)
        plain, helped = method(A, b), method(A, b, preconditioner=make(A))
        assert helped.converged and helped.iterations * factor <= plain.iterations
        np.testing.assert_allclose(A @ helped.x, b, atol=1e-8)

    @pytest.mark.parametrize("method, make", [(cg, ic0), (gmres, ilu0), (bicgstab, incomplete_lu), (minres, ssor)])
    def test_gradients_do_not_depend_on_them(self, method, make, rng):
        A = poisson(5) if method in (cg, minres) else convection_diffusion(5)
        b, M = rng.standard_normal(25), make(A)
        plain = mo.gradient(lambda A, b: np.sum(method(A, b).x ** 2), A, b)
        helped = mo.gradient(lambda A, b: np.sum(method(A, b, preconditioner=M).x ** 2), A, b)
        np.testing.assert_allclose(helped[0].data, plain[0].data, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(helped[1], plain[1], rtol=1e-6)
        inside = mo.grad(lambda A: np.sum(method(A, b, preconditioner=make(A)).x ** 2))(A)
        np.testing.assert_allclose(inside.data, plain[0].data, rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("target", ["native", "xla"])
    def test_in_compiled_code(self, target, rng):
        A, b = convection_diffusion(4), rng.standard_normal(16)
        M = ilu0(A)

        def loss(b):
            return np.sum(gmres(A, b, preconditioner=M).x ** 2)

        value, db = mo.jit(mo.value_and_grad(loss), target=target)(b)
        x = np.linalg.solve(A.toarray(), b)
        assert value == pytest.approx(np.sum(x**2), rel=1e-8)
        np.testing.assert_allclose(db, np.linalg.solve(A.toarray().T, 2 * x), rtol=1e-7)

    def test_a_function_as_preconditioner(self, rng):
        A, b = convection_diffusion(5), rng.standard_normal(25)
        diagonal = A.diagonal()
        dual = np.linalg.solve(A.toarray().T, np.ones(25))
        for method in (gmres, bicgstab, idrs):
            found = mo.grad(lambda b: np.sum(method(A, b, preconditioner=lambda r: r / diagonal).x))(b)
            np.testing.assert_allclose(found, dual, rtol=1e-7)

    def test_flexible_gmres_takes_an_iteration(self, rng):
        A, b = convection_diffusion(12), rng.standard_normal(144)

        def inner(r):
            return gmres(A, r, max_iterations=5).x

        found = gmres(A, b, preconditioner=inner, flexible=True)
        assert found.converged and found.iterations < gmres(A, b).iterations / 3
        given = FunctionOperator(inner, (144, 144), transpose=lambda r: gmres(A.T, r, max_iterations=5).x)
        db = mo.grad(lambda b: np.sum(gmres(A, b, preconditioner=given, flexible=True).x))(b)
        np.testing.assert_allclose(db, np.linalg.solve(A.toarray().T, np.ones(144)), rtol=1e-7)


class TestBadInput:
    @pytest.mark.parametrize(
        "make, error, message",
        [
            (lambda: ilu0(np.ones((2, 3))), mo.BadInput, r"ilu0: A has shape \(2, 3\), expected a square matrix"),
            (lambda: ssor(np.ones((2, 3))), mo.BadInput, r"ssor: A has shape \(2, 3\)"),
            (lambda: jacobi(np.ones((2, 3))), mo.BadInput, r"jacobi: A has shape \(2, 3\)"),
            (lambda: ilu0(Identity(2)), mo.BadInput, "A is a Identity, whose entries are not stored"),
            (lambda: ssor(np.eye(2), 2.0), mo.BadInput, "omega is 2.0, expected a number between 0 and 2"),
            (lambda: jacobi(np.diag([1.0, 0.0])), mo.MorulaError, "jacobi: the diagonal of A is zero in row 1"),
            (lambda: ssor(np.diag([1.0, 0.0])), mo.MorulaError, "ssor: the diagonal of A is zero in row 1"),
            (
                lambda: ilu0(np.array([[0.0, 1], [1, 1]])),
                mo.MorulaError,
                "pivot of row 0 is zero, since A has no entry",
            ),
            (lambda: ilu0(np.ones((2, 2))), mo.MorulaError, "the pivot of row 1 is zero; add a multiple"),
            (lambda: ic0(np.array([[1.0, 2], [2, 1]])), mo.MorulaError, "the pivot of row 1 is -3, not positive"),
            (
                lambda: incomplete_lu(np.zeros((2, 2))),
                mo.MorulaError,
                "incomplete_lu: A is singular; add a multiple of the",
            ),
        ],
    )
    def test_says_what_was_wrong(self, make, error, message):
        with pytest.raises(error, match=message):
            make()
