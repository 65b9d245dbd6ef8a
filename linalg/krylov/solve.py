"""The front of all iterative methods: checks, right-hand sides in columns, and the derivative of the solution.

The solution is differentiated as what the iterations converge to: ``implicit`` differentiates its equation, and solves
the adjoint system by the same method. A gradient costs one more solve, and no iterate is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, MorulaError, constant, implicit, tree
from ..operators import FunctionOperator, LinearOperator, as_operator
from .loop import CONVERGED, iterate
from .recurrence import Method, some
from .solution import Solution

ADJOINTS = ("implicit", "unrolled")

_found = constant(iterate)


def solved(
    method: Method,
    A: Any,
    b: Any,
    x0: Any,
    preconditioner: Any,
    rtol: float,
    atol: float,
    max_iterations: int | None,
    adjoint: str,
) -> Solution:
    """Check the arguments of a method for square systems, and return its solution."""
    name = method.name
    b = b if isinstance(b, np.ndarray) else np.asarray(b)
    n = b.shape[0] if b.ndim else 0
    A = operator_of(A, n, b, f"{name}: A")
    if A.shape[0] != A.shape[1]:
        raise BadInput(f"{name}: A has shape {A.shape}, expected a square operator")
    n = A.shape[1]
    if b.ndim not in (1, 2) or b.shape[0] != n:
        raise BadInput(f"{name}: b has shape {b.shape}, expected ({n},) or ({n}, k) for A of shape {A.shape}")
    if method.shares_space and b.ndim != 2:
        raise BadInput(
            f"{name}: b has shape {b.shape}, expected ({n}, k), the right-hand sides as columns; use {name[6:]} for a vector"
        )
    M = None if preconditioner is None else operator_of(preconditioner, n, b, f"{name}: the preconditioner")
    if M is not None and M.shape != A.shape:
        raise BadInput(f"{name}: the preconditioner has shape {M.shape}, expected {A.shape} like A")
    return solution(method, A, b, x0, M, rtol, atol, 10 * n if max_iterations is None else max_iterations, adjoint)


def operator_of(A: Any, n: int, b: Any, name: str) -> LinearOperator:
    """Return A as an operator; a function becomes one of shape (n, n) and of b's dtype."""
    if callable(A) and not isinstance(A, LinearOperator) and not hasattr(A, "shape"):
        return FunctionOperator(A, (n, n), dtype=np.result_type(b, np.float32))
    return as_operator(A, name)


def solution(
    method: Method,
    A: LinearOperator,
    b: Any,
    x0: Any,
    M: Any,
    rtol: float,
    atol: float,
    limit: int,
    adjoint: str,
    attach: Callable[..., Any] | None = None,
) -> Solution:
    """Return the solution for one right-hand side, or for several as columns.

    ``attach`` solves and attaches the derivative; by default that of a square system.
    """
    name = method.name
    shape = (A.shape[1], *b.shape[1:])
    if x0 is not None and np.shape(x0) != shape:
        raise BadInput(f"{name}: x0 has shape {np.shape(x0)}, expected {shape} for A of shape {A.shape}")
    if not (rtol >= 0 and atol >= 0 and rtol + atol > 0):
        raise BadInput(f"{name}: rtol is {rtol!r} and atol is {atol!r}, expected one of them positive, none negative")
    if adjoint not in ADJOINTS:
        raise BadInput(f'{name}: adjoint is {adjoint!r}, expected "implicit" or "unrolled"')
    found = iterate if adjoint == "unrolled" else attach or solve_square
    x, iterations, norm, history, code = found(method, A, b, x0, M, rtol, atol, limit)
    return Solution(
        x, iterations, norm, history[: iterations + 1], np.max(code, initial=0) if b.ndim == 2 else code, name
    )


def solve_square(
    method: Method, A: LinearOperator, b: Any, x0: Any, M: Any, rtol: float, atol: float, limit: int
) -> tuple[Any, int, Any, Any, Any]:
    """Return what ``iterate`` returns; x is differentiable with respect to ``b`` and the arrays that define A."""
    x, iterations, norm, history, code = _found(method, A, b, x0, M, rtol, atol, limit)

    def solve(transposed: bool) -> Callable[[Any, Any], Any]:
        def by(pull: Any, dx: Any) -> Any:
            refuse(method, code, norm)
            turned = transposed and not method.hermitian
            to = A.H if turned else A
            conditioned = M.H if turned and M is not None else M
            found = solve_square(method, to, tree.flatten(x)[1](dx), None, conditioned, rtol, 0.0, limit)
            return adjoint_found(method, found, dx)

        return by

    return (
        implicit(x, lambda x: A @ x - b, (solve(True), solve(False)), needs_product=False),
        iterations,
        norm,
        history,
        code,
    )


def adjoint_found(method: Method, found: tuple[Any, int, Any, Any, Any], dx: Any) -> Any:
    """Return the vector of an adjoint solve; raise an error if it has not converged."""
    u, steps, norm, _, code = found
    if some(code != CONVERGED):
        raise MorulaError(
            f"{method.name}: no gradient, since the adjoint solve did not converge in {steps} steps (residual norm"
            f" {np.max(norm):.3g}, of {np.linalg.norm(dx):.3g} at the start); {REMEDY}"
        )
    return tree.flatten(u)[0]


def refuse(method: Method, code: Any, norm: Any) -> None:
    """Raise an error if the solve has not converged."""
    if some(code != CONVERGED):
        raise MorulaError(
            f"{method.name}: no gradient, since the solve did not converge (residual norm {np.max(norm):.3g}); {REMEDY}"
        )


REMEDY = 'raise max_iterations, loosen rtol, give a preconditioner or pass adjoint="unrolled"'
