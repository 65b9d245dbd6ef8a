"""SYMMLQ, for Hermitian matrices that may be indefinite.

C.C. Paige and M.A. Saunders, "Solution of sparse indefinite systems of linear equations", SIAM J. Numer. Anal. 12
(1975) 617-629.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .minimal_residuals import Lanczos
from .recurrence import Method, Recurrence, choose, length, never, ratio, unit_norm, without
from .solution import Solution
from .solve import solved


def symmlq(
    A: Any,
    b: Any,
    x0: Any = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Solve A x = b for a Hermitian A, definite or not, by an LQ factorisation of the tridiagonal matrix.

    The system must have a solution. Prefer ``minres``, unless A is so ill-conditioned that its directions lose digits.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n), Hermitian; or a linear function of a vector (n,).
        b: right-hand side (n,), or several as the columns of (n, k); all take their steps at the same time.
        x0: initial guess of the shape of b, zeros by default.
        preconditioner: operator or matrix (n, n), or function of a vector, that approximates the inverse of A,
            Hermitian positive definite.
        rtol, atol: converged when ``|b - A x| <= max(rtol * |b|, atol)``, see ``cg``.
        max_iterations: the largest number of steps, 10 n by default.
        adjoint: ``"implicit"`` or ``"unrolled"``, see ``cg``.

    Returns:
        A ``Solution``; ``status`` says how the solve ended. In each step the better one of two points is meant: that of
        the LQ factorisation, whose error falls monotonically, and that of conjugate gradients.

    Raises:
        BadInput: shapes do not match, an option is out of range, or ``b`` or ``x0`` holds NaN or Inf.
        MorulaError: A is found not to be Hermitian, or the preconditioner not to be positive definite; an operator gives
            NaN or Inf; or a gradient is taken and this solve or the solve for the cotangent has not converged.

    Source: Paige and Saunders (1975).

    >>> symmlq(np.array([[1.0, 2.0], [2.0, -1.0]]), np.array([5.0, 5.0])).x.round(6).tolist()
    [3.0, 1.0]
    """
    method = Method("symmlq", SymmetricLQ, hermitian=True)
    return solved(method, A, b, x0, preconditioner, rtol, atol, max_iterations, adjoint)


class SymmetricLQ(Recurrence):
    """The LQ factorisation of the tridiagonal matrix; ``w`` leads from its point to that of conjugate gradients."""

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        self.lanczos = Lanczos("symmlq", A, M, r)
        zero = 0.0 * self.lanczos.beta
        self.x, self.w = np.zeros_like(r), np.zeros_like(r)
        self.rhs, self.next_rhs = self.lanczos.beta, zero
        self.gbar, self.dbar = zero, zero
        self.tail = self.lanczos.beta  # the norm of the right-hand side, rotated away
        self.length = zero
        self.steps = 0
        self.norm = unit_norm(r)
        self.ended = self.broken = never(r)

    def step(self) -> None:
        v = self.lanczos.step()
        alpha, beta, former_beta = self.lanczos.alpha, self.lanczos.beta, self.lanczos.former_beta
        if self.steps == 0:
            self.w, self.gbar, self.dbar = v, alpha, beta
        else:
            # former_beta is positive in a run that goes on: with zero, the last step has ended it.
            gamma = np.hypot(self.gbar, former_beta)
            c, s = ratio(self.gbar, gamma), ratio(former_beta, gamma)
            delta = c * self.dbar + s * alpha
            self.gbar = s * self.dbar - c * alpha
            self.dbar = -c * beta
            z = ratio(self.rhs, gamma)
            self.x = self.x + (c * z) * self.w + (s * z) * v
            self.w = s * self.w - c * v
            self.rhs, self.next_rhs = self.next_rhs - delta * z, -s * beta * z
            self.tail = s * self.tail
        self.steps += 1
        newer = self.lanczos.newer
        of_lq = length(ratio(self.rhs, former_beta) * self.lanczos.older + ratio(self.next_rhs, beta) * newer)
        is_regular = np.abs(self.gbar) > self.lanczos.negligible()
        pivot = choose(is_regular, self.gbar, 0.0 * self.gbar)
        # With an exhausted Krylov space beta is zero, and the point of conjugate gradients is the solution.
        of_cg = choose(beta > 0.0, np.abs(ratio(self.tail, pivot)) * length(newer), 0.0 * of_lq)
        by_cg = is_regular & (of_cg < of_lq)
        self.norm = choose(by_cg, of_cg, of_lq)
        self.length = choose(by_cg, ratio(self.rhs, pivot), 0.0 * self.rhs)
        self.ended = np.logical_not(beta > 0.0)
        self.broken = self.ended & np.logical_not(is_regular)

    def solution(self) -> Any:
        return self.x + self.length * self.w

    def clear(self, over: Any) -> None:
        self.lanczos.clear(over)
        self.rhs, self.next_rhs = without(over, self.rhs), without(over, self.next_rhs)
        self.tail = without(over, self.tail)
