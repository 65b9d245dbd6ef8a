"""The conditions of optimality as equations, whose derivative is that of the answer.

At a minimum of f with constraints c and bounds, the gradient of the Lagrangian f + y · c vanishes, but for unknowns at a
bound; a constraint is at its limit, or its multiplier y is zero (J. Nocedal and S.J. Wright, Numerical Optimization, 2nd ed.,
2006, theorem 12.1). Where each multiplier at a limit differs from zero, the limits that hold stay the same for small changes, and
the equations have a Jacobian that can be inverted (A.V. Fiacco, Introduction to Sensitivity and Stability Analysis, 1983).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import stop_gradient
from .bounds import bounds_of
from .flatten import Layout, Vector
from .implicit import Equation, attached

CONDITIONS = Equation(
    "minimum", "matrix of the optimality conditions", "drop constraints that depend on others, or add a penalty"
)
WEAK = 1e-6
"""A constraint at its limit with a multiplier below this, relative to the largest gradient, has only one-sided derivatives."""


def optimum(
    x: Any,
    multipliers: Any,
    bound_multipliers: Vector,
    stationarity: Callable[[Any, Any], Vector],
    values: Callable[[Any], Any],
    limits: tuple[Any, Any],
    bounds: tuple[Any, Any],
    code: Any,
    adjoint: str,
) -> tuple[Any, Any]:
    """Return the solution ``x`` and its multipliers as differentiable functions of what the functions and limits hold.

    ``stationarity(x, y)`` is the gradient of the Lagrangian as a vector, ``values(x)`` are the constraints (m,).
    """
    layout = Layout(x, "x")
    found, c = layout.vector(stop_gradient(x)), stop_gradient(values(x))
    y = stop_gradient(multipliers)
    forces, sides = np.concatenate([bound_multipliers, y]), np.concatenate([found, c])
    lower, upper = (np.concatenate([stop_gradient(b), stop_gradient(c)]) for b, c in zip(bounds, limits))
    at_lower, at_upper = at_sides(sides, forces, lower, upper)
    size = max(1.0, float(np.max(np.abs(forces))))
    near = np.minimum(sides - lower, upper - sides) <= WEAK * np.maximum(1.0, np.abs(sides))
    weak = bool(np.any(near & (np.abs(forces) <= WEAK * size) & (lower < upper)))
    n = layout.size

    def equations(unknowns: Any) -> Any:
        x, y = unknowns
        low, high = np.concatenate([bounds[0], limits[0]]), np.concatenate([bounds[1], limits[1]])
        w, free = np.concatenate([layout.vector(x), values(x)]), np.concatenate([stationarity(x, y), y])
        rows = _complementary(w, free, at_lower, at_upper, low, high)
        return layout.structure(rows[:n]), rows[n:]

    return attached((x, y), equations, code, adjoint, CONDITIONS, weak)


def at_sides(w: Vector, forces: Vector, lower: Vector, upper: Vector) -> tuple[np.ndarray, np.ndarray]:
    """Return which values are held at their lower, and which at their upper limit, from the signs of their multipliers."""
    at_lower = (lower == upper) | (np.maximum(-forces, 0.0) > w - lower)
    return at_lower, ~at_lower & (np.maximum(forces, 0.0) > upper - w)


def held_at(slope: Callable[[Any], Any], x: Any, bounds: Any, solver: str) -> Callable[[Any], Any]:
    """Return the equations of a minimum within bounds alone: the gradient vanishes, and unknowns at a bound are equal to it."""
    layout = Layout(x, "x")
    found = layout.vector(stop_gradient(x))
    lower, upper = bounds_of(solver, bounds, layout)
    at_lower, at_upper = found <= stop_gradient(lower), found >= stop_gradient(upper)

    def equations(x: Any) -> Any:
        v, g = layout.vector(x), layout.vector(slope(x), "the gradient")
        return layout.structure(_complementary(v, g, at_lower, at_upper, lower, upper))

    return equations


def _complementary(w: Any, free: Any, at_lower: Any, at_upper: Any, lower: Any, upper: Any) -> Any:
    """Return what vanishes: the distance from the side that holds, or else the multiplier or the gradient."""
    below, above = np.where(at_lower, lower, 0.0), np.where(at_upper, upper, 0.0)
    return np.where(at_lower, w - below, np.where(at_upper, w - above, free))
