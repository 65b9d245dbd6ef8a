"""The front of the Hermitian eigenproblems: checks, the derivative, and the pairs in the wanted order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, MorulaError, constant
from ..operators import LinearOperator, as_operator
from .bases import dagger, orthonormal
from .invariant_subspace import Problem, hermitian_pairs, images, invariant
from .loop import CONVERGED, iterate
from .ordering import order_of
from .results import Eigenpairs

found = constant(iterate)
"""The iteration, which is not differentiated."""


def square(name: str, A: Any, k: Any, M: Any = None) -> tuple[LinearOperator, Any]:
    """Return A and M as operators; raise BadInput if they or k do not fit."""
    A = as_operator(A, f"{name}: A")
    n = A.shape[1]
    if A.shape[0] != n:
        raise BadInput(f"{name}: A has shape {A.shape}, expected a square operator")
    check_k(name, k, n)
    if M is None:
        return A, None
    M = as_operator(M, f"{name}: M")
    if M.shape != A.shape:
        raise BadInput(f"{name}: M has shape {M.shape}, expected {A.shape} like A")
    return A, M


def check_k(name: str, k: Any, n: int) -> None:
    """Raise BadInput unless 1 <= k <= n."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n:
        raise BadInput(f"{name}: k is {k!r}, expected a number of eigenvalues or triplets from 1 to {n}")


def check_iteration(name: str, rtol: float, limit: Any) -> None:
    """Raise BadInput for a tolerance or a number of iterations that is out of range."""
    if not rtol > 0:
        raise BadInput(f"{name}: rtol is {rtol!r}, expected a positive number")
    if limit < 0:
        raise BadInput(f"{name}: max_iterations is {limit!r}, expected a number that is not negative")


@constant
def dense_basis(name: str, A: LinearOperator, M: Any, k: int, which: str, sigma: Any) -> Any:
    """Return an orthonormal basis of the wanted space from all eigenvectors, for small matrices."""
    matrix = A.todense()
    n = matrix.shape[0]
    if not np.all(np.isfinite(matrix)):
        raise MorulaError(f"{name}: A holds NaN or Inf, expected finite numbers")
    check_hermitian_matrix(name, matrix)
    V = np.eye(n, dtype=matrix.dtype)
    if M is not None:
        V = orthonormal(np.eye(n, dtype=np.result_type(matrix, M.dtype)), M, name)[0]
    T = dagger(V) @ matrix @ V
    values, Y = np.linalg.eigh(0.5 * (T + dagger(T)))
    return V @ Y[:, order_of(values, which, sigma)[:k]]


def check_hermitian_matrix(name: str, matrix: Any) -> None:
    """Raise an error if the matrix is not Hermitian to rounding."""
    gap = np.max(np.abs(matrix - dagger(matrix)))
    if gap > np.finfo(matrix.dtype).eps ** 0.5 * np.max(np.abs(matrix)):
        raise MorulaError(f"{name}: A is not Hermitian: an entry of A - A.H is {gap:.6g}; use eigs")


def check_hermitian_operator(name: str, A: LinearOperator, key: Any, dtype: Any) -> None:
    """Raise an error if x·A y and A x·y differ for two vectors."""
    from .bases import start_block

    X = start_block(key, A.shape[0], 2, dtype)
    X = X * np.array([1.0, 1j]) + np.roll(X, 1, axis=0) if np.dtype(dtype).kind == "c" else X
    AX = A @ X
    G = dagger(X) @ AX
    if not np.all(np.isfinite(G)):
        raise MorulaError(f"{name}: A applied to a finite vector gave NaN or Inf")
    size = np.max(np.linalg.norm(X, axis=0)) * np.max(np.linalg.norm(AX, axis=0))
    if np.max(np.abs(G - dagger(G))) > np.finfo(dtype).eps ** 0.5 * size:
        raise MorulaError(f"{name}: A is not Hermitian: x·Ay and Ax·y differ; use eigs")


def result(
    problem: Problem, Q: Any, iterations: int, history: Any, code: int, which: str, sigma: Any, vectors: bool
) -> Eigenpairs:
    """Return the pairs in the space of Q, the most wanted first, with their derivative."""
    AQ, MQ = images(problem, Q)
    basis, S = invariant(problem, Q, AQ, code == CONVERGED)
    values, X = hermitian_pairs(problem, basis, S)
    order = order_of(values, which, sigma)
    values, X = values[order], X[:, order]
    norms = residual_norms(Q, AQ, MQ, X, values)
    return Eigenpairs(values, X if vectors else None, iterations, norms, history[: iterations + 1], code, problem.name)


@constant
def residual_norms(Q: Any, AQ: Any, MQ: Any, X: Any, values: Any) -> Any:
    """Return the norms of A x - lambda M x for vectors X in the span of Q, given A Q and M Q."""
    inside = dagger(MQ) @ X
    return np.linalg.norm(AQ @ inside - (MQ @ inside) * values, axis=0)
