"""NumPy programs that model LAPACK and BLAS wrappers for triangles and bands, in terms of functions with rules.

Wrappers with rules of their own are in ``blas_lapack``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import blas, lapack

from .table import model


def each(library: Any, name: str) -> list[Any]:
    """A routine for each of the four kinds of numbers."""
    return [getattr(library, letter + name) for letter in "sdcz"]


def trsm(alpha, a, b, side=0, lower=0, trans_a=0, diag=0, overwrite_b=0):
    if not side:
        return alpha * scipy.linalg.solve_triangular(a, b, trans_a, bool(lower), bool(diag))
    # x a = b is a' x' = b'; where a is conjugated, so is everything else.
    if trans_a == 2:
        x = np.conj(scipy.linalg.solve_triangular(a, np.conj(b).T, 0, bool(lower), bool(diag)))
    else:
        x = scipy.linalg.solve_triangular(a, b.T, 1 - trans_a, bool(lower), bool(diag))
    return alpha * x.T


# A Cholesky factor in band storage: the rows are the diagonals


def from_band(ab: Any, lower: Any) -> Any:
    """The triangular matrix whose diagonals are stored as a band."""
    width, n = np.shape(ab)
    square = np.zeros((n, n), np.result_type(ab))
    for d in range(min(width, n)):
        i = np.arange(n - d)
        if lower:
            square[i + d, i] = ab[d, : n - d]
        else:
            square[i, i + d] = ab[width - 1 - d, d:]
    return square


def to_band(square: Any, given: Any, lower: Any) -> Any:
    """Return the diagonals of a triangle; elements outside of the matrix are those of ``given``, as LAPACK leaves them."""
    n, width = len(square), len(given)
    ab = given.astype(np.result_type(square))
    for d in range(min(width, n)):
        i = np.arange(n - d)
        if lower:
            ab[d, : n - d] = square[i + d, i]
        else:
            ab[width - 1 - d, d:] = square[i, i + d]
    return ab


def pbtrf(ab, lower=0, ldab=0, overwrite_ab=0):
    triangle = from_band(ab, lower)
    return to_band(scipy.linalg.cholesky(triangle, lower=bool(lower)), ab, lower), 0


def pbtrs(ab, b, lower=0, ldab=0, overwrite_b=0):
    return scipy.linalg.cho_solve((from_band(ab, lower), bool(lower)), b), 0


model(each(lapack, "pbtrf"), pbtrf)
model(each(lapack, "pbtrs"), pbtrs)
model(each(blas, "trsm"), trsm)
