"""exp(t A) B without the exponential: truncated Taylor series in several stages.

A.H. Al-Mohy and N.J. Higham, "Computing the action of the matrix exponential, with an application to exponential
integrators", SIAM J. Sci. Comput. 33 (2011) 488-511. The number of stages follows from the 1-norm; the degree of each is
found while it is summed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, MorulaError, constant
from ..operators import Dense, LinearOperator, Sparse, as_operator

# The largest 1-norm of a stage, theta of degree 30 (their table 3.1). They allow 9.9, which saves a third of the products
# and loses two more digits to cancellation where the exponential is small.
STAGE = 3.54
LAST_TERM = 100


def expm_multiply(A: Any, B: Any, t: Any = 1.0) -> Any:
    """Return exp(t A) B.

    Args:
        A: operator or matrix (n, n).
        B: vector (n,), or several as the columns of (n, k).
        t: a number; gradients reach it.

    Returns:
        Array of the shape of B. Its derivative, with respect to A's arrays, B and t, is that of the exponential: the terms
        left out are below the rounding errors of both. Reverse mode stores the terms of the series.

    Raises:
        BadInput: A is not square, the shapes do not match, or t is not a number.
        MorulaError: the series does not converge, since A gives NaN or Inf or is not linear, or overflows.

    Source: Al-Mohy and Higham (2011), algorithm 3.2, with the shift by the mean of the diagonal where that is known.

    >>> expm_multiply(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([1.0, 2.0]), t=3.0).tolist()
    [7.0, 2.0]
    """
    A = as_operator(A, "expm_multiply: A")
    n = A.shape[1]
    if A.shape[0] != n:
        raise BadInput(f"expm_multiply: A has shape {A.shape}, expected a square operator")
    B = B if isinstance(B, np.ndarray) else np.asarray(B)
    if B.ndim not in (1, 2) or B.shape[0] != n:
        raise BadInput(f"expm_multiply: B has shape {B.shape}, expected ({n},) or ({n}, k) for A of shape {A.shape}")
    if np.ndim(t) != 0:
        raise BadInput(f"expm_multiply: t has shape {np.shape(t)}, expected a number")
    dtype = np.result_type(A.dtype, B.dtype, np.float32)
    if not np.all(np.isfinite(B)):
        raise BadInput("expm_multiply: B holds NaN or Inf, expected finite numbers")
    total = B.astype(dtype)
    if n == 0:
        return total
    shift = _shift(A)
    stages = np.maximum(np.ceil(np.abs(t) * _norm(A, shift) / STAGE), 1.0)
    if not np.isfinite(stages):
        raise MorulaError("expm_multiply: A or t holds NaN or Inf, or A gives it")
    step = t / stages
    # Derivatives of the terms are larger by their degree, so the sum goes on beyond the rounding errors of the values.
    tolerance = 0.01 * float(np.finfo(dtype).eps)
    growth = np.exp(step * shift)
    stage = 0.0
    while stage < stages:
        term = total
        last, size = _size(term), np.inf
        degree = 0
        while last + size > tolerance * _size(total):
            degree += 1
            if degree > LAST_TERM:
                raise MorulaError("expm_multiply: the Taylor series does not converge, since A is not linear")
            last = size if degree > 1 else last
            term = (A @ term - shift * term) * (step / degree)
            size = _size(term)
            total = total + term
        total = growth * total
        stage += 1.0
    if not np.isfinite(_size(total)):
        raise MorulaError("expm_multiply: A gives NaN or Inf, or the exponential overflows")
    return total.astype(dtype)


@constant
def _size(v: Any) -> float:
    return float(np.max(np.abs(v), initial=0.0))


@constant
def _shift(A: LinearOperator) -> Any:
    """Return the mean of the diagonal, by which A is shifted to reduce its norm; zero if it is not known."""
    if isinstance(A, (Dense, Sparse)):
        return A.trace() / A.shape[0]
    return 0.0


@constant
def _norm(A: LinearOperator, shift: Any) -> float:
    """Return the 1-norm of the shifted A, or Hager's estimate of it for an operator whose entries are not stored."""
    n = A.shape[0]
    if isinstance(A, Dense):
        return float(np.max(np.sum(np.abs(A.matrix - shift * np.eye(n)), axis=0)))
    if isinstance(A, Sparse):
        sizes = Sparse(np.abs(A.data), A.indices, A.indptr, A.shape, A.by_columns)
        diagonal = A.diag()
        return float(np.max(np.ones(n) @ sizes - np.abs(diagonal) + np.abs(diagonal - shift)))
    adjoint, x, estimate = A.H, np.full(n, 1.0 / n).astype(A.dtype), 0.0
    for _ in range(4):
        y = A @ x
        size = np.abs(y)
        estimate = max(estimate, float(np.sum(size)))
        slope = adjoint @ np.where(size > 0.0, y / np.where(size > 0.0, size, 1.0), 1.0)
        x = np.where(np.arange(n) == np.argmax(np.abs(slope)), 1.0, 0.0).astype(A.dtype)
    return estimate
