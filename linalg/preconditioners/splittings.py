"""Preconditioners from splittings of a matrix: Jacobi and symmetric successive over-relaxation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, MorulaError, constant
from ..operators import Diagonal, LinearOperator, as_operator
from .incomplete import beside, inverse, stored


@constant
def jacobi(A: Any) -> LinearOperator:
    """Return the preconditioner D^-1, with D the diagonal of A.

    Args:
        A: operator or matrix (n, n); the diagonal of a function or a product of operators takes n products.

    Returns:
        A ``Diagonal`` operator (n, n), constant in derivatives.

    Raises:
        BadInput: A is not square.
        MorulaError: an entry of the diagonal is zero.

    >>> (jacobi(np.diag([2.0, 4.0])) @ np.ones(2)).tolist()
    [0.5, 0.25]
    """
    A = as_operator(A, "jacobi: A")
    if A.shape[0] != A.shape[1]:
        raise BadInput(f"jacobi: A has shape {A.shape}, expected a square matrix")
    return Diagonal(1.0 / _without_zeros(A.diag(), "jacobi"))


@constant
def ssor(A: Any, omega: float = 1.0) -> LinearOperator:
    """Return the preconditioner of symmetric successive over-relaxation.

    With A = L + D + U, it is omega (2 - omega) (D + omega U)^-1 D (D + omega L)^-1; Hermitian positive definite if A is.

    Args:
        A: sparse matrix, ``Sparse`` operator or array, (n, n).
        omega: the relaxation, between 0 and 2; 1 gives symmetric Gauss-Seidel.

    Returns:
        An operator (n, n), constant in derivatives.

    Raises:
        BadInput: A is not square, its entries are not stored, or omega is out of range.
        MorulaError: an entry of the diagonal is zero.

    Source: Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. (2003), section 10.2.

    >>> (ssor(np.diag([2.0, 4.0])) @ np.ones(2)).tolist()
    [0.5, 0.25]
    """
    if not 0.0 < omega < 2.0:
        raise BadInput(f"ssor: omega is {omega!r}, expected a number between 0 and 2")
    matrix = stored(A, "ssor")
    diagonal = _without_zeros(matrix.diagonal(), "ssor")
    lower = inverse(omega * beside(matrix, lower=True), diagonal, True)
    upper = inverse(omega * beside(matrix, lower=False), diagonal, False)
    return upper @ Diagonal(omega * (2.0 - omega) * diagonal) @ lower


def _without_zeros(diagonal: Any, name: str) -> Any:
    if not np.all(diagonal != 0.0):
        i = int(np.argmin(diagonal != 0.0))
        raise MorulaError(f"{name}: the diagonal of A is zero in row {i}")
    return diagonal
