"""MINRES, for Hermitian matrices that may be indefinite.

C.C. Paige and M.A. Saunders, "Solution of sparse indefinite systems of linear equations", SIAM J. Numer. Anal. 12
(1975) 617-629. The residual itself follows from S.-C. Choi, C.C. Paige and M.A. Saunders, "MINRES-QLP", SIAM J. Sci.
Comput. 33 (2011) 1810-1836, equation 2.14; so its Euclidean norm is known with a preconditioner, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .hermitian import check_hermitian, positive_product, real_product
from .recurrence import Method, Recurrence, applied
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
        b: right-hand side (n,), or several as the columns of (n, k), which are solved one after the other.
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
        v = self.z / self.beta
        y = self.A @ v
        if self.steps == 1:
            check_hermitian(self.method, *self.before, v, y)
        self.before = v, y
        self.alpha = real_product(self.method, v, y, "A")
        if self.steps > 0:
            y = y - (self.beta / self.former_beta) * self.older
        y = y - (self.alpha / self.beta) * self.newer
        self.older, self.newer = self.newer, y
        self.former_beta = self.beta
        beta = 0.0 * self.beta
        if np.any(y):
            self.z = applied(self.M, y)
            beta = np.sqrt(positive_product(self.method, y, self.z, "the preconditioner"))
        self.scale = max(self.scale, np.hypot(np.abs(self.alpha), beta))
        # Rounding errors are no new direction.
        self.beta = beta if beta > self.negligible() else 0.0 * beta
        self.steps += 1
        return v


class MinimalResiduals(Recurrence):
    """The QR factorisation of the tridiagonal matrix by reflections, and the directions w that it gives."""

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        self.lanczos = Lanczos("minres", A, M, r)
        self.x, self.r = np.zeros_like(r), r
        self.w, self.former_w = np.zeros_like(r), np.zeros_like(r)
        self.dbar = self.epsilon = 0.0 * self.lanczos.beta
        self.phibar = self.lanczos.beta
        self.c, self.s = self.dbar - 1.0, self.dbar
        self.norm = 1.0
        self.ended = self.broken = False

    def step(self) -> None:
        v = self.lanczos.step()
        alpha, beta = self.lanczos.alpha, self.lanczos.beta
        former_epsilon = self.epsilon
        delta = self.c * self.dbar + self.s * alpha
        gbar = self.s * self.dbar - self.c * alpha
        self.epsilon = self.s * beta
        self.dbar = -self.c * beta
        gamma = np.hypot(gbar, beta)
        if gamma > self.lanczos.negligible():
            self.c, self.s = gbar / gamma, beta / gamma
            phi = self.c * self.phibar
            self.phibar = self.s * self.phibar
            w = (v - former_epsilon * self.former_w - delta * self.w) / gamma
            self.former_w, self.w = self.w, w
            self.x = self.x + phi * w
        else:
            self.broken = True
        if beta > 0.0:
            self.r = self.s**2 * self.r - (self.phibar * self.c / beta) * self.lanczos.newer
            self.norm = np.linalg.norm(self.r)
        else:
            # The Krylov space is exhausted: the residual is zero, or cannot be reduced.
            self.ended = True
            self.norm = self.norm if self.broken else 0.0 * self.norm

    def solution(self) -> Any:
        return self.x
