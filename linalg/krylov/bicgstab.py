"""BiCGStab, for square matrices of any kind, with short recurrences.

H.A. van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution of nonsymmetric linear
systems", SIAM J. Sci. Stat. Comput. 13 (1992) 631-644; preconditioned from the right.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .recurrence import Method, Recurrence, applied, choose, inner, length, never, ratio, unit_norm, without
from .solution import Solution
from .solve import solved


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Solve A x = b by stabilised biconjugate gradients.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n); or a linear function of a vector (n,).
        b: right-hand side (n,), or several as the columns of (n, k); all take their steps at the same time.
        x0: initial guess of the shape of b, zeros by default.
        preconditioner: operator or matrix (n, n), or function of a vector, that approximates the inverse of A. The
            adjoint system uses its conjugate transpose.
        rtol, atol: converged when ``|b - A x| <= max(rtol * |b|, atol)``, see ``cg``.
        max_iterations: the largest number of steps, 10 n by default; a step takes two products with A.
        adjoint: ``"implicit"`` or ``"unrolled"``, see ``cg``.

    Returns:
        A ``Solution``. Its ``status`` is ``BREAKDOWN`` if the recurrence divided by zero, and beginning anew from the
        residual did not help.

    Raises:
        BadInput: shapes do not match, an option is out of range, or ``b`` or ``x0`` holds NaN or Inf.
        MorulaError: an operator gives NaN or Inf; or a gradient is taken and this solve or the solve for the cotangent
            has not converged.

    Source: van der Vorst (1992).

    >>> bicgstab(np.array([[4.0, 1.0], [2.0, 3.0]]), np.array([6.0, 8.0])).x.round(6).tolist()
    [1.0, 2.0]
    """
    return solved(Method("bicgstab", BiCGStab), A, b, x0, preconditioner, rtol, atol, max_iterations, adjoint)


class BiCGStab(Recurrence):
    """The search direction p, and the residuals' products with the shadow residual, the first one."""

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        self.A, self.M = A, M
        self.x, self.r, self.shadow, self.p = np.zeros_like(r), r, r, r
        self.rho = inner(r, r)
        self.norm = unit_norm(r)
        self.ended = self.broken = never(r)

    def step(self) -> None:
        eps = np.finfo(self.r.dtype).eps
        direction = applied(self.M, self.p)
        v = self.A @ direction
        product = inner(self.shadow, v)
        goes_on = np.abs(product) > eps * length(v)
        alpha = ratio(self.rho, choose(goes_on, product, 0.0 * product))
        s = self.r - alpha * v
        other = applied(self.M, s)
        t = self.A @ other
        omega = ratio(inner(t, s), np.real(inner(t, t)))
        self.x = self.x + (alpha * direction + omega * other)
        self.r = s - omega * t
        self.norm = length(self.r)
        rho = inner(self.shadow, self.r)
        beta = ratio(rho, self.rho) * ratio(alpha, omega)
        self.p = self.r + beta * (self.p - omega * v)
        self.rho = rho
        goes_on = goes_on & (np.abs(rho) > eps * self.norm) & (np.abs(omega) > 0.0)
        self.ended = self.broken = np.logical_not(goes_on)

    def solution(self) -> Any:
        return self.x

    def clear(self, over: Any) -> None:
        self.r, self.p, self.rho = without(over, self.r), without(over, self.p), without(over, self.rho)
