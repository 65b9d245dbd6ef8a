"""Consistent states of differential-algebraic equations M y' = f(t, y) of index 1.

Source: P. N. Brown, A. C. Hindmarsh, L. R. Petzold, Consistent initial condition calculation for differential-algebraic
systems, SIAM J. Sci. Comput. 19 (1998) 1495.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, constant, implicit
from .jacobians import DenseJacobian
from .mass import mass_of
from .problem import Problem
from .state import initial, unpack

MOST = 50
"""The most steps of Newton's method for a consistent state."""


def consistent_start(f: Callable[..., Any], t: Any, y0: Any, *args: Any, mass: Any) -> Any:
    """Return the state with the same M y that satisfies the algebraic equations of M y' = f(t, y); it is differentiable.

    Args:
        f: ``f(t, y, *args)``, as in ``odesolve``.
        t: the time.
        y0: the state in the structure of ``odesolve``'s y0. Of several solutions, one near it is found.
        args: further arguments of f; gradients reach them.
        mass: as in ``odesolve``: the diagonal of M in y0's structure, or for a vector (n,) all of M, (n, n).

    Returns:
        The state, in y0's structure. For a diagonal mass, the components with mass are those of y0.

    Raises:
        BadInput: an argument is wrong, or no such state is found by Newton's method.

    Source: P. N. Brown, A. C. Hindmarsh, L. R. Petzold, SIAM J. Sci. Comput. 19 (1998) 1495.

    >>> consistent_start(lambda t, y, a: np.stack([-y[0], y[0] - a * y[1]]), 0.0, np.array([1.0, 0.0]), 4.0, mass=np.array([1.0, 0.0]))
    array([1.  , 0.25])
    """
    y, leaves, size = initial(y0)
    form = DenseJacobian()
    matrix = mass_of(mass, leaves, size, y.dtype, form)
    if matrix is None:
        raise BadInput("consistent_start needs a mass: the diagonal of M in y0's structure, or M (n, n)")
    problem = Problem(f, args, leaves, y.dtype, form, 1e-6, 1e-9, matrix)
    found = consistent(problem, t, y)
    if not np.isfinite(found).all():
        raise BadInput(
            f"no state that satisfies the algebraic equations at t = {t:.6g} was found by Newton's method from y0; give a y0 "
            "nearer to one, and check that mass leaves equations of index 1"
        )
    return unpack(found, leaves)


def consistent(problem: Problem, t: Any, y: NDArray[Any]) -> NDArray[Any]:
    """Return the state with the same M y that satisfies the algebraic equations, or NaN; it is differentiable."""

    def residual(u: NDArray[Any]) -> NDArray[Any]:
        return problem.massed(u - y) - problem.algebraic(t, u)

    return implicit(_search(problem, t, y), residual)


@constant
def _search(problem: Problem, t: float, y: NDArray[Any]) -> NDArray[Any]:
    u, count, size, is_going = y, 0, 0.0, True
    while is_going:
        before = size
        change = _correction(problem, t, u, u - y)
        u = u + change
        size = float(np.max(np.abs(change) / (1e-10 + np.abs(u)), initial=0.0))
        count += 1
        is_going = size > 0.0 and count < MOST and (size > 1e-9 or size < 0.5 * before)
    return np.where(size < 1e-6, u, np.nan)


def _correction(problem: Problem, t: float, y: NDArray[Any], moved: NDArray[Any]) -> NDArray[Any]:
    """Return the step of Newton's method from y to a consistent state, if y has moved by ``moved`` already."""
    return problem.algebraic_solver(t, y)(problem.algebraic(t, y) - problem.massed(moved))


def check_start(problem: Problem, t: float, y: NDArray[Any]) -> None:
    """Refuse a state that does not satisfy the algebraic equations, or does not determine y'."""
    distance, residual = _distance(problem, t, y)
    if not distance < np.inf:
        raise BadInput(
            f"the algebraic equations do not determine the state at t = {t:.6g}: their Jacobian is singular. odesolve solves "
            "equations of index 1; differentiate the constraints, or check mass"
        )
    if distance > 1.0:
        raise BadInput(
            f"y0 does not satisfy the algebraic equations at t = {t:.6g}: their residual is {residual:.3g}. "
            "consistent_start(f, t, y0, *args, mass=mass) finds a state that does"
        )


@constant
def _distance(problem: Problem, t: float, y: NDArray[Any]) -> tuple[float, float]:
    """Return the distance from a consistent state over the tolerance, and the residual; inf if the matrix is singular."""
    residual = float(np.max(np.abs(problem.algebraic(t, y)), initial=0.0))
    try:
        change = _correction(problem, t, y, np.zeros_like(y))
    except np.linalg.LinAlgError:
        return np.inf, residual
    ratio = float(np.max(np.abs(change) / (1e-12 + problem.atol + problem.rtol * np.abs(y)), initial=0.0))
    return (ratio if ratio < np.inf else np.inf), residual
