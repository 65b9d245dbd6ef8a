"""IDR(s), for square matrices of any kind, with short recurrences.

P. Sonneveld and M.B. van Gijzen, "IDR(s): a family of simple and fast algorithms for solving large nonsymmetric systems
of linear equations", SIAM J. Sci. Comput. 31 (2008) 1035-1062; the variant with biorthogonal directions of M.B. van
Gijzen and P. Sonneveld, "Algorithm 913", ACM Trans. Math. Softw. 38 (2011), article 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, lowering, random
from .recurrence import (
    Method,
    Recurrence,
    applied,
    choose,
    columns,
    combined,
    entry,
    inner,
    length,
    never,
    product,
    raised,
    ratio,
    unit_norm,
    without,
)
from .solution import Solution
from .solve import solved


def idrs(
    A: Any,
    b: Any,
    x0: Any = None,
    preconditioner: Any = None,
    s: int = 4,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Solve A x = b by induced dimension reduction.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n); or a linear function of a vector (n,).
        b: right-hand side (n,), or several as the columns of (n, k); all take their steps at the same time.
        x0: initial guess of the shape of b, zeros by default.
        preconditioner: operator or matrix (n, n), or function of a vector, that approximates the inverse of A. The
            adjoint system uses its conjugate transpose.
        s: the dimension of the shadow space: more memory, 3 s n numbers, and mostly fewer products with A.
        rtol, atol: converged when ``|b - A x| <= max(rtol * |b|, atol)``, see ``cg``.
        max_iterations: the largest number of steps (products with A), 10 n by default.
        adjoint: ``"implicit"`` or ``"unrolled"``, see ``cg``.

    Returns:
        A ``Solution``. Its ``status`` is ``BREAKDOWN`` if the recurrence divided by zero, and beginning anew from the
        residual did not help. The random shadow space is the same in each call.

    Raises:
        BadInput: shapes do not match, an option is out of range, or ``b`` or ``x0`` holds NaN or Inf.
        MorulaError: an operator gives NaN or Inf; or a gradient is taken and this solve or the solve for the cotangent
            has not converged.

    Source: van Gijzen and Sonneveld (2011).

    >>> idrs(np.array([[4.0, 1.0], [2.0, 3.0]]), np.array([6.0, 8.0])).x.round(6).tolist()
    [1.0, 2.0]
    """
    if s < 1:
        raise BadInput(f"idrs: s is {s!r}, expected a positive dimension")

    def start(A: Any, M: Any, r: Any) -> Recurrence:
        return InducedDimensionReduction(A, M, r, s)

    return solved(Method("idrs", start), A, b, x0, preconditioner, rtol, atol, max_iterations, adjoint)


# Below this cosine of the angle between r and A r, omega is enlarged, as Algorithm 913 recommends.
ANGLE = 0.7


class InducedDimensionReduction(Recurrence):
    """Steps 0 to s - 1 replace one direction of U and its image in G each, step s goes along the residual; then again.

    ``products`` is P^H G, a lower triangular matrix by the choice of the directions, and ``f`` is P^H r. Of k columns each has
    its own directions: the arrays then have a first axis of length k. They share the shadow space P.
    """

    def __init__(self, A: Any, M: Any, r: Any, s: int) -> None:
        self.A, self.M = A, M
        many, n = r.shape[1:], len(r)
        self.s = min(s, n)
        draws = random.Generator(913)
        shadow = draws.standard_normal((n, self.s))
        if r.dtype.kind == "c":
            shadow = shadow + 1j * draws.standard_normal((n, self.s))
        # The shadow space is constant; the rows of P^H are orthonormal.
        self.shadow = np.conj(np.linalg.qr(shadow)[0].astype(r.dtype).T)
        self.x, self.r = np.zeros_like(r), r
        self.U, self.G = np.zeros((*many, self.s, n), r.dtype), np.zeros((*many, self.s, n), r.dtype)
        self.products = np.zeros((*many, self.s, self.s), r.dtype) + np.eye(self.s, dtype=r.dtype)
        self.f = columns(self.shadow @ r)
        self.omega = inner(r, r)  # 1, in r's dtype
        self.turn = 0
        self.norm = unit_norm(r)
        self.ended = self.broken = never(r)

    def step(self) -> None:
        k, is_last = self.turn, self.turn == self.s
        places, place = np.arange(self.s), choose(is_last, 0, k)
        u, c = self.r, self.f
        beta, omega, is_small, is_orthogonal = self.omega, self.omega, never(self.r), never(self.r)
        is_replaced = _counts(np.logical_not(is_last))
        if is_replaced:
            # products is triangular: zeros before place k stay zeros, and the solution before k depends on nothing after it.
            c = self._by_products(np.where(places >= k, self.f, 0.0))
            u = u - columns(combined(c, self.G))
        u = applied(self.M, u)
        if is_replaced:
            u = columns(combined(c, self.U)) + choose(is_last, 1.0 + 0.0 * self.omega, self.omega) * u
        g = self.A @ u
        column = columns(self.shadow @ g)
        if is_replaced:
            shares = np.where((places < k) & np.logical_not(is_last), self._by_products(column), 0.0)
            g, u = g - columns(combined(shares, self.G)), u - columns(combined(shares, self.U))
            column = column - product(self.products, shares)
        size = length(g)
        if is_replaced:
            pivot = entry(column, place)
            is_small = np.logical_not(np.abs(pivot) > np.finfo(self.r.dtype).eps * size)
            beta = ratio(entry(self.f, place), choose(is_small, 0.0 * pivot, pivot))
            replaced = np.where(raised(is_small), places == k, np.where(places >= k, column, 0.0))
            self.products[..., place] = choose(is_last, self.products[..., place], replaced)
            self.U[..., place, :] = choose(is_last, self.U[..., place, :], u.T)
            self.G[..., place, :] = choose(is_last, self.G[..., place, :], g.T)
        if _counts(is_last):
            omega, is_orthogonal = self._omega(size, inner(g, self.r))
        taken = choose(is_last, omega, beta)
        self.omega = choose(is_last, omega, self.omega)
        self.r = self.r - taken * g
        self.x = self.x + taken * u
        # Of the residual, the parts along the shadow vectors up to k are zero by now.
        self.f = np.where(is_last | (places > k), self.f - raised(taken) * column, 0.0)
        self.turn = (k + 1) % (self.s + 1)
        self.ended = self.broken = choose(is_last, is_orthogonal, is_small)
        self.norm = length(self.r)

    def _by_products(self, right: Any) -> Any:
        return np.linalg.solve(self.products, right[..., None])[..., 0]

    def _omega(self, size: Any, along: Any) -> tuple[Any, Any]:
        """Return how far to go along the residual into the next, smaller space, and whether that does not reduce it."""
        cosine = ratio(np.abs(along), size * self.norm)
        is_orthogonal = np.logical_not(cosine > np.finfo(self.r.dtype).eps)
        enlarged = choose(cosine < ANGLE, ratio(ANGLE, cosine), 1.0 + 0.0 * cosine)
        omega = enlarged * ratio(along, size**2)
        return choose(is_orthogonal, 0.0 * omega, omega), is_orthogonal

    def solution(self) -> Any:
        return self.x

    def clear(self, over: Any) -> None:
        self.r, self.f = without(over, self.r), np.where(over[:, None], 0.0, self.f)


def _counts(is_taken: Any) -> Any:
    """Return whether to compute what only counts in steps of one kind: in those steps."""
    return is_taken


@lowering(_counts, "xla")
def _always(is_taken: Any) -> Any:
    """Compute it in all steps: XLA would run a branch operation by operation, and copy what it carries."""
    return True
