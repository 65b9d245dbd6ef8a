"""Derivatives of kernels of ``scipy.sparse`` that combine two matrices, or a matrix and a vector of factors.

SciPy drops entries of a sum, a difference or a product that happen to be zero; a derivative has no place for them then.
Programs that are differentiated keep them: ``combined`` and ``multiplied`` compute the entries of a pattern that does not depend
on the values, ``merged`` and ``product_pattern`` make it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import _sparsetools as kernels

from .sparse import at, register, rows
from .table import in_place, joint, zero


def sample(indptr: Any, indices: Any, data: Any, n_col: int, i: Any, j: Any) -> Any:
    """Return the entries (i, j) of a matrix, zero where none is stored."""
    found = np.zeros(len(i), data.dtype)
    i, j = i.astype(indices.dtype), j.astype(indices.dtype)
    kernels.csr_sample_values(len(indptr) - 1, n_col, indptr, indices, data, len(i), i, j, found)
    return found


# Rows and columns times factors


def scaled_rows_pullback(
    dy: Any, y: Any, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any
) -> tuple[Any, ...]:
    i = rows(Ap)
    return None, None, None, None, dy * np.conj(Xx[i]), at(i, dy * np.conj(Ax), len(Xx))


def scaled_columns_pullback(
    dy: Any, y: Any, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any
) -> tuple[Any, ...]:
    return None, None, None, None, dy * np.conj(Xx[Aj]), at(Aj, dy * np.conj(Ax), len(Xx))


in_place(kernels.csr_scale_rows, "n_row n_col Ap Aj Ax Xx", "Ax", scaled_rows_pullback)
in_place(kernels.csr_scale_columns, "n_row n_col Ap Aj Ax Xx", "Ax", scaled_columns_pullback)


# Entry by entry


def merged(n_row: int, n_col: int, Ap: Any, Aj: Any, Bp: Any, Bj: Any, in_both: bool) -> tuple[Any, Any, Any, Any]:
    """Return the pointers and columns of the union of two patterns, or of what is ``in_both``, in order.

    The last two results are the place in it of each entry of A and of B; the number of its entries for those that have none.
    """
    count = int(Ap[-1])
    keys = np.concatenate([rows(Ap) * n_col + Aj[:count], rows(Bp) * n_col + Bj[: Bp[-1]]])
    order = np.argsort(keys, kind="stable")  # merges in linear time what is in order
    keys = keys[order]
    is_first = np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]
    place = np.empty(len(keys), np.intp)
    place[order] = np.cumsum(is_first) - 1
    keys = keys[is_first]
    if in_both:
        is_kept = (np.bincount(place[:count], minlength=len(keys)) > 0) & (
            np.bincount(place[count:], minlength=len(keys)) > 0
        )
        keys = keys[is_kept]
        place = np.where(is_kept, np.cumsum(is_kept) - 1, len(keys))[place]
    return np.searchsorted(keys, n_col * np.arange(n_row + 1)), keys % max(n_col, 1), place[:count], place[count:]


def halved_where_equal(is_first: Any, is_equal: Any) -> Any:
    return np.where(is_equal, 0.5, np.where(is_first, 1.0, 0.0))


OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[..., tuple[Any, Any]]]] = {
    "plus": (np.add, lambda a, b: (1.0, 1.0)),
    "minus": (np.subtract, lambda a, b: (1.0, -1.0)),
    "elmul": (np.multiply, lambda a, b: (b, a)),
    "eldiv": (np.divide, lambda a, b: (1.0 / b, -a / b**2)),
    "maximum": (np.maximum, lambda a, b: (halved_where_equal(a > b, a == b), halved_where_equal(b > a, a == b))),
    "minimum": (np.minimum, lambda a, b: (halved_where_equal(a < b, a == b), halved_where_equal(b < a, a == b))),
}
"""The operations of the kernels ``csr_..._csr`` and ``bsr_..._bsr``, and their partial derivatives."""


def combined(name: str, Ax: Any, Bx: Any, of_a: Any, of_b: Any, count: int) -> Any:
    """Return an operation's results at the entries of ``merged``; rows of Ax and Bx are entries, or blocks of them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return OPERATIONS[name][0](at(of_a, Ax, count + 1)[:count], at(of_b, Bx, count + 1)[:count])


def combined_pullback(
    dy: Any, y: Any, name: str, Ax: Any, Bx: Any, of_a: Any, of_b: Any, count: int
) -> tuple[Any, ...]:
    da, db = OPERATIONS[name][1](at(of_a, Ax, count + 1)[:count], at(of_b, Bx, count + 1)[:count])
    nothing = np.zeros((1, *dy.shape[1:]), dy.dtype)
    da, db = np.concatenate([dy * np.conj(da), nothing]), np.concatenate([dy * np.conj(db), nothing])
    return None, da[of_a], db[of_b]


zero(merged)
joint(combined, combined_pullback)


# Products


def product_pattern(n_row: int, n_col: int, Ap: Any, Aj: Any, Bp: Any, Bj: Any, Cj: Any) -> tuple[Any, Any]:
    """Return the pointers and columns of a product, for an array ``Cj`` for its columns."""
    ones, more = np.ones(len(Aj), np.float32), np.ones(len(Bj), np.float32)
    pointers, columns = np.empty(n_row + 1, Cj.dtype), np.empty(len(Cj), Cj.dtype)
    kernels.csr_matmat(n_row, n_col, Ap, Aj, ones, Bp, Bj, more, pointers, columns, np.empty(len(Cj), np.float32))
    return pointers, columns[: pointers[-1]]


def multiplied(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, Cp: Any, Cj: Any) -> Any:
    """Return the entries of a product in its pattern."""
    pointers, columns, dtype = np.empty_like(Cp), np.empty_like(Cj), np.result_type(Ax, Bx)
    data = np.empty(len(Cj), dtype)
    kernels.csr_matmat(n_row, n_col, Ap, Aj, Ax.astype(dtype), Bp, Bj, Bx.astype(dtype), pointers, columns, data)
    if pointers[-1] == len(Cj):
        return data
    count = pointers[-1]
    return sample(pointers, columns[:count], data[:count], n_col, rows(Cp), Cj)


def met(Ap: Any, Aj: Any, Bp: Any) -> tuple[Any, Any]:
    """Return the positions in A and in B of the factors of every scalar product."""
    count = (Bp[1:] - Bp[:-1])[Aj]
    pa = np.repeat(np.arange(len(Aj)), count)
    return pa, np.arange(len(pa)) - np.repeat(np.cumsum(count) - count, count) + Bp[Aj][pa]


def multiplied_pullback(
    dy: Any, y: Any, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, Cp: Any, Cj: Any
) -> tuple[Any, ...]:
    """Compute dA = dC B^H and dB = A^H dC at stored entries only, from the pairs of entries of A and B that meet."""
    pa, pb = met(Ap, Aj, Bp)
    dc = sample(Cp, Cj, dy, n_col, rows(Ap)[pa], Bj[pb])
    da = at(pa, dc * np.conj(Bx[pb]), len(Ax))
    return None, None, None, None, da, None, None, at(pb, dc * np.conj(Ax[pa]), len(Bx))


zero(product_pattern)
joint(multiplied, multiplied_pullback)


def block_product_pullback(
    dy: Any, y: Any, bnnz: int, n_brow: int, n_bcol: int, R: int, C: int, N: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, *c: Any
) -> tuple[Any, ...]:  # fmt: skip
    """Do what ``multiplied_pullback`` does for blocks (R, N) and (N, C)."""
    _, cp, cj = y
    dc, a, b = np.reshape(dy[0], (-1, R, C)), np.reshape(Ax, (-1, R, N)), np.reshape(Bx, (-1, N, C))
    pa, pb = met(Ap, Aj, Bp)
    q = sample(cp, cj, np.arange(float(len(cj))), n_bcol, rows(Ap)[pa], Bj[pb]).astype(np.intp)
    da = at(pa, dc[q] @ np.conj(np.swapaxes(b[pb], 1, 2)), len(a))
    db = at(pb, np.conj(np.swapaxes(a[pa], 1, 2)) @ dc[q], len(b))
    return None, None, None, None, None, None, None, None, np.ravel(da), None, None, np.ravel(db)


register("bsr_matmat", "bnnz n_brow n_bcol R C N Ap Aj Ax Bp Bj Bx Cp Cj Cx", "Cx Cp Cj", block_product_pullback)


def diagonal_product_pullback(
    dy: Any, y: Any, a_rows: int, a_cols: int, a_diags: int, a_L: int, a_offsets: Any, a_data: Any, b_cols: int, b_diags: int, b_L: int, b_offsets: Any, b_data: Any
) -> tuple[Any, ...]:  # fmt: skip
    """Compute the cotangents of two matrices stored by diagonals: data[k, j] is the entry (j - offsets[k], j)."""
    offsets = y[0]
    dc = np.reshape(dy[1], (len(offsets), -1))
    da, db = np.zeros_like(a_data, dc.dtype), np.zeros_like(b_data, dc.dtype)
    for p, q in np.ndindex(a_diags, b_diags):
        low = max(0, b_offsets[q], a_offsets[p] + b_offsets[q])
        high = min(b_L, b_cols, dc.shape[1], min(a_L, a_cols) + b_offsets[q], a_rows + a_offsets[p] + b_offsets[q])
        if low < high:
            j, i = slice(low, high), slice(low - b_offsets[q], high - b_offsets[q])
            d = dc[np.nonzero(offsets == a_offsets[p] + b_offsets[q])[0][0], j]
            da[p, i] += d * np.conj(b_data[q, j])
            db[q, j] += d * np.conj(a_data[p, i])
    return None, None, None, None, None, da, None, None, None, None, db


if hasattr(kernels, "dia_matmat"):
    joint(kernels.dia_matmat, diagonal_product_pullback)
