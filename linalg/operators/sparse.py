"""Sparse matrices whose stored entries are differentiable; the pattern is constant.

The products are those of SciPy's compiled kernels, whose derivatives ``core/rules`` defines, so a sparse operator costs in
eager code what ``scipy.sparse`` costs. It runs in compiled code as well.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from scipy.sparse import _sparsetools, bsr_array, csc_array, csr_array, sparray, spmatrix
from scipy.sparse.linalg import splu, spsolve

from ...core import BadInput, MorulaError, constant
from .linear_operator import CONVERSIONS, LinearOperator, check_right_hand_side, inexact
from .sparse_determinant import log_abs_det


class Sparse(LinearOperator):
    """A sparse matrix in compressed rows (CSR) or columns (CSC).

    Gradients reach ``data`` only, and have its length: entries outside of the pattern are constant zeros.

    Args:
        data: the stored entries (nnz,); integers are converted to float64.
        indices: the column of each entry (row, for compressed columns), (nnz,).
        indptr: where each row (column) begins in ``data``, (m + 1,) or (n + 1,).
        shape: (m, n).
        by_columns: whether columns are compressed.

    Raises:
        BadInput: the length of ``indptr`` does not fit the shape, or ``indices`` and ``data`` differ in length.

    >>> A = Sparse(np.array([2.0, 3.0]), np.array([1, 0]), np.array([0, 1, 2]), (2, 2))
    >>> A.todense().tolist(), A.T.todense().tolist()
    ([[0.0, 2.0], [3.0, 0.0]], [[0.0, 3.0], [2.0, 0.0]])
    """

    def __init__(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int], by_columns: bool = False) -> None:
        compressed = shape[1] if by_columns else shape[0]
        if np.shape(indptr) != (compressed + 1,):
            raise BadInput(f"Sparse: indptr has shape {np.shape(indptr)}, expected ({compressed + 1},) for {shape}")
        if np.ndim(data) != 1 or np.shape(indices) != np.shape(data):
            raise BadInput(
                f"Sparse: data and indices have shapes {np.shape(data)} and {np.shape(indices)}, expected one (nnz,)"
            )
        self.data = inexact(data)
        self.indices, self.indptr = indices, indptr
        self._shape = (shape[0], shape[1])
        self.by_columns = by_columns

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    def matvec(self, x: Any) -> Any:
        data, x = self.data, x.astype(np.result_type(self.data, x), copy=False)
        multiply = _times_columns if self.by_columns else _times_rows
        return multiply(self._shape[0], data.astype(x.dtype, copy=False), self.indices, self.indptr, x)

    def matmat(self, x: Any) -> Any:
        data, x = self.data, x.astype(np.result_type(self.data, x), copy=False)
        multiply = _times_columns_of_many if self.by_columns else _times_rows_of_many
        return multiply(self._shape[0], data.astype(x.dtype, copy=False), self.indices, self.indptr, x)

    def transpose(self) -> LinearOperator:
        return Sparse(self.data, self.indices, self.indptr, (self._shape[1], self._shape[0]), not self.by_columns)

    def adjoint(self) -> LinearOperator:
        data = np.conj(self.data) if self.dtype.kind == "c" else self.data
        return Sparse(data, self.indices, self.indptr, (self._shape[1], self._shape[0]), not self.by_columns)

    def diag(self) -> Any:
        outer = np.searchsorted(self.indptr, np.arange(self.data.shape[0]), side="right") - 1
        found = np.zeros(len(self.indptr) - 1, self.dtype)
        np.add.at(found, outer, np.where(outer == self.indices, self.data, 0.0))
        return found[: min(self._shape)]

    @property
    def is_solvable(self) -> bool:
        return self._shape[0] == self._shape[1]

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        dtype = np.result_type(self.data, b)
        kind = csc_array if self.by_columns else csr_array
        # A copy, since SciPy sorts indices and sums duplicates in place.
        A = kind((self.data.astype(dtype), np.copy(self.indices), np.copy(self.indptr)), shape=self._shape)
        x: Any = spsolve(A, b.astype(dtype))
        x = np.reshape(x, b.shape)
        if np.all(np.isfinite(b)) and not np.all(np.isfinite(x)):
            self._refuse()
        return x

    def _refuse(self) -> NoReturn:
        """Say why there is no solution: an entry that is not finite, a row or column of zeros, or else dependent ones."""
        is_finite = np.isfinite(self.data)
        if not np.all(is_finite):
            raise MorulaError(
                f"Sparse of shape {self._shape} cannot be solved: data[{np.argmin(is_finite)}] is not finite"
            )
        is_used = (self.data != 0.0).astype(np.int64)
        outer = np.searchsorted(self.indptr, np.arange(self.data.shape[0]), side="right") - 1
        inside, across = np.zeros(self._shape[0], np.int64), np.zeros(self._shape[0], np.int64)
        np.add.at(inside, self.indices, is_used)
        np.add.at(across, outer, is_used)
        first, second = ("row", "column") if self.by_columns else ("column", "row")
        if np.any(inside == 0):
            raise MorulaError(f"Sparse of shape {self._shape} is singular: {first} {np.argmin(inside)} is zero")
        if np.any(across == 0):
            raise MorulaError(f"Sparse of shape {self._shape} is singular: {second} {np.argmin(across)} is zero")
        raise MorulaError(
            f"Sparse of shape {self._shape} is singular: SuperLU found a pivot of zero, so its columns are linearly dependent"
        )

    def solve_positive_definite(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        dtype = np.result_type(self.data, b)
        # Compressed rows are the columns of the transpose. A copy, since SciPy sorts indices and sums duplicates in place.
        columns = csc_array((self.data.astype(dtype), np.copy(self.indices), np.copy(self.indptr)), shape=self._shape)
        b, options = b.astype(dtype), {"SymmetricMode": True}
        try:
            factors = splu(columns, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
            x: Any = factors.solve(b, "N" if self.by_columns else "T")
        except RuntimeError:
            self._refuse()
        products = np.sum(np.real(np.conj(x) * b), axis=0)
        if np.any(np.logical_not(products > 0.0) & np.any(b != 0.0, axis=0)):
            raise MorulaError(
                f"Sparse of shape {self._shape} is not positive definite: x·A x = {np.min(products):.6g} for a solution x"
            )
        return x

    def logdet(self) -> Any:
        """Return log|det A| from SuperLU's factors, without the dense matrix; minus infinity for a singular matrix.

        The gradient has the pattern of the matrix: it needs the entries of the inverse there, which come from the factors
        (``selected_inverse``).

        Raises:
            BadInput: the operator is not square.
            MorulaError: a derivative of a singular matrix is asked for.

        >>> Sparse(np.array([2.0, 1.0, 3.0]), np.array([0, 0, 1]), np.array([0, 1, 3]), (2, 2)).logdet().round(6)
        np.float64(1.791759)
        """
        if self._shape[0] != self._shape[1]:
            return super().logdet()
        # Compressed rows are the columns of the transpose, which has the same determinant.
        return log_abs_det(self.data, self.indices, self.indptr)

    def tocsr(self) -> Any:
        """Return the matrix as a ``csr_array`` of SciPy.

        >>> Sparse(np.array([2.0]), np.array([0]), np.array([0, 1]), (1, 1)).tocsr().toarray().tolist()
        [[2.0]]
        """
        by_rows = csr_array(
            (self.data, self.indices, self.indptr), shape=self._shape[::-1] if self.by_columns else self._shape
        )
        return by_rows.T.tocsr() if self.by_columns else by_rows


def sparse(matrix: Any) -> Sparse:
    """Return the operator of a matrix of ``scipy.sparse``."""
    if matrix.format == "bsr":
        places = _places(matrix)
        return Sparse(np.ravel(matrix.data)[places.data], places.indices, places.indptr, matrix.shape)
    compressed = matrix if matrix.format in ("csr", "csc") else matrix.tocsr()
    return Sparse(compressed.data, compressed.indices, compressed.indptr, matrix.shape, compressed.format == "csc")


# Products


def _times_rows(m: int, data: Any, indices: Any, indptr: Any, x: Any) -> Any:
    y = np.zeros(m, x.dtype)
    _sparsetools.csr_matvec(m, x.shape[0], indptr, indices, data, x, y)
    return y


def _times_columns(m: int, data: Any, indices: Any, indptr: Any, x: Any) -> Any:
    y = np.zeros(m, x.dtype)
    _sparsetools.csc_matvec(m, x.shape[0], indptr, indices, data, x, y)
    return y


def _times_rows_of_many(m: int, data: Any, indices: Any, indptr: Any, x: Any) -> Any:
    n, count = x.shape
    y = np.zeros(m * count, x.dtype)
    _sparsetools.csr_matvecs(m, n, count, indptr, indices, data, np.ravel(x), y)
    return np.reshape(y, (m, count))


def _times_columns_of_many(m: int, data: Any, indices: Any, indptr: Any, x: Any) -> Any:
    n, count = x.shape
    y = np.zeros(m * count, x.dtype)
    _sparsetools.csc_matvecs(m, n, count, indptr, indices, data, np.ravel(x), y)
    return np.reshape(y, (m, count))


@constant
def _places(matrix: Any) -> Any:
    """Return a CSR matrix whose entries are the places of the block matrix's entries in its data."""
    numbers = np.reshape(np.arange(matrix.data.size), matrix.data.shape)
    return bsr_array((numbers, matrix.indices, matrix.indptr), shape=matrix.shape).tocsr()


CONVERSIONS.append(((sparray, spmatrix), sparse))
