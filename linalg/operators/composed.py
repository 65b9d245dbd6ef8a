"""Kronecker products, and updates of small rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput
from .linear_operator import LinearOperator, as_operator, check_right_hand_side, inexact


class Kronecker(LinearOperator):
    """The Kronecker product of two operators: ``np.kron`` of their matrices.

    Args:
        left, right: operators or matrices, (p, q) and (r, s).

    >>> Kronecker(np.array([[1.0, 2.0]]), np.eye(1)).todense().tolist()
    [[1.0, 2.0]]
    """

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = as_operator(left, "Kronecker: left"), as_operator(right, "Kronecker: right")

    @property
    def shape(self) -> tuple[int, int]:
        return (self.left.shape[0] * self.right.shape[0], self.left.shape[1] * self.right.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.left.dtype, self.right.dtype)

    def matvec(self, x: Any) -> Any:
        grid = self.left @ np.reshape(x, (self.left.shape[1], self.right.shape[1]))
        return np.ravel((self.right @ grid.T).T)

    def matmat(self, x: Any) -> Any:
        (m, n), (p, q), k = self.left.shape, self.right.shape, x.shape[1]
        grid = np.reshape(self.left @ np.reshape(x, (n, q * k)), (m, q, k))
        grid = self.right @ np.reshape(np.swapaxes(grid, 0, 1), (q, m * k))
        return np.reshape(np.swapaxes(np.reshape(grid, (p, m, k)), 0, 1), (m * p, k))

    def transpose(self) -> LinearOperator:
        return Kronecker(self.left.T, self.right.T)

    def diag(self) -> Any:
        if self.left.shape[0] != self.left.shape[1] or self.right.shape[0] != self.right.shape[1]:
            return super().diag()
        return np.ravel(np.outer(self.left.diag(), self.right.diag()))

    @property
    def is_solvable(self) -> bool:
        return self.left.is_solvable and self.right.is_solvable

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        if np.ndim(b) == 2:
            return np.stack([self.solve(b[:, j]) for j in range(b.shape[1])], axis=1)
        grid = self.left.solve(np.reshape(b, (self.left.shape[0], self.right.shape[0])))
        return np.ravel(self.right.solve(grid.T).T)

    def logdet(self) -> Any:
        if self.left.shape[0] != self.left.shape[1]:
            return super().logdet()
        return self.right.shape[0] * self.left.logdet() + self.left.shape[0] * self.right.logdet()


class LowRankUpdate(LinearOperator):
    """A + U V^H, with few columns in U and V.

    Args:
        base: operator or matrix A, (m, n).
        U: array (m, k).
        V: array (n, k); U by default.

    Raises:
        BadInput: the shapes do not match.

    Source of ``solve`` and ``logdet``: the Sherman-Morrison-Woodbury formula and the matrix determinant lemma; G.H. Golub
    and C.F. Van Loan, Matrix Computations, 4th ed. (2013), section 2.1.4. They lose digits where A is nearly singular.

    >>> from morula.linalg import Identity
    >>> LowRankUpdate(Identity(2), np.ones((2, 1))).solve(np.array([3.0, 3.0])).tolist()
    [1.0, 1.0]
    """

    def __init__(self, base: Any, U: Any, V: Any = None) -> None:
        self.base = as_operator(base, "LowRankUpdate: base")
        self.U = inexact(U)
        self.V = self.U if V is None else inexact(V)
        m, n = self.base.shape
        if np.ndim(self.U) != 2 or self.U.shape[0] != m or np.shape(self.V) != (n, self.U.shape[1]):
            raise BadInput(
                f"LowRankUpdate: U and V have shapes {np.shape(self.U)} and {np.shape(self.V)}, expected ({m}, k) and"
                f" ({n}, k) for a base of shape {self.base.shape}"
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.base.dtype, self.U, self.V)

    def matvec(self, x: Any) -> Any:
        return self.base.matvec(x) + self.U @ (np.conj(self.V.T) @ x)

    def matmat(self, x: Any) -> Any:
        return self.base.matmat(x) + self.U @ (np.conj(self.V.T) @ x)

    def transpose(self) -> LinearOperator:
        return LowRankUpdate(self.base.T, np.conj(self.V), np.conj(self.U))

    def diag(self) -> Any:
        k = min(self.shape)
        return self.base.diag() + np.sum(self.U[:k] * np.conj(self.V[:k]), axis=1)

    @property
    def is_solvable(self) -> bool:
        return self.base.is_solvable

    def _capacitance(self, solved: Any) -> Any:
        return np.eye(self.U.shape[1]) + np.conj(self.V.T) @ solved

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        solved, y = self.base.solve(self.U), self.base.solve(b)
        return y - solved @ np.linalg.solve(self._capacitance(solved), np.conj(self.V.T) @ y)

    def logdet(self) -> Any:
        if not self.base.is_solvable:
            return super().logdet()
        return self.base.logdet() + np.linalg.slogdet(self._capacitance(self.base.solve(self.U)))[1]
