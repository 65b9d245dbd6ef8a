"""``svds``: truncated singular value decomposition by Golub-Kahan-Lanczos bidiagonalisation with thick restart, in blocks.

G. Golub and W. Kahan, "Calculating the singular values and pseudo-inverse of a matrix", SIAM J. Numer. Anal. 2 (1965)
205-224; J. Baglama and L. Reichel, "Augmented implicitly restarted Lanczos bidiagonalization methods", SIAM J. Sci. Comput.
27 (2005) 19-42.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import MorulaError
from ..operators import as_operator
from .bases import dagger, extension, orthonormal, start_block
from .hermitian import check_iteration, check_k, found
from .krylov_space import dimensions
from .loop import Cycle, Method
from .ordering import check_which
from .results import SingularTriplets
from .singular import dense_triplets, result


def svds(
    A: Any,
    k: int = 6,
    which: str = "largest",
    vectors: bool = True,
    key: Any = 0,
    block: int | None = None,
    size: int | None = None,
    rtol: float = 1e-12,
    max_iterations: int = 300,
) -> SingularTriplets:
    """Return the k largest (or smallest) singular values of A, and their vectors.

    Args:
        A: operator or anything that ``as_operator`` takes, of any shape (m, n).
        k: the number of triplets, at most min(m, n).
        which: ``"largest"`` or ``"smallest"``.
        vectors: whether to return vectors.
        key, block, size, rtol, max_iterations: as for ``eigsh``; a cycle multiplies with A and A^H.

    Returns:
        ``SingularTriplets``: U (m, k), values (k,) and Vh (k, n), with A close to ``(U * values) @ Vh`` if the other
        singular values are small. A pair of vectors has an arbitrary common sign or phase. An iteration that has not
        converged is returned as well, but its derivative is an error. If A is so small that the Krylov space would be
        whole, all singular values of the dense matrix are computed.

        The derivative is implicit: one deflated solve with MINRES and A^H A. It needs a gap between
        the values that are returned and the others, and values that are not zero. Repeated values: losses of the whole
        singular spaces, such as ``U @ Vh``, have their gradient; in reverse mode a loss of single vectors is an error.

    Raises:
        BadInput: k or an option is out of range, or A is no matrix.
        MorulaError: A gives NaN or Inf; or a gradient is taken and the iteration or the deflated solve has not converged.

    Source: Golub and Kahan (1965); Baglama and Reichel (2005).

    >>> found = svds(np.diag(np.arange(100.0)), k=2)
    >>> found.values.round(9).tolist(), found.U.shape, found.Vh.shape
    ([99.0, 98.0], (100, 2), (2, 100))
    """
    name = "svds"
    A = as_operator(A, f"{name}: A")
    m, n = A.shape
    check_k(name, k, min(m, n))
    check_which(name, which, ("largest", "smallest"))
    check_iteration(name, rtol, max_iterations)
    is_tall = m >= n
    B = A if is_tall else A.H
    dims = dimensions(min(m, n), k, block, size)
    if dims is None:
        U, V = dense_triplets(name, A, k, which)
        return result(name, A, U, V, 0, np.zeros(1), 0, which, vectors)
    b, kept, most = dims
    dtype = np.result_type(A.dtype, np.float32)

    def start() -> Cycle:
        return GolubKahan(name, B, start_block(key, min(m, n), b, dtype), k, kept, most, which)

    Q, iterations, history, code = found(Method(name, start), rtol, max_iterations)
    first, second = Q[: max(m, n)], Q[max(m, n) :]
    U, V = (first, second) if is_tall else (second, first)
    return result(name, A, U, V, iterations, history, code, which, vectors)


class GolubKahan(Cycle):
    """Orthonormal V and U with A V = U B and A^H U = V B^H + (last block) R; a restart keeps the most wanted triplets."""

    def __init__(self, name: str, A: Any, start: Any, k: int, kept: int, size: int, which: str) -> None:
        self.name, self.A, self.AH = name, A, A.H
        n, b = start.shape
        self.k, self.b, self.kept, self.size, self.which = k, b, kept, size, which
        blocks = size // b
        # A loop that is compiled writes whole blocks: V[j] is the transpose of the j-th.
        self.V = np.zeros((blocks + 1, b, n), start.dtype)
        self.U = np.zeros((blocks, b, A.shape[0]), start.dtype)
        self.B = np.zeros((blocks, b, blocks, b), start.dtype)
        self.last = np.zeros((b, b), start.dtype)
        self.V[0] = orthonormal(start, None, name)[0].T
        self.expand(0)

    def right(self) -> Any:
        """Return V and the last block, (n, size + b)."""
        return np.reshape(self.V, (self.size + self.b, self.V.shape[2])).T

    def left(self) -> Any:
        """Return U, (m, size)."""
        return np.reshape(self.U, (self.size, self.U.shape[2])).T

    def expand(self, first: int) -> None:
        """Expand the spaces from dimension ``first`` to ``size``, and find the triplets in them."""
        blocks, b = self.size // self.b, self.b
        for j in range(first // b, blocks):
            Q, C, R = extension(self.A @ self.V[j].T, self.left(), None, j + 1.0, self.name)
            self.B[:, :, j] = np.reshape(C, (blocks, b, b))
            self.B[j, :, j] = R
            self.U[j] = Q.T
            P, _, self.last = extension(self.AH @ Q, self.right(), None, j + 1.0, self.name)
            self.V[j + 1] = P.T
        if not np.all(np.isfinite(self.B)):
            raise MorulaError(f"{self.name}: A applied to a finite vector gave NaN or Inf")
        P, values, Qh = np.linalg.svd(np.reshape(self.B, (self.size, self.size)))
        self.scale = values[0]
        if self.which == "smallest":
            P, values, Qh = P[:, ::-1], values[::-1], Qh[::-1]
        self.P, self.values, self.Q = P, values, dagger(Qh)
        self.norms = np.linalg.norm(self.last @ P[self.size - b :, : self.k], axis=0) / 2.0**0.5

    def step(self) -> None:
        b, kept = self.b, self.kept
        blocks = kept // b
        V, U = self.right()[:, : self.size] @ self.Q[:, :kept], self.left() @ self.P[:, :kept]
        last = np.copy(self.V[self.size // b])
        self.V[:blocks], self.U[:blocks] = (
            np.reshape(V.T, (blocks, b, V.shape[0])),
            np.reshape(U.T, (blocks, b, U.shape[0])),
        )
        self.V[blocks] = last
        self.V[blocks + 1 :] = 0.0
        self.U[blocks:] = 0.0
        small = np.zeros((self.size, self.size), self.B.dtype)
        small[:kept, :kept] = np.diag(self.values[:kept])
        self.B = np.reshape(small, self.B.shape)
        self.expand(kept)

    def basis(self) -> Any:
        U, V = self.left() @ self.P[:, : self.k], self.right()[:, : self.size] @ self.Q[:, : self.k]
        return np.concatenate([U, V])
