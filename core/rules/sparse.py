"""Derivatives of the compiled kernels of ``scipy.sparse``; the rest of the package is Python that calls them.

Every kernel is linear or bilinear in the stored values; the sparsity pattern is constant.  Pairs (p, q) describe a
linear kernel: it adds the stored value p to entry q of the result.  For a kernel that only moves values, running it on
the values' positions yields the pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import _sparsetools as kernels, sparray, spmatrix

from ..values.strong_zero import Strong
from .registry import DESCRIBED_BY_INTS
from .table import in_place, joint

Arguments = dict[str, Any]
Pairs = Callable[[Arguments, Any], tuple[Any, Any]]

DESCRIBED_BY_INTS += [sparray, spmatrix]


def rows(indptr: Any) -> Any:
    """The row of each stored entry."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def rows_of(indptr: Any, count: Any) -> Any:
    """The rows of the first ``count`` stored entries: ``rows``, in a form that needs to know only their number."""
    return np.searchsorted(indptr, np.arange(count), side="right") - 1


def at(places: Any, values: Any, count: int) -> Any:
    """Return a vector with ``values`` added at ``places``; repeated places accumulate."""
    total = np.zeros((count, *values.shape[1:]), values.dtype)
    np.add.at(total, places, values)
    return total


def register(kernel: str, names: str, writes: str, pullback: Callable[..., Any]) -> None:
    """Register the rule of a kernel if the installed version of SciPy has it."""
    if hasattr(kernels, kernel):
        in_place(getattr(kernels, kernel), names, writes, pullback)


# Linear kernels


def linear(kernel: str, names: str, writes: str, pairs: Pairs, data: str = "Ax", adds: bool = False) -> None:
    """Register a kernel that writes values of ``data`` to its first written array, or ``adds`` them to its contents."""
    order, written = names.split(), writes.split()

    def pullback(dy: Any, y: Any, *args: Any) -> tuple[Any, ...]:
        given = dict(zip(order, args))
        dout = np.ravel(dy[0] if len(written) > 1 else dy)
        p, q = pairs(given, y)
        found = {data: np.reshape(at(p, dout[q], np.size(given[data])), np.shape(given[data]))}
        if adds:
            found[written[0]] = np.reshape(dout, np.shape(given[written[0]]))
        return tuple(found.get(name) for name in order)

    register(kernel, names, writes, pullback)


def moving(kernel: str, names: str, writes: str, data: str = "Ax", drops_zeros: bool = False) -> None:
    """Register a kernel that writes each value of ``data`` to one place; it may drop zeros, which are then constants."""
    order, written = names.split(), writes.split()

    def pairs(given: Arguments, y: Any) -> tuple[Any, Any]:
        fresh = {name: np.copy(given[name]) for name in written}
        fresh[written[0]] = np.zeros(np.shape(given[written[0]]))
        numbers = np.reshape(np.arange(1.0, 1.0 + np.size(given[data])), np.shape(given[data]))
        fresh[data] = np.where(np.asarray(given[data]) != 0, numbers, 0.0) if drops_zeros else numbers
        getattr(kernels, kernel)(*(fresh.get(name, given[name]) for name in order))
        source = np.ravel(fresh[written[0]]).astype(np.intp)
        (q,) = np.nonzero(source)
        return source[q] - 1, q

    linear(kernel, names, writes, pairs, data)


moving("coo_tocsr", "n_row n_col nnz Ai Aj Ax Bp Bj Bx", "Bx Bp Bj")
moving("csr_tocsc", "n_row n_col Ap Aj Ax Bp Bi Bx", "Bx Bp Bi")
moving("csc_tocsr", "n_row n_col Ap Ai Ax Bp Bj Bx", "Bx Bp Bj")
moving("csr_hstack", "n_blocks n_row n_col Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")
moving("csr_row_index", "n_row_idx rows Ap Aj Ax Bj Bx", "Bx Bj")
moving("csr_row_slice", "start stop step Ap Aj Ax Bj Bx", "Bx Bj")
moving("csr_column_index2", "col_order col_offsets nnz Aj Ax Bj Bx", "Bx Bj")
moving("csr_sort_indices", "n_row Ap Aj Ax", "Ax Aj")
moving("csr_eliminate_zeros", "n_row n_col Ap Aj Ax", "Ax Ap Aj", drops_zeros=True)
moving("bsr_tocsr", "n_brow n_bcol R C Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")
moving("bsr_sort_indices", "n_brow n_bcol R C Ap Aj Ax", "Ax Aj")
moving("bsr_transpose", "n_brow n_bcol R C Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")


def submatrix_pullback(
    dy: Any, y: Any, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, *box: int
) -> tuple[Any, ...]:
    source = kernels.get_csr_submatrix(n_row, n_col, Ap, Aj, np.arange(float(len(Ax))), *box)[2].astype(np.intp)
    return None, None, None, None, at(source, dy[2], len(Ax))


joint(kernels.get_csr_submatrix, submatrix_pullback)


def dense_place(given: Arguments, y: Any) -> tuple[Any, Any]:
    return np.arange(len(given["Aj"])), rows(given["Ap"]) * given["n_col"] + given["Aj"]


def dense_place_of_triplets(given: Arguments, y: Any) -> tuple[Any, Any]:
    i, j = given["Ai"].astype(np.intp), given["Aj"].astype(np.intp)
    place = i + given["n_row"] * j if given["fortran"] else i * given["n_col"] + j
    return np.arange(len(i)), place


def dense_place_of_points(given: Arguments, y: Any) -> tuple[Any, Any]:
    coordinates = np.reshape(given["coords"], (given["n_dim"], given["nnz"])).astype(np.intp)
    return np.arange(given["nnz"]), np.asarray(given["strides"]) @ coordinates


def diagonal_place(given: Arguments, y: Any) -> tuple[Any, Any]:
    i, k = rows(given["Ap"]), given["k"]
    (p,) = np.nonzero(given["Aj"] == i + k)
    return p, i[p] + min(k, 0)


def diagonal_place_in_blocks(given: Arguments, y: Any) -> tuple[Any, Any]:
    i, j = of_blocks(rows(given["Ap"]), given["Aj"][: given["Ap"][-1]], given["R"], given["C"])
    (p,) = np.nonzero(j == i + given["k"])
    return p, i[p] + min(given["k"], 0)


def place_in_blocks(given: Arguments, y: Any) -> tuple[Any, Any]:
    """Find the block of each entry, where entries at one place are added."""
    _, pointers, columns = y
    height, width, across = given["R"], given["C"], given["n_col"] // given["C"]
    i, j = rows(given["Ap"]), given["Aj"][: given["Ap"][-1]]
    keys = rows(pointers) * across + columns[: pointers[-1]]
    order = np.argsort(keys)
    block = order[np.searchsorted(keys[order], i // height * across + j // width)]
    return np.arange(len(j)), (block * height + i % height) * width + j % width


def merged_place(given: Arguments, y: Any) -> tuple[Any, Any]:
    i, j = rows(given["Ap"]), given["Aj"][: given["Ap"][-1]]
    starts = np.concatenate([[0], (np.diff(i) != 0) | (np.diff(j) != 0)])
    return np.arange(len(j)), np.cumsum(starts)


def sampled_place(given: Arguments, y: Any) -> tuple[Any, Any]:
    n_row, n_col = given["n_row"], given["n_col"]
    stored = rows(given["Ap"]) * n_col + given["Aj"][: given["Ap"][-1]]
    i, j = given["Bi"].astype(np.intp), given["Bj"].astype(np.intp)
    wanted = np.where(i < 0, i + n_row, i) * n_col + np.where(j < 0, j + n_col, j)
    order = np.argsort(stored, kind="stable")
    first = np.searchsorted(stored[order], wanted, "left")
    count = np.searchsorted(stored[order], wanted, "right") - first
    q = np.repeat(np.arange(len(wanted)), count)
    within = np.arange(len(q)) - np.repeat(np.cumsum(count) - count, count)
    return order[first[q] + within], q


linear("csr_todense", "n_row n_col Ap Aj Ax Bx", "Bx", dense_place, adds=True)
linear("coo_todense", "n_row n_col nnz Ai Aj Ax Bx fortran", "Bx", dense_place_of_triplets, adds=True)
linear("coo_todense_nd", "strides nnz n_dim coords Ax Bx fortran", "Bx", dense_place_of_points, adds=True)
linear("csr_tobsr", "n_row n_col R C Ap Aj Ax Bp Bj Bx", "Bx Bp Bj", place_in_blocks)
linear("bsr_diagonal", "k n_brow n_bcol R C Ap Aj Ax Yx", "Yx", diagonal_place_in_blocks)
linear("csr_diagonal", "k n_row n_col Ap Aj Ax Yx", "Yx", diagonal_place)
linear("csr_sum_duplicates", "n_row n_col Ap Aj Ax", "Ax Ap Aj", merged_place)
linear("csr_sample_values", "n_row n_col Ap Aj Ax n_samples Bi Bj Bx", "Bx", sampled_place)


# Products with vectors: the stored value p multiplies x[column] into y[row]


def product(
    kernel: str, names: str, entries: Callable[[Arguments], tuple[Any, Any, Any]], transposed: str = ""
) -> None:
    """Register ``Yx += A Xx``, also for several vectors.

    ``entries`` gives place, row and column of stored values, and None for the places of the first ones in order.  The kernel
    ``transposed`` multiplies by the transpose, given the arguments of this one with rows and columns exchanged.
    """
    order = names.split()
    exchanged = dict(zip(["n_row", "n_col", "Ai", "Aj"], ["n_col", "n_row", "Aj", "Ai"]))
    if "Ap" in order:
        exchanged["Aj"] = "Aj"

    def pullback(dy: Any, y: Any, *args: Any) -> tuple[Any, ...]:
        given = dict(zip(order, args))
        count = given.get("n_vecs", 1)
        shape = (-1,) if count == 1 else (-1, count)
        dy_rows, x = np.reshape(dy, shape), np.reshape(given["Xx"], shape)
        a = np.ravel(given["Ax"])
        if not transposed or type(dy) is Strong:
            p, i, j = entries(given)
            moved = dy_rows[i]
            da = moved * np.conj(x[j])
            values = np.conj(a[: len(i)] if p is None else a[p])
            dx = at(j, (values if count == 1 else values[:, None]) * moved, len(x))
        else:
            dtype = np.result_type(a, dy)
            dx = np.zeros(np.shape(given["Xx"]), dtype)
            reverse = {name: given[exchanged.get(name, name)] for name in order}
            values = np.conj(a) if a.dtype.kind == "c" else a
            reverse |= {"Ax": values, "Xx": np.ravel(dy).astype(dtype, copy=False), "Yx": dx}
            getattr(kernels, transposed)(*[reverse[name] for name in order])
            if count == 1 and entries in (by_rows, by_columns):
                ends = (dy_rows, np.conj(x)) if entries is by_rows else (np.conj(x), dy_rows)
                p, da = None, of_ends(given["Ap"], given["Aj"], *ends)
            else:
                p, i, j = entries(given)
                da = dy_rows[i] * np.conj(x[j])
        da = da if count == 1 else np.sum(da, axis=1)
        if p is not None or len(da) != len(a):
            da = at(np.arange(len(da)) if p is None else p, da, len(a))
        found = {"Ax": np.reshape(da, np.shape(given["Ax"])), "Xx": np.reshape(dx, np.shape(given["Xx"])), "Yx": dy}
        return tuple(found.get(name) for name in order)

    register(kernel, names, "Yx", pullback)


def of_ends(Ap: Any, Aj: Any, outer: Any, inner: Any) -> Any:
    """Return ``outer[i] * inner[j]`` for each stored entry (i, j); the kernel reads j as it is stored, NumPy would convert it."""
    dtype = np.result_type(outer, inner)
    found = np.repeat(outer.astype(dtype, copy=False), np.diff(Ap))
    kernels.csr_scale_columns(len(Ap) - 1, len(inner), Ap, Aj, found, inner.astype(dtype, copy=False))
    return found


def by_rows(given: Arguments) -> tuple[Any, Any, Any]:
    return None, rows(given["Ap"]), given["Aj"][: given["Ap"][-1]]


def by_columns(given: Arguments) -> tuple[Any, Any, Any]:
    p, j, i = by_rows(given)
    return p, i, j


def by_triplets(given: Arguments) -> tuple[Any, Any, Any]:
    return None, given["Ai"], given["Aj"]


def by_diagonals(given: Arguments) -> tuple[Any, Any, Any]:
    column = np.arange(given["L"])
    row = column - given["offsets"][:, None]
    d, j = np.nonzero((row >= 0) & (row < given["n_row"]) & (column < given["n_col"]))
    return d * given["L"] + j, row[d, j], j


def by_blocks(given: Arguments) -> tuple[Any, Any, Any]:
    i, j = of_blocks(rows(given["Ap"]), given["Aj"][: given["Ap"][-1]], given["R"], given["C"])
    return None, i, j


def of_blocks(i: Any, j: Any, height: int, width: int) -> tuple[Any, Any]:
    """The row and the column of each value of the blocks (i, j)."""
    shape = (len(j), height, width)
    row = np.broadcast_to(i[:, None, None] * height + np.arange(height)[:, None], shape)
    column = np.broadcast_to(j[:, None, None] * width + np.arange(width), shape)
    return np.ravel(row), np.ravel(column)


product("csr_matvec", "n_row n_col Ap Aj Ax Xx Yx", by_rows, "csc_matvec")
product("csr_matvecs", "n_row n_col n_vecs Ap Aj Ax Xx Yx", by_rows, "csc_matvecs")
product("csc_matvec", "n_row n_col Ap Aj Ax Xx Yx", by_columns, "csr_matvec")
product("csc_matvecs", "n_row n_col n_vecs Ap Aj Ax Xx Yx", by_columns, "csr_matvecs")
product("coo_matvec", "nnz Ai Aj Ax Xx Yx", by_triplets, "coo_matvec")
product("coo_matmat_dense", "nnz n_vecs Ai Aj Ax Xx Yx", by_triplets, "coo_matmat_dense")
product("dia_matvec", "n_row n_col n_diags L offsets Ax Xx Yx", by_diagonals)
product("dia_matvecs", "n_row n_col n_diags L offsets Ax n_vecs Xx Yx", by_diagonals)
product("bsr_matvec", "n_brow n_bcol R C Ap Aj Ax Xx Yx", by_blocks)
product("bsr_matvecs", "n_brow n_bcol n_vecs R C Ap Aj Ax Xx Yx", by_blocks)
