"""The logarithm of the determinant of a sparse matrix, whose derivative needs the inverse on the matrix's pattern only."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from ...core import MorulaError, adjoint, callback, tangent
from .selected_inverse import factorised, selected_inverse

BLOCK = 64
"""How many columns are solved for at once in derivatives of the second order."""


def log_abs_det(data: Any, indices: Any, indptr: Any) -> Any:
    """Return log|det A| of a square matrix in CSC format; minus infinity if it is singular."""
    return callback(_value, np.zeros(1, np.abs(data[:0]).dtype), data, indices, indptr)[0]


def transposed_inverse(data: Any, indices: Any, indptr: Any) -> Any:
    """Return for each stored entry (i, j) the entry (j, i) of the inverse.

    Raises:
        MorulaError: A is singular, or not finite.
    """
    inverse = callback(_inverse, np.zeros_like(data), data, indices, indptr)
    if np.any(np.isnan(inverse)):
        raise MorulaError(
            "Sparse.logdet: no derivative, since the matrix is singular or has an entry that is not finite"
        )
    return inverse


def _factors(data: Any, indices: Any, indptr: Any) -> Any:
    n = len(indptr) - 1
    A = csc_array((data, indices, indptr), shape=(n, n), copy=True)
    A.sum_duplicates()
    return factorised(A)


def _value(data: Any, indices: Any, indptr: Any) -> Any:
    found = np.zeros(1, np.abs(data[:0]).dtype)
    if not np.all(np.isfinite(data)):
        found[0] = np.nan
    elif len(indptr) > 1:
        try:
            found[0] = np.sum(np.log(np.abs(_factors(data, indices, indptr).U.diagonal())))
        except RuntimeError:  # a pivot is zero
            found[0] = -np.inf
    return found


def _inverse(data: Any, indices: Any, indptr: Any) -> Any:
    i, j = _places(data, indices, indptr)
    try:
        if not np.all(np.isfinite(data)):
            return np.full_like(data, np.nan)
        return selected_inverse(_factors(data, indices, indptr), i.astype(np.int64), j).astype(data.dtype)
    except RuntimeError:
        return np.full_like(data, np.nan)


def _places(data: Any, indices: Any, indptr: Any) -> tuple[Any, Any]:
    """Return the row and the column of each stored entry."""
    return indices, np.searchsorted(indptr, np.arange(data.shape[0]), side="right") - 1


@adjoint(log_abs_det)
def _(data: Any, indices: Any, indptr: Any) -> tuple[Any, Any]:
    def back(dy: Any) -> tuple[Any, Any, Any]:
        return dy * np.conj(transposed_inverse(data, indices, indptr)), None, None

    return log_abs_det(data, indices, indptr), back


@tangent(log_abs_det)
def _(data: Any, indices: Any, indptr: Any) -> tuple[Any, Any]:
    def push(d: Any, *others: Any) -> Any:
        return np.sum(np.real(transposed_inverse(data, indices, indptr) * d))

    return log_abs_det(data, indices, indptr), push


# d(A^-1) = -A^-1 dA A^-1, of which only entries in the pattern are needed


@adjoint(transposed_inverse)
def _(data: Any, indices: Any, indptr: Any) -> tuple[Any, Any]:
    i, j = _places(data, indices, indptr)

    def back(dy: Any) -> tuple[Any, Any, Any]:
        return -_between_inverses(data, indices, indptr, dy, j, i, "H"), None, None

    return transposed_inverse(data, indices, indptr), back


@tangent(transposed_inverse)
def _(data: Any, indices: Any, indptr: Any) -> tuple[Any, Any]:
    i, j = _places(data, indices, indptr)

    def push(d: Any, *others: Any) -> Any:
        return -_between_inverses(data, indices, indptr, d, i, j, "N")

    return transposed_inverse(data, indices, indptr), push


def _between_inverses(data: Any, indices: Any, indptr: Any, w: Any, p: Any, q: Any, trans: str) -> Any:
    """Return the entries (q, p) of S W S for the inverse S of A, or of A^H; W has the entries w at (p, q)."""
    n = len(indptr) - 1
    factors = splu(csc_array((data, np.copy(indices), np.copy(indptr)), shape=(n, n)))
    found = np.zeros_like(data)
    for block in range((n + BLOCK - 1) // BLOCK):
        columns = BLOCK * block + np.arange(BLOCK)
        X = factors.solve(np.where(np.arange(n)[:, None] == columns, 1.0, 0.0).astype(data.dtype), trans)
        Y = np.zeros_like(X)
        np.add.at(Y, p, w[:, None] * X[q])
        Y = factors.solve(Y, trans)
        at = p - BLOCK * block
        is_inside = (at >= 0) & (at < BLOCK)
        found = found + np.where(is_inside, Y[q, np.where(is_inside, at, 0)], 0.0)
    return found
