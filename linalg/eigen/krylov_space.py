"""The block Krylov space that the Lanczos and Arnoldi methods with restarts share.

Its expansion is G.W. Stewart's Krylov decomposition A V = V H + V' B, with V orthonormal: "A Krylov-Schur algorithm for
large eigenproblems", SIAM J. Matrix Anal. Appl. 23 (2001) 601-614; by blocks as in Y. Zhou and Y. Saad, "Block
Krylov-Schur method for large symmetric eigenvalue problems", Numer. Algorithms 47 (2008) 341-359.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ...core import MorulaError
from .bases import dagger, extension, orthonormal
from .loop import Cycle


class KrylovSpace(Cycle):
    """A V[:, :m] = V H, where V has a block of columns more than H; a restart keeps the most wanted directions.

    Args:
        name: the method, for error messages.
        A: the operator whose extreme eigenvalues are found, self-adjoint in the inner product of M for Hermitian problems.
        M: the operator of the inner product; None for the Euclidean one.
        start: the first block (n, b).
        k: the number of pairs.
        kept, size: the dimension after and before a restart, multiples of b with k <= kept < size <= n - b.
    """

    def __init__(self, name: str, A: Any, M: Any, start: Any, k: int, kept: int, size: int) -> None:
        self.name, self.A, self.M = name, A, M
        n, b = start.shape
        self.k, self.b, self.kept, self.size = k, b, kept, size
        blocks = size // b
        # A loop that is compiled writes whole blocks: V[j] is the transpose of the j-th.
        self.V = np.zeros((blocks + 1, b, n), start.dtype)
        self.H = np.zeros((blocks + 1, b, blocks, b), start.dtype)
        self.V[0] = orthonormal(start, M, name)[0].T
        self.expand(0)

    def vectors(self) -> Any:
        """Return V and the last block, (n, size + b)."""
        return np.reshape(self.V, (self.size + self.b, self.V.shape[2])).T

    def projected(self) -> Any:
        """Return H, (size + b, size), whose last b rows are those of the last block."""
        return np.reshape(self.H, (self.size + self.b, self.size))

    def expand(self, first: int) -> None:
        """Expand the space from dimension ``first`` to ``size``, and find the pairs in it."""
        blocks, b = self.size // self.b, self.b
        for j in range(first // b, blocks):
            W = self.A @ self.V[j].T
            Q, C, R = extension(W, self.vectors(), self.M, j + 1.0, self.name)
            self.H[:, :, j] = np.reshape(C, (blocks + 1, b, b))
            self.H[j + 1, :, j] = R
            self.V[j + 1] = Q.T
        if not np.all(np.isfinite(self.H)):
            raise MorulaError(f"{self.name}: A applied to a finite vector gave NaN or Inf")
        self.find()

    def shrink(self, Y: Any) -> None:
        """Restart with the span of V Y, where Y (size, kept) has orthonormal columns, and the last block."""
        m, b, kept = self.size, self.b, self.kept
        H, V = self.projected(), self.vectors()
        inside = dagger(Y) @ H[:m] @ Y
        below = self.residual_part(Y)
        blocks = kept // b
        last = np.copy(self.V[m // b])
        self.V[:blocks] = np.reshape((V[:, :m] @ Y).T, (blocks, b, V.shape[0]))
        self.V[blocks] = last
        self.V[blocks + 1 :] = 0.0
        projected = np.zeros_like(H)
        projected[:kept, :kept] = inside
        projected[kept : kept + b, :kept] = below
        self.H = np.reshape(projected, self.H.shape)

    def residual_part(self, Y: Any) -> Any:
        """Return the coefficients of A V Y in the last block."""
        m, b = self.size, self.b
        return self.projected()[m:, m - b :] @ Y[m - b :]

    def residuals(self, Y: Any) -> Any:
        """Return the residual norms of the vectors V Y."""
        return np.linalg.norm(self.residual_part(Y), axis=0)

    @abstractmethod
    def find(self) -> None:
        """Find the pairs in the space."""


def dimensions(n: int, k: int, block: int | None, size: int | None) -> tuple[int, int, int] | None:
    """Return the size of a block, and the dimensions after and before a restart; None if the space would be whole."""
    b = max(2, min(10, -(-k // 2))) if block is None else block
    kept = b * -(-(k + b) // b)
    least = kept + 2 * b
    m = max(2 * k + 10, least, 20) if size is None else max(size, least)
    m = kept + b * -(-(m - kept) // b)
    return None if m + b > n else (b, kept, m)
