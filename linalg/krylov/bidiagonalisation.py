"""LSQR and LSMR: least-squares problems by the Golub-Kahan bidiagonalisation of A.

C.C. Paige and M.A. Saunders, "LSQR: an algorithm for sparse linear equations and sparse least squares", ACM Trans. Math.
Softw. 8 (1982) 43-71; D.C.-L. Fong and M.A. Saunders, "LSMR: an iterative algorithm for sparse least-squares problems",
SIAM J. Sci. Comput. 33 (2011) 2950-2971. The preconditioner is the inner product in which the vectors v are orthonormal, so
that it need not be factorised: M. Arioli and D. Orban, "Iterative methods for symmetric quasi-definite linear systems", Cahier
du GERAD G-2013-32 (2013), section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .hermitian import positive_product
from .least_squares import solved_least_squares
from .recurrence import Method, Recurrence, applied, choose, length, ratio, unit_norm, without
from .solution import Solution


def lsqr(
    A: Any,
    b: Any,
    damp: Any = 0.0,
    x0: Any = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Minimise ``|b - A x|^2 + |damp x|^2``; of several minimisers return that of least norm.

    Args:
        A: operator or anything that ``as_operator`` takes, of any shape (m, n).
        b: right-hand side (m,), or several as the columns of (m, k); all take their steps at the same time.
        damp: the regularisation, a number; gradients reach it.
        x0: initial guess (n,) or (n, k), zeros by default; not for n > m without damp, where the solution depends on it.
        preconditioner: operator or matrix (n, n), or function of a vector, that approximates the inverse of A^H A + damp^2 I,
            Hermitian positive definite, such as that of R^H R for a triangular R. It is for m >= n or with damp.
        rtol, atol: converged when the residual r meets ``|r| <= max(rtol * |b|, atol)`` or ``|A^H r| <= rtol * |A| |r|``,
            where the norm of A is estimated; x then solves a problem whose A differs by a relative error of ``rtol``. With a
            preconditioner, A^H r and A are measured in its norm.
        max_iterations: the largest number of steps, 10 max(m, n) by default; a step takes a product with A and one with
            its conjugate transpose.
        adjoint: ``"implicit"`` differentiates the normal equations, at the cost of two more solves, or one with a preconditioner,
            by CG; it needs full rank.
            ``"unrolled"`` differentiates the iterations.

    Returns:
        A ``Solution``; its residual norms are those of b - A x, with damp x below.

    Raises:
        BadInput: shapes do not match, an option is out of range, or ``b`` or ``x0`` holds NaN or Inf.
        MorulaError: A gives NaN or Inf; the preconditioner is found not to be positive definite; or a gradient is taken,
            and A does not have full rank, or this solve or one of those for the cotangent has not converged.

    Source: Paige and Saunders (1982).

    >>> A = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> lsqr(A, np.array([1.0, 2.0, 3.0])).x.round(6).tolist()
    [1.0, 1.0]
    """
    method = Method("lsqr", LSQR, least_squares=True)
    return solved_least_squares(method, A, b, damp, x0, preconditioner, rtol, atol, max_iterations, adjoint)


def lsmr(
    A: Any,
    b: Any,
    damp: Any = 0.0,
    x0: Any = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Minimise ``|b - A x|^2 + |damp x|^2`` like ``lsqr``, with a monotone ``|A^H r|``: it can be stopped earlier.

    Args:
        A: operator or anything that ``as_operator`` takes, of any shape (m, n).
        b: right-hand side (m,), or several as the columns of (m, k); all take their steps at the same time.
        damp, x0, preconditioner, rtol, atol, max_iterations, adjoint: as for ``lsqr``.

    Returns:
        A ``Solution``; its residual norms are those of b - A x, with damp x below.

    Raises:
        BadInput, MorulaError: as for ``lsqr``.

    Source: Fong and Saunders (2011).

    >>> lsmr(np.array([[1.0, 1.0]]), np.array([2.0])).x.round(6).tolist()  # the least norm
    [1.0, 1.0]
    """
    method = Method("lsmr", LSMR, least_squares=True)
    return solved_least_squares(method, A, b, damp, x0, preconditioner, rtol, atol, max_iterations, adjoint)


class Bidiagonalisation(Recurrence):
    """Orthonormal vectors u and v with A v = alpha u + beta u', and the estimates that both methods share.

    With a preconditioner M, v = M p, where v and p are biorthonormal; without one, p is v.
    """

    name: str

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        self.A, self.adjoint, self.M = A, A.H, M
        self.u = r
        self.resolution = 10.0 * np.finfo(r.dtype).eps
        p = self.adjoint @ r
        v = applied(M, p)
        self.alpha = self._size(p, v)
        self.p = ratio(1.0, self.alpha) * p
        self.v = self.p if M is None else ratio(1.0, self.alpha) * v
        self.beta = 0.0 * self.alpha + 1.0
        self.scale = self.alpha
        self.slope = self.alpha  # |A^H r|
        self.x = np.zeros_like(self.v)
        self.norm = unit_norm(r)
        self.ended = np.logical_not(self.alpha > 0.0)

    def advance(self) -> None:
        """Compute the next u, v, alpha and beta; one that is as small as rounding errors is zero, and ends the run."""
        u = self.A @ self.v - self.alpha * self.u
        beta = length(u)
        # The norm of a column of the bidiagonal matrix is at most that of A.
        self.scale = np.maximum(self.scale, np.hypot(self.alpha, beta))
        negligible = self.resolution * self.scale
        self.beta = choose(beta > negligible, beta, 0.0 * beta)
        self.u = ratio(1.0, self.beta) * u
        p = self.adjoint @ self.u - self.beta * self.p
        v = applied(self.M, p)
        alpha = self._size(p, v)
        self.alpha = choose((alpha > negligible) & (self.beta > 0.0), alpha, 0.0 * alpha)
        self.p = ratio(1.0, self.alpha) * p
        self.v = self.p if self.M is None else ratio(1.0, self.alpha) * v
        self.ended = np.logical_not(self.alpha > 0.0)

    def _size(self, p: Any, v: Any) -> Any:
        """Return the norm of p in the inner product of M, given v = M p."""
        return length(p) if self.M is None else np.sqrt(positive_product(self.name, p, v, "the preconditioner"))

    def measure(self, target: Any, rtol: Any) -> Any:
        # Scaled so that it meets the target where |A^H r| <= rtol |A| |r|.
        scaled = np.minimum(self.norm, ratio(target * self.slope, rtol * self.scale * self.norm))
        return choose(self.slope > 0.0, scaled, 0.0 * self.norm)

    def solution(self) -> Any:
        return self.x

    def clear(self, over: Any) -> None:
        self.u, self.v, self.p = without(over, self.u), without(over, self.v), without(over, self.p)
        self.alpha, self.beta = without(over, self.alpha), without(over, self.beta)


class LSQR(Bidiagonalisation):
    """The QR factorisation of the bidiagonal matrix, and the direction w that it gives."""

    name = "lsqr"

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        super().__init__(A, M, r)
        self.w = self.v
        self.phibar, self.rhobar = self.beta, self.alpha

    def step(self) -> None:
        self.advance()
        rho = np.hypot(self.rhobar, self.beta)
        c, s = ratio(self.rhobar, rho), ratio(self.beta, rho)
        self.x = self.x + ratio(c * self.phibar, rho) * self.w
        self.w = self.v - ratio(s * self.alpha, rho) * self.w
        self.rhobar = -c * self.alpha
        self.phibar = s * self.phibar
        self.norm = self.phibar
        self.slope = self.phibar * self.alpha * np.abs(c)


class LSMR(Bidiagonalisation):
    """Two QR factorisations of the bidiagonal matrix: MINRES for the normal equations, without forming them.

    The names are those of Fong and Saunders, with d for a dot, t for a tilde, and b for a bar.
    """

    name = "lsmr"

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        super().__init__(A, M, r)
        zero, one = 0.0 * self.alpha, 0.0 * self.alpha + 1.0
        self.zetab, self.alphab = self.alpha * self.beta, self.alpha
        self.rho, self.rhob, self.cb, self.sb = one, one, one, zero
        self.h, self.hb = self.v, np.zeros_like(self.v)
        self.betadd, self.betad = self.beta, zero
        self.rhod, self.taut, self.thetat, self.zeta = one, zero, zero, zero

    def step(self) -> None:
        self.advance()
        former_rho, former_rhob, former_zeta = self.rho, self.rhob, self.zeta
        self.rho = np.hypot(self.alphab, self.beta)
        c, s = ratio(self.alphab, self.rho), ratio(self.beta, self.rho)
        theta = s * self.alpha
        self.alphab = c * self.alpha
        thetab = self.sb * self.rho
        pivot = self.cb * self.rho
        self.rhob = np.hypot(pivot, theta)
        self.cb, self.sb = ratio(pivot, self.rhob), ratio(theta, self.rhob)
        self.zeta = self.cb * self.zetab
        self.zetab = -self.sb * self.zetab
        self.hb = self.h - ratio(thetab * self.rho, former_rho * former_rhob) * self.hb
        self.x = self.x + ratio(self.zeta, self.rho * self.rhob) * self.hb
        self.h = self.v - ratio(theta, self.rho) * self.h
        self.slope = np.abs(self.zetab)
        # The norm of the residual, by the rotations that would make the second factor lower triangular.
        betahat = c * self.betadd
        self.betadd = -s * self.betadd
        former_thetat = self.thetat
        rhot = np.hypot(self.rhod, thetab)
        ct, st = ratio(self.rhod, rhot), ratio(thetab, rhot)
        self.thetat = st * self.rhob
        self.rhod = ct * self.rhob
        self.betad = ct * betahat - st * self.betad
        self.taut = ratio(former_zeta - former_thetat * self.taut, rhot)
        taud = ratio(self.zeta - self.thetat * self.taut, self.rhod)
        self.norm = np.hypot(self.betad - taud, self.betadd)
