"""Incomplete factorisations of sparse matrices: ILU(0), IC(0), and SuperLU's with thresholds.

Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. (2003), algorithm 10.4; X.S. Li and M. Shao, "A supernodal
approach to incomplete LU factorization with partial pivoting", ACM Trans. Math. Softw. 37 (2011), article 43.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import spilu

from ...core import BadInput, MorulaError, constant
from ..operators import Dense, Diagonal, LinearOperator, Sparse, as_operator
from .sweeps import InverseTriangular, Permutation, compiled


@constant
def ilu0(A: Any) -> LinearOperator:
    """Return the preconditioner (L U)^-1, where L U is the LU factorisation restricted to the pattern of A.

    Args:
        A: sparse matrix, ``Sparse`` operator or array, (n, n).

    Returns:
        An operator (n, n), constant in derivatives.

    Raises:
        BadInput: A is not square, or has no stored entries to factorise.
        MorulaError: a pivot is zero.

    Source: Saad (2003), algorithm 10.4.

    >>> from scipy.sparse import csr_array
    >>> A = csr_array([[4.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 4.0]])
    >>> (ilu0(A) @ (A @ np.ones(3))).round(12).tolist()  # a tridiagonal matrix has no fill
    [1.0, 1.0, 1.0]
    """
    lower, pivots, upper = _factors(A, "ilu0")
    return inverse(upper, pivots, False) @ inverse(lower, np.ones_like(pivots), True)


@constant
def ic0(A: Any) -> LinearOperator:
    """Return the preconditioner (L D L^H)^-1, Cholesky's factorisation restricted to the pattern of A.

    Args:
        A: Hermitian positive definite sparse matrix, ``Sparse`` operator or array, (n, n).

    Returns:
        A Hermitian positive definite operator (n, n), constant in derivatives.

    Raises:
        BadInput: A is not square, or has no stored entries to factorise.
        MorulaError: a pivot is not positive.

    Source: Saad (2003), section 10.3.

    >>> from scipy.sparse import csr_array
    >>> A = csr_array([[4.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 4.0]])
    >>> (ic0(A) @ (A @ np.ones(3))).round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    lower, pivots, _ = _factors(A, "ic0")
    pivots = np.real(pivots)
    if not np.all(pivots > 0.0):
        i = int(np.argmin(pivots > 0.0))
        raise MorulaError(
            f"ic0: the pivot of row {i} is {pivots[i]:.3g}, not positive: A is not positive definite, or the incomplete"
            " factorisation does not exist; add a multiple of the identity to A, or use ilu0"
        )
    below = inverse(lower, np.ones(len(pivots), lower.dtype), True)
    return below.H @ Diagonal(1.0 / pivots) @ below


@constant
def incomplete_lu(A: Any, drop_tolerance: float = 1e-4, fill_factor: float = 10.0) -> LinearOperator:
    """Return the preconditioner of SuperLU's incomplete LU factorisation with thresholds and pivoting.

    Args:
        A: sparse matrix, ``Sparse`` operator or array, (n, n).
        drop_tolerance: entries below this fraction of their column are dropped.
        fill_factor: the most entries of the factors, as a multiple of those of A.

    Returns:
        An operator (n, n), constant in derivatives.

    Raises:
        BadInput: A is not square, or has no stored entries to factorise.
        MorulaError: A is singular.

    Source: Li and Shao (2011), by ``scipy.sparse.linalg.spilu``.

    >>> A = np.array([[0.0, 2.0], [4.0, 0.0]])
    >>> (incomplete_lu(A) @ np.array([2.0, 4.0])).tolist()
    [1.0, 1.0]
    """
    matrix = stored(A, "incomplete_lu")
    try:
        factors = spilu(matrix.tocsc(), drop_tol=drop_tolerance, fill_factor=fill_factor)
    except RuntimeError as error:
        raise MorulaError("incomplete_lu: A is singular; add a multiple of the identity to A") from error
    upper, lower = csr_array(factors.U), csr_array(factors.L)
    solve = inverse(beside(upper), upper.diagonal(), False) @ inverse(beside(lower), lower.diagonal(), True)
    rows, columns = np.argsort(factors.perm_r), factors.perm_c
    return Permutation(columns) @ solve @ Permutation(rows)


def stored(A: Any, name: str) -> Any:
    """Return the matrix as a CSR array with sorted indices and no duplicates."""
    A = as_operator(A, f"{name}: A")
    if A.shape[0] != A.shape[1]:
        raise BadInput(f"{name}: A has shape {A.shape}, expected a square matrix")
    if not isinstance(A, (Sparse, Dense)):
        raise BadInput(f"{name}: A is a {type(A).__name__}, whose entries are not stored; expected a sparse matrix")
    matrix = (A.tocsr() if isinstance(A, Sparse) else csr_array(A.matrix)).copy()
    matrix.sum_duplicates()
    return matrix


def _factors(A: Any, name: str) -> tuple[Any, Any, Any]:
    """Return the strictly lower part of L, the pivots, and the strictly upper part of U."""
    matrix = stored(A, name)
    n = matrix.shape[0]
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    (on_diagonal,) = np.nonzero(rows == matrix.indices)
    if len(on_diagonal) < n:
        missing = int(np.setdiff1d(np.arange(n), rows[on_diagonal])[0])
        raise MorulaError(f"{name}: the pivot of row {missing} is zero, since A has no entry on its diagonal there")
    factorise = compiled(_incomplete_factors, matrix.nnz, n, str(matrix.dtype))
    matrix.data, zero = factorise(matrix.data, matrix.indices, matrix.indptr, on_diagonal)
    if zero >= 0:
        raise MorulaError(f"{name}: the pivot of row {zero} is zero; add a multiple of the identity to A")
    return beside(matrix, lower=True), matrix.data[on_diagonal], beside(matrix, lower=False)


def beside(matrix: Any, lower: bool | None = None) -> Any:
    """Return the entries below or above the diagonal, or both, as a CSR array."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    columns = matrix.indices
    chosen = rows != columns if lower is None else columns < rows if lower else columns > rows
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[chosen], minlength=matrix.shape[0]))])
    return csr_array((matrix.data[chosen], columns[chosen], indptr), shape=matrix.shape)


def inverse(beside: Any, diagonal: Any, lower: bool) -> LinearOperator:
    return InverseTriangular(beside.data, beside.indices, beside.indptr, diagonal, lower)


def _incomplete_factors(data: Any, indices: Any, indptr: Any, on_diagonal: Any) -> tuple[Any, int]:
    """Return the entries of both factors, and the row of the first zero pivot or -1."""
    a = data.copy()
    n = len(indptr) - 1
    place = np.full(n, -1)
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            place[indices[k]] = k
        for k in range(indptr[i], on_diagonal[i]):
            j = indices[k]
            a[k] = a[k] / a[on_diagonal[j]]
            for m in range(on_diagonal[j] + 1, indptr[j + 1]):
                p = place[indices[m]]
                if p >= 0:
                    a[p] -= a[k] * a[m]
        for k in range(indptr[i], indptr[i + 1]):
            place[indices[k]] = -1
        if a[on_diagonal[i]] == 0:
            return a, i
    return a, -1
