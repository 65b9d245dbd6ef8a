"""Block conjugate gradients: several right-hand sides share one Krylov space.

D.P. O'Leary, "The block conjugate gradient algorithm and related methods", Linear Algebra Appl. 29 (1980) 293-322; in the
variant with orthonormal residuals of A.A. Dubrulle, "Retooling the method of block conjugate gradients", Electron. Trans.
Numer. Anal. 12 (2001) 216-233, section 3 (BCGrQ).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import MorulaError
from .deflation import deflated_cholesky, inverse_factor, orthonormalised
from .hermitian import check_hermitian, positive_product
from .recurrence import Method, Recurrence, length, never
from .solution import Solution
from .solve import solved


def block_cg(
    A: Any,
    b: Any,
    x0: Any = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Solve A X = B for a Hermitian positive definite A by block conjugate gradients.

    Each solution is sought in the Krylov space of all right-hand sides, which takes fewer steps than ``cg``, in particular
    where A has a few small eigenvalues apart from the others. Linearly dependent columns are found and dropped.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n), real symmetric or complex Hermitian, positive
            definite; or a linear function of a vector (n,).
        b: right-hand sides, the columns of (n, k).
        x0: initial guesses (n, k), zeros by default.
        preconditioner: operator or matrix (n, n) that approximates the inverse of A, Hermitian positive definite.
        rtol, atol: a column is converged when ``|b - A x| <= max(rtol * |b|, atol)``, see ``cg``.
        max_iterations: the largest number of steps, 10 n by default; a step takes one product with a block.
        adjoint: ``"implicit"`` or ``"unrolled"``, see ``cg``.

    Returns:
        A ``Solution``; ``residual_norm`` is (k,), and ``history`` (iterations + 1, k).

    Raises:
        BadInput, MorulaError: as for ``cg``.

    Source: O'Leary (1980); Dubrulle (2001).

    >>> B = np.array([[1.0, 2.0], [2.0, 4.0]])  # dependent columns
    >>> block_cg(np.array([[4.0, 1.0], [1.0, 3.0]]), B).x.round(6).tolist()
    [[0.090909, 0.181818], [0.636364, 1.272727]]
    """
    method = Method("block_cg", BlockConjugateGradients, hermitian=True, shares_space=True)
    return solved(method, A, b, x0, preconditioner, rtol, atol, max_iterations, adjoint)


class BlockConjugateGradients(Recurrence):
    """Directions S, conjugate to the former ones, and the residuals Q C with Q^H M Q = I."""

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        self.A, self.M = A, M
        self.x = np.zeros_like(r)
        z = r if M is None else M @ r
        sizes = positive_product("block_cg", r, z, "the preconditioner")
        self.floor = np.finfo(r.dtype).eps ** 2 * np.max(sizes, initial=0.0)
        self.Q, self.S, self.C, self.kept = orthonormalised(r, M, self.floor)
        self.norm = np.ones(r.shape[1], np.real(r).dtype)
        self.ended = self.broken = never(r)
        self.steps = 0
        self.before = self.S, self.S

    def step(self) -> None:
        S = self.S
        T = self.A @ S
        positive_product("block_cg", S, T, "A")
        if self.steps == 1:
            check_hermitian("block_cg", *self.before, S, T)
        self.before = S, T
        G = np.conj(S.T) @ T
        L, kept, pivots = deflated_cholesky(0.5 * (G + np.conj(G.T)), 0.0)
        _refuse_indefinite(pivots, np.real(np.diagonal(G)))
        inverse = inverse_factor(L, kept)
        xi = np.conj(inverse.T) @ inverse
        self.x = self.x + S @ (xi @ self.C)
        # W is of the size of an orthonormal block.
        floor = (100.0 * np.finfo(T.dtype).eps) ** 2
        self.Q, Z, zeta, self.kept = orthonormalised(self.Q - T @ xi, self.M, floor)
        self.C = zeta @ self.C
        self.S = Z + S @ np.conj(zeta.T)
        self.norm = length(self.C if self.M is None else self.Q @ self.C)
        self.steps += 1

    def solution(self) -> Any:
        return self.x

    def clear(self, over: Any) -> None:
        """Do nothing: the columns that go on still use the space."""


def _refuse_indefinite(pivots: Any, sizes: Any) -> None:
    eps = np.finfo(pivots.dtype).eps
    if np.any(pivots < -(eps**0.5) * sizes):
        raise MorulaError(
            f"block_cg: A is not positive definite: p·Ap = {np.min(pivots):.6g} for a combination p of the directions"
        )
