"""The simplex method of Nelder and Mead, with the coefficients of Gao and Han for many unknowns.

J.A. Nelder and R. Mead, Comput. J. 7 (1965) 308-313; J.C. Lagarias, J.A. Reeds, M.H. Wright and P.E. Wright, SIAM J. Optim. 9 (1998)
112-147; F. Gao and L. Han, Comput. Optim. Appl. 51 (2012) 259-277.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..flatten import Vector
from ..results import CONVERGED, RUNNING
from .method import ValueMethod, ValueSearch

BUILDING, REFLECTING, EXPANDING, CONTRACTING, SHRINKING = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class NelderMead(ValueMethod):
    """A simplex of n + 1 points that moves downhill; for few unknowns and functions without a derivative.

    ``size`` is the first size of the simplex in relation to x.
    """

    size: float = 0.05

    def start(self, x: Vector, lower: Vector, upper: Vector, tol: float) -> ValueSearch:
        return SimplexSearch(self.size, x, lower, upper, tol)


class SimplexSearch(ValueSearch):
    """Rows of ``points`` in the order of their values."""

    def __init__(self, size: float, x: Vector, lower: Vector, upper: Vector, tol: float) -> None:
        n = len(x)
        self.lower, self.upper, self.tol = lower, upper, tol
        self.expansion = 1.0 + 2.0 / max(n, 2)
        self.contraction, self.shrinkage = 0.75 - 0.5 / max(n, 2), 1.0 - 1.0 / max(n, 2)
        steps = np.where(x != 0.0, size * x, 0.005 * size)
        steps = np.where(x + steps > upper, -steps, steps)
        self.points = self._inside(np.concatenate([x[None, :], x + np.diag(steps)], axis=0))
        self.values = np.full(n + 1, np.inf)
        self.point, self.trial = self.points[0].copy(), self.points[0].copy()
        self.reflected, self.reflected_value = x.copy(), math.inf
        self.value = self.measure = math.inf
        self.at, self.outside = 0, False
        self.phase, self.moved, self.code, self.iterations, self.evaluations = BUILDING, False, RUNNING, 0, 0

    def _inside(self, x: Any) -> Any:
        return np.minimum(np.maximum(x, self.lower), self.upper)

    def learn(self, problem: Any, evaluation: float) -> None:
        value = evaluation if math.isfinite(evaluation) else math.inf
        n = len(self.point)
        self.moved = False
        aim = False
        if self.phase == BUILDING or self.phase == SHRINKING:
            self.points[self.at], self.values[self.at] = self.trial, value
            self.at += 1
            aim = self.at > n
        elif self.phase == REFLECTING:
            self.reflected, self.reflected_value = self.trial.copy(), value
            if value < self.values[0]:
                self.phase = EXPANDING
            elif value < self.values[n - 1]:
                aim = self._replace(self.trial, value)
            else:
                self.phase, self.outside = CONTRACTING, value < self.values[n]
        elif self.phase == EXPANDING:
            better = value < self.reflected_value
            aim = self._replace(np.where(better, self.trial, self.reflected), value if better else self.reflected_value)
        elif value <= self.reflected_value if self.outside else value < self.values[n]:
            aim = self._replace(self.trial, value)
        else:
            self.phase, self.at = SHRINKING, 1
            self.points = self.points[0] + self.shrinkage * (self.points - self.points[0])
        if aim:
            self._aim()
        self._choose()

    def _replace(self, x: Vector, value: float) -> bool:
        self.points[-1], self.values[-1] = x, value
        return True

    def _aim(self) -> None:
        """Order the points, test whether the search has ended, and begin the next iteration."""
        order = np.argsort(self.values, kind="stable")
        self.points, self.values = self.points[order], self.values[order]
        self.moved = self.evaluations >= len(self.values)
        self.point, self.value = self.points[0].copy(), float(self.values[0])
        spread = float(np.max(np.abs(self.points[1:] - self.points[0]) / np.maximum(1.0, np.abs(self.points[0]))))
        self.measure = spread
        fall = float(self.values[-1] - self.values[0])
        if spread <= self.tol and fall <= self.tol * max(1.0, abs(self.value)):
            self.code = CONVERGED
        self.phase = REFLECTING

    def _choose(self) -> None:
        """Choose the next point to evaluate."""
        centre = np.sum(self.points[:-1], axis=0) / len(self.point)
        away = centre - self.points[-1]
        if self.phase == BUILDING or self.phase == SHRINKING:
            self.trial = self.points[min(self.at, len(self.point))].copy()
        elif self.phase == REFLECTING:
            self.trial = self._inside(centre + away)
        elif self.phase == EXPANDING:
            self.trial = self._inside(centre + self.expansion * away)
        else:
            self.trial = self._inside(centre + (self.contraction if self.outside else -self.contraction) * away)
