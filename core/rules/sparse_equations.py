"""Derivatives of solutions of sparse linear equations, with factors that are kept for the adjoint equation."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, tril, triu
from scipy.sparse.linalg import spsolve_triangular
from scipy.sparse.linalg._dsolve import _superlu

from .sparse import rows_of
from .table import joint, runs_compiled


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


# Triangular matrices


def triangular_solution(
    n: int, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, lower: bool, unit_diagonal: bool
) -> Any:
    """Solve by substitution with the triangle of a CSR matrix, or ``by_column`` of a CSC matrix."""
    kind = csc_array if by_column else csr_array
    matrix = kind((data, indices, indptr), shape=(n, n), copy=True)
    inside = tril(matrix, format=matrix.format) if lower else triu(matrix, format=matrix.format)
    return spsolve_triangular(inside, b, lower=lower, overwrite_A=True, unit_diagonal=unit_diagonal)


def triangular_pullback(
    dy: Any, y: Any, n: int, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, lower: bool, unit_diagonal: bool
) -> tuple[Any, ...]:  # fmt: skip
    z = triangular_solution(n, np.conj(data), indices, indptr, dy, 1 - by_column, not lower, unit_diagonal)
    i, j = places(indices, indptr, by_column == 1)
    below = i - j if lower else j - i
    is_inside = below > 0 if unit_diagonal else below >= 0
    return None, np.where(is_inside, minus_outer(z, y, i, j), 0), None, None, z


def like_a_triangular_solution(n: int, data: Any, indices: Any, indptr: Any, b: Any, **more: Any) -> Any:
    return np.zeros(b.shape, np.result_type(data, b))


joint(triangular_solution, triangular_pullback)
runs_compiled(triangular_solution, sample=like_a_triangular_solution)


def triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """``spsolve_triangular`` of a matrix in any format."""
    A, b = A if A.format in ("csr", "csc") else A.tocsc(), np.asarray(b)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix but its shape is {A.shape}.")
    if b.ndim not in (1, 2) or b.shape[0] != A.shape[0]:
        raise ValueError(f"b has shape {b.shape}, which does not fit A of shape {A.shape}")
    dtype = np.result_type(A.data, b, np.float32)
    return triangular_solution(
        A.shape[0],
        A.data.astype(dtype),
        A.indices,
        A.indptr,
        b.astype(dtype),
        int(A.format == "csc"),
        lower,
        unit_diagonal,
    )
