"""Solutions with SciPy's factors of a matrix that is known: their derivatives are those of the solution with the matrix.

Compiled code runs these kernels where it sees which matrix was factorised.  The factors are a cache without a derivative:
see ``kept_factors``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .linear_algebra import matrix_product
from .matrix_factorisations import from_triangle, onto_triangle
from .products import hermitian as dagger
from .scipy_factorisations import outer
from .table import joint, linear, runs_compiled, solves


def solved_by_lu(a: Any, b: Any, lu: Any, piv: Any, trans: int = 0, check_finite: bool = True) -> Any:
    """The solution of A X = B for ``trans`` 0, of A^T X = B for 1, of A^H X = B for 2; ``b`` is a vector or a matrix."""
    return np.ascontiguousarray(scipy.linalg.lu_solve((lu, piv), b, trans, check_finite=check_finite))


def solved_by_lu_pullback(
    dy: Any, y: Any, a: Any, b: Any, lu: Any, piv: Any, trans: int = 0, check_finite: bool = True
) -> tuple[Any, ...]:
    as_vectors = np.ndim(b) == 1
    if trans == 1:
        z = np.conj(solved_by_lu(a, np.conj(dy), lu, piv, 0, False))
        return -outer(np.conj(y), np.conj(z), as_vectors), z, None, None
    z = solved_by_lu(a, dy, lu, piv, 2 - trans, False)
    return outer(-y, z, as_vectors) if trans == 2 else outer(-z, y, as_vectors), z, None, None


def product(a: Any, y: Any, b: Any, lu: Any, piv: Any, trans: int = 0, check_finite: bool = True) -> Any:
    return matrix_product(np.swapaxes(a, -1, -2) if trans == 1 else dagger(a) if trans == 2 else a, y, b)


def solved_by_cholesky(a: Any, b: Any, c: Any, lower: bool = False, check_finite: bool = True) -> Any:
    """The solution of A X = B, of which one triangle is read; ``b`` is a vector or a matrix."""
    return np.ascontiguousarray(scipy.linalg.cho_solve((c, lower), b, check_finite=check_finite))


def solved_by_cholesky_pullback(
    dy: Any, y: Any, a: Any, b: Any, c: Any, lower: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    z = solved_by_cholesky(a, dy, c, lower, False)
    return onto_triangle(outer(-z, y, np.ndim(b) == 1), lower), z, None


def hermitian_product(a: Any, y: Any, b: Any, c: Any, lower: bool = False, check_finite: bool = True) -> Any:
    return matrix_product(from_triangle(a, lower), y, b)


joint(solved_by_lu, solved_by_lu_pullback)
joint(solved_by_cholesky, solved_by_cholesky_pullback)
linear((solved_by_lu, solved_by_cholesky), 1)
solves(solved_by_lu, product)
solves(solved_by_cholesky, hermitian_product)
runs_compiled(solved_by_lu, solved_by_cholesky)
