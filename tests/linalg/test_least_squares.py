"""LSQR and LSMR: solutions, damping, gradients for every shape and for full rank only, compiled programs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from krylov_methods import random_matrix

import morula as mo
from morula.linalg import Dense, Diagonal, Status, lsmr, lsqr

SHAPES = [(9, 5), (5, 5), (5, 9)]


@pytest.fixture(params=[lsqr, lsmr], ids=["lsqr", "lsmr"])
def method(request):
    return request.param


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


@pytest.mark.parametrize("dtype", ["f8", "c16"])
class TestSolution:
    def test_is_that_of_least_norm(self, method, rng, shape, dtype):
        A, b = random_matrix(rng, *shape, dtype), random_matrix(rng, shape[0], 1, dtype)[:, 0]
        found = method(A, b)
        assert found.converged and found.x.dtype == dtype
        np.testing.assert_allclose(found.x, np.linalg.lstsq(A, b)[0], rtol=1e-7, atol=1e-8)
        assert found.residual_norm == pytest.approx(np.linalg.norm(b - A @ found.x), rel=1e-7, abs=1e-8)
        assert found.history[0] == pytest.approx(np.linalg.norm(b))

    def test_with_damping(self, method, rng, shape, dtype):
        A, b = random_matrix(rng, *shape, dtype), random_matrix(rng, shape[0], 1, dtype)[:, 0]
        n = shape[1]
        exact = np.linalg.solve(A.conj().T @ A + 0.49 * np.eye(n), A.conj().T @ b)
        np.testing.assert_allclose(method(A, b, damp=0.7).x, exact, rtol=1e-7)

    def test_of_a_matrix_without_full_rank(self, method, rng, dtype, shape):
        A = random_matrix(rng, shape[0], 3, dtype) @ random_matrix(rng, 3, shape[1], dtype)
        b = random_matrix(rng, shape[0], 1, dtype)[:, 0]
        found = method(A, b)
        assert found.converged
        np.testing.assert_allclose(found.x, np.linalg.pinv(A, rtol=1e-10) @ b, rtol=1e-6, atol=1e-7)


class TestHistory:
    def test_is_the_norm_of_the_residual(self, method, rng):
        A, b = random_matrix(rng, 12, 7), rng.standard_normal(12)
        for steps in (1, 3, 5):
            short = method(A, b, max_iterations=steps)
            assert short.status is Status.MAX_ITERATIONS and short.iterations == steps
            assert method(A, b).history[steps] == pytest.approx(short.residual_norm, rel=1e-9)

    def test_several_right_hand_sides(self, method, rng):
        A, b = random_matrix(rng, 8, 4), rng.standard_normal((8, 3))
        found = method(A, b)
        np.testing.assert_allclose(found.x, np.linalg.lstsq(A, b)[0], rtol=1e-7)
        assert found.residual_norm.shape == (3,) and found.history.shape == (found.iterations + 1, 3)

    def test_a_start_at_the_solution(self, method, rng):
        A, b = random_matrix(rng, 8, 4), rng.standard_normal(8)
        assert method(A, b, x0=np.linalg.lstsq(A, b)[0]).iterations <= 1

    def test_takes_the_steps_of_scipys(self, method, rng):
        A, b = scipy.sparse.random_array((80, 40), density=0.2, rng=rng).tocsr(), rng.standard_normal(80)
        theirs = getattr(scipy.sparse.linalg, method.__name__)(A, b, atol=1e-10, btol=1e-10, conlim=0)
        found = method(A, b)
        np.testing.assert_allclose(found.x, theirs[0], atol=1e-6)
        assert abs(found.iterations - theirs[2]) <= 0.2 * theirs[2]

    def test_nothing_to_solve(self, method):
        assert method(np.eye(3)[:2], np.zeros(2)).x.tolist() == [0, 0, 0]
        orthogonal = method(np.eye(3)[:, :2], np.array([0.0, 0.0, 1.0]))
        assert orthogonal.converged and orthogonal.x.tolist() == [0, 0] and orthogonal.residual_norm == 1.0


class TestDerivatives:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_agree_with_differentiating_the_pseudoinverse(self, method, rng, shape, dtype):
        A, b = random_matrix(rng, *shape, dtype), random_matrix(rng, shape[0], 1, dtype)[:, 0]
        A[: min(shape), : min(shape)] += 3 * np.eye(min(shape))
        w = rng.standard_normal(shape[1])

        def direct(A, b):
            H = np.conj(A.T)
            x = np.linalg.solve(H @ A, H @ b) if shape[0] >= shape[1] else H @ np.linalg.solve(A @ H, b)
            return np.sum(w * np.abs(x) ** 2)

        def loss(A, b):
            return np.sum(w * np.abs(method(A, b, rtol=1e-13).x) ** 2)

        found, expected = mo.gradient(loss, A, b), mo.gradient(direct, A, b)
        for got, exact in zip(found, expected):
            np.testing.assert_allclose(got, exact, rtol=1e-7, atol=1e-8)
        E, e = random_matrix(rng, *shape, dtype), random_matrix(rng, shape[0], 1, dtype)[:, 0]
        slope = mo.jvp(loss, (A, b), (E, e))[1]
        product = sum(np.sum(np.real(np.conj(g) * t)) for g, t in zip(found, (E, e)))
        assert slope == pytest.approx(product, rel=1e-9)

    def test_reach_the_damping(self, method, rng, shape):
        A, b = random_matrix(rng, *shape), rng.standard_normal(shape[0])
        mo.testing.check_gradients(lambda t, b: np.sum(method(A, b, damp=t).x ** 2), 0.8, b, order=1)

    def test_to_second_order(self, method, rng):
        A, b = random_matrix(rng, 5, 3), rng.standard_normal(5)

        def loss(s, solve):
            return np.sum(solve(A * s, b) ** 2)

        found = mo.hessian(lambda s: loss(s, lambda A, b: method(A, b, rtol=1e-13).x))(np.ones(3))
        exact = mo.hessian(lambda s: loss(s, lambda A, b: np.linalg.solve(A.T @ A, A.T @ b)))(np.ones(3))
        np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-8)

    def test_through_the_iterations(self, method, rng):
        A, b = random_matrix(rng, 7, 4), rng.standard_normal(7)
        unrolled = mo.grad(lambda b: np.sum(method(A, b, adjoint="unrolled").x ** 2))(b)
        np.testing.assert_allclose(unrolled, mo.grad(lambda b: np.sum(method(A, b).x ** 2))(b), rtol=1e-6)

    def test_without_full_rank_they_are_an_error(self, method, rng):
        A, b = random_matrix(rng, 7, 2) @ random_matrix(rng, 2, 4), rng.standard_normal(7)
        w = rng.standard_normal(4)
        with pytest.raises(mo.MorulaError, match=r"no gradient, since A of shape \(7, 4\) does not have full rank"):
            mo.grad(lambda b: w @ method(A, b).x)(b)

    def test_of_a_solve_that_did_not_converge_are_an_error(self, method, rng):
        A, b = random_matrix(rng, 12, 8), rng.standard_normal(12)
        with pytest.raises(mo.MorulaError, match="no gradient, since the solve did not converge"):
            mo.grad(lambda b: np.sum(method(A, b, max_iterations=2).x))(b)


class TestPreconditioner:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_of_a_factor_solves_in_one_step(self, method, rng, dtype):
        A = random_matrix(rng, 30, 8, dtype) * np.logspace(0, 5, 8)
        b = random_matrix(rng, 30, 3, dtype)
        R = np.linalg.qr(A)[1]
        found = method(A, b, preconditioner=np.linalg.inv(R.conj().T @ R))
        assert found.converged and found.iterations <= 2 < method(A, b).iterations
        np.testing.assert_allclose(found.x, np.linalg.lstsq(A, b)[0], rtol=1e-8)
        np.testing.assert_allclose(found.residual_norm, np.linalg.norm(b - A @ found.x, axis=0))

    def test_does_not_change_the_gradient(self, method, rng):
        A, b, scale = random_matrix(rng, 12, 5), rng.standard_normal(12), np.logspace(0, 3, 5)

        def loss(A, b):
            return np.sum(method(A * scale, b, preconditioner=lambda v: v / scale**2).x * scale**1.5)

        def exact(A, b):
            return np.sum(np.linalg.pinv(A * scale) @ b * scale**1.5)

        for got, expected in zip(mo.gradient(loss, A, b), mo.gradient(exact, A, b)):
            np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9)

    def test_with_damping_and_few_rows(self, method, rng):
        A, b = random_matrix(rng, 5, 9), rng.standard_normal(5)
        exact = np.linalg.solve(A.T @ A + 0.25 * np.eye(9), A.T @ b)
        M = Diagonal(1 / (np.sum(A**2, axis=0) + 0.25))
        np.testing.assert_allclose(method(A, b, damp=0.5, preconditioner=M).x, exact, rtol=1e-8)

    def test_bad_input(self, method, rng):
        A, b = random_matrix(rng, 6, 4), rng.standard_normal(6)
        name = method.__name__
        with pytest.raises(
            mo.BadInput, match=rf"{name}: the preconditioner has shape \(6, 6\), expected \(4, 4\) for A"
        ):
            method(A, b, preconditioner=np.eye(6))
        with pytest.raises(mo.BadInput, match=rf"{name}: a preconditioner is given for A of shape \(4, 6\), where it"):
            method(A.T, b[:4], preconditioner=np.eye(6))
        with pytest.raises(mo.MorulaError, match=f"{name}: the preconditioner is not positive definite: p·Ap = -"):
            method(A, b, preconditioner=-np.eye(4))
        with pytest.raises(mo.MorulaError, match=f"{name}: the preconditioner applied to a finite vector gave NaN"):
            method(A, b, preconditioner=np.full((4, 4), np.nan))


@pytest.mark.parametrize("target", ["native", "xla"])
def test_in_compiled_code(method, rng, target):
    A, b = random_matrix(rng, 7, 4), rng.standard_normal(7)

    def loss(A, b):
        return np.sum(method(A, b, damp=0.1, preconditioner=Diagonal(np.arange(1.0, 5.0))).x ** 2)

    value, (dA, db) = mo.jit(mo.value_and_grad(loss, (0, 1)), target=target)(A, b)
    expected, (eA, eb) = mo.value_and_grad(loss, (0, 1))(A, b)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(dA, eA, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(db, eb, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"b": np.ones(2)}, r": b has shape \(2,\), expected \(3,\) or \(3, k\) for A of shape \(3, 4\)"),
        ({"damp": np.ones(4)}, r": damp has shape \(4,\), expected a number"),
        ({"x0": np.ones(4)}, r": x0 is given for A of shape \(3, 4\), whose solution would depend on it"),
        ({"damp": 1.0, "x0": np.ones(3)}, r": x0 has shape \(3,\), expected \(4,\)"),
        ({"A": "A"}, ": A is a str, expected a linear operator or a matrix"),
        ({"b": np.full(3, np.nan)}, ": b holds NaN or Inf"),
    ],
)
def test_bad_input(method, options, message):
    with pytest.raises(mo.BadInput, match=method.__name__ + message):
        method(**{"A": Dense(np.eye(3, 4)), "b": np.ones(3), **options})
