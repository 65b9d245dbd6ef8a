"""DIRECT: a box is divided into thirds where the lower bounds that any Lipschitz constant gives are least.

D.R. Jones, C.D. Perttunen and B.E. Stuckman, J. Optim. Theory Appl. 79 (1993) 157-181; a rectangle is measured by its longest side, as
in J.M. Gablonsky and C.T. Kelley, J. Glob. Optim. 21 (2001) 27-37.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..flatten import Vector
from ..results import CONVERGED, RUNNING
from .method import GlobalMethod, ValueSearch


@dataclass(frozen=True)
class Direct(GlobalMethod):
    """Deterministic division of the box. ``balance`` is the least relative improvement that a small rectangle must promise."""

    balance: float = 1e-4

    def start(self, lower: Vector, upper: Vector, tol: float, seed: int) -> ValueSearch:
        return RectanglesSearch(self.balance, lower, upper, tol)


class RectanglesSearch(ValueSearch):
    """Centres, levels of each side (its length is 3 to the power of minus the level) and values of all rectangles."""

    def __init__(self, balance: float, lower: Vector, upper: Vector, tol: float) -> None:
        n = len(lower)
        self.balance, self.lower, self.width, self.tol = balance, lower, upper - lower, tol
        self.centres: list[np.ndarray] = []
        self.levels: list[np.ndarray] = []
        self.values: list[float] = []
        self.queue: list[tuple[int, int, np.ndarray]] = [(-1, -1, np.full(n, 0.5))]
        """What is to be evaluated: the rectangle that is divided, the axis, and the new centre."""
        self.sampled: list[tuple[int, int, np.ndarray, float]] = []
        self.trial = self.lower + self.width * 0.5
        self.point = self.trial.copy()
        self.value = self.measure = math.inf
        self.moved, self.code, self.iterations, self.evaluations = False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: float) -> None:
        value = evaluation if math.isfinite(evaluation) else 1e300
        parent, axis, centre = self.queue.pop(0)
        if value < self.value:
            self.value, self.point = value, self.trial.copy()
        self.sampled.append((parent, axis, centre, value))
        self.moved = not self.queue
        if self.moved:
            self._divide()
            self._choose()
        self.trial = self.lower + self.width * self.queue[0][2]

    def _divide(self) -> None:
        """Divide the chosen rectangles, first along the axis with the best new value."""
        parents: dict[int, dict[int, list[tuple[np.ndarray, float]]]] = {}
        for parent, axis, centre, value in self.sampled:
            if parent < 0:
                self.centres, self.levels, self.values = [centre], [np.zeros(len(centre), dtype=int)], [value]
            else:
                parents.setdefault(parent, {}).setdefault(axis, []).append((centre, value))
        for parent, axes in parents.items():
            level = self.levels[parent].copy()
            for axis in sorted(axes, key=lambda axis: min(value for _, value in axes[axis])):
                level[axis] += 1
                for centre, value in axes[axis]:
                    self.centres.append(centre)
                    self.levels.append(level.copy())
                    self.values.append(value)
            self.levels[parent] = level
        self.sampled = []

    def _choose(self) -> None:
        """Choose the rectangles that may hold the least value for some Lipschitz constant: a lower convex hull."""
        sizes = np.array([int(np.min(level)) for level in self.levels])
        values = np.array(self.values)
        best = [
            (3.0 ** -float(s), int(np.flatnonzero(sizes == s)[np.argmin(values[sizes == s])])) for s in np.unique(sizes)
        ]
        best.sort()
        hull: list[tuple[float, int]] = []
        for size, i in best:
            while hull and (
                values[hull[-1][1]] >= values[i]
                or (
                    len(hull) > 1
                    and self._slope(hull[-2], hull[-1], values) >= self._slope(hull[-2], (size, i), values)
                )
            ):
                hull.pop()
            hull.append((size, i))
        target = self.value - self.balance * abs(self.value)
        chosen = []
        for k, (size, i) in enumerate(hull):
            slope = self._slope((size, i), hull[k + 1], values) if k + 1 < len(hull) else math.inf
            if k + 1 == len(hull) or values[i] - slope * size <= target:
                chosen.append(i)
        holder = int(np.argmin(values))
        self.measure = 3.0 ** -float(np.min(self.levels[holder]))
        if self.measure <= self.tol:
            self.code = CONVERGED
        for i in chosen:
            level = self.levels[i]
            for axis in np.flatnonzero(level == np.min(level)):
                step = np.zeros(len(level))
                step[axis] = 3.0 ** -(float(level[axis]) + 1.0)
                self.queue.append((i, int(axis), self.centres[i] - step))
                self.queue.append((i, int(axis), self.centres[i] + step))

    @staticmethod
    def _slope(one: tuple[float, int], other: tuple[float, int], values: np.ndarray) -> float:
        return (values[other[1]] - values[one[1]]) / (other[0] - one[0])
