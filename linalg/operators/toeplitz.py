"""Toeplitz and circulant matrices, multiplied by the fast Fourier transform."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, constant
from .dense import without_zeros
from .linear_operator import LinearOperator, check_right_hand_side, columns_times, inexact
from .toeplitz_determinant import log_abs_det


class Circulant(LinearOperator):
    """The circulant matrix with a given first column: ``A[i, j] == column[(i - j) % n]``.

    Args:
        column: array (n,).

    Raises:
        BadInput: ``column`` does not have one axis.

    >>> Circulant(np.array([1.0, 2.0, 3.0])).todense().round(12).tolist()
    [[1.0, 3.0, 2.0], [2.0, 1.0, 3.0], [3.0, 2.0, 1.0]]
    """

    def __init__(self, column: Any) -> None:
        if np.ndim(column) != 1:
            raise BadInput(f"Circulant: column has shape {np.shape(column)}, expected (n,)")
        self.column = inexact(column)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.column.shape[0], self.column.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.column.dtype

    def matvec(self, x: Any) -> Any:
        return _filtered(np.fft.fft(self.column), x, self.dtype)

    def matmat(self, x: Any) -> Any:
        return self.matvec(x)

    def transpose(self) -> LinearOperator:
        return Circulant(np.roll(self.column[::-1], 1))

    def diag(self) -> Any:
        return self.column[0] * np.ones(self.shape[0], self.dtype)

    @property
    def is_solvable(self) -> bool:
        return True

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        return _filtered(1.0 / without_zeros(np.fft.fft(self.column), "Circulant"), b, self.dtype)

    def logdet(self) -> Any:
        return np.sum(np.log(np.abs(np.fft.fft(self.column))))


class Toeplitz(LinearOperator):
    """The Toeplitz matrix with a given first column and row: ``A[i, j]`` depends on i - j only.

    Args:
        column: array (m,).
        row: array (n,), by default the conjugate of ``column``; its first entry is ignored.

    Raises:
        BadInput: ``column`` or ``row`` does not have one axis.

    >>> Toeplitz(np.array([1.0, 2.0]), np.array([1.0, 3.0, 4.0])).todense().round(12).tolist()
    [[1.0, 3.0, 4.0], [2.0, 1.0, 3.0]]
    """

    def __init__(self, column: Any, row: Any = None) -> None:
        self.column = inexact(column)
        self.row = np.conj(self.column) if row is None else inexact(row)
        if np.ndim(self.column) != 1 or np.ndim(self.row) != 1:
            raise BadInput(
                f"Toeplitz: column and row have shapes {np.shape(column)} and {np.shape(self.row)}, expected (m,) and (n,)"
            )

    @property
    def shape(self) -> tuple[int, int]:
        return (self.column.shape[0], self.row.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.column, self.row)

    def matvec(self, x: Any) -> Any:
        m, n = self.shape
        around = np.concatenate([self.column, np.zeros(1, self.dtype), self.row[:0:-1]])
        padded = np.concatenate([x, np.zeros((m, *x.shape[1:]), x.dtype)])
        return _filtered(np.fft.fft(around), padded, self.dtype)[:m]

    def matmat(self, x: Any) -> Any:
        return self.matvec(x)

    def transpose(self) -> LinearOperator:
        first = self.column[:1]
        return Toeplitz(np.concatenate([first, self.row[1:]]), self.column)

    def diag(self) -> Any:
        return self.column[0] * np.ones(min(self.shape), self.dtype)

    def logdet(self) -> Any:
        """Return log|det A| by Levinson's recurrence: O(n^2) operations, O(n) memory, also for the gradient.

        Where a leading minor is nearly singular and A is not Hermitian positive definite, the recurrence is not stable, and the
        dense matrix is factorised.

        >>> Toeplitz(np.array([2.0, 1.0]), np.array([2.0, 0.5])).logdet().round(6)
        np.float64(1.252763)
        """
        if self.shape[0] != self.shape[1] or self.shape[0] == 0:
            return super().logdet()
        column, row = self.column.astype(self.dtype), self.row.astype(self.dtype)
        found = log_abs_det(column, row)
        if found[1] > 0.0:
            return found[0]
        return super().logdet()

    def approximate_inverse(self) -> LinearOperator | None:
        n = self.shape[0]
        return None if n != self.shape[1] or n < 2 else _inverse_of_strangs_circulant(self.column, self.row)


@constant
def _inverse_of_strangs_circulant(column: Any, row: Any) -> Circulant:
    """Return the inverse of the circulant that copies the central diagonals.

    G. Strang, "A proposal for Toeplitz matrix calculations", Stud. Appl. Math. 74 (1986) 171-176.
    """
    n = column.shape[0]
    half = n // 2
    spectrum = np.fft.fft(np.concatenate([column[: half + 1], row[n - half - 1 : 0 : -1]]))
    # Eigenvalues that nearly vanish would make it useless: they are left as they are.
    tiny = np.abs(spectrum) < 1e-8 * np.max(np.abs(spectrum))
    inverse = np.fft.ifft(1.0 / np.where(tiny, 1.0, spectrum))
    is_complex = column.dtype.kind == "c" or row.dtype.kind == "c"
    return Circulant(inverse if is_complex else np.real(inverse))


def _filtered(spectrum: Any, x: Any, dtype: Any) -> Any:
    """Return the circulant of the given eigenvalues times x, or times the columns of x."""
    y = np.fft.ifft(columns_times(spectrum, np.fft.fft(x, axis=0)), axis=0)
    out = np.result_type(dtype, x)
    return (y if out.kind == "c" else np.real(y)).astype(out)
