"""The augmented Lagrangian: minimisation within bounds of f plus penalties that multipliers shift.

R.T. Rockafellar's form for constraints between limits; the rule for penalties and multipliers is that of E.G. Birgin and
J.M. Martínez, Practical Augmented Lagrangian Methods for Constrained Optimization (2014), algorithm 4.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..flatten import Vector
from ..minimise.quasi_newton import StoredSteps
from ..results import AT_ROUNDING, CONVERGED, INFEASIBLE, RUNNING, STAGNATED, UNBOUNDED
from .bounded import BoundedDescent
from .constraints import ConstrainedObjective
from .method import ConstrainedMethod, ConstrainedSearch, largest, violation_of

LARGEST_PENALTY, LARGEST_MULTIPLIER = 1e10, 1e8


@dataclass(frozen=True)
class AugmentedLagrangian(ConstrainedMethod):
    """Minimises by L-BFGS within bounds, with gradients only, and moves the multipliers after each minimum.

    ``penalty`` is the first penalty in relation to the size of f, ``memory`` the number of steps that L-BFGS stores.
    """

    penalty: float = 10.0
    memory: int = 20

    def start(self, problem: ConstrainedObjective, tol: float) -> ConstrainedSearch:
        return AugmentedSearch(problem, self.penalty, self.memory, tol)


class AugmentedSearch(ConstrainedSearch):
    """A sequence of searches within bounds."""

    def __init__(self, problem: ConstrainedObjective, penalty: float, memory: int, tol: float) -> None:
        x, m = problem.layout.vector(problem.layout.start), problem.constraints.count
        n = len(x)
        self.lower, self.upper = problem.lower, problem.upper
        self.tol, self.eps, self.penalty = tol, problem.layout.eps, penalty
        self.point = np.minimum(np.maximum(x, problem.bounds[0]), problem.bounds[1])
        self.trial = self.point.copy()
        self.gradient, self.values, self.slopes = np.zeros(n), np.zeros(m), np.zeros((m, n))
        self.multipliers, self.bound_multipliers, self.shifts = np.zeros(m), np.zeros(n), np.zeros(m)
        self.value = self.measure = math.inf
        self.inner_tol, self.last_gap = 0.1, math.inf
        self.inner = BoundedDescent(StoredSteps(n, memory), self.point, *problem.bounds, self.inner_tol, self.eps)
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def _excess(self, values: Vector) -> Vector:
        """Return by how much the shifted constraints are outside of their limits."""
        shifted = values + self.shifts / self.penalty
        return shifted - np.minimum(np.maximum(shifted, self.lower), self.upper)

    def learn(self, problem: ConstrainedObjective, evaluation: tuple[float, Vector, Vector, np.ndarray]) -> None:
        value, gradient, values, slopes = evaluation
        if self.is_start:
            gap = violation_of(values, self.lower, self.upper)
            size = 2.0 * max(1.0, abs(value)) / max(float(gap @ gap), 1.0)
            self.penalty = self.penalty * max(1e-6, min(size, 10.0))
        self.is_start = False
        forces = self.penalty * self._excess(values)
        total = value + 0.5 * float(forces @ forces) / self.penalty
        at_start = self.inner.is_start
        self.inner.learn(problem, (total, gradient + slopes.T @ forces))
        self.moved = self.inner.moved
        if self.inner.moved or at_start:
            self.point, self.value, self.gradient = self.inner.point.copy(), value, gradient.copy()
            self.values, self.slopes, self.multipliers = values.copy(), slopes.copy(), forces
            self.bound_multipliers = -np.where(self.inner.free, 0.0, self.inner.gradient)
            gap = largest(violation_of(values, self.lower, self.upper))
            self.measure = max(self.inner.measure, gap)
        if self.inner.code == UNBOUNDED and self.penalty >= LARGEST_PENALTY:
            self.code = UNBOUNDED
        elif self.inner.code != RUNNING:
            self._multiply()
        self.trial = self.inner.trial.copy()

    def _multiply(self) -> None:
        """Move the multipliers, increase the penalty where the violation does not fall, and begin the next search."""
        gap = largest(violation_of(self.values, self.lower, self.upper))
        # What violation and complementarity lack: the change of the multipliers in units of the constraints.
        lack = max(gap, largest(self.multipliers - self.shifts) / self.penalty)
        limited = np.minimum(np.maximum(self.multipliers, -LARGEST_MULTIPLIER), LARGEST_MULTIPLIER)
        done = self.inner_tol <= self.tol
        if lack <= self.tol and done:
            self.code = CONVERGED if self.inner.measure <= self.tol else AT_ROUNDING
        elif self.penalty >= LARGEST_PENALTY and done:
            self.code = INFEASIBLE if gap > math.sqrt(self.tol) else STAGNATED
        self.shifts = limited
        if lack > 0.25 * self.last_gap:
            self.penalty = min(5.0 * self.penalty, LARGEST_PENALTY)
        self.last_gap = lack
        self.inner_tol = max(self.tol, min(0.1 * self.inner_tol, lack))
        if self.code == RUNNING:
            self.inner.begin_anew(self.inner_tol)
