"""Derivatives of the compiled kernels of ``scipy.sparse``; the rest of the package is Python that calls them.

Every kernel is linear or bilinear in the stored values; the sparsity pattern is constant.  Pairs (p, q) describe a
linear kernel: it adds the stored value p to entry q of the result.  For a kernel that only moves values, running it on
the values' positions yields the pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import _sparsetools as kernels, csc_array, sparray, spmatrix
from scipy.sparse.linalg._dsolve import _superlu

from ..values.strong_zero import Strong
from .registry import DESCRIBED_BY_INTS
from .table import in_place, joint, runs_compiled

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


def moving(kernel: str, names: str, writes: str, data: str = "Ax") -> None:
    """Register a kernel that writes each value of ``data`` to at most one place, and drops only zeros."""
    order, written = names.split(), writes.split()

    def pairs(given: Arguments, y: Any) -> tuple[Any, Any]:
        fresh = {name: np.copy(given[name]) for name in written}
        fresh[written[0]] = np.zeros(np.shape(given[written[0]]))
        numbers = np.reshape(np.arange(1.0, 1.0 + np.size(given[data])), np.shape(given[data]))
        fresh[data] = np.where(np.asarray(given[data]) != 0, numbers, 0.0)
        getattr(kernels, kernel)(*(fresh.get(name, given[name]) for name in order))
        source = np.ravel(fresh[written[0]]).astype(np.intp)
        (q,) = np.nonzero(source)
        return source[q] - 1, q

    linear(kernel, names, writes, pairs, data)


moving("coo_tocsr", "n_row n_col nnz Ai Aj Ax Bp Bj Bx", "Bx Bp Bj")
moving("csr_tocsc", "n_row n_col Ap Aj Ax Bp Bi Bx", "Bx Bp Bi")
moving("csc_tocsr", "n_row n_col Ap Ai Ax Bp Bj Bx", "Bx Bp Bj")
moving("csr_tobsr", "n_row n_col R C Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")
moving("dia_tocsr", "n_row n_col n_diags L offsets Ax order Bx Bj Bp", "Bx Bp Bj")
moving("csr_hstack", "n_blocks n_row n_col Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")
moving("csr_row_index", "n_row_idx rows Ap Aj Ax Bj Bx", "Bx Bj")
moving("csr_row_slice", "start stop step Ap Aj Ax Bj Bx", "Bx Bj")
moving("csr_column_index2", "col_order col_offsets nnz Aj Ax Bj Bx", "Bx Bj")
moving("csr_sort_indices", "n_row Ap Aj Ax", "Ax Aj")
moving("csr_eliminate_zeros", "n_row n_col Ap Aj Ax", "Ax Ap Aj")
moving("bsr_tocsr", "n_brow n_bcol R C Ap Aj Ax Bp Bj Bx", "Bx Bp Bj")
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
        p, i, j = entries(given)
        shape = (-1,) if count == 1 else (-1, count)
        dy_rows, x = np.reshape(dy, shape), np.reshape(given["Xx"], shape)
        a = np.ravel(given["Ax"])
        moved = dy_rows[i]
        da = moved * np.conj(x[j])
        da = da if count == 1 else np.sum(da, axis=1)
        if p is not None or len(da) != len(a):
            da = at(np.arange(len(da)) if p is None else p, da, len(a))
        if transposed and type(dy) is not Strong:
            dtype = np.result_type(a, dy)
            dx = np.zeros(np.shape(given["Xx"]), dtype)
            reverse = {name: given[exchanged.get(name, name)] for name in order}
            reverse |= {"Ax": np.conj(a), "Xx": np.ravel(dy).astype(dtype, copy=False), "Yx": dx}
            getattr(kernels, transposed)(*[reverse[name] for name in order])
        else:
            a = np.conj(a[: len(i)] if p is None else a[p])
            dx = at(j, (a if count == 1 else a[:, None]) * moved, len(x))
        found = {"Ax": np.reshape(da, np.shape(given["Ax"])), "Xx": np.reshape(dx, np.shape(given["Xx"])), "Yx": dy}
        return tuple(found.get(name) for name in order)

    register(kernel, names, "Yx", pullback)


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


# Matrices with matrices


def sample(indptr: Any, indices: Any, data: Any, n_col: int, i: Any, j: Any) -> Any:
    """Return the entries (i, j) of a matrix, zero where none is stored."""
    found = np.zeros(len(i), data.dtype)
    i, j = i.astype(indices.dtype), j.astype(indices.dtype)
    kernels.csr_sample_values(len(indptr) - 1, n_col, indptr, indices, data, len(i), i, j, found)
    return found


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


def of_both(slopes: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Callable[..., tuple[Any, ...]]:
    """Return the pullback of an entry-wise kernel of two matrices; ``slopes(dC, A, B)`` is (dA, dB) at some entries."""

    def pullback(
        dy: Any, y: Any, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, *c: Any
    ) -> tuple[Any, ...]:
        _, cp, cj = y
        ia, ib = rows(Ap), rows(Bp)
        all_three = ((cp, cj, dy[0]), (Ap, Aj, Ax), (Bp, Bj, Bx))
        da, _ = slopes(*[sample(*matrix, n_col, ia, Aj) for matrix in all_three])
        _, db = slopes(*[sample(*matrix, n_col, ib, Bj) for matrix in all_three])
        return None, None, None, None, da, None, None, db

    return pullback


def by_columns_too(pullback: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """Adapt a pullback for CSR to CSC: a CSC matrix is the CSR form of its transpose."""
    return lambda dy, y, n_row, n_col, *matrices: pullback(dy, y, n_col, n_row, *matrices)


BINARY = "n_row n_col Ap Aj Ax Bp Bj Bx Cp Cj Cx"
for _name, _slopes in (
    ("plus", lambda dc, a, b: (dc, dc)),
    ("minus", lambda dc, a, b: (dc, -dc)),
    ("elmul", lambda dc, a, b: (dc * np.conj(b), dc * np.conj(a))),
):
    register(f"csr_{_name}_csr", BINARY, "Cx Cp Cj", of_both(_slopes))
    register(f"csc_{_name}_csc", BINARY, "Cx Cp Cj", by_columns_too(of_both(_slopes)))


def matrix_product_pullback(
    dy: Any, y: Any, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, *c: Any
) -> tuple[Any, ...]:
    """Compute dA = dC B^H and dB = A^H dC at stored entries only, from the pairs of entries of A and B that meet."""
    _, cp, cj = y
    ia = rows(Ap)
    count = np.diff(Bp)[Aj]
    pa = np.repeat(np.arange(len(Aj)), count)  # positions of the factors of every scalar product
    pb = np.arange(len(pa)) - np.repeat(np.cumsum(count) - count, count) + np.asarray(Bp)[Aj][pa]
    dc = sample(cp, cj, dy[0], n_col, ia[pa], Bj[pb])
    da = at(pa, dc * np.conj(Bx[pb]), len(Ax))
    return None, None, None, None, da, None, None, at(pb, dc * np.conj(Ax[pa]), len(Bx))


def product_by_columns_pullback(
    dy: Any, y: Any, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, *c: Any
) -> tuple[Any, ...]:
    *_, db, _, _, da = matrix_product_pullback(dy, y, n_col, n_row, Bp, Bj, Bx, Ap, Aj, Ax)
    return None, None, None, None, da, None, None, db


register("csr_matmat", BINARY, "Cx Cp Cj", matrix_product_pullback)
register("csc_matmat", BINARY, "Cx Cp Cj", product_by_columns_pullback)


# Equations


def places(indices: Any, indptr: Any, by_column: bool) -> tuple[Any, Any]:
    """The row and the column of each stored entry."""
    i = rows_of(indptr, len(indices))
    return (indices, i) if by_column else (i, indices)


def minus_outer(z: Any, x: Any, i: Any, j: Any) -> Any:
    """Return the entries (i, j) of -z x^H, for vectors or matrices of columns."""
    g = z[i] * np.conj(x[j])
    return -g if g.ndim == 1 else -np.sum(g, axis=1)


def factored_solution(solve: Any, data: Any, indices: Any, indptr: Any, b: Any, trans: str) -> Any:
    """Solve with the factors of a CSC matrix with values ``data`` (None if constant), which only the pullback uses."""
    return solve(b, trans)


def factored_pullback(
    dy: Any, y: Any, solve: Any, data: Any, indices: Any, indptr: Any, b: Any, trans: str
) -> tuple[Any, ...]:
    z = solve(dy, "H") if trans == "N" else np.conj(solve(np.conj(dy), "N")) if trans == "T" else solve(dy, "N")
    if data is None:
        return None, None, None, None, z
    i, j = places(indices, indptr, True)
    g = minus_outer(z, y, i, j) if trans == "N" else minus_outer(z, y, j, i)
    return None, np.conj(g) if trans == "H" else g, None, None, z


KEPT = 2
"""How many factorisations are kept for further solves with the same matrix, such as those of derivatives."""
_kept: list[tuple[tuple[Any, ...], tuple[Any, ...], Any]] = []


def factors_of(n: int, data: Any, indices: Any, indptr: Any, options: tuple[Any, ...]) -> Any:
    """Return SuperLU's factors of the matrix in CSC format, maybe those of an earlier call for an equal matrix.

    Comparing the arrays takes far less time than a factorisation.
    """
    kind, arrays = (n, data.dtype, options), (data, indices, indptr)
    for entry in list(_kept):
        if entry[0] == kind and all(map(np.array_equal, entry[1], arrays)):
            return entry[2]
    matrix = csc_array((data, indices, indptr), shape=(n, n), copy=True)
    matrix.sum_duplicates()
    i, p = matrix.indices.astype(np.intc, copy=False), matrix.indptr.astype(np.intc, copy=False)
    factors = _superlu.gstrf(
        n, matrix.nnz, matrix.data, i, p, csc_construct_func=csc_array, ilu=False, options=dict(options)
    )
    _kept[:] = [(kind, tuple(map(np.copy, arrays)), factors), *_kept[: KEPT - 1]]
    return factors


def solution(
    n: int, nnz: int, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, options: tuple[Any, ...]
) -> tuple[Any, int]:
    """Compute what ``gssv`` returns, with factors that are kept; ``options`` are pairs of a name and a value."""
    try:
        factors = factors_of(n, data, indices, indptr, options)
    except RuntimeError:  # an exact singularity
        return np.full(np.shape(b), np.nan, np.result_type(data, b)), 1
    trans = "N" if by_column else "T"  # the rows of a matrix are the columns of its transpose
    if np.iscomplexobj(b) and not np.iscomplexobj(data):
        return factors.solve(np.real(b), trans) + 1j * factors.solve(np.imag(b), trans), 0
    return factors.solve(np.asarray(b, data.dtype), trans), 0


def solution_pullback(
    dy: Any, y: Any, n: int, nnz: int, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, options: Any
) -> tuple[Any, ...]:
    """Solve the adjoint system by reading the arrays in the other format: CSC arrays are the transpose in CSR."""
    dx = dy[0]
    z = np.conj(solution(n, nnz, data, indices, indptr, np.conj(dx), 1 - by_column, options)[0])
    i, j = places(indices, indptr, by_column == 1)
    return None, None, minus_outer(z, np.reshape(y[0], np.shape(dx)), i, j), None, None, np.reshape(z, np.shape(b))


def gssv_pullback(
    dy: Any, y: Any, n: int, nnz: int, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, options: Any = None
) -> tuple[Any, ...]:
    return solution_pullback(dy, y, n, nnz, data, indices, indptr, b, by_column, tuple((options or {}).items()))


joint(factored_solution, factored_pullback)
runs_compiled(factored_solution)
joint(solution, solution_pullback)
joint(_superlu.gssv, gssv_pullback)
