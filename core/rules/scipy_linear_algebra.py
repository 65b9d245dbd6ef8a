"""Derivatives of ``scipy.linalg``: equations, also triangular, banded and structured ones, norms and least squares.

The formulas are those of ``linear_algebra``.  In addition, SciPy may read only some entries of an array: one triangle,
a band, a diagonal.  The gradient is that of the function of the array: it is zero for entries that are not read, and an
entry that represents two matrix entries receives both contributions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from . import scipy_matrix_functions as scipy_matrix_functions
from .linear_algebra import (
    det_by_series,
    det_pullback,
    lstsq_cotangents,
    matrix_product,
    pinv_cotangent,
    refuse_lost_rank,
    refuse_truncation,
)
from .matrix_factorisations import from_triangle, onto_triangle, singular_values_cotangent
from .matrix_norms import norm_pullback
from .products import hermitian as dagger
from .scipy_factorisations import for_columns, outer, refuse_overwrite
from .stacks import one_by_one
from .table import expansion, joint, reduces, solves, vjp


def transpose(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


# Structure: the matrix that an array represents under ``assume_a``, and the transpose of this map


def symmetric(kind: str) -> bool:
    return kind in ("sym", "symmetric")


def definite(kind: str) -> bool:
    return kind in ("her", "hermitian", "pos", "positive definite")


def structured(a: Any, kind: Any, lower: bool) -> Any:
    """The matrix that ``a`` represents if it is assumed to be of ``kind``."""
    if kind is not None and symmetric(kind):
        off = np.tril(a, -1) if lower else np.triu(a, 1)
        return np.where(np.eye(a.shape[-1], dtype=bool), a, off + transpose(off))
    if kind is not None and definite(kind):
        return from_triangle(a, lower)
    return within(a, kind)


def onto_structure(g: Any, kind: Any, lower: bool) -> Any:
    """The transpose of ``structured``."""
    if kind is not None and symmetric(kind):
        both = g + transpose(g)
        return np.where(np.eye(g.shape[-1], dtype=bool), g, np.tril(both, -1) if lower else np.triu(both, 1))
    if kind is not None and definite(kind):
        return onto_triangle(g, lower)
    return within(g, kind)


def within(a: Any, kind: Any) -> Any:
    """``a`` with the entries that are not read set to zero."""
    if kind == "diagonal":
        return np.where(np.eye(a.shape[-1], dtype=bool), a, 0.0)
    if kind == "tridiagonal":
        return np.triu(np.tril(a, 1), -1)
    if kind == "lower triangular":
        return np.tril(a)
    return np.triu(a) if kind == "upper triangular" else a


def solve_pullback(
    dy: Any, y: Any, a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, assume_a: Any = None, transposed: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    refuse_overwrite(overwrite_a, overwrite_b)
    assume_a = None if np.size(a) == 1 else assume_a  # SciPy divides by a single number, whatever is assumed
    matrix = structured(np.asarray(a), assume_a, lower)
    as_vectors = np.ndim(b) == 1
    adjoint = np.conj(matrix) if transposed else dagger(matrix)
    z = np.linalg.solve(adjoint, dy[..., None])[..., 0] if as_vectors else np.linalg.solve(adjoint, dy)
    g = -outer(z, y, as_vectors)
    return onto_structure(transpose(g) if transposed else g, assume_a, lower), z


def inv_pullback(
    dy: Any, y: Any, a: Any, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: Any = None,
    lower: bool = False,
) -> Any:  # fmt: skip
    if assume_a == "diagonal":  # SciPy returns the other elements as they are given
        return np.where(np.eye(y.shape[-1], dtype=bool), -np.conj(y * y) * dy, dy)
    return onto_structure(-dagger(y) @ dy @ dagger(y), assume_a, lower)


def scipy_det_pullback(dy: Any, y: Any, a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    refuse_overwrite(overwrite_a)
    return det_pullback(dy, y, a)


joint(scipy.linalg.solve, solve_pullback)
vjp(scipy.linalg.inv, inv_pullback)
vjp(scipy.linalg.det, scipy_det_pullback)
expansion(scipy.linalg.det, lambda a, **options: det_by_series(a))


def solve_triangular_pullback(
    dy: Any, y: Any, a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """``trans`` 0, 1, 2 solves with a, its transpose, its conjugate transpose."""
    a = np.asarray(a)
    as_vectors = np.ndim(b) == 1

    def solve(dy: Any, trans: int) -> Any:
        return for_columns(lambda x: scipy.linalg.solve_triangular(a, x, trans, lower, unit_diagonal), dy, as_vectors)

    if trans in (1, "T"):
        z = np.conj(solve(np.conj(dy), 0))
        g = -outer(np.conj(y), np.conj(z), as_vectors)
    elif trans in (2, "C"):
        z = solve(dy, 0)
        g = -outer(y, z, as_vectors)
    else:
        z = solve(dy, 2)
        g = -outer(z, y, as_vectors)
    k = 1 if unit_diagonal else 0
    return np.tril(g, -k) if lower else np.triu(g, k), z


def triangular_product(
    a: Any, y: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **kwargs: Any
) -> Any:
    """The product with what varies of a triangular matrix: a unit diagonal does not."""
    k = 1 if unit_diagonal else 0
    a = np.tril(a, -k) if lower else np.triu(a, k)
    a = np.swapaxes(a, -1, -2) if trans in (1, "T") else dagger(a) if trans in (2, "C") else a
    return matrix_product(a, y, b)


joint(scipy.linalg.solve_triangular, solve_triangular_pullback)
solves(scipy.linalg.solve_triangular, triangular_product)


# Banded equations: row r of ``ab`` holds the entries (j + r - u, j) of the matrix


def band(ab: Any, u: int) -> tuple[Any, Any]:
    """The row index, cut to the matrix, of every entry of ``ab``; and whether the entry is in the matrix."""
    count, n = ab.shape
    row = np.arange(n) + np.arange(count)[:, None] - u
    return np.clip(row, 0, n - 1), (row >= 0) & (row < n)


def band_of(z: Any, x: Any, row: Any) -> Any:
    """The entries of z x^H at (row, column), for every column."""
    return z[row] * np.conj(x) if z.ndim == 1 else np.sum(z[row] * np.conj(x), axis=-1)


def solve_banded_pullback(
    dy: Any, y: Any, l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    refuse_overwrite(overwrite_ab, overwrite_b)
    lower, upper = l_and_u
    ab = np.asarray(ab)
    row, inside = band(ab, lower)
    turned = np.where(inside, np.conj(ab[::-1][np.arange(ab.shape[0])[:, None], row]), 0.0)
    z = scipy.linalg.solve_banded((upper, lower), turned, dy)
    row, inside = band(ab, upper)
    return None, np.where(inside, -band_of(z, y, row), 0.0), z


def solveh_banded_pullback(
    dy: Any, y: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    refuse_overwrite(overwrite_ab, overwrite_b)
    ab = np.asarray(ab)
    z = scipy.linalg.solveh_banded(ab, dy, lower=lower)
    diagonal = 0 if lower else ab.shape[0] - 1
    row, inside = band(ab, diagonal)
    g = band_of(z, y, row)
    both = g + band_of(y, z, row)
    on_diagonal = np.arange(ab.shape[0])[:, None] == diagonal
    return -np.where(inside, np.where(on_diagonal, np.real(g), both), 0.0), z


joint(scipy.linalg.solve_banded, one_by_one(solve_banded_pullback, 0, 2, 2))
joint(scipy.linalg.solveh_banded, one_by_one(solveh_banded_pullback, 2, 2))


# Norm, pseudo-inverse, least squares


def scipy_norm_pullback(
    dy: Any, y: Any, a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    return norm_pullback(dy, y, a, ord, axis, keepdims)


def scipy_pinv_pullback(
    dy: Any, y: Any, a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    a = np.asarray(a)
    dp, p = (dy[0], y[0]) if return_rank else (dy, y)
    refuse_lost_rank(a, p, "scipy.linalg.pinv")
    return pinv_cotangent(dp, p, a)


def pinvh_pullback(
    dy: Any, y: Any, a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    return onto_triangle(
        scipy_pinv_pullback(dy, y, from_triangle(np.asarray(a), lower), return_rank=return_rank), lower
    )


def scipy_lstsq_pullback(
    dy: Any, y: Any, a: Any, b: Any, cond: Any = None, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, lapack_driver: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    refuse_overwrite(overwrite_a, overwrite_b)
    a, b = np.asarray(a), np.asarray(b)
    dx, dresiduals, _, ds = dy
    x, residuals, rank, _ = y
    s = scipy.linalg.svdvals(a)
    refuse_truncation(s[rank:], np.max(s, initial=0.0), "scipy.linalg.lstsq")
    if b.ndim == 1:
        x, dx = x[:, None], None if dx is None else dx[:, None]
    columns = b[:, None] if b.ndim == 1 else b
    # The residuals are real numbers, which SciPy 1.18 returns as complex ones.
    dresiduals = None if np.size(residuals) == 0 or dresiduals is None else np.real(dresiduals)
    da, db = lstsq_cotangents(dx, dresiduals, x, a, columns, scipy.linalg.pinv(a, rtol=cond))
    if ds is not None:
        da = da + singular_values_cotangent(ds, a)
    return da + np.zeros_like(a), np.reshape(db + np.zeros_like(columns), b.shape)


def gelsy(a: Any, b: Any, cond: Any = None) -> tuple[Any, Any, Any]:
    """``scipy.linalg.lstsq`` by the driver ``gelsy``, without the fourth result, which is None: it computes no singular values."""
    x, residuals, rank, _ = scipy.linalg.lstsq(a, b, cond, lapack_driver="gelsy")  # type: ignore[misc]
    return x, residuals, rank


def gelsy_pullback(dy: Any, y: Any, a: Any, b: Any, cond: Any = None) -> tuple[Any, Any]:
    return scipy_lstsq_pullback((*dy, None), (*y, None), a, b, cond)


vjp(scipy.linalg.norm, scipy_norm_pullback)
reduces(scipy.linalg.norm)
vjp(scipy.linalg.pinv, scipy_pinv_pullback)
vjp(scipy.linalg.pinvh, pinvh_pullback)
joint(scipy.linalg.lstsq, one_by_one(scipy_lstsq_pullback, 2, 2))
joint(gelsy, one_by_one(gelsy_pullback, 2, 2))
