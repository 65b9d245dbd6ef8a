"""``linear_program`` and ``quadratic_program``: the fronts of both methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, constant, nestlevel, stop_gradient
from ..implicit import check_adjoint, underived
from ..loop import searched
from ..minimum import ConstrainedMinimum
from ..optimality import optimum
from ..problem import check_limits
from .mehrotra import MehrotraSearch
from .program import Program, ProgramSearch
from .splitting import SplittingSearch

METHODS: dict[str, Callable[[Program, float], ProgramSearch]] = {
    "interior point": MehrotraSearch,
    "admm": SplittingSearch,
}


def linear_program(
    c: Any,
    A: Any = None,
    lower: Any = None,
    upper: Any = None,
    bounds: Any = (0.0, None),
    *,
    method: str = "interior point",
    tol: float = 1e-9,
    max_iterations: int = 1000,
    adjoint: str = "implicit",
) -> ConstrainedMinimum:
    """Minimise ``c·x`` with ``lower <= A x <= upper`` and x within ``bounds``.

    Args:
        c: the costs (n,).
        A: the matrix (m, n); None for no constraints but the bounds.
        lower, upper: the limits, numbers or (m,); None or infinite for none. Equal limits make an equation.
        bounds: a pair (lower, upper) for x, each a number, (n,) or None; by default ``x >= 0``.
        method, tol, max_iterations, adjoint: as for ``quadratic_program``.

    Returns:
        A ``ConstrainedMinimum``, whose ``multipliers`` has one entry (m,). An infeasible or unbounded program is no
        error; see ``status``. ``x`` and ``multipliers`` are differentiable with respect to all numbers of the program;
        at a vertex, ``x`` does not depend on small changes of ``c``.

    Raises:
        BadInput: a shape does not fit, limits are crossed, or a number is not finite.
        MorulaError: a derivative is taken where the solution is not unique, or of a program that was not solved.

    Source: Mehrotra (1992).

    >>> found = linear_program(np.array([-1.0, -2.0]), np.array([[1.0, 1.0], [0.0, 1.0]]), upper=np.array([4.0, 3.0]))
    >>> found.x.round(6).tolist(), found.multipliers[0].round(6).tolist()
    ([1.0, 3.0], [1.0, 1.0])
    """
    n = np.shape(c)[0] if np.ndim(c) == 1 else 0
    return _solved("linear_program", np.zeros((n, n)), c, A, lower, upper, bounds, method, tol, max_iterations, adjoint)


def quadratic_program(
    P: Any,
    q: Any,
    A: Any = None,
    lower: Any = None,
    upper: Any = None,
    bounds: Any = None,
    *,
    method: str = "interior point",
    tol: float = 1e-9,
    max_iterations: int = 1000,
    adjoint: str = "implicit",
) -> ConstrainedMinimum:
    """Minimise ``x·P x / 2 + q·x`` with ``lower <= A x <= upper`` and x within ``bounds``.

    Args:
        P: a symmetric positive semidefinite matrix (n, n).
        q: the linear part (n,).
        A: the matrix (m, n); None for no constraints but the bounds.
        lower, upper: the limits, numbers or (m,); None or infinite for none. Equal limits make an equation.
        bounds: a pair (lower, upper) for x, each a number, (n,) or None; None for no bounds.
        method: ``"interior point"`` (Mehrotra's), or ``"admm"``, operator splitting with one factorisation, and a polish.
        tol: converged when violation, gradient of the Lagrangian and duality gap are below ``tol``, relative to the numbers
            of the program.
        max_iterations: the largest number of iterations; ADMM may need thousands.
        adjoint: how the solution is differentiated: ``"implicit"`` or ``"krylov"``, as for ``minimize``.

    Returns:
        A ``ConstrainedMinimum``, whose ``multipliers`` has one entry (m,). An infeasible or unbounded program is no
        error; see ``status``. ``x`` and ``multipliers`` are differentiable with respect to all numbers of the program.

    Raises:
        BadInput: a shape does not fit, limits are crossed, a number is not finite, or P is not symmetric positive
            semidefinite.
        MorulaError: a derivative is taken where the solution is not unique or a constraint holds with multiplier zero, or
            of a program that was not solved.

    Source: Mehrotra (1992); Stellato et al. (2020).

    >>> found = quadratic_program(np.eye(2), np.array([-1.0, -1.0]), np.ones((1, 2)), upper=1.0)
    >>> found.x.round(6).tolist(), found.multipliers[0].round(6).tolist()
    ([0.5, 0.5], [0.5])
    """
    return _solved("quadratic_program", P, q, A, lower, upper, bounds, method, tol, max_iterations, adjoint)


def _solved(
    solver: str,
    P: Any,
    q: Any,
    A: Any,
    lower: Any,
    upper: Any,
    bounds: Any,
    method: str,
    tol: float,
    max_iterations: int,
    adjoint: str,
) -> ConstrainedMinimum:
    if method not in METHODS:
        raise BadInput(f"{solver}: no method {method!r}; there are {', '.join(map(repr, METHODS))}")
    check_limits(solver, tol, max_iterations)
    check_adjoint(solver, adjoint)
    if adjoint == "unrolled":
        raise BadInput(f"{solver}: adjoint is 'unrolled', expected 'implicit' or 'krylov'")
    P, q = np.asarray(P) + 0.0, np.asarray(q) + 0.0
    if np.ndim(q) != 1 or np.shape(q)[0] == 0 or np.shape(P) != (np.shape(q)[0],) * 2:
        raise BadInput(
            f"{solver}: the linear part has shape {np.shape(q)} and the matrix {np.shape(P)}, expected (n,) and (n, n)"
        )
    n = np.shape(q)[0]
    A = np.zeros((0, n)) if A is None else np.asarray(A) + 0.0
    if np.ndim(A) != 2 or np.shape(A)[1] != n:
        raise BadInput(f"{solver}: A has shape {np.shape(A)}, expected (m, {n})")
    limits = _pair(solver, (lower, upper), np.shape(A)[0], "limit of constraint")
    sides = _pair(solver, (None, None) if bounds is None else bounds, n, "bound of unknown")
    found = _search(solver, P, q, A, limits, sides, method, tol, max_iterations)
    if nestlevel() == 0:
        return found

    def slope(x: Any, y: Any) -> Any:
        return P @ x + q + A.T @ y

    x, y = optimum(
        found.x,
        found.multipliers[0],
        found.bound_multipliers,
        slope,
        lambda x: A @ x,
        limits,
        sides,
        found.code,
        adjoint,
    )
    return ConstrainedMinimum(
        x,
        found.iterations,
        found.evaluations,
        found.code,
        None,
        None,
        0.5 * (x @ (P @ x)) + q @ x,
        underived(found.gradient, "the gradient at a minimum"),
        [y],
        underived(found.bound_multipliers, "the multipliers of bounds"),
        found.violations,
    )


def _pair(solver: str, sides: Any, size: int, what: str) -> tuple[Any, Any]:
    """Return two vectors, infinite where there is no limit."""
    if not isinstance(sides, (tuple, list)) or len(sides) != 2:
        raise BadInput(f"{solver}: bounds is a {type(sides).__name__}, expected a pair (lower, upper)")
    lower, upper = sides
    lower = np.full(size, -np.inf) if lower is None else np.asarray(lower) + 0.0
    upper = np.full(size, np.inf) if upper is None else np.asarray(upper) + 0.0
    for side in (lower, upper):
        if np.shape(side) not in ((), (size,)):
            raise BadInput(f"{solver}: a {what}s has shape {np.shape(side)}, expected a number or ({size},)")
    lower, upper = lower + np.zeros(size), upper + np.zeros(size)
    if bool(np.any(np.isnan(stop_gradient(lower))) or np.any(np.isnan(stop_gradient(upper)))):
        raise BadInput(f"{solver}: a {what} is NaN; expected numbers, with -Inf and Inf for no limit")
    crossed = stop_gradient(lower) > stop_gradient(upper)
    if bool(np.any(crossed)):
        i = int(np.argmax(crossed))
        raise BadInput(f"{solver}: {what} {i} is crossed: lower {lower[i]:.6g}, upper {upper[i]:.6g}")
    return lower, upper


@constant
def _search(
    solver: str,
    P: np.ndarray,
    q: np.ndarray,
    A: np.ndarray,
    limits: tuple[Any, Any],
    bounds: tuple[Any, Any],
    method: str,
    tol: float,
    max_iterations: int,
) -> ConstrainedMinimum:
    if not (np.all(np.isfinite(P)) and np.all(np.isfinite(q)) and np.all(np.isfinite(A))):
        raise BadInput(f"{solver}: a matrix or vector of the program holds NaN or Inf; expected finite numbers")
    size = float(np.max(np.abs(P)))
    if float(np.max(np.abs(P - P.T))) > 1e-10 * size:
        raise BadInput(f"{solver}: P is not symmetric; pass (P + P.T) / 2, which has the same values")
    least = float(np.min(np.linalg.eigvalsh(P)))
    if least < -1e-8 * size:
        raise BadInput(
            f"{solver}: P has the eigenvalue {least:.3g}, expected a positive semidefinite matrix; minimize finds local"
            " minima of programs that are not convex"
        )
    program = Program(P, q, A, limits, bounds)
    search = METHODS[method](program, tol)

    def found() -> ConstrainedMinimum:
        w = search.values
        off = np.maximum(np.maximum(limits[0] - w, w - limits[1]), 0.0)
        return ConstrainedMinimum(
            search.point,
            search.iterations,
            search.evaluations,
            search.code,
            None,
            None,
            search.value,
            P @ search.point + q,
            [search.multipliers],
            search.bound_multipliers,
            [off],
        )

    return searched(program, search, found, max_iterations, None, False, False, False)
