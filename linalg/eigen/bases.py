"""Orthonormal bases, in the Euclidean inner product or in that of a Hermitian positive definite M: x·M y."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import MorulaError, random


def dagger(A: Any) -> Any:
    """Return the conjugate transpose."""
    return A.T.conj()


def times(M: Any, X: Any) -> Any:
    """Return M X, where None stands for the identity."""
    return X if M is None else M @ X


def start_block(key: Any, n: int, columns: int, dtype: Any) -> Any:
    """Return random columns (n, columns)."""
    draws = key if isinstance(key, random.Generator) else random.Generator(key)
    return draws.standard_normal((n, columns)).astype(dtype)


def orthonormal(X: Any, M: Any, name: str) -> tuple[Any, Any]:
    """Return Q and R with X = Q R and orthonormal columns of Q; they are arbitrary where those of X are dependent."""
    Q, R = np.linalg.qr(X)
    if M is None:
        return Q, R
    gram = dagger(Q) @ (M @ Q)
    gram = 0.5 * (gram + dagger(gram))
    least = np.linalg.eigvalsh(gram)[0]
    if not least > 0.0:
        raise MorulaError(f"{name}: M is not positive definite: x·Mx = {least:.6g} for an x of norm 1")
    L = np.linalg.cholesky(gram)
    return np.linalg.solve(np.conj(L), Q.T).T, dagger(L) @ R


def _noise(shape: Any, turn: Any) -> Any:
    """Return independent columns with entries of size 1."""
    return np.reshape(np.cos(0.7 * turn * np.arange(float(shape[0] * shape[1])) ** 2), shape)


def extension(W: Any, V: Any, M: Any, turn: Any, name: str) -> tuple[Any, Any, Any]:
    """Return Q, C and R with W = V C + Q R, where [V, Q] has orthonormal columns like V.

    Gram-Schmidt, twice; and again where W nearly lies in the span of V or its columns are nearly dependent. There a term as
    small as a rounding error, other for each ``turn``, provides the directions that W lacks.
    """
    size = np.linalg.norm(W)
    C = dagger(V) @ times(M, W)
    W = W - V @ C
    again = dagger(V) @ times(M, W)
    Q, R = orthonormal(W - V @ again, M, name)
    C = C + again
    if np.min(np.abs(np.diagonal(R))) <= 1e-3 * size:
        eps = np.finfo(W.dtype).eps
        W = V @ (dagger(V) @ times(M, Q))
        Q, first = orthonormal(Q - W + (eps / np.sqrt(W.size)) * _noise(W.shape, turn), M, name)
        again = dagger(V) @ times(M, Q)
        Q, second = orthonormal(Q - V @ again, M, name)
        R = second @ first @ R
    return Q, C, R
