"""``eigs`` of pencils A x = lambda M x against ``scipy.linalg.eig``, and of operators that fill one array in all calls."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from krylov_methods import random_matrix
from path_tester import run_on

import morula as mo
from morula.core.testing.differences import ridders
from morula.linalg import Banded, Diagonal, FunctionOperator, Inverse, Sparse, eigs, eigsh, lobpcg, svds

N = 40


def head(rng, dtype="f8"):
    """Three eigenvalues are apart from the others."""
    return np.diag(np.concatenate([[12.0, 10.0, 8.0], np.zeros(N - 3)])) + random_matrix(rng, N, N, dtype) / np.sqrt(N)


def mass(rng, dtype="f8"):
    return np.eye(N) + 0.1 * np.diag(np.arange(N) / N) + 0.05 * np.diag(np.ones(N - 1), -1).astype(dtype)


def of_sparse(m):
    pattern = scipy.sparse.csr_array(np.eye(N) + np.eye(N, k=-1))
    rows = np.repeat(np.arange(N), np.diff(pattern.indptr))
    return Sparse(m[rows, pattern.indices], pattern.indices, pattern.indptr, (N, N))


def of_bands(m):
    return Banded(np.stack([np.diagonal(m), np.concatenate([np.diagonal(m, -1), np.zeros(1)])]), 1, 0)


KINDS = {"array": lambda m: m, "sparse": of_sparse, "banded": of_bands}


def loss(values, X):
    weights = np.arange(12.0).reshape(4, 3)
    return np.real(np.sum(values * np.array([1.0, 2.0j, 3.0]))) + np.sum(np.abs(X[:4]) ** 2 * weights)


def reference(A, M, sigma):
    values, X = np.linalg.eig(np.linalg.solve(M, A))
    order = np.argsort(-np.abs(values) if sigma is None else np.abs(values - sigma))[:3]
    return loss(values[order], X[:, order])


@pytest.mark.parametrize("kind, sigma, dtype", [
    ("array", None, "c16"), ("array", 9.8, "f8"), ("sparse", None, "f8"), ("banded", None, "f8"),
])  # fmt: skip
def test_values_vectors_and_gradients(rng, kind, sigma, dtype):
    A, M = head(rng, dtype), mass(rng, dtype)
    found = eigs(A, 3, M=KINDS[kind](M), sigma=sigma)
    assert found.converged and np.max(found.residual_norms) < 1e-8
    values = scipy.linalg.eig(A, M)[0]
    order = np.argsort(-np.abs(values) if sigma is None else np.abs(values - sigma))[:3]
    np.testing.assert_allclose(found.values, values[order], rtol=1e-10)
    np.testing.assert_allclose(A @ found.vectors, M @ found.vectors * found.values, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=0), 1)

    def of(A, M):
        found = eigs(A, 3, M=KINDS[kind](M), sigma=sigma)
        return loss(found.values, found.vectors)

    dA, dM = mo.grad(of, argnums=(0, 1))(A, M)
    eA, eM = mo.grad(lambda A, M: reference(A, M, sigma), argnums=(0, 1))(A, M)
    in_pattern = (mass(rng) != 0) if kind in ("sparse", "banded") else np.ones((N, N), bool)
    np.testing.assert_allclose(dA, eA, atol=1e-7)
    np.testing.assert_allclose(dM[in_pattern], eM[in_pattern], atol=1e-7)


def test_sparse_pencils_by_shift_invert_and_small_ones():
    A, M = scipy.sparse.diags_array([np.arange(N) + 1.0, np.ones(N - 1)], offsets=[0, 1]).tocsr(), np.linspace(1, 2, N)
    exact = (np.arange(N) + 1.0) / M
    nearest = exact[np.argsort(np.abs(exact - 7.3))][:2]
    for mass_matrix in (scipy.sparse.diags_array(M).tocsc(), Diagonal(M)):
        np.testing.assert_allclose(eigs(A, 2, M=mass_matrix, sigma=7.3).values, nearest, rtol=1e-9)
    inverse = np.linalg.inv(A.toarray() - 7.3 * np.diag(M))
    np.testing.assert_allclose(
        eigs(A, 2, M=FunctionOperator(lambda x: M * x, A.shape)).values, exact[[-1, -2]], rtol=1e-9
    )
    np.testing.assert_allclose(eigs(A, 2, M=Diagonal(M), sigma=7.3, inverse=inverse).values, nearest, rtol=1e-9)
    small = eigs(np.diag([4.0, 6.0]), 2, M=np.diag([1.0, 3.0]))
    np.testing.assert_allclose(small.values, [4, 2])


def test_shifted_bands_are_factorised():
    A = Banded(np.stack([np.full(N, -1.0), np.full(N, 2.0), np.full(N, -1.0)]), 1, 1)
    exact = 2 - 2 * np.cos(np.pi * np.arange(1, N + 1) / (N + 1))
    found = eigsh(A, 2, sigma=1.0)
    np.testing.assert_allclose(found.values, exact[np.argsort(np.abs(exact - 1.0))][:2], rtol=1e-11)
    np.testing.assert_allclose(eigsh(A, 2, M=Diagonal(np.full(N, 2.0)), sigma=0.5).values, found.values / 2, rtol=1e-11)


def nearest_to_one(A, M):
    values = scipy.linalg.eigvals(A, M)
    values = values[np.isfinite(values)]
    return values[np.argsort(np.abs(values - 1.1))][:2]


@pytest.mark.parametrize(
    "kind, path", [("dense", "eager"), ("sparse", "eager"), ("sparse", "native"), ("dense", "xla")]
)
def test_a_singular_mass_has_infinite_eigenvalues(kind, path, rng):
    """As of equations with constraints; those near sigma are found, and differentiated."""
    n = 50
    a = np.diag(np.arange(1.0, n + 1)) + np.where(rng.random((n, n)) < 0.05, 0.3, 0.0)
    m = np.diag(np.where(np.arange(n) < n - 4, 1.0 + 0.1 * rng.random(n), 0.0)) + np.eye(n, k=-n + 3)
    w, v = np.where(a != 0, rng.standard_normal((n, n)), 0.0), np.where(m != 0, rng.standard_normal((n, n)), 0.0)

    def f(A, M):
        return np.sum(np.abs(eigs(A, 2, M=M, sigma=1.1).values - 0.2) ** 2)

    def exact(t):
        return np.sum(np.abs(nearest_to_one(a + t * w, m + t * v) - 0.2) ** 2)

    make = scipy.sparse.csr_array if kind == "sparse" else np.copy
    value, (dA, dM) = run_on(path)(mo.value_and_grad(f, (0, 1)))(make(a), make(m))
    dA, dM = [x.toarray() if kind == "sparse" else x for x in (dA, dM)]
    np.testing.assert_allclose(value, exact(0.0), rtol=1e-9)
    slope, error = ridders(exact, 1e-2)
    np.testing.assert_allclose(np.sum(dA * w) + np.sum(dM * v), slope, rtol=1e-7, atol=10 * error)


def test_of_a_singular_mass_only_finite_eigenvalues_are_given():
    mass = np.diag([1.0, 1.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(eigs(np.diag(np.arange(1.0, 6.0)), 3, M=mass, sigma=0.0).values, [1, 2, 3], rtol=1e-12)
    with pytest.raises(mo.MorulaError, match="eigs: M is singular, and fewer than the k wanted eigenvalues are finite"):
        eigs(np.diag(np.arange(1.0, 6.0)), 4, M=mass, sigma=0.0)


def test_bad_input():
    with pytest.raises(mo.BadInput, match=r"eigs: M has shape \(2, 2\), expected \(3, 3\) like A"):
        eigs(np.eye(3), 1, M=np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        eigs(np.eye(3), 1, M=np.zeros((3, 3)))
    with pytest.raises(mo.MorulaError, match="Sparse of shape .* is singular"):
        eigs(scipy.sparse.eye_array(60).tocsr(), 1, M=scipy.sparse.csr_array((60, 60)))
    with pytest.raises(mo.MorulaError, match="eigs: A - sigma M is singular for sigma = 0.5: choose a sigma that"):
        eigs(np.eye(60), 1, M=2 * np.eye(60), sigma=0.5)
    with pytest.raises(mo.MorulaError, match="Inverse: gmres did not solve with the operator of shape"):
        eigs(np.eye(60), 1, M=FunctionOperator(lambda x: 0.0 * x, (60, 60)))


def filling(matrix):
    """A SciPy operator whose functions fill and return one array each, in all calls."""
    m, n = matrix.shape
    down, up = np.zeros(m, matrix.dtype), np.zeros(n, matrix.dtype)

    def product(x):
        down[:] = matrix @ np.ravel(x)
        return down

    def adjoint(x):
        up[:] = matrix.conj().T @ np.ravel(x)
        return up

    return scipy.sparse.linalg.LinearOperator((m, n), matvec=product, rmatvec=adjoint, dtype=matrix.dtype)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_scipys_operators_may_fill_one_array_in_all_calls(rng, dtype):
    A = head(rng, dtype)
    S, block = A @ A.conj().T, rng.standard_normal((N, 3))
    for operator, matrix in ((filling(A), A), (filling(A).H, A.conj().T), (filling(A) + filling(S), A + S)):
        found = mo.linalg.as_operator(operator)
        np.testing.assert_allclose(found @ block, matrix @ block, atol=1e-11)
        np.testing.assert_allclose(found.H @ block, matrix.conj().T @ block, atol=1e-11)
    np.testing.assert_allclose(eigs(filling(A), 3).values, eigs(A, 3).values)
    np.testing.assert_allclose(eigsh(filling(S), 2).values, eigsh(S, 2).values)
    np.testing.assert_allclose(svds(filling(A), 2).values, svds(A, 2).values)
    np.testing.assert_allclose(lobpcg(filling(S), 2, "largest").values, eigsh(S, 2).values)


def test_the_inverse_of_an_operator_has_its_solves_gradient(rng):
    A, x = head(rng) + 20 * np.eye(N), rng.standard_normal(N)

    def of(A, x):
        B = Inverse(A, "gmres")
        return np.sum((B.T @ (B @ x)) ** 2)

    found = mo.gradient(of, A, x)
    exact = mo.gradient(lambda A, x: np.sum(np.linalg.solve(A.T, np.linalg.solve(A, x)) ** 2), A, x)
    for got, expected in zip(found, exact):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-12)


class TestCompletion:
    """Seven copies of one eigenvalue and three of another, by blocks of two columns or one."""

    DIAGONAL = np.concatenate([np.full(7, 5.0), np.full(3, 4.0), np.linspace(-4.5, 3, 90)])

    @pytest.mark.parametrize(
        "options, expected",
        [
            ({"block": 2}, [5.0] * 7 + [4.0]),
            ({"block": 2, "which": "magnitude"}, [5.0] * 7 + [-4.5]),
            ({"block": 1, "sigma": 4.6}, [5.0] * 7 + [4.0]),
            ({"block": 1, "M": 2 * np.eye(100)}, [2.5] * 7 + [2.0]),
            ({"block": 2, "size": 90}, [5.0] * 7 + [4.0]),
        ],
    )
    def test_finds_all_copies(self, options, expected):
        A = np.diag(self.DIAGONAL)
        found = eigsh(A, 8, complete=True, **options)
        assert found.converged
        np.testing.assert_allclose(found.values, expected, rtol=1e-11)
        X = found.vectors
        np.testing.assert_allclose(X.T @ options.get("M", np.eye(100)) @ X, np.eye(8), atol=1e-10)

    def test_without_it_a_block_misses_some(self):
        assert eigsh(np.diag(self.DIAGONAL), 8, block=2).values[-2] == pytest.approx(4.0)

    def test_the_whole_space_has_its_gradient(self):
        def of(A):
            return np.sum(eigsh(A, 7, block=2, complete=True).values)

        slope = mo.grad(of)(np.diag(self.DIAGONAL))
        np.testing.assert_allclose(slope, np.diag(np.arange(100) < 7), atol=1e-10)
