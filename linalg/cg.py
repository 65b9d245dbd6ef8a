"""The conjugate gradient method, differentiated as the solution that it converges to.

M.R. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear systems", J. Res. NBS 49 (1952)
409-436; preconditioned as in Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. (2003), algorithm 9.1.

The iteration is not differentiated: ``implicit`` differentiates the equation A x - b = 0 at its solution. A is its own
adjoint, so conjugate gradients also solve the linear system for the cotangent. A gradient therefore costs one more
solve, and no iterate is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import BadInput, MorulaError, constant, implicit, tree
from .operators import LinearOperator, as_operator


@dataclass
class Solution:
    """The result of ``cg``."""

    x: Any
    """The approximate solution, (n,)."""
    iterations: int
    """The number of conjugate gradient steps."""
    residual_norm: float
    """The Euclidean norm of b - A x."""
    converged: bool
    """Whether the residual norm meets the tolerance."""


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
) -> Solution:
    """Solve A x = b for a Hermitian positive definite A.

    Args:
        A: linear operator or matrix (n, n), real symmetric or complex Hermitian, positive definite.
        b: right-hand side (n,).
        x0: initial guess (n,), zeros by default; gradients do not depend on it.
        preconditioner: operator or matrix (n, n) that approximates the inverse of A, Hermitian positive definite;
            gradients do not depend on it.
        rtol, atol: relative and absolute tolerance: converged when ``|b - A x| <= max(rtol * |b|, atol)``, where the
            residual is computed from x. An ``rtol`` below eps ** (2 / 3) of the dtype (2e-5 in float32) is raised to
            that.
        max_iterations: the largest number of steps, 10 n by default.

    Returns:
        A ``Solution``. A solve that has not converged is returned as well (see ``converged``), but differentiating it
        raises an error, since its gradient would be wrong.

    Raises:
        BadInput: shapes do not match, a tolerance is negative or both are zero, or ``b`` or ``x0`` holds NaN or Inf.
        MorulaError: A or the preconditioner is found not to be positive definite or not Hermitian; or a gradient is
            taken and this solve or the solve for the cotangent has not converged.

    Source: Hestenes and Stiefel (1952); Saad (2003), section 9.2.

    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> cg(A, np.array([1.0, 2.0])).x.round(6).tolist()
    [0.090909, 0.636364]
    """
    A = as_operator(A)
    if A.shape[0] != A.shape[1]:
        raise BadInput(f"cg: A has shape {A.shape}, expected a square operator")
    n = A.shape[1]
    if np.shape(b) != (n,):
        hint = "; solve for one column at a time" if np.ndim(b) == 2 else ""
        raise BadInput(f"cg: b has shape {np.shape(b)}, expected ({n},) for A of shape {A.shape}{hint}")
    if x0 is not None and np.shape(x0) != (n,):
        raise BadInput(f"cg: x0 has shape {np.shape(x0)}, expected ({n},) for A of shape {A.shape}")
    M = None if preconditioner is None else as_operator(preconditioner, "preconditioner")
    if M is not None and M.shape != A.shape:
        raise BadInput(f"cg: the preconditioner has shape {M.shape}, expected {A.shape} like A")
    if not (rtol >= 0 and atol >= 0 and rtol + atol > 0):
        raise BadInput(f"cg: rtol is {rtol!r} and atol is {atol!r}, expected one of them positive, none negative")
    limit = 10 * n if max_iterations is None else max_iterations
    x, iterations, residual_norm, converged = _solve(A, b, x0, M, rtol, atol, limit)
    return Solution(x, iterations, residual_norm, converged)


def _solve(
    A: LinearOperator, b: Any, x0: Any, M: LinearOperator | None, rtol: float, atol: float, limit: int
) -> tuple[Any, int, float, bool]:
    """Return the solution, differentiable with respect to ``b`` and the arrays that define A."""
    x, iterations, norm, converged = _found(A, b, x0, M, rtol, atol, limit)

    def solve(pull: Any, dx: Any) -> Any:
        remedy = "raise max_iterations, loosen rtol or give a preconditioner"
        if not converged:
            raise MorulaError(f"cg: no gradient, since the solve did not converge (residual norm {norm:.3g}); {remedy}")
        cotangent, steps, left, solved = _solve(A, tree.flatten(x)[1](dx), None, M, rtol, 0.0, limit)
        if not solved:
            raise MorulaError(
                f"cg: no gradient, since the adjoint solve did not converge in {steps} steps (residual norm {left:.3g},"
                f" of {np.linalg.norm(dx):.3g} at the start); {remedy}"
            )
        return tree.flatten(cotangent)[0]

    return implicit(x, lambda x: A @ x - b, solve), iterations, norm, converged


@constant
def _found(
    A: LinearOperator, b: Any, x0: Any, M: LinearOperator | None, rtol: float, atol: float, limit: int
) -> tuple[Any, int, float, bool]:
    """Return the solution as a constant, to which ``_solve`` attaches the derivative."""
    dtype = np.result_type(A.dtype, np.asarray(b).dtype, np.float32)
    b = np.asarray(b, dtype=dtype)
    x = np.zeros_like(b) if x0 is None else np.array(x0, dtype=dtype)
    if not (np.all(np.isfinite(b)) and np.all(np.isfinite(x))):
        raise BadInput(f"cg: {'b' if not np.all(np.isfinite(b)) else 'x0'} holds NaN or Inf, expected finite numbers")
    target = max(max(rtol, float(np.finfo(dtype).eps) ** (2 / 3)) * _norm(b), atol)
    iterations = 0
    last = np.inf
    residual = b if x0 is None else b - A @ x
    while True:
        norm = _norm(residual)
        # _iterate stops by its recursively updated residual, which drifts from b - A x: restart while that helps.
        if norm <= target or iterations >= limit or not norm < 0.5 * last:
            return x, iterations, norm, norm <= target
        last = norm
        # The right-hand side is scaled to norm 1, so that no product underflows.
        dx, iterations = _iterate(A, residual / norm, M, target / norm, iterations, limit)
        x = x + norm * dx
        residual = b - A @ x


def _iterate(
    A: LinearOperator, r: Any, M: LinearOperator | None, target: float, iterations: int, limit: int
) -> tuple[Any, int]:
    """Solve A x = r from zero until the recursive residual meets the target; return x and the count of steps so far."""
    x = np.zeros_like(r)
    z = r if M is None else M @ r
    rz = _inner(r, z, "the preconditioner")
    p = z
    start, before = iterations, (p, p)
    while iterations < limit and np.linalg.norm(r) > target:
        Ap = A @ p
        curvature = _inner(p, Ap, "A")
        if start == 0 and iterations == 1:
            _check_hermitian(*before, p, Ap)
        alpha = rz / curvature
        x = x + alpha * p
        r = r - alpha * Ap
        before = p, Ap
        iterations += 1
        if not np.any(r):
            break
        z = r if M is None else M @ r
        rz, last = _inner(r, z, "the preconditioner"), rz
        p = z + (rz / last) * p
    return x, iterations


def _norm(v: Any) -> float:
    """Return the Euclidean norm without overflow or underflow of the squares."""
    largest = float(np.max(np.abs(v), initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else 0.0


def _inner(p: Any, Ap: Any, name: str) -> float:
    """Return p·Ap; raise an error naming the operator if it is not real and positive."""
    value = np.vdot(p, Ap)
    if not np.isfinite(value):
        raise MorulaError(f"cg: {name} applied to a finite vector gave NaN or Inf")
    bound = float(np.linalg.norm(p) * np.linalg.norm(Ap))
    if abs(value.imag) > np.sqrt(np.finfo(value.dtype).eps) * bound:
        raise MorulaError(f"cg: {name} is not Hermitian: p·Ap = {value:.6g} is not real")
    if not value.real > 0.0:
        raise MorulaError(
            f"cg: {name} is not positive definite: p·Ap = {value.real:.6g} for a p of norm {np.linalg.norm(p):.6g}"
        )
    return value.real


def _check_hermitian(q: Any, Aq: Any, p: Any, Ap: Any) -> None:
    """Raise an error if A is not Hermitian, from the first two search directions q and p.

    The method makes one of the two products p·Aq and q·Ap vanish for every A, the other one only for a Hermitian A.
    """
    lengths = np.linalg.norm(q) * np.linalg.norm(Ap) + np.linalg.norm(q) * np.linalg.norm(Aq)
    if abs(np.vdot(q, Ap)) > np.sqrt(np.finfo(p.dtype).eps) * lengths:
        raise MorulaError(
            "cg: A (or the preconditioner) is not Hermitian: q·Ap and Aq·p differ; cg needs A equal to A.H"
        )
