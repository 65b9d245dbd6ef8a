"""MINRES, for Hermitian matrices that may be indefinite.

C.C. Paige and M.A. Saunders, "Solution of sparse indefinite systems of linear equations", SIAM J. Numer. Anal. 12
(1975) 617-629. The residual itself follows from S.-C. Choi, C.C. Paige and M.A. Saunders, "MINRES-QLP", SIAM J. Sci.
Comput. 33 (2011) 1810-1836, equation 2.14; so its Euclidean norm is known with a preconditioner, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .hermitian import check_hermitian, positive_product, real_product
from .recurrence import Method, Recurrence, applied, choose, length, never, ratio, unit_norm, without
from .solution import Solution
from .solve import solved


def minres(
    A: Any,
    b: Any,
    x0: Any = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Solve A x = b for a Hermitian A, definite or not, by minimal residuals.

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
        A ``Solution``; ``status`` says how the solve ended.

    Raises:
        BadInput: shapes do not match, an option is out of range, or ``b`` or ``x0`` holds NaN or Inf.
        MorulaError: A is found not to be Hermitian, or the preconditioner not to be positive definite; an operator gives
            NaN or Inf; or a gradient is taken and this solve or the solve for the cotangent has not converged.

    Source: Paige and Saunders (1975).

    >>> minres(np.array([[1.0, 2.0], [2.0, -1.0]]), np.array([5.0, 5.0])).x.round(6).tolist()
    [3.0, 1.0]
    """
    method = Method("minres", MinimalResiduals, hermitian=True)
    return solved(method, A, b, x0, preconditioner, rtol, atol, max_iterations, adjoint)


class Lanczos:
    """The Lanczos vectors of A, orthogonal in the inner product of the preconditioner.

    After k steps, ``older`` and ``newer`` are the last two vectors before the preconditioner, ``z`` is the preconditioned
    newer one, and ``alpha``, ``beta`` are the last entries of the tridiagonal matrix; ``beta`` is zero when the Krylov space is exhausted.
    """

    def __init__(self, method: str, A: Any, M: Any, r: Any) -> None:
        self.method, self.A, self.M = method, A, M
        self.older, self.newer = np.zeros_like(r), r
        self.z = applied(M, r)
        self.alpha = 0.0
        self.beta = np.sqrt(positive_product(method, r, self.z, "the preconditioner"))
        self.former_beta = self.beta
        self.scale = 0.0 * self.beta
        self.steps = 0
        self.before = r, r

    def negligible(self) -> Any:
        """Return the size of rounding errors in the tridiagonal matrix."""
        return 10.0 * np.finfo(self.newer.dtype).eps * self.scale

    def step(self) -> Any:
        """Advance by one product with A; return the vector that A was multiplied with."""
        v = ratio(1.0, self.beta) * self.z
        y = self.A @ v
        if self.steps == 1:
            check_hermitian(self.method, *self.before, v, y)
        self.before = v, y
        self.alpha = real_product(self.method, v, y, "A")
        if self.steps > 0:
            y = y - ratio(self.beta, self.former_beta) * self.older
        y = y - ratio(self.alpha, self.beta) * self.newer
        self.older, self.newer = self.newer, y
        self.former_beta = self.beta
        self.z = applied(self.M, y)
        beta = np.sqrt(positive_product(self.method, y, self.z, "the preconditioner"))
        self.scale = np.maximum(self.scale, np.hypot(np.abs(self.alpha), beta))
        # Rounding errors are no new direction.
        self.beta = choose(beta > self.negligible(), beta, 0.0 * beta)
        self.steps += 1
        return v

    def clear(self, over: Any) -> None:
        self.older, self.newer, self.z = without(over, self.older), without(over, self.newer), without(over, self.z)
        self.beta = without(over, self.beta)


class MinimalResiduals(Recurrence):
    """The QR factorisation of the tridiagonal matrix by reflections, and the directions w that it gives."""

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        self.lanczos = Lanczos("minres", A, M, r)
        self.x, self.r = np.zeros_like(r), r
        self.w, self.former_w = np.zeros_like(r), np.zeros_like(r)
        self.dbar = self.epsilon = 0.0 * self.lanczos.beta
        self.phibar = self.lanczos.beta
        self.c, self.s = self.dbar - 1.0, self.dbar
        self.norm = unit_norm(r)
        self.ended = self.broken = never(r)

    def step(self) -> None:
        v = self.lanczos.step()
        alpha, beta = self.lanczos.alpha, self.lanczos.beta
        former_epsilon = self.epsilon
        delta = self.c * self.dbar + self.s * alpha
        gbar = self.s * self.dbar - self.c * alpha
        self.epsilon = self.s * beta
        self.dbar = -self.c * beta
        gamma = np.hypot(gbar, beta)
        self.broken = np.logical_not(gamma > self.lanczos.negligible())
        self.ended = np.logical_not(beta > 0.0)
        gamma = choose(self.broken, 0.0 * gamma, gamma)
        self.c, self.s = ratio(gbar, gamma), ratio(beta, gamma)
        phi = self.c * self.phibar
        self.phibar = self.s * self.phibar
        w = ratio(1.0, gamma) * (v - former_epsilon * self.former_w - delta * self.w)
        self.former_w, self.w = self.w, w
        self.x = self.x + phi * w
        # With an exhausted Krylov space beta is zero, and so is the residual, unless it cannot be reduced.
        self.r = self.s**2 * self.r - (self.phibar * ratio(self.c, beta)) * self.lanczos.newer
        self.norm = choose(self.broken, self.norm, length(self.r))

    def solution(self) -> Any:
        return self.x

    def clear(self, over: Any) -> None:
        self.lanczos.clear(over)
        self.r, self.phibar = without(over, self.r), without(over, self.phibar)
