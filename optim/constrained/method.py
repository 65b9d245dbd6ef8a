"""What the methods for constraints share: their settings begin a search that is told values and Jacobian."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..flatten import Vector
from ..minimise.method import GradientSearch
from .constraints import ConstrainedObjective


class ConstrainedSearch(GradientSearch):
    """A search that evaluates f, its gradient, the constraints and their Jacobian."""

    values: Vector
    """The constraints at ``point``."""
    multipliers: Vector
    """Of the constraints: the gradient of f + multipliers · c vanishes, but for the multipliers of the bounds."""
    bound_multipliers: Vector
    """Of the bounds; negative at a lower, positive at an upper bound."""


class ConstrainedMethod(ABC):
    """The settings of a method for constraints; an object, or its name, is the ``method`` of ``minimize``."""

    @abstractmethod
    def start(self, problem: ConstrainedObjective, tol: float) -> ConstrainedSearch:
        """Return the search, which converges when violation, gradient of the Lagrangian and complementarity are below ``tol``."""


def violation_of(values: Vector, lower: Vector, upper: Vector) -> Vector:
    """Return by how much each value is outside of its limits."""
    return np.maximum(np.maximum(lower - values, values - upper), 0.0)


def largest(v: Vector) -> float:
    """Return the largest absolute value, 0 if there is none."""
    return float(np.max(np.abs(v))) if v.size > 0 else 0.0
