"""Handlers for ``scipy.sparse``: data that it keeps inside C code (factors, lists of numbers), and kernels that would drop zeros."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from typing import Any

import numpy as np
from scipy.sparse import _csparsetools, _sparsetools, dok_array
from scipy.sparse.linalg import MatrixRankWarning, SuperLU, spsolve, spsolve_triangular
from scipy.sparse.linalg._dsolve import _superlu

from ...rules import find_rule
from ...rules.registry import handles
from ...rules.sparse_equations import factored_solution, solution, triangular
from ...rules.sparse_pairs import OPERATIONS, combined, merged, multiplied, product_pattern
from ...rules.sparse_programs import solved
from ...values.numbers import NO_KEYWORDS, call_on
from ..arrays.apply import record_rule
from ..recorded.access import getitem
from ..recorded.call import call
from ..recorded.stores import setitem
from ..recorded.tape import Tape
from ..unrecorded.opaque import note
from ..unrecorded.opaque_calls import call_opaque


@handles(_superlu.gstrf)
def factorise(tape: Tape, n: int, count: int, data: Any, indices: Any, indptr: Any, *more: Any, **options: Any) -> Any:
    """Factorise a matrix, and keep a copy of it on the tape."""
    factors = call_on(tape.parent, _superlu.gstrf, n, count, data, indices, indptr, *more, **options)
    complete = not options.get("ilu")
    tape.memory[factors] = (call(tape, np.copy, data), indices.copy(), indptr.copy()) if complete else None
    note(tape, factors, _superlu.gstrf, (data,))
    return factors


@handles(_superlu.gssv)
def solve(
    tape: Tape, n: int, count: int, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, options: Any = None
) -> Any:
    """Factorise a matrix and solve with factors that are kept for the pullback."""
    return call(tape, solution, n, count, data, indices, indptr, b, by_column, tuple((options or {}).items()))


@handles(SuperLU.solve)
def solve_factored(tape: Tape, factors: Any, b: Any, trans: str = "N") -> Any:
    matrix = tape.memory.get(factors, (None, None, None))
    if matrix is None:  # incomplete factors belong to another, unknown matrix
        return call_opaque(tape, factors.solve, (b, trans), NO_KEYWORDS)
    y = call_on(tape.parent, factors.solve, b, trans)
    rule: Any = find_rule(factored_solution)
    return record_rule(tape, rule, y, (factors.solve, *matrix, b, trans), NO_KEYWORDS)


@handles(spsolve)
def solve_sparse(tape: Tape, A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """Solve; SciPy would drop the entries of a sparse solution that are zero, and fill a singular one with a constant."""
    x, info = call(tape, solved, A, b, permc_spec)
    if info != 0:
        warnings.warn("Matrix is exactly singular", MatrixRankWarning, stacklevel=2)
    return x


@handles(spsolve_triangular)
def solve_triangular(tape: Tape, *args: Any, **kwargs: Any) -> Any:
    return call(tape, triangular, *args, **kwargs)


@handles(_csparsetools.lil_insert)
def insert(tape: Tape, height: int, width: int, rows: Any, data: Any, i: int, j: int, x: Any) -> None:
    """Store an entry into lists of columns and values; zero is an entry, too."""
    _csparsetools.lil_insert(height, width, rows, data, i, j, 1.0)  # it checks the indices and makes the place
    data[i][bisect_left(rows[i], j % width)] = x


@handles(dok_array._set_intXint)  # type: ignore[attr-defined]
def store(tape: Tape, matrix: Any, i: int, j: int, x: Any) -> None:
    """Store an entry of a matrix that is a dict; zero is an entry, too."""
    matrix._dict[i, j] = x


@handles(dok_array._set_arrayXarray)  # type: ignore[attr-defined]
def store_many(tape: Tape, matrix: Any, i: Any, j: Any, x: Any) -> None:
    for at in np.ndindex(x.shape):
        matrix._dict[int(i[at]), int(j[at])] = getitem(tape, x, at)


@handles(_csparsetools.lil_flatten_to_array)
def flatten_lists(tape: Tape, lists: Any, flat: Any) -> None:
    setitem(tape, flat, ..., [x for row in lists for x in row])


@handles(_csparsetools.lil_fancy_set)
def set_in_lists(tape: Tape, height: int, width: int, rows: Any, data: Any, i: Any, j: Any, x: Any) -> None:
    """Insert entries into the lists one by one: C code would create new numbers that are not on the tape."""
    for at in np.ndindex(x.shape):
        insert(tape, height, width, rows, data, int(i[at]), int(j[at]), getitem(tape, x, at))


def write(tape: Tape, pointers: Any, columns: Any, data: Any, Cp: Any, Cj: Any, Cx: Any) -> None:
    """Write a matrix into the arrays that a kernel was given, which may be longer."""
    Cp[...] = pointers
    Cj[: len(columns)] = columns
    setitem(tape, Cx, slice(np.size(data)), call(tape, np.ravel, data))


def combining(name: str) -> Any:
    """Return what the kernel of an operation of two matrices does on a tape: it keeps zeros."""

    def combine(
        tape: Tape, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, *C: Any
    ) -> None:
        pointers, columns, of_a, of_b = merged(n_row, n_col, Ap, Aj, Bp, Bj, name == "elmul")
        Ax, Bx = getitem(tape, Ax, slice(len(of_a))), getitem(tape, Bx, slice(len(of_b)))
        write(tape, pointers, columns, call(tape, combined, name, Ax, Bx, of_a, of_b, len(columns)), *C)

    return combine


def combining_blocks(name: str) -> Any:
    """Return the same for matrices of blocks."""

    def combine(
        tape: Tape, n_row: int, n_col: int, R: int, C: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, *made: Any
    ) -> None:  # fmt: skip
        pointers, columns, of_a, of_b = merged(n_row, n_col, Ap, Aj, Bp, Bj, name == "elmul")
        Ax, Bx = [call(tape, np.reshape, x, (len(of), R * C)) for x, of in ((Ax, of_a), (Bx, of_b))]
        write(tape, pointers, columns, call(tape, combined, name, Ax, Bx, of_a, of_b, len(columns)), *made)

    return combine


for _name in OPERATIONS:
    for _kernel, _made in ((f"csr_{_name}_csr", combining), (f"csc_{_name}_csc", combining), (f"bsr_{_name}_bsr", combining_blocks)):  # fmt: skip
        if hasattr(_sparsetools, _kernel):
            handles(getattr(_sparsetools, _kernel))(_made(_name))


@handles(_sparsetools.csr_matmat)
def multiply(
    tape: Tape, n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Bp: Any, Bj: Any, Bx: Any, Cp: Any, Cj: Any, Cx: Any
) -> None:
    pointers, columns = product_pattern(n_row, n_col, Ap, Aj, Bp, Bj, Cj)
    data = call(tape, multiplied, n_row, n_col, Ap, Aj, Ax, Bp, Bj, Bx, pointers, columns)
    write(tape, pointers, columns, data, Cp, Cj, Cx)


@handles(_sparsetools.dia_tocsr)
def to_rows(
    tape: Tape, n_row: int, n_col: int, count: int, width: int, offsets: Any, data: Any, order: Any, Bx: Any, Bj: Any, Bp: Any
) -> int:  # fmt: skip
    """Convert a matrix stored by diagonals, and keep its zeros."""
    found = np.empty(len(Bx))
    numbers = np.reshape(np.arange(1.0, 1.0 + data.size), data.shape)
    stored = _sparsetools.dia_tocsr(n_row, n_col, count, width, offsets, numbers, order, found, Bj, Bp)
    places = found[:stored].astype(np.intp) - 1
    setitem(tape, Bx, slice(stored), getitem(tape, call(tape, np.ravel, data), places))
    return stored
