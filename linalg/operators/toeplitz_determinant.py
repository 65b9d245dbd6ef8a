"""The logarithm of the determinant of a Toeplitz matrix in O(n^2) time and O(n) memory, and its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_toeplitz

from ...core import adjoint, tangent

SMALLEST = 1e-4
"""The least factor by which leading minors may deviate from a geometric progression where the recurrence is used."""


def log_abs_det(column: Any, row: Any) -> Any:
    """Return log|det T| of a square Toeplitz matrix by Levinson's recurrence, and whether the recurrence was stable.

    It is stable for Hermitian positive definite matrices (G. Cybenko, SIAM J. Sci. Stat. Comput. 1 (1980) 303-319), and
    where no leading minor is nearly singular.

    N. Levinson, J. Math. Phys. 25 (1946) 261-278; W.F. Trench, J. SIAM 12 (1964) 515-522, without symmetry.

    Returns:
        Array (2,): the logarithm, and 1 or 0.
    """
    n = column.shape[0]
    is_positive = np.all(row[1:] == np.conj(column[1:])) & (np.imag(column[0]) == 0.0)
    is_regular = column[0] != 0.0
    pivot = np.where(is_regular, column[0], 1.0)
    # The first and the last column of the inverse of the leading k rows and columns, followed by zeros.
    first = np.where(np.arange(n) == 0, 1.0 / pivot, 0.0)
    last = first
    before, along = np.concatenate([column[::-1], np.zeros_like(column)]), np.concatenate([row[1:], row[:1]])
    ratio = np.abs(pivot)
    total = np.log(ratio)
    for k in range(1, n):
        start = n - 1 - k
        below, above = np.sum(before[start : start + n] * first), np.sum(along * last)
        scale = 1.0 - below * above
        is_regular = is_regular & (np.abs(scale) > SMALLEST) & (np.abs(scale) < 1.0 / SMALLEST)
        is_positive = is_positive & (np.real(scale) > 0.0)
        scale = np.where(scale == 0.0, 1.0, scale)
        moved = np.concatenate([np.zeros_like(last[:1]), last[:-1]])
        first, last = (first - below * moved) / scale, (moved - above * first) / scale
        ratio = ratio * np.abs(scale)
        total = total + np.log(ratio)
    is_stable = (is_regular | is_positive) & np.isfinite(total)
    return np.stack([total, is_stable.astype(total.dtype)])


def sums_of_diagonals(column: Any, row: Any) -> tuple[Any, Any]:
    """Return the sums of the diagonals of the inverse: from the main one upwards, and from the main one downwards.

    By the formula of I. Gohberg and A. Semencul (Mat. Issled. 7 (1972) 201-223), the inverse is L(x) U(y) - L(y') U(x') over
    x[0], with triangular Toeplitz matrices made of its first and last columns x and y. The sums are weighted correlations.
    """
    n = column.shape[0]
    unit = np.where(np.arange(n) == 0, 1.0, 0.0).astype(column.dtype)
    x = solve_toeplitz((column, row), unit)
    y = solve_toeplitz((column, row), unit[::-1])
    zero = np.zeros(1, column.dtype)
    x_shifted, y_shifted = np.concatenate([zero, x[:0:-1]]), np.concatenate([zero, y[:-1]])
    weights = n - np.arange(n)
    above = _correlation(weights * y[::-1], x) - _correlation(weights * x_shifted, y_shifted)
    below = _correlation(weights * x, y[::-1]) - _correlation(weights * y_shifted, x_shifted)
    return above / x[0], below / x[0]


def _correlation(a: Any, b: Any) -> Any:
    """Return the sums over p of a[p + k] b[p], for each k from 0."""
    n = a.shape[0]
    both = np.fft.ifft(
        np.fft.fft(a, 2 * n) * np.fft.fft(np.concatenate([b[:1], np.zeros(n, b.dtype), b[:0:-1]]), 2 * n)
    )
    return (both if a.dtype.kind == "c" else np.real(both))[:n].astype(a.dtype)


@adjoint(log_abs_det)
def _(column: Any, row: Any) -> tuple[Any, Any]:
    found = log_abs_det(column, row)

    def back(dy: Any) -> tuple[Any, Any]:
        above, below = _slopes(column, row, found[1])
        return dy[0] * np.conj(above), dy[0] * np.conj(below)

    return found, back


@tangent(log_abs_det)
def _(column: Any, row: Any) -> tuple[Any, Any]:
    found = log_abs_det(column, row)

    def push(dcolumn: Any, drow: Any) -> Any:
        above, below = _slopes(column, row, found[1])
        change = np.sum(np.real(above * dcolumn)) + np.sum(np.real(below * drow))
        return np.stack([change, np.zeros_like(change)])

    return found, push


def _slopes(column: Any, row: Any, is_stable: Any) -> tuple[Any, Any]:
    """Return the derivatives by column and row; zeros where the result is not used."""
    if is_stable > 0.0:
        above, below = sums_of_diagonals(column, row)
        return above, np.where(np.arange(row.shape[0]) > 0, below, 0.0)
    return np.zeros_like(column), np.zeros_like(row)
