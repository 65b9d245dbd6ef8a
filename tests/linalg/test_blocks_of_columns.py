"""Several right-hand sides: one product with a block for each step, and columns that end by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from krylov_methods import SQUARE, convection_diffusion, matrix_for, poisson, random_matrix

import morula as mo
from morula.linalg import (
    BlockDiagonal,
    Dense,
    Diagonal,
    FunctionOperator,
    Kronecker,
    LowRankUpdate,
    Sparse,
    Status,
    bicgstab,
    cg,
    gmres,
    lsmr,
    lsqr,
    minres,
    richardson,
    tridiagonal,
)
from morula.linalg.operators import LinearOperator

ALL = {**SQUARE, "lsqr": lsqr, "lsmr": lsmr}


class Counted(LinearOperator):
    """A matrix that counts its products."""

    def __init__(self, matrix, counts=None):
        self.matrix, self.counts = matrix, {"vector": 0, "block": 0} if counts is None else counts

    shape = property(lambda self: self.matrix.shape)
    dtype = property(lambda self: self.matrix.dtype)

    def matvec(self, x):
        self.counts["vector"] += 1
        return self.matrix @ x

    def matmat(self, x):
        self.counts["block"] += 1
        return self.matrix @ x

    def transpose(self):
        return Counted(self.matrix.T, self.counts)


def columns_of(name, rng, n, dtype="f8"):
    """Columns for which a method takes different numbers of steps; one is zero."""
    A = matrix_for(name, rng, n, dtype)
    b = random_matrix(rng, n, 4, dtype)
    b[:, 1] = 0
    b[:, 2] = A @ A @ np.ones(n)
    return A, b


@pytest.mark.parametrize("name", ALL)
class TestEveryMethod:
    def test_multiplies_with_the_block_once_a_step(self, name, rng):
        A, b = columns_of(name, rng, 30)
        counted = Counted(A)
        found = ALL[name](counted, b)
        assert found.converged and counted.counts["vector"] == 0
        in_a_step = 2 if name in ("bicgstab", "lsqr", "lsmr") else 1
        assert counted.counts["block"] <= in_a_step * found.iterations + 6

    @pytest.mark.parametrize("dtype, error", [("f8", 1e-7), ("c16", 1e-7), ("f4", 1e-3), ("c8", 1e-3)])
    def test_gives_for_each_column_what_it_gives_for_that_column_alone(self, name, rng, dtype, error):
        A, b = columns_of(name, rng, 20, dtype)
        found = ALL[name](A, b)
        assert found.x.dtype == dtype and found.history.shape == (found.iterations + 1, 4)
        for j in range(4):
            alone = ALL[name](A, b[:, j])
            np.testing.assert_allclose(found.x[:, j], alone.x, rtol=error, atol=error)
            # The column's history goes on until it ends, and then repeats the residual norm.
            steps = found.iterations + 1 - np.sum(np.cumprod(found.history[::-1, j] == found.residual_norm[j]))
            if dtype in (
                "f8",
                "c16",
            ):  # in single precision the default tolerance is not met: rounding errors end the method
                assert abs(steps + 1 - alone.iterations) <= 2 or alone.iterations == 0
            np.testing.assert_allclose(found.history[0, j], np.linalg.norm(b[:, j]), rtol=1e-5)

    def test_stops_a_column_that_has_converged(self, name, rng):
        n = 12
        A = np.diag(np.arange(1.0, n + 1))
        b = np.ones((n, 2))
        b[3:, 0] = 0  # lies in a space of three eigenvectors
        history = ALL[name](A, b, rtol=1e-9).history
        assert np.all(history[8:, 0] == history[8, 0]) and np.any(history[8:, 1] != history[8, 1])

    def test_has_the_gradient_of_a_direct_solve(self, name, rng):
        A, b = columns_of(name, rng, 5)

        def loss(solve):
            return lambda A, b: np.sum(np.arange(20.0).reshape(5, 4) * solve(A, b) ** 2)

        found = mo.gradient(loss(lambda A, b: ALL[name](A, b).x), A, b)
        for got, expected in zip(found, mo.gradient(loss(np.linalg.solve), A, b)):
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)

    def test_through_the_iterations(self, name, rng):
        A, b = columns_of(name, rng, 5)

        def loss(s, b):
            return np.sum(ALL[name](A + s * np.eye(5), b, max_iterations=2, adjoint="unrolled").x ** 2)

        mo.testing.check_gradients(loss, 0.3, b, order=1)

    def test_one_step_too_few(self, name, rng):
        A, b = columns_of(name, rng, 20)
        found = ALL[name](A, b, max_iterations=2, rtol=1e-12)
        assert found.status is Status.MAX_ITERATIONS and found.iterations == 2
        assert found.residual_norm[1] == 0 and found.x[:, 1].tolist() == [0] * 20
        with pytest.raises(mo.MorulaError, match=f"{name}: no gradient, since the solve did not converge"):
            mo.grad(lambda b: np.sum(ALL[name](A, b, max_iterations=2, rtol=1e-12).x))(b)


def test_no_columns(rng):
    assert cg(np.eye(3), np.zeros((3, 0))).x.shape == (3, 0)


def test_the_status_is_that_of_the_worst_column():
    cyclic = np.roll(np.eye(8), 1, axis=0)
    b = np.stack([np.ones(8), np.eye(8)[0], np.zeros(8)], axis=1)
    found = gmres(cyclic, b, restart=4)
    assert found.status is Status.STAGNATED
    np.testing.assert_allclose(found.x[:, 0], 1.0)
    np.testing.assert_allclose(found.residual_norm, [0, 1, 0], atol=1e-12)
    skew = np.array([[0.0, 1.0], [-1.0, 0.0]])
    found = bicgstab(skew, np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert found.status is Status.BREAKDOWN and np.all(np.isfinite(found.x))


def test_the_columns_of_a_restarted_method_are_restarted_together(rng):
    A, b = convection_diffusion(10), rng.standard_normal((100, 3))
    found = gmres(A, b, restart=8)
    assert found.converged
    np.testing.assert_allclose(found.x, np.linalg.solve(A.toarray(), b), rtol=1e-6, atol=1e-7)


def test_an_error_names_a_column_that_is_not_positive_definite():
    A = np.diag([1.0, 2.0, -1.0])
    b = np.eye(3)
    with pytest.raises(mo.MorulaError, match="cg: A is not positive definite: p·Ap = -1 for a p of norm 1"):
        cg(A, b)
    with pytest.raises(mo.MorulaError, match="minres: A is not Hermitian: .* is not real"):
        minres(np.diag([1.0, 1j]), np.eye(2))
    with pytest.raises(mo.MorulaError, match="cg: A applied to a finite vector gave NaN or Inf"):
        cg(FunctionOperator(lambda x: np.nan * x, (3, 3)), np.eye(3))


def test_with_preconditioners(rng):
    A, b = poisson(8), rng.standard_normal((64, 3))
    M = Diagonal(np.full(64, 0.2))
    for found in (
        cg(A, b, preconditioner=M),
        gmres(A, b, preconditioner=M, flexible=True),
        minres(A, b, preconditioner=M),
        richardson(A, b, preconditioner=M, max_iterations=2000),
    ):
        assert found.converged
        np.testing.assert_allclose(found.x, np.linalg.solve(A.toarray(), b), atol=1e-6)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_products_of_composed_operators_with_blocks(rng, dtype):
    P, Q = Dense(random_matrix(rng, 4, 4, dtype)), Diagonal(random_matrix(rng, 4, 1, dtype)[:, 0])
    K = Kronecker(random_matrix(rng, 2, 3, dtype), random_matrix(rng, 4, 5, dtype))
    U = random_matrix(rng, 4, 1, dtype)
    bands = tridiagonal(U[:3, 0], U[:, 0], U[1:, 0])
    for A in (P @ Q, P + Q, 2j * P, P.H, K, LowRankUpdate(Q, U), BlockDiagonal([P, bands]), bands, bands.T, K.H):
        x = random_matrix(rng, A.shape[1], 3, dtype)
        one_by_one = np.stack([A @ x[:, j] for j in range(3)], axis=1)
        np.testing.assert_allclose(A @ x, one_by_one, rtol=1e-12, atol=1e-12)
    inner = Counted(np.eye(3) * 2.0)
    ((inner @ inner + 3.0 * inner) @ np.ones((3, 5)), (1j * inner).H @ np.ones((3, 5)))
    assert inner.counts == {"vector": 0, "block": 4}


@pytest.mark.parametrize("name", ["idrs", "lsqr"])
def test_in_native_code(name, rng):
    A, b = columns_of(name, rng, 6)
    found = mo.jit(lambda A, b: ALL[name](A, b), target="native")(A, b)
    expected = ALL[name](A, b)
    assert found.iterations == expected.iterations and found.converged
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize("target, name", [("native", "gmres"), ("xla", "cg")])
def test_the_gradient_in_compiled_code(target, name, rng):
    A = poisson(3) if name in ("cg", "minres") else convection_diffusion(3)
    b = rng.standard_normal((9, 3))
    b[:, 1] = 0

    def loss(data, b):
        return np.sum(ALL[name](Sparse(data, A.indices, A.indptr, A.shape), b).x ** 2)

    value, (dA, db) = mo.jit(mo.value_and_grad(loss, (0, 1)), target=target)(A.data, b)
    expected, (eA, eb) = mo.value_and_grad(loss, (0, 1))(A.data, b)
    assert value == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(dA, eA, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(db, eb, rtol=1e-6, atol=1e-8)
