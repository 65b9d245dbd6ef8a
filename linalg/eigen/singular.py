"""The derivative of singular triplets: those of the eigenpairs of [[0, A], [A^H, 0]], whose eigenvalues are theirs and the
negatives. G. Golub and C. Van Loan, Matrix Computations, 4th ed. (2013), section 8.6.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import MorulaError, constant
from ..operators import LinearOperator
from .bases import dagger
from .hermitian import residual_norms
from .invariant_subspace import Problem, hermitian_pairs, images, invariant
from .loop import CONVERGED
from .ordering import order_of
from .results import SingularTriplets


class Augmented(LinearOperator):
    """The Hermitian matrix [[0, A], [A^H, 0]]."""

    def __init__(self, A: LinearOperator) -> None:
        self.A = A

    @property
    def shape(self) -> tuple[int, int]:
        size = self.A.shape[0] + self.A.shape[1]
        return size, size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.A.dtype

    def matvec(self, x: Any) -> Any:
        m = self.A.shape[0]
        return np.concatenate([self.A @ x[m:], self.A.H @ x[:m]])

    def matmat(self, x: Any) -> Any:
        return self.matvec(x)

    def transpose(self) -> LinearOperator:
        return Augmented(self.A.H.T)


@constant
def dense_triplets(name: str, A: LinearOperator, k: int, which: str) -> tuple[Any, Any]:
    """Return the wanted left and right vectors from a decomposition of the dense matrix."""
    matrix = A.todense()
    if not np.all(np.isfinite(matrix)):
        raise MorulaError(f"{name}: A holds NaN or Inf, expected finite numbers")
    U, _, Vh = np.linalg.svd(matrix, full_matrices=False)
    if which == "smallest":
        U, Vh = U[:, ::-1], Vh[::-1]
    return U[:, :k], dagger(Vh[:k])


def result(
    name: str,
    A: LinearOperator,
    U: Any,
    V: Any,
    iterations: int,
    history: Any,
    code: int,
    which: str,
    vectors: bool,
    remedy: str = Problem.remedy,
) -> SingularTriplets:
    """Return the triplets in the spaces of the singular vectors U and V, the most wanted first, with their derivative."""
    problem = Problem(name, Augmented(A), None, True, augmented=True, remedy=remedy)
    Q = np.concatenate([U, V]) / 2.0**0.5
    AQ, MQ = images(problem, Q)
    basis, S = invariant(problem, Q, AQ, code == CONVERGED)
    values, X = hermitian_pairs(problem, basis, S)
    order = order_of(values, which, None)
    values, X = values[order], X[:, order]
    norms = residual_norms(Q, AQ, MQ, X, values)
    U, Vh = None, None
    if vectors:
        X = 2.0**0.5 * X
        U, Vh = X[: A.shape[0]], dagger(X[A.shape[0] :])
    return SingularTriplets(U, values, Vh, iterations, norms, history[: iterations + 1], code, name)
