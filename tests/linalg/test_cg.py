"""Conjugate gradients: the solution, its gradient, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.linalg import Dense, Diagonal, FunctionOperator, Identity, cg


def positive_definite(rng, n, dtype=np.float64):
    a = rng.standard_normal((n, n))
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal((n, n))
    return (a @ a.conj().T + n * np.eye(n)).astype(dtype)


def conductor(u, k):
    """-(k u')' on a line of cells with u = 0 at both ends; k lives between the cells."""
    flux = k * np.diff(np.concatenate([np.zeros(1), u, np.zeros(1)]))
    return -np.diff(flux)


class TestSolution:
    @pytest.mark.parametrize("dtype, error", [("f8", 1e-9), ("c16", 1e-9), ("f4", 1e-4), ("c8", 1e-4)])
    @pytest.mark.parametrize("n", [0, 1, 2, 20])
    def test_solves_in_the_dtype_given(self, rng, n, dtype, error):
        A = positive_definite(rng, n, dtype)
        x = np.ones(n, dtype)
        solution = cg(A, A @ x)
        assert solution.converged
        assert solution.x.dtype == dtype
        assert np.allclose(solution.x, x, rtol=error)

    def test_takes_as_many_steps_as_there_are_different_eigenvalues(self, rng):
        solution = cg(Diagonal(np.repeat([1.0, 2.0, 5.0], 20)), rng.standard_normal(60))
        assert solution.converged and solution.iterations == 3

    def test_the_residual_norm_is_the_true_one(self, rng):
        A, b = positive_definite(rng, 30), rng.standard_normal(30)
        solution = cg(A, b, rtol=1e-6)
        assert np.isclose(solution.residual_norm, np.linalg.norm(b - A @ solution.x), rtol=1e-6)
        assert solution.residual_norm <= 1e-6 * np.linalg.norm(b)

    def test_a_preconditioner_spares_iterations(self, rng):
        A = Diagonal(np.logspace(0, 6, 50)) + Dense(0.01 * positive_definite(rng, 50) / 50)
        b = rng.standard_normal(50)
        plain = cg(A, b, max_iterations=5000)
        helped = cg(A, b, preconditioner=Diagonal(1 / np.diag(A.todense())))
        assert helped.converged and helped.iterations < plain.iterations / 5
        assert np.allclose(A @ helped.x, b)

    def test_a_start_near_the_solution_spares_iterations(self, rng):
        A, x = positive_definite(rng, 30), rng.standard_normal(30)
        far = cg(A, A @ x)
        near = cg(A, A @ x, x0=x + 1e-8)
        assert near.converged and near.iterations < far.iterations / 1.5
        assert cg(A, A @ x, x0=x).iterations == 0

    @pytest.mark.parametrize("scale, dtype", [(1e-200, "f8"), (1e200, "f8"), (1e-30, "f4"), (1e30, "c8")])
    def test_a_right_hand_side_whose_square_is_no_number(self, rng, scale, dtype):
        A, x = positive_definite(rng, 5, dtype), np.array(scale * np.arange(1, 6), dtype)
        solution = cg(A, A @ x)
        assert solution.converged and np.allclose(solution.x / x, 1, rtol=1e-4)

    def test_nothing_to_solve(self):
        assert cg(np.eye(3), np.zeros(3)).x.tolist() == [0, 0, 0]

    def test_an_ill_conditioned_system_is_solved_to_its_residual(self):
        n = 12
        hilbert = 1 / (np.arange(n)[:, None] + np.arange(n) + 1.0)
        solution = cg(hilbert, np.ones(n) @ hilbert, max_iterations=1000)
        assert solution.converged and np.linalg.norm(hilbert @ (solution.x - 1)) < 1e-9

    def test_too_few_iterations_say_so(self, rng):
        solution = cg(positive_definite(rng, 30), rng.standard_normal(30), max_iterations=2)
        assert not solution.converged and solution.iterations == 2


class TestImplicitGradient:
    def test_of_the_right_hand_side_and_a_matrix(self, rng):
        A, b, w = positive_definite(rng, 6), rng.standard_normal(6), rng.standard_normal(6)
        dA, db = mo.gradient(lambda A, b: np.dot(w, cg(A, b).x), A, b)
        dual = np.linalg.solve(A, w)
        assert np.allclose(db, dual)
        assert np.allclose(dA, -np.outer(dual, np.linalg.solve(A, b)))

    def test_of_a_dense_operator_has_its_structure(self, rng):
        A, b = positive_definite(rng, 4), rng.standard_normal(4)
        (dA,) = mo.gradient(lambda A: np.sum(cg(A, b).x), Dense(A))
        assert isinstance(dA, Dense)
        assert np.allclose(dA.matrix, -np.outer(np.linalg.solve(A, np.ones(4)), np.linalg.solve(A, b)))

    def test_of_a_diagonal(self):
        d, b = np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0, 7.0])
        (dd,) = mo.gradient(lambda d: np.sum(cg(Diagonal(d), b).x), d)
        assert np.allclose(dd, -b / d**2)

    @pytest.mark.parametrize("how", ["a parameter", "a closed-over variable", "an attribute"])
    def test_reaches_what_a_function_computes_with_as(self, how, rng):
        b, w = rng.standard_normal(5), rng.standard_normal(5)

        class Rod:
            def __init__(self, k):
                self.k = k

            def __call__(self, u):
                return conductor(u, self.k)

        def loss(k):
            if how == "a parameter":
                A = FunctionOperator(conductor, (5, 5), (k,))
            elif how == "a closed-over variable":
                A = FunctionOperator(lambda u: conductor(u, k), (5, 5))
            else:
                A = FunctionOperator(Rod(k), (5, 5))
            return np.dot(w, cg(A, b).x)

        k = rng.uniform(1, 2, 6)
        matrix = FunctionOperator(conductor, (5, 5), (k,)).todense()
        x, dual = (np.concatenate([[0], np.linalg.solve(matrix, v), [0]]) for v in (b, w))
        assert np.allclose(mo.grad(loss)(k), -np.diff(dual) * np.diff(x))

    def test_through_sums_products_and_multiples(self, rng):
        C, b = rng.standard_normal((4, 4)), rng.standard_normal(4)

        def loss(C, d, s):
            A = Dense(C).T @ Diagonal(d) @ Dense(C) + s * Identity(4)
            return np.sum(cg(A, b).x ** 2)

        mo.testing.check_gradients(loss, C, rng.uniform(1, 2, 4), 1.5, order=1)

    def test_of_a_complex_hermitian_system(self, rng):
        H, C = positive_definite(rng, 4, "c16"), rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4))
        b = rng.standard_normal(4) + 1j * rng.standard_normal(4)

        def loss(t, b):
            A = H + t * (C + np.conj(C.T))
            return np.sum(np.abs(cg(A, b).x) ** 2)

        mo.testing.check_gradients(loss, 0.1, b, order=1)

    def test_matches_differentiating_a_direct_solve(self, rng):
        A, b = positive_definite(rng, 5, "c16"), rng.standard_normal(5) + 1j * rng.standard_normal(5)
        by_cg = mo.gradient(lambda A, b: np.abs(np.sum(cg(A, b).x)), A, b)
        directly = mo.gradient(lambda A, b: np.abs(np.sum(np.linalg.solve(A, b))), A, b)
        assert all(np.allclose(g, h) for g, h in zip(by_cg, directly))

    def test_to_second_order(self, rng):
        b = rng.standard_normal(3)
        mo.testing.check_gradients(lambda d: np.sum(cg(Diagonal(d), d * b).x ** 3), rng.uniform(1, 2, 3), order=2)
        hessian = mo.hessian(lambda d: np.sum(cg(Diagonal(d), b).x))(np.array([1.0, 2.0, 4.0]))
        assert np.allclose(hessian, np.diag(2 * b / np.array([1.0, 2.0, 4.0]) ** 3))

    def test_does_not_depend_on_start_or_preconditioner(self, rng):
        A, b = positive_definite(rng, 5), rng.standard_normal(5)

        def loss(b, x0, m):
            return np.sum(cg(A, b, x0=x0, preconditioner=Diagonal(m)).x)

        db, dx0, dm = mo.gradient(loss, b, np.ones(5), 1 / np.diag(A))
        assert np.allclose(db, np.linalg.solve(A, np.ones(5)))
        assert not np.any(dx0) and not np.any(dm)

    def test_float32_stays_float32(self, rng):
        A, b = positive_definite(rng, 4, "f4"), np.ones(4, np.float32)
        dA, db = mo.gradient(lambda A, b: np.sum(cg(A, b).x), A, b)
        assert dA.dtype == db.dtype == np.float32
        assert np.allclose(db, np.linalg.solve(A, np.ones(4)), rtol=1e-3)

    def test_costs_one_more_solve_and_not_a_tape_of_the_first(self, rng):
        products = 0

        def apply(x, d):
            nonlocal products
            products += 1
            return d * x

        d, b = np.logspace(0, 3, 40), rng.standard_normal(40)
        (dd,) = mo.gradient(lambda d: np.sum(cg(FunctionOperator(apply, (40, 40), (d,)), b).x), d)
        taken = products
        products = 0
        steps = cg(FunctionOperator(apply, (40, 40), (d,)), b).iterations
        assert steps > 30
        assert taken < 2 * products + 2 * (products - steps) + 10
        assert np.allclose(dd, -b / d**2, atol=1e-6)

    def test_of_a_solve_that_did_not_converge_is_an_error(self, rng):
        A, b = positive_definite(rng, 20), rng.standard_normal(20)
        with pytest.raises(
            mo.MorulaError, match=r"no gradient, since the solve did not converge .* raise max_iterations"
        ):
            mo.gradient(lambda b: np.sum(cg(A, b, max_iterations=2).x), b)


class TestBadInput:
    @pytest.mark.parametrize(
        "solve, message",
        [
            (lambda: cg(np.ones((2, 3)), np.ones(3)), r"A has shape \(2, 3\), expected a square operator"),
            (lambda: cg(np.eye(3), np.ones(2)), r"b has shape \(2,\), expected \(3,\)"),
            (lambda: cg(np.eye(3), np.ones((3, 2, 1))), r"b has shape \(3, 2, 1\), expected \(3,\) or \(3, k\)"),
            (lambda: cg(np.eye(3), np.ones(3), x0=np.ones(2)), r"x0 has shape \(2,\), expected \(3,\)"),
            (lambda: cg(np.eye(3), np.ones(3), preconditioner=np.eye(2)), "the preconditioner has shape"),
            (lambda: cg("A", np.ones(3)), "cg: A is a str, expected a linear operator or a matrix"),
            (
                lambda: cg(np.eye(3), np.ones(3), adjoint="none"),
                'adjoint is \'none\', expected "implicit" or "unrolled"',
            ),
            (lambda: cg(np.eye(3), np.array([1.0, np.nan, 0.0])), "b holds NaN or Inf"),
            (lambda: cg(np.eye(3), np.ones(3), x0=np.full(3, np.inf)), "x0 holds NaN or Inf"),
            (lambda: cg(np.eye(3), np.ones(3), rtol=-1.0), "expected one of them positive, none negative"),
        ],
    )
    def test_says_what_was_given_and_what_was_expected(self, solve, message):
        with pytest.raises(mo.BadInput, match=message):
            solve()

    @pytest.mark.parametrize(
        "matrix",
        [np.diag([1.0, -1.0, 2.0]), np.zeros((3, 3)), np.diag([1.0, 0.0, 0.0]), -np.eye(3)],
        ids=["indefinite", "zero", "singular", "negative"],
    )
    def test_an_operator_that_is_not_positive_definite(self, matrix):
        with pytest.raises(mo.MorulaError, match="A is not positive definite: p·Ap = "):
            cg(matrix, np.array([0.0, 1.0, 0.1]))

    def test_an_operator_that_is_not_hermitian(self, rng):
        for matrix in (
            positive_definite(rng, 5) + np.triu(np.ones((5, 5))),
            positive_definite(rng, 5) + 1j * np.eye(5),
        ):
            with pytest.raises(mo.MorulaError, match="not Hermitian"):
                cg(matrix, rng.standard_normal(5))

    def test_a_preconditioner_that_is_not_positive_definite(self):
        with pytest.raises(mo.MorulaError, match="the preconditioner is not positive definite"):
            cg(np.eye(3), np.ones(3), preconditioner=Diagonal(np.array([1.0, 1.0, -9.0])))

    def test_an_operator_that_gives_nan(self):
        with pytest.raises(mo.MorulaError, match="A applied to a finite vector gave NaN or Inf"):
            cg(FunctionOperator(lambda x: np.nan * x, (3, 3)), np.ones(3))
