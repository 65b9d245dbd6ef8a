"""Structured operators against their dense matrices: products, transposes, diagonals, solves, gradients; ``solve``."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from krylov_methods import convection_diffusion, poisson, random_matrix

import morula as mo
from morula.linalg import (
    Banded,
    Block,
    BlockDiagonal,
    Circulant,
    Dense,
    Diagonal,
    FunctionOperator,
    Identity,
    Inverse,
    Jacobian,
    Kronecker,
    LowRankUpdate,
    Sparse,
    Toeplitz,
    Triangular,
    solve,
    tridiagonal,
)

PATTERN = scipy.sparse.csr_array(np.eye(6) + np.eye(6, k=2) + np.eye(6, k=-1))


def heavy(a):
    """The matrix, with a diagonal that makes it well-conditioned."""
    return a + 4 * np.eye(len(a))


def heavy8(p):
    return heavy(np.concatenate([p, p[:28]]).reshape(8, 8))


def banded_matrix(bands, lower, upper):
    n = bands.shape[1]
    matrix = np.zeros((n, n), bands.dtype)
    for i in range(n):
        for j in range(max(0, i - lower), min(n, i + upper + 1)):
            matrix[i, j] = bands[upper + i - j, j]
    return matrix


def first(n, size, v):
    """v with a first entry that dominates."""
    return np.concatenate([v[:1] + size, v[1:n]])


# name: the operator of a vector of 36 parameters, and its dense matrix; both square, 6 x 6
SQUARE = {
    "dense": (lambda p: Dense(heavy(p.reshape(6, 6))), lambda p: heavy(p.reshape(6, 6))),
    "diagonal": (lambda p: Diagonal(p[:6] + 3), lambda p: np.diag(p[:6] + 3)),
    "identity": (lambda p: p[0] * Identity(6), lambda p: p[0] * np.eye(6)),
    "tridiagonal": (
        lambda p: tridiagonal(p[:5], p[5:11] + 4, p[11:16]),
        lambda p: np.diag(p[5:11] + 4) + np.diag(p[:5], -1) + np.diag(p[11:16], 1),
    ),
    "banded": (
        lambda p: Banded(p[:24].reshape(4, 6) + np.array([[0], [0], [5], [0]]), 1, 2),
        lambda p: banded_matrix(p[:24].reshape(4, 6) + np.array([[0], [0], [5], [0]]), 1, 2),
    ),
    "lower": (lambda p: Triangular(heavy(p.reshape(6, 6))), lambda p: np.tril(heavy(p.reshape(6, 6)))),
    "upper": (lambda p: Triangular(heavy(p.reshape(6, 6)), False), lambda p: np.triu(heavy(p.reshape(6, 6)))),
    "low rank": (
        lambda p: LowRankUpdate(Diagonal(p[:6] + 5), p[6:18].reshape(6, 2), p[18:30].reshape(6, 2)),
        lambda p: np.diag(p[:6] + 5) + p[6:18].reshape(6, 2) @ np.conj(p[18:30].reshape(6, 2)).T,
    ),
    "kronecker": (
        lambda p: Kronecker(heavy(p[:4].reshape(2, 2)), heavy(p[4:13].reshape(3, 3))),
        lambda p: np.kron(heavy(p[:4].reshape(2, 2)), heavy(p[4:13].reshape(3, 3))),
    ),
    "block": (
        lambda p: Block(
            [
                [heavy(p[:4].reshape(2, 2)), p[4:12].reshape(2, 4)],
                [p[12:20].reshape(4, 2), heavy(p[20:36].reshape(4, 4))],
            ]
        ),
        lambda p: np.concatenate(
            [
                np.concatenate([heavy(p[:4].reshape(2, 2)), p[4:12].reshape(2, 4)], axis=1),
                np.concatenate([p[12:20].reshape(4, 2), heavy(p[20:36].reshape(4, 4))], axis=1),
            ]
        ),
    ),
    "block diagonal": (
        lambda p: BlockDiagonal([heavy(p[:4].reshape(2, 2)), Diagonal(p[4:8] + 3)]),
        lambda p: np.block([[heavy(p[:4].reshape(2, 2)), np.zeros((2, 4))], [np.zeros((4, 2)), np.diag(p[4:8] + 3)]]),
    ),
    "circulant": (
        lambda p: Circulant(first(6, 6, p)),
        lambda p: np.stack([np.roll(first(6, 6, p), j) for j in range(6)], axis=1),
    ),
    "toeplitz": (
        lambda p: Toeplitz(first(6, 6, p), p[6:12]),
        lambda p: np.stack([np.concatenate([p[7 : 7 + j][::-1], first(6, 6, p)[: 6 - j]]) for j in range(6)], axis=1),
    ),
    "sparse": (
        lambda p: Sparse(p[: PATTERN.nnz] + 3 * (PATTERN.indices == ROWS), PATTERN.indices, PATTERN.indptr, (6, 6)),
        lambda p: dense_of_pattern(p[: PATTERN.nnz] + 3 * (PATTERN.indices == ROWS)),
    ),
    "sum": (
        lambda p: Diagonal(p[:6] + 3) + Triangular(heavy(p.reshape(6, 6))),
        lambda p: np.diag(p[:6] + 3) + np.tril(heavy(p.reshape(6, 6))),
    ),
    "function": (
        lambda p: FunctionOperator(lambda x, p: heavy(p.reshape(6, 6)) @ x, (6, 6), (p,), dtype=p.dtype),
        lambda p: heavy(p.reshape(6, 6)),
    ),
    "inverse": (
        lambda p: Inverse(heavy(p.reshape(6, 6))),
        lambda p: np.linalg.inv(heavy(p.reshape(6, 6))),
    ),
    "rectangles": (
        lambda p: Dense(heavy8(p)[:6]) @ Dense(heavy8(p)[:, :6]) + 5 * Identity(6),
        lambda p: heavy8(p)[:6] @ heavy8(p)[:, :6] + 5 * np.eye(6),
    ),
    "product": (
        lambda p: Diagonal(p[:6] + 3) @ Triangular(heavy(p.reshape(6, 6))),
        lambda p: np.diag(p[:6] + 3) @ np.tril(heavy(p.reshape(6, 6))),
    ),
}
COMPOSED = ("sum", "function", "inverse", "rectangles")
WITHOUT_DIRECT_METHOD = ("block", "toeplitz", "sum", "function", "rectangles")
ROWS = np.repeat(np.arange(6), np.diff(PATTERN.indptr))


def dense_of_pattern(data):
    matrix = np.zeros((6, 6), data.dtype)
    matrix[ROWS, PATTERN.indices] += data
    return matrix


@pytest.fixture(params=SQUARE)
def structure(request):
    return request.param


@pytest.fixture(params=["f8", "c16"])
def parameters(request, rng):
    return random_matrix(rng, 36, 1, request.param)[:, 0] + 0.5


class TestSquare:
    def test_products_and_transposes(self, structure, parameters, rng):
        make, dense = SQUARE[structure]
        A, matrix = make(parameters), dense(parameters)
        x, y = rng.standard_normal(6), random_matrix(rng, 6, 2, "c16")
        assert A.shape == (6, 6) and A.dtype == matrix.dtype
        for operator, expected in ((A, matrix), (A.T, matrix.T), (A.H, matrix.conj().T), (A.T.T, matrix)):
            np.testing.assert_allclose(operator @ x, expected @ x, atol=1e-13)
            np.testing.assert_allclose(operator @ y, expected @ y, atol=1e-13)
            np.testing.assert_allclose(operator.todense(), expected, atol=1e-13)

    def test_diagonals_traces_and_determinants(self, structure, parameters):
        make, dense = SQUARE[structure]
        A, matrix = make(parameters), dense(parameters)
        for operator, expected in ((A, matrix), (A.T, matrix.T), (A.H, matrix.conj().T)):
            np.testing.assert_allclose(operator.diag(), np.diagonal(expected), atol=1e-13)
            np.testing.assert_allclose(operator.trace(), np.trace(expected))
            np.testing.assert_allclose(operator.logdet(), np.linalg.slogdet(expected)[1])

    def test_solve(self, structure, parameters, rng):
        make, dense = SQUARE[structure]
        A, matrix = make(parameters), dense(parameters)
        for b in (rng.standard_normal(6), random_matrix(rng, 6, 2, "c16")):
            for operator, expected in ((A, matrix), (A.T, matrix.T), (A.H, matrix.conj().T)):
                found = solve(operator, b)
                assert found.method == ("gmres" if structure in WITHOUT_DIRECT_METHOD else "direct")
                np.testing.assert_allclose(found.x, np.linalg.solve(expected, b), atol=1e-8)
                assert np.all(found.residual_norm <= 1e-9) and found.converged

    def test_gradients_reach_the_parameters(self, structure, parameters, rng):
        make, dense = SQUARE[structure]
        b, w = rng.standard_normal(6), rng.standard_normal(6)

        def loss(p, b, of):
            return np.sum(w * np.abs(of(p, b)) ** 2)

        for operator, matrix in (
            (lambda p, b: make(p) @ b, lambda p, b: dense(p) @ b),
            (lambda p, b: make(p).H @ b, lambda p, b: np.conj(dense(p).T) @ b),
            (lambda p, b: solve(make(p), b).x, lambda p, b: np.linalg.solve(dense(p), b)),
        ):
            found = mo.gradient(lambda p, b: loss(p, b, operator), parameters, b)
            expected = mo.gradient(lambda p, b: loss(p, b, matrix), parameters, b)
            for got, exact in zip(found, expected):
                np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-8)

    def test_gradients_of_determinants(self, structure, rng):
        make, dense = SQUARE[structure]
        p = rng.standard_normal(36) + 0.5
        found = mo.grad(lambda p: make(p).logdet())(p)
        np.testing.assert_allclose(found, mo.grad(lambda p: np.linalg.slogdet(dense(p))[1])(p), rtol=1e-8, atol=1e-10)

    @pytest.mark.parametrize("target", ["native", "xla"])
    @pytest.mark.parametrize("structure", [name for name in SQUARE if name not in COMPOSED])
    def test_in_compiled_code(self, structure, target, rng):
        make, _ = SQUARE[structure]
        p, b = rng.standard_normal(36) + 0.5, rng.standard_normal(6)

        def loss(p, b):
            A = make(p)
            return np.sum((A.T @ solve(A, b).x) ** 2)

        value, found = mo.jit(mo.value_and_grad(loss, (0, 1)), target=target)(p, b)
        expected, exact = mo.value_and_grad(loss, (0, 1))(p, b)
        assert value == pytest.approx(expected, rel=1e-8)
        for got, e in zip(found, exact):
            np.testing.assert_allclose(got, e, rtol=1e-6, atol=1e-8)


class TestRectangular:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_products(self, rng, dtype):
        a, b = random_matrix(rng, 2, 3, dtype), random_matrix(rng, 4, 2, dtype)
        c, r = random_matrix(rng, 4, 1, dtype)[:, 0], random_matrix(rng, 6, 1, dtype)[:, 0]
        r[0] = c[0]
        U, V = random_matrix(rng, 2, 1, dtype), random_matrix(rng, 3, 1, dtype)
        for A, matrix in (
            (Kronecker(a, b), np.kron(a, b)),
            (Block([[a, a], [a, 2 * a]]), np.block([[a, a], [a, 2 * a]])),
            (BlockDiagonal([a, b]), scipy.linalg.block_diag(a, b)),
            (Toeplitz(c, r), scipy.linalg.toeplitz(c, r)),
            (LowRankUpdate(a, U, V), a + U @ V.conj().T),
        ):
            assert A.shape == matrix.shape
            np.testing.assert_allclose(A.todense(), matrix, atol=1e-13)
            np.testing.assert_allclose(A.T.todense(), matrix.T, atol=1e-13)
            np.testing.assert_allclose(A.H.todense(), matrix.conj().T, atol=1e-13)
            y = random_matrix(rng, matrix.shape[0], 1, dtype)[:, 0]
            found = solve(A, y)
            assert found.method == "lsqr"
            np.testing.assert_allclose(found.x, np.linalg.lstsq(matrix, y)[0], atol=1e-7)

    def test_a_hermitian_toeplitz_matrix_needs_its_column_only(self, rng):
        c = np.array([4.0, 1j, 0.5])
        np.testing.assert_allclose(Toeplitz(c).todense(), scipy.linalg.toeplitz(c), atol=1e-14)


class TestJacobian:
    def test_is_that_of_the_function(self, rng):
        x = rng.standard_normal(4)
        W = rng.standard_normal((3, 4))

        def f(x):
            return np.tanh(W @ x) * x[0]

        J, exact = Jacobian(f, x), mo.jacobian(f)(x)
        np.testing.assert_allclose(J.todense(), exact)
        np.testing.assert_allclose(J.T.todense(), exact.T)
        np.testing.assert_allclose(J.H.T.todense(), exact)
        v = rng.standard_normal(4) + 1j * rng.standard_normal(4)
        np.testing.assert_allclose(J @ v, exact @ v)

    def test_of_a_holomorphic_function(self, rng):
        x = random_matrix(rng, 3, 1, "c16")[:, 0]
        J = Jacobian(lambda x: x**2, x)
        np.testing.assert_allclose(J.todense(), np.diag(2 * x))
        np.testing.assert_allclose(J.H.todense(), np.diag(2 * x.conj()))

    @pytest.mark.parametrize("target", ["eager", "native", "xla"])
    def test_a_step_of_newtons_method_and_its_gradient(self, target, rng):
        x = rng.uniform(0.5, 1, 4)

        def loss(x):
            step = solve(Jacobian(lambda x: x**3 + 0.1 * np.sum(x) * x, x), x)
            return np.sum(step.x**2)

        def direct(x):
            s = np.sum(x)
            J = np.diag(3 * x**2 + 0.1 * s) + 0.1 * np.outer(x, np.ones(4))
            return np.sum(np.linalg.solve(J, x) ** 2)

        gradient = mo.value_and_grad(loss)
        value, dx = (gradient if target == "eager" else mo.jit(gradient, target=target))(x)
        assert value == pytest.approx(direct(x), rel=1e-9)
        np.testing.assert_allclose(dx, mo.grad(direct)(x), rtol=1e-6)


class TestSolve:
    def test_the_assumption_decides_between_iterative_methods(self, rng):
        A, b = poisson(4), rng.standard_normal(16)
        for assume, name in (("positive definite", "cg"), ("hermitian", "minres"), (None, "gmres")):
            found = solve(FunctionOperator(lambda x: A @ x, (16, 16)), b, assume=assume)
            assert found.method == name and found.converged
            np.testing.assert_allclose(found.x, np.linalg.solve(A.toarray(), b), atol=1e-8)

    @pytest.mark.parametrize(
        "method", ["direct", "cg", "minres", "symmlq", "gmres", "bicgstab", "idrs", "lsqr", "lsmr"]
    )
    def test_a_method_by_name(self, method, rng):
        A, b = poisson(3), rng.standard_normal(9)
        found = solve(A, b, method=method)
        assert found.method == method
        np.testing.assert_allclose(found.x, np.linalg.solve(A.toarray(), b), atol=1e-7)

    def test_a_toeplitz_matrix_is_preconditioned_by_a_circulant(self, rng):
        n = 300
        A = Toeplitz(0.9 ** np.arange(n) + (np.arange(n) == 0) * 0.01)
        b = rng.standard_normal(n)
        found = solve(A, b)
        assert found.converged and found.iterations < 0.25 * mo.linalg.gmres(A, b).iterations
        np.testing.assert_allclose(A @ found.x, b, atol=1e-7)

    def test_sparse_gradients_keep_the_pattern(self, rng):
        A, b = convection_diffusion(5), rng.standard_normal(25)
        dA, db = mo.gradient(lambda A, b: np.sum(solve(A, b).x ** 2), A, b)
        x = np.linalg.solve(A.toarray(), b)
        dual = np.linalg.solve(A.toarray().T, 2 * x)
        rows = np.repeat(np.arange(25), np.diff(A.indptr))
        np.testing.assert_allclose(dA.data, -dual[rows] * x[A.indices], rtol=1e-10)
        np.testing.assert_allclose(db, dual, rtol=1e-10)

    def test_to_second_order(self, rng):
        p, b = rng.uniform(1, 2, 36), rng.standard_normal(6)
        for name in ("sparse", "low rank", "tridiagonal", "kronecker"):
            make, dense = SQUARE[name]
            found = mo.hvp(lambda p: np.sum(solve(make(p), b).x ** 2), p, np.ones(36))
            exact = mo.hvp(lambda p: np.sum(np.linalg.solve(dense(p), b) ** 2), p, np.ones(36))
            np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-10)


class TestBadInput:
    @pytest.mark.parametrize(
        "call, error, message",
        [
            (
                lambda: solve(np.eye(2), np.ones(2), method="qr"),
                mo.BadInput,
                "method is 'qr', expected one of auto, dir",
            ),
            (lambda: solve(np.eye(2), np.ones(2), assume="spd"), mo.BadInput, "assume is 'spd', expected None"),
            (
                lambda: solve(np.eye(2), np.ones(3)),
                mo.BadInput,
                r"solve: b has shape \(3,\), expected \(2,\) or \(2, k\)",
            ),
            (
                lambda: solve(np.ones((2, 3)), np.ones(2), "direct"),
                mo.BadInput,
                r"Dense of shape \(2, 3\), expected a sq",
            ),
            (
                lambda: solve(np.ones((2, 3)), np.ones(2), preconditioner=np.eye(3)),
                mo.BadInput,
                r"a preconditioner is given for A of shape \(2, 3\), where it would choose another solution",
            ),
            (
                lambda: Jacobian(np.diff, np.ones(2)).logdet(),
                mo.BadInput,
                r"logdet: Jacobian of shape \(1, 2\), expected",
            ),
            (lambda: Inverse(np.ones((2, 3))), mo.BadInput, r"Inverse: operator has shape \(2, 3\), expected a square"),
            (
                lambda: Inverse(FunctionOperator(lambda x: x[::-1], (2, 2)), "bicgstab") @ np.array([1.0, 0.0]),
                mo.MorulaError,
                "Inverse: bicgstab did not solve with the operator of shape .* give a preconditioner",
            ),
            (lambda: solve(np.eye(2), np.array([1, np.nan])), mo.MorulaError, "the direct method gave NaN or Inf"),
            (lambda: solve(Diagonal(np.array([1.0, 0.0])), np.ones(2)), mo.MorulaError, "Diagonal .* entry 1 is zero"),
            (lambda: solve(Circulant(np.ones(2)), np.ones(2)), mo.MorulaError, "Circulant .* is singular"),
            (lambda: solve(scipy.sparse.csr_array((2, 2)), np.ones(2)), mo.MorulaError, "Sparse .* is singular"),
            (lambda: solve(np.zeros((2, 2)), np.ones(2)), np.linalg.LinAlgError, "Singular matrix"),
            (lambda: Banded(np.ones((2, 3)), 1, 1), mo.BadInput, r"bands has shape \(2, 3\), expected \(3, n\)"),
            (lambda: tridiagonal(np.ones(2), np.ones(2), np.ones(1)), mo.BadInput, r"shapes \(2,\), \(2,\) and \(1,\)"),
            (lambda: Triangular(np.ones((2, 3))), mo.BadInput, r"matrix has shape \(2, 3\), expected a square matrix"),
            (lambda: Block([[np.eye(2)], []]), mo.BadInput, r"the rows have \[1, 0\] blocks, expected equal numbers"),
            (
                lambda: Block([[np.eye(2), np.eye(3)]]),
                mo.BadInput,
                r"block \(0, 1\) has shape \(3, 3\), expected \(2, 3\)",
            ),
            (lambda: BlockDiagonal([]), mo.BadInput, "there are no blocks"),
            (lambda: Circulant(np.eye(2)), mo.BadInput, r"column has shape \(2, 2\), expected \(n,\)"),
            (lambda: Toeplitz(np.eye(2)), mo.BadInput, r"column and row have shapes \(2, 2\)"),
            (
                lambda: LowRankUpdate(np.eye(2), np.ones(2)),
                mo.BadInput,
                r"U and V have shapes \(2,\) and \(2,\), expected",
            ),
            (lambda: Jacobian(np.sum, np.ones(2)), mo.BadInput, r"f\(x\) has shape \(\), expected vectors"),
            (lambda: Identity(2).solve(np.ones(3)), mo.BadInput, r"b has shape \(3,\)"),
            (lambda: Toeplitz(np.ones(2)).solve(np.ones(2)), mo.BadInput, "no direct solve is known for a Toeplitz"),
        ],
    )
    def test_says_what_was_wrong(self, call, error, message):
        with pytest.raises(error, match=message):
            call()
