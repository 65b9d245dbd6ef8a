"""Bounds on the unknowns, as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import BadInput, tree
from .flatten import Layout, Vector


def bounds_of(solver: str, bounds: Any, layout: Layout) -> tuple[Vector, Vector]:
    """Return the lower and upper bounds of all unknowns; infinite ones where there are none.

    ``bounds`` is None or a pair (lower, upper); each is a number for all unknowns, or has the structure of ``x0``; None
    stands for no bounds.
    """
    n = layout.size
    if bounds is None:
        return np.full(n, -np.inf), np.full(n, np.inf)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise BadInput(f"{solver}: bounds is a {type(bounds).__name__}, expected a pair (lower, upper)")
    if any(np.iscomplexobj(leaf) for leaf in layout.leaves):
        raise BadInput(
            f"{solver}: complex unknowns have no order, so they cannot be bounded; vary real and imaginary parts"
        )
    lower, upper = (
        _one(bounds[0], -np.inf, layout, "the lower bound"),
        _one(bounds[1], np.inf, layout, "the upper bound"),
    )
    if bool(np.any(np.isnan(lower))) or bool(np.any(np.isnan(upper))):
        raise BadInput(f"{solver}: a bound is NaN; expected numbers, with -Inf and Inf for no bound")
    if bool(np.any(lower > upper)):
        i = int(np.argmax(lower > upper))
        raise BadInput(
            f"{solver}: the bounds are crossed: unknown {i} has lower bound {lower[i]:.6g} and upper bound {upper[i]:.6g}"
        )
    return lower, upper


def _one(bound: Any, missing: float, layout: Layout, name: str) -> Vector:
    if bound is None:
        return np.full(layout.size, missing)
    if isinstance(bound, (int, float)):
        return np.full(layout.size, float(bound))
    if isinstance(layout.start, np.ndarray):
        bound = np.asarray(bound, dtype=np.float64)
        bound = np.broadcast_to(bound, layout.start.shape) if np.ndim(bound) == 0 else bound
    return layout.vector(tree.rebuild(bound, lambda _, x: x), name)


def check_inside(solver: str, x: Vector, lower: Vector, upper: Vector) -> None:
    """Refuse a start outside of the bounds."""
    excess = np.maximum(lower - x, x - upper)
    if bool(np.any(excess > 0.0)):
        i = int(np.argmax(excess))
        raise BadInput(
            f"{solver}: x0 is infeasible: unknown {i} is {x[i]:.6g}, outside of [{lower[i]:.6g}, {upper[i]:.6g}] by"
            f" {excess[i]:.3g}"
        )
