"""Richardson's iteration with a preconditioner: the solver that a multigrid cycle, or any splitting, is by itself.

Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. (2003), section 4.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .recurrence import Method, Recurrence, applied, length, unit_norm, without
from .solution import Solution
from .solve import solved


def richardson(
    A: Any,
    b: Any,
    x0: Any = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Solve A x = b by x = x + M (b - A x), with M the preconditioner.

    It converges if the eigenvalues of I - M A are less than 1 in magnitude: with a multigrid cycle as M, this is multigrid
    as a solver.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n); or a linear function of a vector (n,).
        b: right-hand side (n,), or several as the columns of (n, k).
        x0: initial guess of the shape of b, zeros by default.
        preconditioner: operator or matrix (n, n), or function of a vector, that approximates the inverse of A; the identity
            by default.
        rtol, atol: converged when ``|b - A x| <= max(rtol * |b|, atol)``, see ``cg``.
        max_iterations: the largest number of steps, 10 n by default.
        adjoint: ``"implicit"`` or ``"unrolled"``, see ``cg``.

    Returns:
        A ``Solution``. Its ``status`` is ``BREAKDOWN`` if the iteration diverged.

    Raises:
        BadInput: shapes do not match, an option is out of range, or ``b`` or ``x0`` holds NaN or Inf.
        MorulaError: an operator gives NaN or Inf; or a gradient is taken and this solve or the solve for the cotangent
            has not converged.

    Source: Saad (2003), section 4.1.

    >>> richardson(np.array([[1.0, 0.25], [0.5, 1.0]]), np.array([1.5, 2.5])).x.round(6).tolist()
    [1.0, 2.0]
    """
    return solved(Method("richardson", Richardson), A, b, x0, preconditioner, rtol, atol, max_iterations, adjoint)


class Richardson(Recurrence):
    """The solution x and its residual r."""

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        self.A, self.M, self.r = A, M, r
        self.x = np.zeros_like(r)
        self.norm = unit_norm(r)

    def step(self) -> None:
        z = applied(self.M, self.r)
        self.x = self.x + z
        self.r = self.r - self.A @ z
        self.norm = length(self.r)

    def solution(self) -> Any:
        return self.x

    def clear(self, over: Any) -> None:
        self.r = without(over, self.r)
