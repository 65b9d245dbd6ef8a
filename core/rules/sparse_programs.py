"""Programs for the compiled kernels of ``scipy.sparse``, which compiled programs contain in their place.

Places of values follow from the sparsity pattern, which may be known only when the program runs.  Other kernels that move
values are run on the values' positions, while compiling, and so need a pattern that is known then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import _sparsetools as kernels, csc_array, issparse
from scipy.sparse.linalg._dsolve import _superlu

from ..errors import BadInput
from . import sparse_loops as loops
from .sparse import at, of_blocks, rows_of as rows
from .sparse_equations import solution
from .sparse_pairs import OPERATIONS, merged, met, product_pattern, sample
from .sparse_solutions import solution_entries, solution_places
from .table import model, runs_compiled

Arrays = tuple[Any, ...]


def program(
    kernel: str, into: tuple[int, ...], body: Callable[..., Any], loops: Callable[..., Any] | None = None
) -> None:
    """Register the program of a kernel, if the installed version of SciPy has it."""
    if hasattr(kernels, kernel):
        model(getattr(kernels, kernel), body, into=into, updates=True, loops=loops)


# Patterns


def pointers(i: Any, n: int, dtype: Any) -> Any:
    """Return where the entries of each of n rows begin, after they are sorted by their rows i, and their number."""
    if n == 0:
        return np.zeros(1, dtype)
    ends = np.cumsum(at(i, np.ones(len(i), dtype), n), dtype=dtype)
    return np.concatenate([np.zeros(1, dtype), ends[:-1], np.full(1, len(i), dtype)])


def grouped(i: Any, j: Any, x: Any, n: int, Bp: Any, Bj: Any) -> Arrays:
    """Sort entries (i, j) by their rows; return their values, pointers and columns."""
    order = np.argsort(i, kind="stable")
    return x[order], pointers(i, n, Bp.dtype), j[order].astype(Bj.dtype)


def is_new_row(Ap: Any, count: Any) -> Any:
    """Whether each stored entry after the first is in another row than the one before it."""
    i = rows(Ap, count)
    return i[1:] != i[:-1]


def csr_has_sorted_indices(n_row: int, Ap: Any, Aj: Any) -> Any:
    return np.all(is_new_row(Ap, len(Aj)) | (Aj[1:] >= Aj[:-1]))


def csr_has_canonical_format(n_row: int, Ap: Any, Aj: Any) -> Any:
    return np.all(Ap[1:] >= Ap[:-1]) & np.all(is_new_row(Ap, len(Aj)) | (Aj[1:] > Aj[:-1]))


def csr_sum_duplicates(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any) -> Arrays:
    """Add neighbours at one place; behind the fewer entries, the arrays keep what they held."""
    n = len(Aj)
    if n == 0:
        return Ax, Ap, Aj
    is_first = np.concatenate([np.ones(1, bool), is_new_row(Ap, n) | (Aj[1:] != Aj[:-1])])
    count = np.cumsum(is_first)
    is_used = np.arange(n) < count[-1]
    indices = np.copy(Aj)
    indices[count - 1] = Aj
    before = np.concatenate([np.zeros(1, Ap.dtype), count.astype(Ap.dtype)])
    return np.where(is_used, at(count - 1, Ax, n), Ax), before[Ap], indices


def expandptr(n_row: int, Ap: Any, Bi: Any) -> Any:
    return rows(Ap, len(Bi)).astype(Bi.dtype)


program("expandptr", (2,), expandptr)
program("csr_has_sorted_indices", (), csr_has_sorted_indices)
program("csr_has_canonical_format", (), csr_has_canonical_format)
program("csr_sum_duplicates", (4, 2, 3), csr_sum_duplicates)


# Conversions


def coo_tocsr(n_row: int, n_col: int, nnz: int, Ai: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any) -> Arrays:
    return grouped(Ai, Aj, Ax, n_row, Bp, Bj)


def csr_tocsc(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bi: Any, Bx: Any) -> Arrays:
    return grouped(Aj, rows(Ap, len(Aj)), Ax, n_col, Bp, Bi)


def csc_tocsr(n_row: int, n_col: int, Ap: Any, Ai: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any) -> Arrays:
    return csr_tocsc(n_col, n_row, Ap, Ai, Ax, Bp, Bj, Bx)


def csr_sort_indices(n_row: int, Ap: Any, Aj: Any, Ax: Any) -> Arrays:
    order = np.lexsort((Aj, rows(Ap, len(Aj))))
    return Ax[order], Aj[order]


program("coo_tocsr", (8, 6, 7), coo_tocsr)
program("csr_tocsc", (7, 5, 6), csr_tocsc)
program("csc_tocsr", (7, 5, 6), csc_tocsr)
program("csr_sort_indices", (3, 2), csr_sort_indices)


def on_positions(kernel: str, names: str, writes: str) -> None:
    """Register a kernel that writes each value of ``Ax`` to at most one place."""
    order, written = names.split(), writes.split()

    def body(*args: Any) -> Arrays:
        given = dict(zip(order, args))
        made = {name: np.copy(given[name]) for name in written}
        made[written[0]] = np.zeros(np.shape(given[written[0]]))
        made["Ax"] = np.reshape(np.arange(1.0, 1.0 + np.size(given["Ax"])), np.shape(given["Ax"]))
        getattr(kernels, kernel)(*[made.get(name, given[name]) for name in order])
        source = np.ravel(made[written[0]]).astype(np.intp)
        (q,) = np.nonzero(source)
        moved = np.zeros(np.size(source), given["Ax"].dtype)
        moved[q] = np.ravel(given["Ax"])[source[q] - 1]
        return np.reshape(moved, np.shape(given[written[0]])), *[made[name] for name in written[1:]]

    program(kernel, tuple(map(order.index, written)), body)


on_positions("csr_tobsr", "n_row n_col R C Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")
on_positions("csr_hstack", "n_blocks n_row n_col Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")
on_positions("bsr_sort_indices", "n_brow n_bcol R C Ap Aj Ax", "Ax Aj")
on_positions("bsr_tocsr", "n_brow n_bcol R C Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")
on_positions("bsr_transpose", "n_brow n_bcol R C Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")


# Parts


def runs(counts: Any, total: Any) -> Arrays:
    """Return for each of ``total`` places in a row of runs of these lengths: its run, and its place in that."""
    begins = np.concatenate([np.zeros(1, counts.dtype), np.cumsum(counts, dtype=counts.dtype)])
    run = rows(begins, total)
    return run, np.arange(total) - begins[run]


def csr_row_index(n_row_idx: int, i: Any, Ap: Any, Aj: Any, Ax: Any, Bj: Any, Bx: Any) -> Arrays:
    run, place = runs(Ap[i + 1] - Ap[i], len(Bj))
    source = Ap[i][run] + place
    return Ax[source], Aj[source]


def csr_row_slice(start: int, stop: int, step: int, Ap: Any, Aj: Any, Ax: Any, Bj: Any, Bx: Any) -> Arrays:
    return csr_row_index(0, np.arange(start, stop, step), Ap, Aj, Ax, Bj, Bx)


def csr_column_index1(
    n_idx: int, idx: Any, n_row: int, n_col: int, Ap: Any, Aj: Any, col_offsets: Any, Bp: Any
) -> Arrays:
    counts = at(idx, np.ones(len(idx), col_offsets.dtype), n_col)
    before = np.concatenate([np.zeros(1, Bp.dtype), np.cumsum(counts[Aj], dtype=Bp.dtype)])
    return np.cumsum(col_offsets + counts, dtype=col_offsets.dtype), before[Ap]


def csr_column_index2(order: Any, offsets: Any, nnz: int, Aj: Any, Ax: Any, Bj: Any, Bx: Any) -> Arrays:
    begins = np.concatenate([np.zeros(1, offsets.dtype), offsets])
    run, place = runs((begins[1:] - begins[:-1])[Aj], len(Bj))
    return Ax[run], order[begins[Aj[run]] + place].astype(Bj.dtype)


def get_csr_submatrix(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, i0: int, i1: int, j0: int, j1: int) -> Arrays:
    i = rows(Ap, len(Aj))
    is_in = (i >= i0) & (i < i1) & (Aj >= j0) & (Aj < j1)
    return pointers(i[is_in] - i0, i1 - i0, Ap.dtype), (Aj[is_in] - j0).astype(Aj.dtype), Ax[is_in]


program("csr_row_index", (6, 5), csr_row_index)
program("csr_row_slice", (7, 6), csr_row_slice)
program("csr_column_index1", (6, 7), csr_column_index1)
program("csr_column_index2", (6, 5), csr_column_index2)
program("get_csr_submatrix", (), get_csr_submatrix)


# Two matrices


def padded(n_row: int, n_col: int, Ap: Any, Aj: Any, Bp: Any, Bj: Any, in_both: bool) -> Arrays:
    """Do what ``merged`` does, with columns for the greatest number of entries, which also stands for those without a place."""
    pointers, columns, of_a, of_b = merged(n_row, n_col, Ap, Aj, Bp, Bj, in_both)
    size, count = len(Aj) + len(Bj), len(columns)
    columns = np.concatenate([columns, np.zeros(size - count, columns.dtype)])
    return pointers, columns, *[np.where(place == count, size, place) for place in (of_a, of_b)]


def padded_at_run_time(n_row: int, n_col: int, Ap: Any, Aj: Any, Bp: Any, Bj: Any, in_both: bool) -> Arrays:
    """Do the same for patterns that are known when the program runs."""
    if not (csr_has_canonical_format(n_row, Ap, Aj) and csr_has_canonical_format(n_row, Bp, Bj)):
        raise BadInput("compiled code combines sparse matrices in canonical format only; call their sum_duplicates()")
    n, m = len(Aj), len(Bj)
    i, j = np.concatenate([rows(Ap, n), rows(Bp, m)]), np.concatenate([Aj, Bj])
    order = np.lexsort((j, i))
    i, j = i[order], j[order]
    is_same = (i[1:] == i[:-1]) & (j[1:] == j[:-1])
    is_first = np.concatenate([np.ones(1, bool), ~is_same])
    entry = np.cumsum(is_first) - 1
    is_kept = is_first & np.concatenate([is_same, np.zeros(1, bool)]) if in_both else is_first
    kept = at(entry, is_kept.astype(np.intp), n + m)
    place = np.where(kept[entry] > 0, (np.cumsum(kept) - 1)[entry], n + m)
    columns, places = np.zeros(n + m + 1, Aj.dtype), np.zeros(n + m, np.intp)
    columns[place], places[order] = j, place
    counts = np.cumsum(at(i, is_kept.astype(np.intp), n_row))
    return np.concatenate([np.zeros(1, np.intp), counts]), columns[: n + m], places[:n], places[n:]


model(padded, padded_at_run_time)


def of_both(name: str) -> Callable[..., Arrays]:
    """Return what a kernel does that combines two matrices entry by entry; zeros are kept."""

    def body(
        n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, Cp: Any, Cj: Any, Cx: Any
    ) -> Arrays:
        size = len(Aj) + len(Bj)
        if size == 0:
            return Cx, np.zeros_like(Cp), Cj
        pointers, columns, of_a, of_b = padded(n_row, n_col, Ap, Aj, Bp, Bj, name == "elmul")
        found = OPERATIONS[name][0](at(of_a, Ax, size + 1), at(of_b, Bx, size + 1))[:size]
        return found.astype(Cx.dtype), pointers.astype(Cp.dtype), columns.astype(Cj.dtype)

    return body


def of_both_in_blocks(name: str) -> Callable[..., Arrays]:
    of_entries = of_both(name)

    def body(
        n_brow: int, n_bcol: int, R: int, C: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, Cp: Any, Cj: Any, Cx: Any
    ) -> Arrays:  # fmt: skip
        shape = (-1, R * C)
        a, b, c = np.reshape(Ax, shape), np.reshape(Bx, shape), np.reshape(Cx, shape)
        found, pointers, columns = of_entries(n_brow, n_bcol, Ap, Aj, a, Bp, Bj, b, Cp, Cj, c)
        return np.ravel(found), pointers, columns

    return body


for _name in ("plus", "minus", "elmul", "maximum", "minimum"):
    program(f"csr_{_name}_csr", (10, 8, 9), of_both(_name))
    program(f"bsr_{_name}_bsr", (12, 10, 11), of_both_in_blocks(_name))


def product_places(n_row: int, n_col: int, Ap: Any, Aj: Any, Bp: Any, Bj: Any, Cj: Any) -> Arrays:
    """Return the pattern of a product, and for every scalar product the places of its factors and of the result."""
    pointers, columns = product_pattern(n_row, n_col, Ap, Aj, Bp, Bj, Cj)
    pa, pb = met(Ap, Aj, Bp)
    numbers = np.arange(float(len(columns)))
    place = sample(pointers, columns, numbers, n_col, np.searchsorted(Ap, pa, side="right") - 1, Bj[pb])
    return pointers, columns, pa, pb, place.astype(np.intp)


def csr_matmat(
    n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, Cp: Any, Cj: Any, Cx: Any
) -> Arrays:
    pointers, columns, pa, pb, place = product_places(n_row, n_col, Ap, Aj, Bp, Bj, Cj)
    return at(place, Ax[pa] * Bx[pb], len(Cx)), pointers, columns


def bsr_matmat(
    bnnz: int, n_brow: int, n_bcol: int, R: int, C: int, N: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, Cp: Any, Cj: Any, Cx: Any
) -> Arrays:  # fmt: skip
    pointers, columns, pa, pb, place = product_places(n_brow, n_bcol, Ap, Aj, Bp, Bj, Cj)
    blocks = np.reshape(Ax, (-1, R, N))[pa] @ np.reshape(Bx, (-1, N, C))[pb]
    return np.ravel(at(place, blocks, len(Cj))), pointers, columns


def dia_matmat(
    a_rows: int, a_cols: int, a_diags: int, a_L: int, a_offsets: Any, a_data: Any, b_cols: int, b_diags: int, b_L: int, b_offsets: Any, b_data: Any
) -> Arrays:  # fmt: skip
    """Multiply matrices stored by diagonals: data[k, j] is the entry (j - offsets[k], j)."""
    offsets, pairs = diagonals_of_product(a_rows, b_cols, a_offsets, b_offsets)
    data = np.zeros((len(offsets), b_cols), np.result_type(a_data, b_data))
    for p, q, d in pairs:
        a, b = int(a_offsets[p]), int(b_offsets[q])
        low, high = max(0, b, a + b), min(b_L, b_cols, min(a_L, a_cols) + b, a_rows + a + b)
        if low < high:
            data[d, low:high] += a_data[p, low - b : high - b] * b_data[q, low:high]
    return offsets, np.ravel(data)


def diagonals_of_product(a_rows: int, b_cols: int, a_offsets: Any, b_offsets: Any) -> Arrays:
    """Return the offsets of a product, and the triples of a diagonal of A, one of B, and that to which they contribute."""
    sums = np.add.outer(a_offsets, b_offsets)
    offsets = np.unique(sums[(sums > -a_rows) & (sums < b_cols)])
    found = [(p, q, np.searchsorted(offsets, sums[p, q])) for p, q in np.ndindex(sums.shape)]
    return offsets.astype(a_offsets.dtype), [
        (p, q, int(d)) for p, q, d in found if d < len(offsets) and offsets[d] == sums[p, q]
    ]


if hasattr(kernels, "dia_matmat"):
    model(kernels.dia_matmat, dia_matmat)
program("csr_matmat", (10, 8, 9), csr_matmat)
program("bsr_matmat", (14, 12, 13), bsr_matmat)


# Dense arrays


def added(Bx: Any, places: Any, x: Any) -> Any:
    """Return Bx with values added at places of its flat form."""
    return Bx + np.reshape(at(places, x, np.size(Bx)), np.shape(Bx))


def csr_todense(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bx: Any) -> Any:
    return added(Bx, rows(Ap, len(Aj)) * n_col + Aj, Ax)


def coo_todense(n_row: int, n_col: int, nnz: int, Ai: Any, Aj: Any, Ax: Any, Bx: Any, fortran: int) -> Any:
    i, j = Ai.astype(np.intp), Aj.astype(np.intp)
    return added(Bx, i + n_row * j if fortran else i * n_col + j, Ax)


def coo_todense_nd(strides: Any, nnz: int, n_dim: int, coords: Any, Ax: Any, Bx: Any, fortran: int) -> Any:
    return added(Bx, strides @ np.reshape(coords, (n_dim, nnz)).astype(np.intp), Ax)


def csr_diagonal(k: int, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Yx: Any) -> Any:
    i = rows(Ap, len(Aj))
    place = i + min(k, 0)
    is_on = (Aj == i + k) & (place < len(Yx))
    return at(np.where(is_on, place, 0), np.where(is_on, Ax, 0), len(Yx))


def bsr_diagonal(k: int, n_brow: int, n_bcol: int, R: int, C: int, Ap: Any, Aj: Any, Ax: Any, Yx: Any) -> Any:
    i, j = of_blocks(rows(Ap, len(Aj)), Aj, R, C)
    is_on = j == i + k
    return at(np.where(is_on, i + min(k, 0), 0), np.where(is_on, np.ravel(Ax), 0), len(Yx))


def csr_sample_values(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, count: int, Bi: Any, Bj: Any, Bx: Any) -> Any:
    if not csr_has_canonical_format(n_row, Ap, Aj):
        raise BadInput(
            "compiled code selects entries of sparse matrices in canonical format only; call sum_duplicates()"
        )
    if len(Aj) == 0:
        return np.zeros_like(Bx)
    stored = rows(Ap, len(Aj)) * n_col + Aj
    i, j = Bi.astype(np.intp), Bj.astype(np.intp)
    wanted = np.where(i < 0, i + n_row, i) * n_col + np.where(j < 0, j + n_col, j)
    place = np.minimum(np.searchsorted(stored, wanted), len(Aj) - 1)
    return np.where(stored[place] == wanted, Ax[place], 0).astype(Bx.dtype)


program("bsr_diagonal", (8,), bsr_diagonal)
program("csr_sample_values", (8,), csr_sample_values)
program("csr_todense", (5,), csr_todense)
program("coo_todense", (6,), coo_todense)
program("coo_todense_nd", (5,), coo_todense_nd)
program("csr_diagonal", (6,), csr_diagonal)


# Products


def csr_matvec(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    return Yx + at(rows(Ap, len(Aj)), Ax * Xx[Aj], n_row)


def csc_matvec(n_row: int, n_col: int, Ap: Any, Ai: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    return Yx + at(Ai, Ax * Xx[rows(Ap, len(Ai))], n_row)


def coo_matvec(nnz: int, Ai: Any, Aj: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    return Yx + at(Ai, Ax * Xx[Aj], len(Yx))


def csr_matvecs(n_row: int, n_col: int, n_vecs: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    return of_triplets(rows(Ap, len(Aj)), Aj, Ax, n_vecs, Xx, Yx)


def csc_matvecs(n_row: int, n_col: int, n_vecs: int, Ap: Any, Ai: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    return of_triplets(Ai, rows(Ap, len(Ai)), Ax, n_vecs, Xx, Yx)


def coo_matmat_dense(nnz: int, n_vecs: int, Ai: Any, Aj: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    return of_triplets(Ai, Aj, Ax, n_vecs, Xx, Yx)


def of_triplets(i: Any, j: Any, a: Any, count: int, Xx: Any, Yx: Any) -> Any:
    """Return the product with several vectors, which are given flat."""
    x, y = np.reshape(Xx, (-1, count)), np.reshape(Yx, (-1, count))
    return np.reshape(y + at(i, a[:, None] * x[j], len(y)), np.shape(Yx))


def bsr_matvec(n_brow: int, n_bcol: int, R: int, C: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    i, j = of_blocks(rows(Ap, len(Aj)), Aj, R, C)
    return Yx + at(i, np.ravel(Ax) * Xx[j], len(Yx))


def bsr_matvecs(
    n_brow: int, n_bcol: int, n_vecs: int, R: int, C: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any, Yx: Any
) -> Any:
    return of_triplets(*of_blocks(rows(Ap, len(Aj)), Aj, R, C), np.ravel(Ax), n_vecs, Xx, Yx)


def dia_matvec(n_row: int, n_col: int, n_diags: int, L: int, offsets: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    width = min(L, n_col)
    column = np.arange(width)
    row = column - offsets[:, None]
    is_in = (row >= 0) & (row < n_row)
    moved = np.where(is_in, Ax[:, :width] * Xx[:width], 0)
    return Yx + np.reshape(at(np.ravel(np.where(is_in, row, 0)), np.ravel(moved), n_row), np.shape(Yx))


def dia_matvecs(
    n_row: int, n_col: int, n_diags: int, L: int, offsets: Any, Ax: Any, n_vecs: int, Xx: Any, Yx: Any
) -> Any:
    found = [dia_matvec(n_row, n_col, n_diags, L, offsets, Ax, Xx[:, k], Yx[:, k]) for k in range(n_vecs)]
    return np.stack(found, axis=1)


program("csr_matvec", (6,), csr_matvec, loops.csr_matvec)
program("csc_matvec", (6,), csc_matvec, loops.csc_matvec)
program("coo_matvec", (5,), coo_matvec)
program("bsr_matvec", (8,), bsr_matvec)
program("dia_matvec", (7,), dia_matvec)
program("csr_matvecs", (7,), csr_matvecs, loops.csr_matvecs)
program("csc_matvecs", (7,), csc_matvecs, loops.csc_matvecs)
program("coo_matmat_dense", (6,), coo_matmat_dense)
program("bsr_matvecs", (9,), bsr_matvecs)
program("dia_matvecs", (8,), dia_matvecs)


def csr_scale_rows(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any) -> Any:
    return Ax * Xx[rows(Ap, len(Aj))]


def csr_scale_columns(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any) -> Any:
    return Ax * Xx[Aj]


program("csr_scale_rows", (4,), csr_scale_rows)
program("csr_scale_columns", (4,), csr_scale_columns)


# Equations


def gssv(
    n: int, nnz: int, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, options: Any = None
) -> tuple[Any, int]:
    return solution(n, nnz, data, indices, indptr, b, by_column, tuple((options or {}).items()))


def like_a_solution(n: int, nnz: int, data: Any, indices: Any, indptr: Any, b: Any, **more: Any) -> tuple[Any, int]:
    return np.zeros(b.shape, np.result_type(data, b)), 0


runs_compiled(solution, sample=like_a_solution)
model(_superlu.gssv, gssv)


# Solutions


def solved(A: Any, b: Any, permc_spec: Any = None) -> tuple[Any, int]:
    """Compute what ``spsolve`` does, without writing into A; the int is not 0 if A is singular, and the solution NaN then.

    A sparse solution has all entries that are not zero by structure, since each of them has a derivative.
    """
    if not (issparse(A) and A.format in ("csr", "csc")):
        A = csc_array(A)
    m, n = A.shape
    if m != n:
        raise ValueError(f"matrix must be square (has shape {(m, n)})")
    if b.shape[0] != n if issparse(b) else np.shape(b)[:1] != (n,):
        raise ValueError(f"matrix - rhs dimension mismatch ({A.shape} - {np.shape(b)[0]})")
    if issparse(b) and b.ndim == 2 and b.shape[1] != 1:
        dtype = np.result_type(A.data, b.data, np.float32)
        B, by_column, options = b.tocoo(), int(A.format == "csc"), (("ColPerm", permc_spec),)
        i, j = solution_places(n, b.shape[1], A.indices, A.indptr, by_column, B.row, B.col)
        data, values = A.data.astype(dtype), B.data.astype(dtype)
        where = n, b.shape[1], i, j, B.row, B.col
        x, info = solution_entries(*where, data, A.indices, A.indptr, values, by_column, options)
        if info != 0:
            raise RuntimeError("Factor is exactly singular")
        return A.__class__((x, (i, j)), shape=b.shape), 0
    b = b.toarray() if issparse(b) else np.asarray(b)
    dtype = np.result_type(A.data, b, np.float32)
    options = {"ColPerm": permc_spec}
    x, info = _superlu.gssv(
        n, len(A.data), A.data.astype(dtype), A.indices, A.indptr, b.astype(dtype), int(A.format == "csc"), options
    )
    return (np.ravel(x) if b.ndim == 2 and b.shape[1] == 1 else x), info
