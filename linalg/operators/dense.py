"""Dense and diagonal matrices, and the identity."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...core import BadInput, MorulaError
from .linear_operator import CONVERSIONS, LinearOperator, check_right_hand_side, columns_times, inexact


class Dense(LinearOperator):
    """The operator of a given matrix.

    Args:
        matrix: array of shape (m, n); integers are converted to float64.

    Raises:
        BadInput: ``matrix`` does not have two axes.

    >>> (Dense(np.array([[1.0, 2.0], [3.0, 4.0]])).T @ np.array([1.0, 1.0])).tolist()
    [4.0, 6.0]
    """

    def __init__(self, matrix: Any) -> None:
        if np.ndim(matrix) != 2:
            raise BadInput(f"Dense(matrix): the array has shape {np.shape(matrix)}, expected two axes (m, n)")
        self.matrix = inexact(matrix)

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    def matvec(self, x: Any) -> Any:
        return self.matrix @ x

    def matmat(self, x: Any) -> Any:
        return self.matrix @ x

    def transpose(self) -> LinearOperator:
        return Dense(self.matrix.T)

    def todense(self) -> Any:
        return self.matrix

    def diag(self) -> Any:
        return np.diagonal(self.matrix)

    @property
    def is_solvable(self) -> bool:
        return self.shape[0] == self.shape[1]

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        return np.linalg.solve(self.matrix, b)

    def solve_positive_definite(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        return cho_solve(cho_factor(self.matrix, lower=True), b)

    def logdet(self) -> Any:
        return np.linalg.slogdet(self.matrix)[1]


class Diagonal(LinearOperator):
    """A diagonal matrix: multiplies a vector entry by entry.

    Args:
        diagonal: array of shape (n,); integers are converted to float64.

    Raises:
        BadInput: ``diagonal`` does not have one axis.

    >>> (Diagonal(np.array([2.0, 3.0])) @ np.array([1.0, 1.0])).tolist()
    [2.0, 3.0]
    """

    def __init__(self, diagonal: Any) -> None:
        if np.ndim(diagonal) != 1:
            raise BadInput(f"Diagonal(diagonal): the array has shape {np.shape(diagonal)}, expected one axis (n,)")
        self.diagonal = inexact(diagonal)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.diagonal.shape[0], self.diagonal.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.diagonal.dtype

    def matvec(self, x: Any) -> Any:
        return self.diagonal * x

    def matmat(self, x: Any) -> Any:
        return columns_times(self.diagonal, x)

    def transpose(self) -> LinearOperator:
        return self

    def diag(self) -> Any:
        return self.diagonal

    @property
    def is_solvable(self) -> bool:
        return True

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        return columns_times(1.0 / without_zeros(self.diagonal, "Diagonal"), b)

    def logdet(self) -> Any:
        return np.sum(np.log(np.abs(self.diagonal)))


class Identity(LinearOperator):
    """The identity.

    Args:
        size: the length n of the vectors.
        dtype: the dtype of the entries.

    >>> Identity(2).todense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, size: int, dtype: Any = np.float64) -> None:
        self._size, self._dtype = size, np.dtype(dtype)

    @property
    def shape(self) -> tuple[int, int]:
        return (self._size, self._size)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def matvec(self, x: Any) -> Any:
        return x

    def matmat(self, x: Any) -> Any:
        return x

    def transpose(self) -> LinearOperator:
        return self

    def diag(self) -> Any:
        return np.ones(self._size, self._dtype)

    @property
    def is_solvable(self) -> bool:
        return True

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        return b

    def logdet(self) -> Any:
        return np.zeros((), self._dtype)[()]


def without_zeros(values: Any, what: str) -> Any:
    """Return the values; raise an error if one is zero, since the operator is singular."""
    if not np.all(values != 0.0):
        i = int(np.argmin(values != 0.0))
        raise MorulaError(f"{what} of shape ({len(values)}, {len(values)}) is singular: entry {i} is zero")
    return values


CONVERSIONS.append(((np.ndarray, list), Dense))
