"""The conjugate gradient method, for Hermitian positive definite matrices.

M.R. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear systems", J. Res. NBS 49 (1952)
409-436; preconditioned as in Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. (2003), algorithm 9.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .hermitian import check_hermitian, positive_product
from .recurrence import Method, Recurrence, applied, length, ratio, unit_norm, without
from .solution import Solution
from .solve import solved


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
    adjoint: str = "implicit",
) -> Solution:
    """Solve A x = b for a Hermitian positive definite A.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n), real symmetric or complex Hermitian, positive
            definite; or a linear function of a vector (n,).
        b: right-hand side (n,), or several as the columns of (n, k); all take their steps at the same time.
        x0: initial guess of the shape of b, zeros by default.
        preconditioner: operator or matrix (n, n) that approximates the inverse of A, Hermitian positive definite.
        rtol, atol: relative and absolute tolerance: converged when ``|b - A x| <= max(rtol * |b|, atol)``, where the
            residual is computed from x. With an ``rtol`` below eps ** (2 / 3) of the dtype (4e-11 in float64, 2e-5 in
            float32), a residual that meets that and does not decrease any more counts as converged.
        max_iterations: the largest number of steps, 10 n by default.
        adjoint: ``"implicit"`` differentiates the equation A x = b, at the cost of one more solve: gradients reach A and
            b, and do not depend on x0 and the preconditioner. ``"unrolled"`` differentiates the iterations, also of a
            solve that has not converged, and stores what each of them needs.

    Returns:
        A ``Solution``. A solve that has not converged is returned as well (see ``status``), but its implicit derivative
        is an error, since it would be wrong.

    Raises:
        BadInput: shapes do not match, a tolerance is negative or both are zero, or ``b`` or ``x0`` holds NaN or Inf.
        MorulaError: A or the preconditioner is found not to be positive definite or not Hermitian; or a gradient is
            taken and this solve or the solve for the cotangent has not converged.

    Source: Hestenes and Stiefel (1952); Saad (2003), section 9.2.

    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> cg(A, np.array([1.0, 2.0])).x.round(6).tolist()
    [0.090909, 0.636364]
    """
    method = Method("cg", ConjugateGradients, hermitian=True)
    return solved(method, A, b, x0, preconditioner, rtol, atol, max_iterations, adjoint)


class ConjugateGradients(Recurrence):
    """The search directions p, conjugate to each other, and the residual r."""

    def __init__(self, A: Any, M: Any, r: Any) -> None:
        self.A, self.M, self.r = A, M, r
        self.x = np.zeros_like(r)
        z = applied(M, r)
        self.rz = positive_product("cg", r, z, "the preconditioner")
        self.p = z
        self.norm = unit_norm(r)
        self.steps = 0
        self.before = z, z

    def step(self) -> None:
        p = self.p
        Ap = self.A @ p
        curvature = positive_product("cg", p, Ap, "A")
        if self.steps == 1:
            check_hermitian("cg", *self.before, p, Ap)
        alpha = ratio(self.rz, curvature)
        self.x = self.x + alpha * p
        self.r = self.r - alpha * Ap
        self.norm = length(self.r)
        self.before = p, Ap
        self.steps += 1
        z = applied(self.M, self.r)
        rz = self.norm**2 if self.M is None else positive_product("cg", self.r, z, "the preconditioner")
        self.p = z + ratio(rz, self.rz) * p
        self.rz = rz

    def solution(self) -> Any:
        return self.x

    def clear(self, over: Any) -> None:
        self.r, self.p, self.rz = without(over, self.r), without(over, self.p), without(over, self.rz)
