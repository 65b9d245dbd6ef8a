"""Orthonormal bases of blocks whose columns may be dependent: a dependent column is dropped, and is zero from then on.

Blocks keep their shape, so that the methods compile. By Cholesky factors of the Gram matrix, twice: T. Fukaya, Y. Nakatsukasa,
Y. Yanagisawa and Y. Yamamoto, "CholeskyQR2: a simple and communication-avoiding algorithm for computing a tall-skinny QR
factorization on a large-scale parallel system", ScalA (2014) 31-38.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .recurrence import applied

DEPENDENT = 100.0
"""A column whose part outside of the others' span is so many rounding errors of its square is dropped."""


def deflated_cholesky(G: Any, floor: Any) -> tuple[Any, Any, Any]:
    """Return L with G = L L^H, a mask of the columns that are kept, and the pivots, for a Hermitian semidefinite G (k, k).

    The columns of L that are dropped are zero: those whose pivot is negligible beside their diagonal entry or not above
    ``floor``.
    """
    k = G.shape[0]
    eps = np.finfo(G.dtype).eps
    places = np.arange(k)
    L = np.zeros_like(G)
    kept, pivots = np.zeros(k, bool), np.zeros(k, np.real(G).dtype)
    for j in range(k):
        column = G[:, j] - L @ np.conj(L[j])
        pivot = np.real(column[j])
        is_kept = (pivot > DEPENDENT * eps * np.real(G[j, j])) & (pivot > floor)
        column = np.where(places >= j, column, 0.0) / np.sqrt(np.where(is_kept, pivot, 1.0))
        L[:, j] = np.where(is_kept, column, 0.0)
        kept[j], pivots[j] = is_kept, pivot
    return L, kept, pivots


def inverse_factor(L: Any, kept: Any) -> Any:
    """Return the inverse of L with rows and columns of zeros where a column was dropped."""
    k = L.shape[0]
    inverse = np.linalg.inv(L + np.where(kept, 0.0, np.eye(k, dtype=L.dtype)))
    return np.where(kept[:, None] & kept[None, :], inverse, 0.0)


def orthonormalised(W: Any, M: Any, floor: Any) -> tuple[Any, Any, Any, Any]:
    """Return Q, Z, R and a mask with W = Q R, Z = M Q and Q^H Z = I, but for the columns of Q that are dropped, outside the mask.

    M: a Hermitian positive definite operator, or None for the identity.
    floor: columns of W are dropped if the square of their part outside of the others' span is not larger.
    """
    Z = applied(M, W)
    L, kept, _ = deflated_cholesky(_gram(W, Z), floor)
    inverse = np.conj(inverse_factor(L, kept).T)
    Q, Z = W @ inverse, Z @ inverse
    again, kept, _ = deflated_cholesky(_gram(Q, Z), 0.0)
    inverse = np.conj(inverse_factor(again, kept).T)
    return Q @ inverse, Z @ inverse, np.conj((L @ again).T), kept


def _gram(W: Any, Z: Any) -> Any:
    G = np.conj(W.T) @ Z
    return 0.5 * (G + np.conj(G.T))
