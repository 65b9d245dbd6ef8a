"""Some entries of the inverse of a sparse matrix, from its triangular factors.

K. Takahashi, J. Fagan and M.-S. Chin, "Formation of a sparse bus impedance matrix and its application to short circuit
study", 8th PICA Conference (1973); A.M. Erisman and W.F. Tinney, "On computing certain elements of the inverse of a sparse
matrix", Comm. ACM 18 (1975) 177-179.  With A = L U, U A^-1 = L^-1 and A^-1 L = U^-1 give the entries of the inverse in the
transposed pattern of L + U from the last row and column to the first, each from those before: about the work of the factorisation, and
no more memory than the factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

BLOCK = 64
"""How many columns of the inverse are computed at once where the recurrence cannot be used."""


def factorised(matrix: Any) -> Any:
    """Return SuperLU's factors of a matrix in CSC format: with pivots on the diagonal if the pattern is symmetric.

    Raises:
        RuntimeError: a pivot is zero.
    """
    pattern = csc_array((np.ones(len(matrix.data), np.int8), matrix.indices, matrix.indptr), shape=matrix.shape)
    if (pattern != pattern.T).nnz == 0:
        options = {"SymmetricMode": True}
        return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1, options=options)
    return splu(matrix)


def selected_inverse(factors: Any, i: Any, j: Any) -> Any:
    """Return the entries (j, i) of the inverse, for the stored entries (i, j) of the factorised matrix.

    Args:
        factors: what ``splu`` returns.
        i, j: the rows and columns of stored entries, arrays (nnz,) of int64.

    Returns:
        Array (nnz,).
    """
    n = factors.shape[0]
    L, U = factors.L.tocsc(), factors.U.tocsr()
    L.sort_indices()
    U.sort_indices()
    below, left = L.indices.astype(np.int64), _outer(L)
    above, top = U.indices.astype(np.int64), _outer(U)
    is_below, is_above, pivots = below > left, above > top, U.diagonal()
    below, left, lower = below[is_below], left[is_below], L.data[is_below]
    above, top, upper = above[is_above], top[is_above], U.data[is_above]
    starts, ends = np.searchsorted(left, np.arange(n + 1)), np.searchsorted(top, np.arange(n + 1))
    # The entry (r, c) of the inverse has the key n c + r: (j, k) for L[k, j], (k, j) for U[j, k], and the diagonal.
    places = np.concatenate([n * below + left, n * top + above, (n + 1) * np.arange(n)])
    order = np.argsort(places, kind="stable")
    keys, place = places[order], np.empty_like(order)
    place[order] = np.arange(len(order))
    of_row, of_column, of_diagonal = np.split(place, [len(below), len(below) + len(above)])
    found = np.zeros(len(keys), np.result_type(lower, upper))
    for a in range(n - 1, -1, -1):
        s, t = slice(starts[a], starts[a + 1]), slice(ends[a], ends[a + 1])
        wanted = n * below[s][None, :] + above[t][:, None]
        at = np.searchsorted(keys, wanted)
        if not np.array_equal(keys[at], wanted):  # SuperLU has dropped a zero of the pattern
            return _by_columns(factors, i, j)
        inner = found[at]
        column = -(inner @ lower[s])
        found[of_column[t]], found[of_row[s]] = column, -(upper[t] @ inner) / pivots[a]
        found[of_diagonal[a]] = (1.0 - upper[t] @ column) / pivots[a]
    wanted = n * factors.perm_r[i].astype(np.int64) + factors.perm_c[j]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return found[at] if np.array_equal(keys[at], wanted) else _by_columns(factors, i, j)


def _outer(matrix: Any) -> Any:
    """Return the column of each entry of a CSC matrix, the row for CSR."""
    return np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))


def _by_columns(factors: Any, i: Any, j: Any) -> Any:
    """Return the entries (j, i) of the inverse from solves with blocks of columns of the identity."""
    n = factors.shape[0]
    order = np.argsort(i, kind="stable")
    starts = np.searchsorted(i[order], np.arange(n + 1))
    found = np.zeros(len(i), factors.L.dtype)
    for first in range(0, n, BLOCK):
        last = min(n, first + BLOCK)
        X = factors.solve(np.eye(n, last - first, -first, dtype=found.dtype))
        q = order[starts[first] : starts[last]]
        found[q] = X[j[q], i[q] - first]
    return found
