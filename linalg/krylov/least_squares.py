"""The front of the least-squares methods: checks, damping, and the derivative of the solution.

With full column rank x solves A^H A x = A^H b, with full row rank x = A^H w where A A^H w = b. An adjoint system
B^H B u = d, with B = A or A^H, is solved in two steps that never form the product: y of least norm with B^H y = d, and u
that minimises |B u - y|. With a preconditioner of A^H A, conjugate gradients solve A^H A u = d with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, MorulaError, constant, implicit, nestlevel, tree
from ..operators import Block, Identity, LinearOperator, Scaled, as_operator
from .conjugate_gradients import ConjugateGradients
from .loop import iterate
from .recurrence import Method, norm_of, some
from .solution import Solution
from .solve import adjoint_found, operator_of, refuse, solution, solve_square

_found = constant(iterate)


def solved_least_squares(
    method: Method,
    A: Any,
    b: Any,
    damp: Any,
    x0: Any,
    preconditioner: Any,
    rtol: float,
    atol: float,
    max_iterations: int | None,
    adjoint: str,
) -> Solution:
    """Check the arguments of a least-squares method, and return its solution."""
    name = method.name
    b = b if isinstance(b, np.ndarray) else np.asarray(b)
    A = as_operator(A, f"{name}: A")
    m, n = A.shape
    if b.ndim not in (1, 2) or b.shape[0] != m:
        raise BadInput(f"{name}: b has shape {b.shape}, expected ({m},) or ({m}, k) for A of shape {A.shape}")
    if np.ndim(damp) != 0:
        raise BadInput(f"{name}: damp has shape {np.shape(damp)}, expected a number")
    limit = 10 * max(m, n) if max_iterations is None else max_iterations
    is_damped = not (isinstance(damp, (int, float)) and damp == 0)
    M = None if preconditioner is None else operator_of(preconditioner, n, b, f"{name}: the preconditioner")
    if M is not None and M.shape != (n, n):
        raise BadInput(f"{name}: the preconditioner has shape {M.shape}, expected ({n}, {n}) for A of shape {A.shape}")
    if M is not None and n > m and not is_damped:
        raise BadInput(
            f"{name}: a preconditioner is given for A of shape {A.shape}, where it would choose another solution than that of"
            " least norm; leave it out, or give damp"
        )
    if is_damped:
        A = Block([[A], [Scaled(damp, Identity(n, A.dtype))]])
        b = np.concatenate([b, np.zeros((n, *b.shape[1:]), b.dtype)])
    elif x0 is not None and n > m:
        raise BadInput(
            f"{name}: x0 is given for A of shape {A.shape}, whose solution would depend on it; leave it out, or give damp"
        )
    return solution(method, A, b, x0, M, rtol, atol, limit, adjoint, _solve)


def _solve(
    method: Method, A: LinearOperator, b: Any, x0: Any, M: Any, rtol: float, atol: float, limit: int
) -> tuple[Any, int, Any, Any, Any]:
    """Return what ``iterate`` returns; x is differentiable with respect to ``b`` and the arrays that define A."""
    x, iterations, norm, history, code = _found(method, A, b, x0, M, rtol, atol, limit)
    if nestlevel() == 0:
        return x, iterations, norm, history, code
    is_tall = A.shape[0] >= A.shape[1]
    B = A if is_tall else A.H

    def by(pull: Any, d: Any) -> Any:
        refuse(method, code, norm)
        right = tree.flatten(x if is_tall else b)[1](d)
        if M is not None:
            normal = Method(method.name, ConjugateGradients, hermitian=True)
            return adjoint_found(method, solve_square(normal, A.H @ A, right, None, M, rtol, 0.0, limit), d)
        y = _solve(method, B.H, right, None, None, rtol, 0.0, limit)
        missed, size = y[2], norm_of(right)
        if some(missed > np.sqrt(np.finfo(d.dtype).eps) * size):
            raise MorulaError(
                f"{method.name}: no gradient, since A of shape {A.shape} does not have full rank, or the adjoint solve did"
                f" not converge (residual {np.max(missed):.3g} of {np.max(size):.3g}); give damp, or pass"
                ' adjoint="unrolled"'
            )
        adjoint_found(method, y, d)
        u = _solve(method, B, y[0], None, None, rtol, 0.0, limit)
        return adjoint_found(method, u, d)

    if is_tall:
        return implicit(x, lambda x: A.H @ (A @ x - b), by, needs_product=False), iterations, norm, history, code
    w = _found(method, B, x, None, None, rtol, 0.0, limit)[0]
    return A.H @ implicit(w, lambda w: A @ (A.H @ w) - b, by, needs_product=False), iterations, norm, history, code
