"""What all iterative methods have in common: results, statuses, kinds of matrices, derivatives, compiled programs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from krylov_methods import SQUARE, convection_diffusion, matrix_for, poisson, random_matrix
from scipy.sparse.linalg import LinearOperator as ScipyLinearOperator, aslinearoperator

import morula as mo
from morula.linalg import Dense, Diagonal, FunctionOperator, Sparse, Status, as_operator

FORMATS = ("csr", "csc", "coo", "dia", "bsr", "lil", "dok")


@pytest.fixture(params=SQUARE)
def name(request):
    return request.param


@pytest.fixture
def method(name):
    return SQUARE[name]


class TestSolution:
    @pytest.mark.parametrize("dtype, error", [("f8", 1e-8), ("c16", 1e-8), ("f4", 1e-3), ("c8", 1e-3)])
    @pytest.mark.parametrize("n", [0, 1, 2, 15])
    def test_solves_in_the_dtype_given(self, name, method, rng, n, dtype, error):
        A = matrix_for(name, rng, n, dtype)
        x = np.ones(n, dtype)
        found = method(A, A @ x)
        assert found.converged and found.status is Status.CONVERGED and "meets the tolerance" in found.message
        assert found.x.dtype == dtype
        np.testing.assert_allclose(found.x, x, rtol=error)

    def test_solves_the_equation_of_a_grid(self, name, method, rng):
        A = poisson(12) if name in ("cg", "minres", "symmlq") else convection_diffusion(12)
        b = rng.standard_normal(144)
        found = method(A, b)
        assert found.converged
        np.testing.assert_allclose(found.x, np.linalg.solve(A.toarray(), b), rtol=1e-7, atol=1e-8)

    def test_a_real_right_hand_side_of_a_complex_matrix(self, name, method, rng):
        A, b = matrix_for(name, rng, 6, "c16"), rng.standard_normal(6)
        np.testing.assert_allclose(method(A, b).x, np.linalg.solve(A, b), rtol=1e-8)
        real = matrix_for(name, rng, 6)
        np.testing.assert_allclose(method(real, 1j * b).x, np.linalg.solve(real, 1j * b), rtol=1e-8)

    def test_the_history_begins_at_the_start_and_ends_at_the_true_residual(self, name, method, rng):
        A, b = matrix_for(name, rng, 20), rng.standard_normal(20)
        found = method(A, b, rtol=1e-6)
        assert found.history.shape == (found.iterations + 1,)
        assert found.history[0] == pytest.approx(np.linalg.norm(b))
        assert found.history[-1] == found.residual_norm == pytest.approx(np.linalg.norm(b - A @ found.x), rel=1e-5)
        assert found.residual_norm <= 1e-6 * np.linalg.norm(b)

    def test_several_right_hand_sides(self, name, method, rng):
        A, b = matrix_for(name, rng, 8), rng.standard_normal((8, 3))
        b[:, 1] = 0.0
        found = method(A, b)
        assert found.converged and found.residual_norm.shape == (3,)
        assert found.history.shape == (found.iterations + 1, 3)
        np.testing.assert_allclose(found.history[-1], found.residual_norm)
        np.testing.assert_allclose(found.x, np.linalg.solve(A, b), rtol=1e-7)
        alone = method(A, b[:, 2])
        np.testing.assert_allclose(found.x[:, 2], alone.x, rtol=1e-12)
        assert method(A, b, x0=found.x).iterations <= 1

    def test_a_right_hand_side_of_zeros(self, method):
        found = method(np.eye(3), np.zeros(3))
        assert found.converged and found.iterations == 0 and found.x.tolist() == [0, 0, 0]

    @pytest.mark.parametrize("scale", [1e-200, 1e200])
    def test_a_right_hand_side_whose_square_is_no_number(self, name, method, rng, scale):
        A, x = matrix_for(name, rng, 5), scale * np.arange(1.0, 6.0)
        found = method(A, A @ x)
        assert found.converged
        np.testing.assert_allclose(found.x / x, 1, rtol=1e-6)


class TestStatus:
    def test_too_few_iterations(self, name, method, rng):
        A = matrix_for(name, rng, 30)
        found = method(A, rng.standard_normal(30), max_iterations=1, rtol=1e-14)
        assert found.status is Status.MAX_ITERATIONS and found.iterations == 1 and not found.converged
        assert "maximum number of iterations" in found.message
        assert method(A, np.ones(30), max_iterations=0).iterations == 0

    def test_a_gradient_of_a_solve_that_did_not_converge_is_an_error(self, name, method, rng):
        A, b = matrix_for(name, rng, 20), rng.standard_normal(20)
        with pytest.raises(
            mo.MorulaError, match="no gradient, since the solve did not converge .*raise max_iterations"
        ):
            mo.gradient(lambda b: np.sum(method(A, b, max_iterations=1, rtol=1e-12).x), b)

    def test_of_a_matrix_that_gives_nan(self, name, method):
        with pytest.raises(mo.MorulaError, match=f"{name}: A applied to a finite vector gave NaN or Inf"):
            method(FunctionOperator(lambda x: np.nan * x, (3, 3)), np.ones(3))


class TestKindsOfMatrices:
    @pytest.mark.parametrize("format", FORMATS)
    def test_of_scipy_sparse(self, name, method, rng, format):
        A, b = matrix_for(name, rng, 8), rng.standard_normal(8)
        found = method(scipy.sparse.csr_array(A).asformat(format), b)
        np.testing.assert_allclose(found.x, np.linalg.solve(A, b), rtol=1e-8)

    def test_operators_functions_and_lists(self, name, method, rng):
        A, b = matrix_for(name, rng, 8), rng.standard_normal(8)
        for given in (A, A.tolist(), Dense(A), aslinearoperator(A), lambda x: A @ x, scipy.sparse.csr_matrix(A)):
            np.testing.assert_allclose(method(given, b).x, np.linalg.solve(A, b), rtol=1e-8)

    def test_their_gradients(self, name, method, rng):
        A, b, w = matrix_for(name, rng, 6), rng.standard_normal(6), rng.standard_normal(6)
        dual = np.linalg.solve(A.T, w)
        dA = -np.outer(dual, np.linalg.solve(A, b))

        def loss(A, b):
            return np.dot(w, method(A, b).x)

        for format in ("csr", "csc", "coo", "bsr"):
            sparse, db = mo.gradient(loss, scipy.sparse.csr_array(A).asformat(format), b)
            np.testing.assert_allclose(db, dual, rtol=1e-7)
            order = np.sort(dA.ravel())
            np.testing.assert_allclose(np.sort(np.ravel(sparse.data)), order, rtol=1e-7, atol=1e-9)
        found, _ = mo.gradient(lambda A, b: loss(lambda x: A @ x, b), A, b)
        np.testing.assert_allclose(found, dA, rtol=1e-7, atol=1e-9)
        scipys = ScipyLinearOperator((6, 6), matvec=lambda x: A @ x, rmatvec=lambda x: A.T @ x, dtype=np.float64)
        np.testing.assert_allclose(mo.grad(lambda b: loss(scipys, b))(b), dual, rtol=1e-7)

    def test_gradients_keep_the_pattern(self, name, method, rng):
        A = poisson(4)
        (d,) = mo.gradient(lambda A: np.sum(method(A, np.ones(16)).x), A)
        assert d.data.shape == A.data.shape
        x = np.linalg.solve(A.toarray(), np.ones(16))
        rows = np.repeat(np.arange(16), np.diff(A.indptr))
        np.testing.assert_allclose(d.data, -x[rows] * x[A.indices], rtol=1e-7)


class TestDerivatives:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_reverse_and_forward_agree_with_the_closed_form(self, name, method, rng, dtype):
        A, b, w = matrix_for(name, rng, 6, dtype), random_matrix(rng, 6, 1, dtype)[:, 0], rng.standard_normal(6)
        E = matrix_for(name, rng, 6, dtype)  # a direction that keeps the structure
        e = random_matrix(rng, 6, 1, dtype)[:, 0]
        x = np.linalg.solve(A, b)

        def loss(A, b):
            return np.sum(w * np.abs(method(A, b, rtol=1e-13).x) ** 2)

        exact = np.sum(2 * w * np.real(np.conj(x) * np.linalg.solve(A, e - E @ x)))
        _, forward = mo.jvp(loss, (A, b), (E, e))
        dA, db = mo.gradient(loss, A, b)
        reverse = np.sum(np.real(np.conj(dA) * E)) + np.sum(np.real(np.conj(db) * e))
        assert forward == pytest.approx(exact, rel=1e-9)
        assert reverse == pytest.approx(forward, rel=1e-11)

    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_forward_and_reverse_agree_to_rounding_with_a_tight_tolerance(self, name, method, rng, dtype):
        A, b, w = matrix_for(name, rng, 12, dtype), random_matrix(rng, 12, 1, dtype)[:, 0], rng.standard_normal(12)
        E, e = matrix_for(name, rng, 12, dtype), random_matrix(rng, 12, 1, dtype)[:, 0]

        def loss(A, b):
            return np.sum(w * np.abs(method(A, b, rtol=1e-15).x) ** 2)

        _, forward = mo.jvp(loss, (A, b), (E, e))
        dA, db = mo.gradient(loss, A, b)
        terms = np.concatenate([np.ravel(np.conj(dA) * E), np.conj(db) * e])
        assert abs(np.sum(np.real(terms)) - forward) < 1e-12 * np.sum(np.abs(terms))

    def test_through_the_iterations(self, name, method, rng):
        A, b = matrix_for(name, rng, 5), rng.standard_normal(5)

        def loss(s, b, adjoint):
            return np.sum(method(A + s * np.eye(5), b, rtol=1e-13, adjoint=adjoint).x ** 2)

        unrolled = mo.gradient(lambda s, b: loss(s, b, "unrolled"), 0.3, b)
        implicit = mo.gradient(lambda s, b: loss(s, b, "implicit"), 0.3, b)
        assert unrolled[0] == pytest.approx(implicit[0], rel=1e-6)
        np.testing.assert_allclose(unrolled[1], implicit[1], rtol=1e-6)

    def test_through_the_iterations_of_a_solve_that_is_cut_short(self, name, method, rng):
        A, b = matrix_for(name, rng, 6), rng.standard_normal(6)

        def loss(s, b):
            return np.sum(method(A + s * np.eye(6), b, max_iterations=2, adjoint="unrolled").x ** 2)

        mo.testing.check_gradients(loss, 0.3, b, order=1)

    def test_of_several_right_hand_sides(self, name, method, rng):
        A, b = matrix_for(name, rng, 5), rng.standard_normal((5, 2))
        found = mo.gradient(lambda A, b: np.sum(method(A, b).x ** 2), A, b)
        directly = mo.gradient(lambda A, b: np.sum(np.linalg.solve(A, b) ** 2), A, b)
        for got, expected in zip(found, directly):
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)

    def test_to_second_order(self, name, method, rng):
        A = matrix_for(name, rng, 4)

        def loss(s):
            return np.sum(method(A + np.diag(s), 1.0 + s, rtol=1e-13).x ** 2)

        directly = mo.hessian(lambda s: np.sum(np.linalg.solve(A + np.diag(s), 1.0 + s) ** 2))(np.ones(4))
        np.testing.assert_allclose(mo.hessian(loss)(np.ones(4)), directly, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("target", ["native", "xla"])
class TestCompiled:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_a_solve_and_its_gradient(self, name, method, rng, target, dtype):
        if dtype == "c16" and target == "xla" and name not in ("cg", "gmres"):
            pytest.skip("native code runs the complex recurrences of all methods")
        A, b = matrix_for(name, rng, 6, dtype), random_matrix(rng, 6, 1, dtype)[:, 0]

        def loss(A, b):
            return np.sum(np.abs(method(A, b).x) ** 2)

        value, (dA, db) = mo.jit(mo.value_and_grad(loss, (0, 1)), target=target)(A, b)
        expected, (eA, eb) = mo.value_and_grad(lambda A, b: np.sum(np.abs(np.linalg.solve(A, b)) ** 2), (0, 1))(A, b)
        assert value == pytest.approx(expected, rel=1e-7)
        np.testing.assert_allclose(db, eb, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(dA, eA, rtol=1e-6, atol=1e-9)

    def test_the_result(self, name, method, rng, target):
        A, b = matrix_for(name, rng, 6), rng.standard_normal(6)
        found, expected = mo.jit(lambda A, b: method(A, b), target=target)(A, b), method(A, b)
        assert found.converged and found.iterations == expected.iterations
        np.testing.assert_allclose(found.x, expected.x, rtol=1e-8)
        np.testing.assert_allclose(found.history, expected.history, rtol=1e-3, atol=1e-9)

    def test_many_right_hand_sides_by_vmap(self, name, method, rng, target):
        if name not in ("cg", "gmres"):
            pytest.skip("the loop is the same for all methods")
        A, b = matrix_for(name, rng, 5), rng.standard_normal((3, 5))
        found = mo.jit(mo.vmap(lambda b: method(A, b).x), target=target)(b)
        np.testing.assert_allclose(found, np.linalg.solve(A, b.T).T, rtol=1e-8)

    def test_a_sparse_matrix(self, name, method, target):
        if name not in ("cg", "gmres"):
            pytest.skip("what a method does with a sparse matrix does not depend on the method")
        A, b = poisson(3), np.arange(1.0, 10.0)
        value = mo.jit(lambda A, b: np.sum(method(A, b).x ** 2), target=target)(A, b)

        def loss(data, b):
            return np.sum(method(Sparse(data, A.indices, A.indptr, A.shape), b).x ** 2)

        again, (dA, db) = mo.jit(mo.value_and_grad(loss, (0, 1)), target=target)(A.data, b)
        expected, (eA, eb) = mo.value_and_grad(loss, (0, 1))(A.data, b)
        assert value == pytest.approx(expected, rel=1e-8) and again == pytest.approx(expected, rel=1e-8)
        np.testing.assert_allclose(dA, eA, rtol=1e-6)
        np.testing.assert_allclose(db, eb, rtol=1e-6)


class TestBadInput:
    @pytest.mark.parametrize(
        "given, message",
        [
            ((np.ones((2, 3)), np.ones(3)), r": A has shape \(2, 3\), expected a square operator"),
            ((np.eye(3), np.ones(2)), r": b has shape \(2,\), expected \(3,\) or \(3, k\) for A of shape \(3, 3\)"),
            ((np.eye(3), np.ones(3), np.ones(2)), r": x0 has shape \(2,\), expected \(3,\)"),
            ((np.eye(3), np.ones(3), None, np.eye(2)), r"the preconditioner has shape \(2, 2\), expected \(3, 3\)"),
            ((np.eye(3), np.ones(3), None, "ilu"), "the preconditioner is a str, expected a linear operator"),
            (("A", np.ones(3)), ": A is a str, expected a linear operator or a matrix"),
            ((np.ones(3), np.ones(3)), r": A is an array of shape \(3,\), expected a linear operator or a matrix"),
            ((np.eye(3), np.array([1.0, np.nan, 0.0])), ": b holds NaN or Inf"),
            ((np.eye(3), np.ones(3), np.full(3, np.inf)), ": x0 holds NaN or Inf"),
        ],
    )
    def test_says_what_was_given_and_what_was_expected(self, name, method, given, message):
        with pytest.raises(mo.BadInput, match=name + ".*" + message):
            method(*given)

    def test_options(self, name, method):
        with pytest.raises(mo.BadInput, match=f"{name}: rtol is 0.0 and atol is 0.0, expected one of them positive"):
            method(np.eye(3), np.ones(3), rtol=0.0)
        with pytest.raises(mo.BadInput, match=f'{name}: adjoint is .none., expected "implicit" or "unrolled"'):
            method(np.eye(3), np.ones(3), adjoint="none")


class TestConversion:
    @pytest.mark.parametrize("format", FORMATS)
    @pytest.mark.parametrize("dtype", ["f8", "c16", "f4", "i8"])
    def test_a_sparse_matrix_of_any_format_is_an_operator(self, rng, format, dtype):
        matrix = (5 * random_matrix(rng, 4, 6, "c16" if dtype == "c16" else "f8")).astype(dtype)
        matrix[np.abs(matrix) < 3] = 0
        A = as_operator(scipy.sparse.csr_array(matrix).asformat(format))
        assert isinstance(A, Sparse) and A.shape == (4, 6)
        assert A.dtype == (np.float64 if dtype == "i8" else dtype)
        x, y = rng.standard_normal(6), rng.standard_normal((4, 2))
        np.testing.assert_allclose(A @ x, matrix @ x, rtol=1e-5)
        np.testing.assert_allclose(A.T @ y, matrix.T @ y, rtol=1e-5)
        np.testing.assert_allclose(A.H @ (1j * y), matrix.conj().T @ (1j * y), rtol=1e-5)
        np.testing.assert_allclose(A.todense(), matrix)
        np.testing.assert_allclose(A.T.tocsr().toarray(), matrix.T)

    def test_the_transpose_of_scipys_operator_is_its_rmatvec(self, rng):
        matrix = random_matrix(rng, 3, 4, "c16")
        A = as_operator(aslinearoperator(matrix))
        np.testing.assert_allclose(A.T.todense(), matrix.T)
        np.testing.assert_allclose(A.H.todense(), matrix.conj().T)
        np.testing.assert_allclose(A.T.T.todense(), matrix)
        assert as_operator(aslinearoperator(Diagonal(np.ones(2)).todense())).dtype == np.float64

    def test_arrays_that_do_not_fit_each_other(self):
        with pytest.raises(mo.BadInput, match=r"indptr has shape \(2,\), expected \(3,\)"):
            Sparse(np.ones(1), np.zeros(1, int), np.array([0, 1]), (2, 2))
        with pytest.raises(mo.BadInput, match=r"data and indices have shapes \(2,\) and \(1,\)"):
            Sparse(np.ones(2), np.zeros(1, int), np.array([0, 1, 1]), (2, 2))


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "c16", "f4"])
def test_the_products_of_a_sparse_operator_and_their_gradients_in_compiled_code(rng, target, by_columns, dtype):
    matrix = random_matrix(rng, 5, 7, dtype)
    matrix[np.abs(matrix) < 0.6] = 0
    stored = scipy.sparse.csc_array(matrix) if by_columns else scipy.sparse.csr_array(matrix)
    x, y = random_matrix(rng, 7, 2, dtype), random_matrix(rng, 5, 1, dtype)[:, 0]

    def loss(data, x, y):
        A = Sparse(data, stored.indices, stored.indptr, (5, 7), by_columns)
        return np.sum(np.abs(A @ x) ** 2) + np.sum(np.abs(A @ x[:, 0] + y) ** 2) + np.sum(np.abs(A.H @ y) ** 2)

    value, found = mo.jit(mo.value_and_grad(loss, (0, 1, 2)), target=target)(stored.data, x, y)
    expected, exact = mo.value_and_grad(loss, (0, 1, 2))(stored.data, x, y)
    rtol = 1e-4 if dtype == "f4" else 1e-12
    assert value == pytest.approx(expected, rel=rtol)
    for got, e in zip(found, exact):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, e, rtol=rtol, atol=rtol)
