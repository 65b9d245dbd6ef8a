"""Block CG and block GMRES: columns that share one Krylov space, also where they are linearly dependent."""

from __future__ import annotations

import numpy as np
import pytest
from krylov_methods import convection_diffusion, poisson, random_matrix
from path_tester import PATHS, run_on

import morula as mo
from morula.core.testing.differences import ridders
from morula.linalg import FunctionOperator, Status, block_cg, block_gmres, cg, gmres, solve
from morula.linalg.preconditioners import ic0, ilu0

METHODS = {"block_cg": block_cg, "block_gmres": block_gmres}


def matrix_for(name, rng, n, dtype="f8"):
    a = random_matrix(rng, n, n, dtype) / np.sqrt(n)
    return (a @ a.conj().T + np.eye(n) if name == "block_cg" else a + 3 * np.eye(n)).astype(dtype)


def dependent_columns(rng, n, dtype="f8"):
    b = random_matrix(rng, n, 5, dtype)
    b[:, 2] = b[:, 0] - 2 * b[:, 1]
    b[:, 3] = 0
    b[:, 4] = 1e-6 * b[:, 1] + 1e-9 * b[:, 4]
    return b


@pytest.mark.parametrize("name, method", METHODS.items())
class TestBoth:
    @pytest.mark.parametrize("dtype, error", [("f8", 1e-7), ("c16", 1e-7), ("f4", 1e-3), ("c8", 1e-3)])
    def test_solve_for_dependent_columns(self, name, method, rng, dtype, error):
        A, b = matrix_for(name, rng, 20, dtype), dependent_columns(rng, 20, dtype)
        found = method(A, b)
        assert found.converged and found.x.dtype == dtype and found.method == name
        np.testing.assert_allclose(found.x, np.linalg.solve(A, b), atol=error)
        np.testing.assert_allclose(found.residual_norm, np.linalg.norm(b - A @ found.x, axis=0), atol=1e-6)
        assert found.history.shape == (found.iterations + 1, 5)

    def test_take_no_more_steps_than_the_space_has_blocks(self, name, method, rng):
        A, b = matrix_for(name, rng, 20), rng.standard_normal((20, 5))
        assert method(A, b).iterations <= 5
        assert method(A, b[:, :1]).iterations > 10

    def test_from_a_start_and_of_functions(self, name, method, rng):
        A, b = matrix_for(name, rng, 12), rng.standard_normal((12, 2))
        exact = np.linalg.solve(A, b)
        assert method(A, b, x0=exact).iterations == 0
        np.testing.assert_allclose(method(lambda x: A @ x, b, x0=exact + 1.0).x, exact, atol=1e-8)
        np.testing.assert_allclose(solve(A, b, name).x, exact, atol=1e-8)

    def test_a_column_that_has_converged_stays(self, name, method, rng):
        A, b = np.diag(np.arange(1.0, 21.0)), rng.standard_normal((20, 3))
        b[:, 0] = np.eye(20)[0]
        found = method(A, b)
        assert found.converged and np.all(found.history[1:, 0] < 1e-10)
        np.testing.assert_allclose(found.x, b / np.arange(1.0, 21.0)[:, None], atol=1e-9)

    def test_gradients(self, name, method, rng):
        A, b = matrix_for(name, rng, 10, "c16"), dependent_columns(rng, 10, "c16")

        def of(solution):
            return lambda A, b: np.sum(np.abs(solution(A, b)[:4]) ** 2)

        found = mo.gradient(of(lambda A, b: method(A, b, rtol=1e-12).x), A, b)
        exact = mo.gradient(of(np.linalg.solve), A, b)
        for got, expected in zip(found, exact):
            np.testing.assert_allclose(got, expected, atol=1e-9)

    def test_through_the_iterations(self, name, method, rng):
        a, b = rng.standard_normal((10, 10)) / 4, rng.standard_normal((10, 3))

        def of(a, b):
            A = a @ a.T + np.eye(10)
            return np.sum(method(A, b, adjoint="unrolled", max_iterations=2).x ** 3)

        slopes = mo.gradient(of, a, b)
        change = rng.standard_normal((10, 10)), rng.standard_normal((10, 3))
        product = sum(np.sum(s * d) for s, d in zip(slopes, change))
        step, error = ridders(lambda t: of(a + t * change[0], b + t * change[1]), 0.1)
        assert product == pytest.approx(step, rel=1e-7, abs=3 * error)

    def test_one_step_too_few(self, name, method, rng):
        A, b = matrix_for(name, rng, 20), rng.standard_normal((20, 2))
        few = method(A, b, max_iterations=3)
        assert few.status is Status.MAX_ITERATIONS and few.iterations == 3
        np.testing.assert_allclose(few.history[-1], np.linalg.norm(b - A @ few.x, axis=0), rtol=1e-8)
        with pytest.raises(mo.MorulaError, match=f"{name}: no gradient, since the solve did not converge"):
            mo.grad(lambda b: np.sum(method(A, b, max_iterations=3).x))(b)

    def test_no_columns(self, name, method):
        assert method(np.eye(3), np.zeros((3, 0))).x.shape == (3, 0)
        np.testing.assert_array_equal(method(np.eye(3), np.zeros((3, 2))).x, 0)

    def test_bad_input(self, name, method):
        with pytest.raises(
            mo.BadInput, match=rf"{name}: b has shape \(3,\), expected \(3, k\), the .* use {name[6:]} for"
        ):
            method(np.eye(3), np.ones(3))
        with pytest.raises(mo.BadInput, match=rf"{name}: b has shape \(2, 2\), expected \(3,\) or \(3, k\) for A of"):
            method(np.eye(3), np.ones((2, 2)))
        with pytest.raises(mo.BadInput, match=rf"{name}: A has shape \(2, 3\), expected a square operator"):
            method(np.ones((2, 3)), np.ones((2, 2)))
        with pytest.raises(mo.BadInput, match=f"{name}: b holds NaN or Inf"):
            method(np.eye(2), np.array([[1.0, np.nan], [0.0, 1.0]]))
        with pytest.raises(mo.MorulaError, match=f"{name}: A applied to a finite vector gave NaN or Inf"):
            method(np.full((2, 2), np.nan), np.ones((2, 2)))


class TestBlockCG:
    def test_spares_steps_on_a_grid(self, rng):
        A, b = poisson(14), rng.standard_normal((196, 6))
        for options in ({}, {"preconditioner": ic0(A)}):
            together, apart = block_cg(A, b, **options), cg(A, b, **options)
            assert together.converged and together.iterations < 0.7 * apart.iterations
            np.testing.assert_allclose(together.x, apart.x, atol=1e-8)

    def test_a_matrix_that_is_not_definite_or_not_hermitian(self, rng):
        b = rng.standard_normal((6, 2))
        with pytest.raises(mo.MorulaError, match="block_cg: A is not positive definite: p·Ap = -"):
            block_cg(-np.eye(6), b)
        # Only a combination of the columns shows it.
        with pytest.raises(mo.MorulaError, match="block_cg: A is not positive definite: p·Ap = -.* for a combination"):
            block_cg(np.array([[1.0, 2.0], [2.0, 1.0]]), np.eye(2))
        with pytest.raises(mo.MorulaError, match="block_cg: A .* is not Hermitian"):
            block_cg(random_matrix(rng, 12, 12) + 9 * np.eye(12), rng.standard_normal((12, 2)))
        with pytest.raises(mo.MorulaError, match="block_cg: the preconditioner is not positive definite"):
            block_cg(np.eye(6), b, preconditioner=-np.eye(6))


class TestBlockGMRES:
    def test_spares_steps_on_a_grid(self, rng):
        A, b = convection_diffusion(10), rng.standard_normal((100, 4))
        for options in ({}, {"preconditioner": ilu0(A)}, {"restart": 12}):
            together, apart = block_gmres(A, b, **options), gmres(A, b, **options)
            assert together.converged and together.iterations <= 1.3 * apart.iterations
            np.testing.assert_allclose(together.x, apart.x, atol=1e-7)

    def test_without_restart_the_residuals_are_the_least_of_the_shared_space(self, rng):
        A, b = random_matrix(rng, 16, 16) + 4 * np.eye(16), rng.standard_normal((16, 2))
        found = block_gmres(A, b, restart=16)
        space = np.concatenate([np.linalg.matrix_power(A, j) @ b for j in range(4)], axis=1)
        images = A @ np.linalg.qr(space)[0]
        least = np.linalg.norm(b - images @ np.linalg.lstsq(images, b)[0], axis=0)
        np.testing.assert_allclose(found.history[4], least, rtol=1e-9)

    def test_flexible_takes_an_iteration_as_preconditioner(self, rng):
        A, b = convection_diffusion(10), dependent_columns(rng, 100)

        def inner(r):
            return gmres(A, r, max_iterations=4).x

        found = block_gmres(A, b, preconditioner=inner, flexible=True, restart=8)
        assert found.converged and found.iterations < block_gmres(A, b).iterations / 1.8
        np.testing.assert_allclose(found.x, np.linalg.solve(A.toarray(), b), atol=1e-8)
        # The residual that the recurrence estimates is the true one, though the preconditioner is not linear.
        early = block_gmres(A, b, preconditioner=inner, flexible=True, max_iterations=3)
        np.testing.assert_allclose(early.history[-1], np.linalg.norm(b - A @ early.x, axis=0), rtol=1e-6)
        fixed = block_gmres(A, b, preconditioner=inner, max_iterations=3)
        assert np.max(fixed.residual_norm) > 3 * np.max(early.residual_norm)

    def test_stagnation_is_a_status(self):
        rotated = np.roll(np.eye(8), 1, axis=0)
        found = block_gmres(rotated, np.eye(8)[:, :1], restart=4)
        assert found.status is Status.STAGNATED and found.residual_norm[0] == pytest.approx(1.0)
        np.testing.assert_allclose(block_gmres(rotated, np.eye(8)[:, ::2], restart=4).x, rotated.T @ np.eye(8)[:, ::2])

    def test_a_singular_matrix(self):
        A = np.diag([1.0, 2.0, 0.0])
        consistent = block_gmres(A, np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
        assert consistent.converged
        inconsistent = block_gmres(A, np.ones((3, 1)))
        assert not inconsistent.converged and inconsistent.residual_norm[0] >= 1 - 1e-9

    def test_restart_is_checked(self):
        with pytest.raises(mo.BadInput, match="block_gmres: restart is 0, expected a positive number of steps"):
            block_gmres(np.eye(2), np.eye(2), restart=0)


def squares_by_a_varying_preconditioner(A, b):
    diagonal = np.diagonal(A)

    def varying(r):
        return (1.0 + 0.3 * np.cos(1e3 * r[0])) / diagonal * r

    inner = FunctionOperator(varying, A.shape, transpose=varying)
    return np.sum(block_gmres(A, b, preconditioner=inner, flexible=True, restart=6).x ** 2)


@pytest.mark.parametrize("path", PATHS)
def test_flexible_on_all_paths(path, rng):
    """The preconditioner is another one for each vector; the derivative is that of the solution."""
    A, b = random_matrix(rng, 6, 6) + 8 * np.eye(6), rng.standard_normal((6, 2))
    x = np.linalg.solve(A, b)
    if path == "xla":  # its derivative takes long to compile
        assert run_on(path)(squares_by_a_varying_preconditioner)(A, b) == pytest.approx(np.sum(x**2), rel=1e-10)
        return
    value, (dA, db) = run_on(path)(mo.value_and_grad(squares_by_a_varying_preconditioner, (0, 1)))(A, b)
    assert value == pytest.approx(np.sum(x**2), rel=1e-10)
    dual = np.linalg.solve(A.T, 2 * x)
    np.testing.assert_allclose(db, dual, rtol=1e-8)
    np.testing.assert_allclose(dA, -dual @ x.T, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name, target", [("block_cg", "xla"), ("block_gmres", "native")])
def test_in_compiled_code(name, target, rng):
    A, b = matrix_for(name, rng, 10), dependent_columns(rng, 10)
    found = mo.jit(lambda A, b: METHODS[name](A, b).x, target=target)(A, b)
    np.testing.assert_allclose(found, np.linalg.solve(A, b), atol=1e-8)
