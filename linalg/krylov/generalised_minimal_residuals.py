"""GMRES, restarted and flexible, for square matrices of any kind.

Y. Saad and M.H. Schultz, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear systems",
SIAM J. Sci. Stat. Comput. 7 (1986) 856-869; Y. Saad, "A flexible inner-outer preconditioned GMRES algorithm", SIAM J.
Sci. Comput. 14 (1993) 461-469.

The preconditioner acts from the right, so the residual that is minimised is that of A x = b. The basis is orthogonalised
by classical Gram-Schmidt, twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, lowering
from .recurrence import (
    Method,
    Recurrence,
    applied,
    choose,
    columns,
    combined,
    entry,
    length,
    never,
    product,
    raised,
    ratio,
    unit_norm,
)
from .solution import Solution
from .solve import solved


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    preconditioner: Any = None,
    restart: int = 30,
    flexible: bool = False,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Solve A x = b by generalised minimal residuals.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n); or a linear function of a vector (n,).
        b: right-hand side (n,), or several as the columns of (n, k); all take their steps at the same time.
        x0: initial guess of the shape of b, zeros by default.
        preconditioner: operator or matrix (n, n), or function of a vector, that approximates the inverse of A. The
            adjoint system uses its conjugate transpose.
        restart: the number of basis vectors, (restart + 1) n numbers; the method begins anew when they are used up.
        flexible: whether the preconditioner may be another operator in each step, such as an iterative method; doubles
            the memory.
        rtol, atol: converged when ``|b - A x| <= max(rtol * |b|, atol)``, see ``cg``.
        max_iterations: the largest number of steps (products with A), 10 n by default.
        adjoint: ``"implicit"`` or ``"unrolled"``, see ``cg``.

    Returns:
        A ``Solution``. Its ``status`` is ``STAGNATED`` if a whole cycle between restarts did not reduce the residual; a
        larger ``restart`` or a preconditioner helps.

    Raises:
        BadInput: shapes do not match, an option is out of range, or ``b`` or ``x0`` holds NaN or Inf.
        MorulaError: an operator gives NaN or Inf; or a gradient is taken and this solve or the solve for the cotangent
            has not converged.

    Source: Saad and Schultz (1986), Saad (1993).

    >>> gmres(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([2.0, 3.0])).x.round(6).tolist()
    [-3.0, 2.0]
    """
    if restart < 1:
        raise BadInput(f"gmres: restart is {restart!r}, expected a positive number of basis vectors")

    def start(A: Any, M: Any, r: Any) -> Recurrence:
        return GeneralisedMinimalResiduals(A, M, r, restart, flexible)

    return solved(Method("gmres", start), A, b, x0, preconditioner, rtol, atol, max_iterations, adjoint)


class GeneralisedMinimalResiduals(Recurrence):
    """An orthonormal basis of the Krylov space, and the QR factorisation of the Hessenberg matrix.

    ``rotations`` is the product of all Givens rotations; its first column is the right-hand side of the least-squares
    problem. Of k columns each has a space of its own: the arrays then have a first axis of length k.
    """

    def __init__(self, A: Any, M: Any, r: Any, restart: int, flexible: bool) -> None:
        self.A, self.M, self.flexible = A, M, flexible
        many, n = r.shape[1:], len(r)
        m = min(restart, n)
        self.basis = np.zeros((*many, m + 1, n), r.dtype)
        self.basis[..., 0, :] = r.T
        self.directions: Any = np.zeros((*many, m, n), r.dtype) if flexible else None
        self.triangle = np.zeros((*many, m, m), r.dtype) + np.eye(m, dtype=r.dtype)
        self.rotations = np.zeros((*many, m + 1, m + 1), r.dtype) + np.eye(m + 1, dtype=r.dtype)
        self.steps = 0
        self.used = 0 if r.ndim == 1 else np.zeros(r.shape[1], int)
        self.norm = unit_norm(r)
        self.ended = self.broken = never(r)

    def step(self) -> None:
        j, m = self.steps, self.triangle.shape[-1]
        z = applied(self.M, columns(self.basis[..., j, :]))
        if self.flexible:
            self.directions[..., j, :] = z.T
        w = self.A @ z
        negligible = np.finfo(w.dtype).eps * length(w)
        rows, column = _orthogonalised(self.basis, w.T, j)
        below = length(rows.T)
        column[..., j + 1] = below
        column = product(self.rotations, column)
        pivot = np.hypot(np.abs(entry(column, j)), below)
        # Without a pivot, A maps the space into a smaller one: it is singular, and the last vector does not help.
        self.broken = np.logical_not(pivot > negligible)
        pivot = choose(self.broken, 0.0 * pivot, pivot)
        c, s = raised(ratio(entry(column, j), pivot)), raised(ratio(below, pivot))
        upper, lower = self.rotations[..., j, :], self.rotations[..., j + 1, :]
        upper, lower = np.conj(c) * upper + s * lower, c * lower - s * upper
        self.rotations[..., j, :], self.rotations[..., j + 1, :] = upper, lower
        column[..., j] = choose(self.broken, 1.0 + 0.0 * pivot, pivot)
        self.triangle[..., j] = np.where(np.arange(m) <= j, column[..., :m], 0.0)
        self.steps += 1
        self.used = choose(self.broken, self.used, self.steps)
        self.norm = choose(self.broken, self.norm, np.abs(entry(lower, 0)))
        is_new = below > negligible
        self.basis[..., j + 1, :] = raised(ratio(choose(is_new, 1.0, 0.0), below)) * rows
        self.ended = self.broken | np.logical_not(is_new) | (self.steps == m)

    def solution(self) -> Any:
        m = self.triangle.shape[-1]
        is_used = np.arange(m) < raised(self.used)
        right = np.where(is_used, self.rotations[..., :m, 0], 0.0)
        weights = np.linalg.solve(self.triangle, right[..., None])[..., 0]
        if self.flexible:
            return columns(combined(weights, self.directions))
        return applied(self.M, columns(combined(weights, self.basis[..., :m, :])))

    def clear(self, over: Any) -> None:
        self.basis = np.where(over[:, None, None], 0.0, self.basis)


def _orthogonalised(basis: Any, w: Any, j: Any) -> tuple[Any, Any]:
    """Return w without its components along rows 0 to j of the basis, and these components, in as many places as rows."""
    known = basis[..., : j + 1, :]
    components = np.zeros(basis.shape[:-1], w.dtype)
    for _ in range(2):
        found = np.conj(product(known, np.conj(w)))
        w = w - combined(found, known)
        components[..., : j + 1] += found
    return w, components


@lowering(_orthogonalised, "xla")
def _orthogonalised_by_all_rows(basis: Any, w: Any, j: Any) -> tuple[Any, Any]:
    """Do the same with the rows that are still zero, since XLA's arrays have fixed lengths."""
    first = np.conj(product(basis, np.conj(w)))
    w = w - combined(first, basis)
    second = np.conj(product(basis, np.conj(w)))
    return w - combined(second, basis), first + second
