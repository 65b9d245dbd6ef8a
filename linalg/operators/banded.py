"""Banded, tridiagonal and triangular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_banded, solve_triangular

from ...core import BadInput
from .linear_operator import LinearOperator, check_right_hand_side, columns_times, inexact


class Banded(LinearOperator):
    """A square matrix with few diagonals.

    Args:
        bands: the diagonals (lower + upper + 1, n), the highest first, in the form of ``scipy.linalg.solve_banded``: column
            j holds the entries of column j of the matrix, ``bands[upper + i - j, j] == A[i, j]``; the others are ignored.
        lower, upper: the numbers of diagonals below and above the main one, less than n.

    Raises:
        BadInput: the shapes do not match.

    >>> A = Banded(np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]]), lower=0, upper=1)
    >>> A.todense().tolist()
    [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]]
    """

    def __init__(self, bands: Any, lower: int, upper: int) -> None:
        shape = np.shape(bands)
        if len(shape) != 2 or shape[0] != lower + upper + 1 or not 0 <= max(lower, upper) < max(shape[1], 1):
            raise BadInput(
                f"Banded: bands has shape {shape}, expected ({lower + upper + 1}, n) for lower {lower} and upper {upper},"
                " both less than n"
            )
        self.bands, self.lower, self.upper = inexact(bands), lower, upper

    @property
    def shape(self) -> tuple[int, int]:
        return (self.bands.shape[1], self.bands.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.bands.dtype

    def _places(self, offset: int) -> tuple[int, int]:
        """Return the first column and the column after the last one of a diagonal."""
        n = self.bands.shape[1]
        return max(0, offset), n + min(0, offset)

    def matvec(self, x: Any) -> Any:
        y = np.zeros(np.shape(x), np.result_type(self.bands, x))
        for offset in range(-self.lower, self.upper + 1):
            begin, end = self._places(offset)
            y[begin - offset : end - offset] += columns_times(self.bands[self.upper - offset, begin:end], x[begin:end])
        return y

    def matmat(self, x: Any) -> Any:
        return self.matvec(x)

    def transpose(self) -> LinearOperator:
        bands = np.zeros_like(self.bands)
        for offset in range(-self.lower, self.upper + 1):
            begin, end = self._places(offset)
            bands[self.lower + offset, begin - offset : end - offset] = self.bands[self.upper - offset, begin:end]
        return Banded(bands, self.upper, self.lower)

    def diag(self) -> Any:
        return self.bands[self.upper]

    @property
    def is_solvable(self) -> bool:
        return True

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        return solve_banded((self.lower, self.upper), self.bands, b)

    def logdet(self) -> Any:
        if min(self.lower, self.upper) == 0:
            return np.sum(np.log(np.abs(self.diag())))
        # Gaussian elimination with partial pivoting; the window holds the rows that column j may take its pivot from.
        lower, n = self.lower, self.shape[0]
        rows = self._rows()
        window = np.stack([np.concatenate([rows[i, lower - i :], rows[n, : lower - i]]) for i in range(lower + 1)])
        total = np.zeros((), np.abs(self.bands[:0]).dtype)
        for j in range(n):
            p = np.argmax(np.abs(window[:, 0]))
            pivot = window[p]
            total = total + np.log(np.abs(pivot[0]))
            others = np.where(np.arange(lower)[:, None] == p - 1, window[:1], window[1:])
            factors = others[:, :1] / np.where(pivot[0] != 0.0, pivot[0], 1.0)
            left = np.concatenate([others[:, 1:] - factors * pivot[1:], rows[n : n + lower, :1]], axis=1)
            window = np.concatenate([left, rows[j + lower + 1 : j + lower + 2]])
        return total

    def _rows(self) -> Any:
        """Return the bands by rows, ``rows[i, lower + j - i] == A[i, j]``, with lower + 1 rows of zeros below."""
        n, below = self.shape[0], np.zeros(self.lower + 1, self.dtype)
        each = []
        for offset in range(-self.lower, self.upper + 1):
            begin, end = self._places(offset)
            before, after = np.zeros(begin - offset, self.dtype), np.zeros(n - (end - offset), self.dtype)
            each.append(np.concatenate([before, self.bands[self.upper - offset, begin:end], after, below]))
        return np.stack(each, axis=1)


def tridiagonal(lower: Any, main: Any, upper: Any) -> Banded:
    """Return the operator of a tridiagonal matrix.

    Args:
        lower: the entries below the diagonal, (n - 1,).
        main: the diagonal, (n,).
        upper: the entries above the diagonal, (n - 1,).

    Returns:
        A ``Banded`` operator (n, n).

    Raises:
        BadInput: the shapes do not match.

    >>> tridiagonal(np.array([1.0]), np.array([2.0, 3.0]), np.array([4.0])).todense().tolist()
    [[2.0, 4.0], [1.0, 3.0]]
    """
    n = np.size(main)
    if np.shape(main) != (n,) or np.shape(lower) != (n - 1,) or np.shape(upper) != (n - 1,):
        raise BadInput(
            f"tridiagonal: lower, main and upper have shapes {np.shape(lower)}, {np.shape(main)} and {np.shape(upper)},"
            " expected (n - 1,), (n,) and (n - 1,)"
        )
    zero = np.zeros(1, np.result_type(lower, main, upper))
    return Banded(np.stack([np.concatenate([zero, upper]), inexact(main), np.concatenate([lower, zero])]), 1, 1)


class Triangular(LinearOperator):
    """The lower or upper triangle of a square matrix; the other triangle is ignored.

    Args:
        matrix: array (n, n).
        lower: which triangle.

    Raises:
        BadInput: ``matrix`` is not square.

    >>> Triangular(np.array([[1.0, 9.0], [2.0, 4.0]])).solve(np.array([1.0, 4.0])).tolist()
    [1.0, 0.5]
    """

    def __init__(self, matrix: Any, lower: bool = True) -> None:
        shape = np.shape(matrix)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise BadInput(f"Triangular: matrix has shape {shape}, expected a square matrix (n, n)")
        self.matrix, self.lower = inexact(matrix), lower

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    def todense(self) -> Any:
        return np.tril(self.matrix) if self.lower else np.triu(self.matrix)

    def matvec(self, x: Any) -> Any:
        return self.todense() @ x

    def matmat(self, x: Any) -> Any:
        return self.todense() @ x

    def transpose(self) -> LinearOperator:
        return Triangular(self.matrix.T, not self.lower)

    def diag(self) -> Any:
        return np.diagonal(self.matrix)

    @property
    def is_solvable(self) -> bool:
        return True

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        return solve_triangular(self.matrix, b, lower=self.lower)

    def logdet(self) -> Any:
        return np.sum(np.log(np.abs(np.diagonal(self.matrix))))
