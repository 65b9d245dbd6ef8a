"""The results of minimisation: a minimum, and a minimum with constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import tree
from .results import INFEASIBLE, Result


@dataclass
class Minimum(Result):
    """The result of ``minimize``."""

    value: Any
    """``f`` at ``x``."""
    gradient: Any
    """The gradient at ``x``, in the structure of ``x0``."""

    @property
    def gradient_norm(self) -> float:
        """The largest absolute value in the gradient, which is compared with ``tol`` unless there are bounds."""
        return float(np.max(np.abs(tree.flatten(self.gradient)[0])))


@dataclass
class ConstrainedMinimum(Minimum):
    """The result of ``minimize`` with constraints, of ``linear_program`` and ``quadratic_program``."""

    multipliers: list[Any]
    """For each constraint, in the shape of its values: the gradient of f + Σ multipliers · constraint vanishes, but for the
    multipliers of the bounds. By how much the minimum falls for each unit by which an upper limit rises."""
    bound_multipliers: Any
    """The same for the bounds, in the structure of ``x0``; negative at a lower bound."""
    violations: list[Any]
    """By how much each value of each constraint is outside of its limits."""

    @property
    def violation(self) -> float:
        """The largest entry of ``violations``."""
        return max((float(np.max(v, initial=0.0)) for v in self.violations), default=0.0)

    @property
    def message(self) -> str:
        """How the search ended, in words."""
        message = super().message
        if self.code == INFEASIBLE:
            worst = [float(np.max(v, initial=0.0)) for v in self.violations]
            i = int(np.argmax(worst))
            message += f": constraint {i} is missed by {worst[i]:.3g}"
        return message
