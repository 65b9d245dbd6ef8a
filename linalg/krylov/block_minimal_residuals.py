"""Block GMRES: several right-hand sides share one Krylov space.

B. Vital, Etude de quelques méthodes de résolution de problèmes linéaires de grande taille sur multiprocesseur, thesis, Rennes
(1990); Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. (2003), section 6.12. The preconditioner acts from the
right. The band Hessenberg matrix is triangularised by Householder reflections.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, lowering
from .deflation import orthonormalised
from .recurrence import Method, Recurrence, applied, length, never, ratio
from .solution import Solution
from .solve import solved


def block_gmres(
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
    """Solve A X = B by block generalised minimal residuals.

    Each residual is the least one in the Krylov space of all right-hand sides, which takes fewer steps than ``gmres``.
    Linearly dependent columns are found and dropped.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n); or a linear function of a vector (n,).
        b: right-hand sides, the columns of (n, k).
        x0: initial guesses (n, k), zeros by default.
        preconditioner: operator or matrix (n, n), or function of a vector, that approximates the inverse of A. The
            adjoint system uses its conjugate transpose.
        restart: the number of steps after which the method begins anew; it stores (restart + 1) k vectors.
        flexible: whether the preconditioner may be another operator in each step, such as an iterative method; doubles
            the memory.
        rtol, atol: a column is converged when ``|b - A x| <= max(rtol * |b|, atol)``, see ``cg``.
        max_iterations: the largest number of steps, 10 n by default; a step takes one product with a block.
        adjoint: ``"implicit"`` or ``"unrolled"``, see ``cg``.

    Returns:
        A ``Solution``; ``residual_norm`` is (k,), and ``history`` (iterations + 1, k).

    Raises:
        BadInput, MorulaError: as for ``gmres``.

    Source: Vital (1990); Saad (2003), sections 6.12 and 9.4.

    >>> block_gmres(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.eye(2)).x.round(6).tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    """
    if restart < 1:
        raise BadInput(f"block_gmres: restart is {restart!r}, expected a positive number of steps")

    def start(A: Any, M: Any, r: Any) -> Recurrence:
        return BlockMinimalResiduals(A, M, r, restart, flexible)

    method = Method("block_gmres", start, shares_space=True)
    return solved(method, A, b, x0, preconditioner, rtol, atol, max_iterations, adjoint)


class BlockMinimalResiduals(Recurrence):
    """An orthonormal basis by blocks, the rows of ``basis``, and the QR factorisation of the band Hessenberg matrix."""

    def __init__(self, A: Any, M: Any, r: Any, restart: int, flexible: bool) -> None:
        self.A, self.M, self.flexible = A, M, flexible
        n, k = r.shape
        m = min(restart, n)
        self.m, self.k = m, k
        Q, _, R, _ = orthonormalised(r, None, np.finfo(r.dtype).eps ** 2)
        # A loop that is compiled writes whole blocks.
        self.basis = np.zeros((m + 1, k, n), r.dtype)
        self.basis[0] = Q.T
        self.directions: Any = np.zeros((m, k, n), r.dtype) if flexible else None
        self.right = np.zeros((m + 1, k, k), r.dtype)
        self.right[0] = R
        self.rotations = np.reshape(np.eye((m + 1) * k, dtype=r.dtype), (m + 1, k, (m + 1) * k))
        self.triangle = np.reshape(np.eye(m * k, dtype=r.dtype), (m, k, m, k))
        self.used = np.zeros((m + 1, k), bool)
        self.steps = 0
        self.norm = np.ones(k, np.real(r).dtype)
        self.ended = self.broken = never(r)

    def step(self) -> None:
        j, m, k = self.steps, self.m, self.k
        z = applied(self.M, np.ascontiguousarray(self.basis[j].T))
        if self.flexible:
            self.directions[j] = z.T
        w = self.A @ z
        negligible = np.finfo(w.dtype).eps * length(w)
        w, inside = _orthogonalised(np.reshape(self.basis, ((m + 1) * k, w.shape[0])), w, (j + 1) * k)
        Q, _, R, kept = orthonormalised(w, None, np.max(negligible) ** 2)
        self.basis[j + 1] = Q.T
        column = np.reshape(inside, (m + 1, k, k))
        column[j + 1] = R
        column = self.rotations @ np.reshape(column, ((m + 1) * k, k))
        reflections, triangle, is_used = _triangularised(np.concatenate([column[j], column[j + 1]]), negligible)
        self.rotations[j], self.rotations[j + 1] = _reflected(reflections, self.rotations[j], self.rotations[j + 1])
        self.right[j], self.right[j + 1] = _reflected(reflections, self.right[j], self.right[j + 1])
        # A direction without a pivot gets the weight zero.
        column[j] = triangle
        above = np.where((np.arange(m) <= j)[:, None, None] & is_used, column[:m], 0.0)
        above[j] = above[j] + np.diag(np.where(is_used, 0.0, 1.0))
        self.triangle[:, :, j] = above
        self.used[j] = is_used
        self.steps += 1
        self.norm = np.linalg.norm(np.where(self.used[:, :, None], 0.0, self.right), axis=(0, 1))
        self.ended = self.broken | (self.steps == m) | np.logical_not(np.any(kept))

    def solution(self) -> Any:
        m, k, n = self.m, self.k, self.basis.shape[2]
        right = np.where(self.used[:m, :, None], self.right[:m], 0.0)
        weights = np.linalg.solve(np.reshape(self.triangle, (m * k, m * k)), np.reshape(right, (m * k, k)))
        if self.flexible:
            return np.reshape(self.directions, (m * k, n)).T @ weights
        return applied(self.M, np.reshape(self.basis[:m], (m * k, n)).T @ weights)

    def clear(self, over: Any) -> None:
        """Do nothing: the columns that go on still use the space."""


def _triangularised(a: Any, negligible: Any) -> tuple[Any, Any, Any]:
    """Return H and T with H a = [T; 0], where H (2k, 2k) is unitary and T (k, k) upper triangular; a (2k, k) has k subdiagonals.

    A mask says which columns have a pivot: without one, A maps the space into a smaller one, and the vector does not help.
    """
    k = a.shape[1]
    places = np.arange(2 * k)
    H, has_pivot = np.eye(2 * k, dtype=a.dtype), np.zeros(k, bool)
    for c in range(k):
        v = np.where((places >= c) & (places <= c + k), a[:, c], 0.0)
        size, head = length(v), a[c, c]
        has_pivot[c] = size > negligible[c]
        phase = np.where(np.abs(head) > 0.0, ratio(head, np.abs(head)), 1.0)
        u = v + np.where(places == c, phase * size, 0.0)
        scaled = np.where(has_pivot[c], ratio(2.0, np.real(np.vdot(u, u))), 0.0) * u
        a, H = a - np.outer(scaled, np.conj(u) @ a), H - np.outer(scaled, np.conj(u) @ H)
        a = np.where((places[:, None] > c) & (np.arange(k) == c), 0.0, a)
    return H, a[:k], has_pivot


def _reflected(H: Any, upper: Any, lower: Any) -> tuple[Any, Any]:
    both = H @ np.concatenate([upper, lower])
    return both[: len(upper)], both[len(upper) :]


def _orthogonalised(basis: Any, w: Any, used: Any) -> tuple[Any, Any]:
    """Return w without its components along the first rows of the basis, and these components, in as many places as rows."""
    known = basis[:used]
    components = np.zeros((basis.shape[0], w.shape[1]), w.dtype)
    for _ in range(2):
        found = np.conj(known) @ w
        w = w - known.T @ found
        components[:used] += found
    return w, components


@lowering(_orthogonalised, "xla")
def _orthogonalised_by_all_rows(basis: Any, w: Any, used: Any) -> tuple[Any, Any]:
    """Do the same with the rows that are still zero, since XLA's arrays have fixed lengths."""
    first = np.conj(basis) @ w
    w = w - basis.T @ first
    second = np.conj(basis) @ w
    return w - basis.T @ second, first + second
