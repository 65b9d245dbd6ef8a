"""Sequential quadratic programming: each step solves a quadratic program with the constraints linearised.

M.J.D. Powell, "A fast algorithm for nonlinearly constrained optimization calculations", in Numerical Analysis (1978) 144-157
(damped update, weights of the merit function); D. Kraft, DFVLR-FB 88-28 (1988) (relaxation of inconsistent constraints); J. Nocedal
and S.J. Wright, Numerical Optimization (2006), section 18.3 (correction of second order).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..flatten import Vector
from ..minimise.descent import UNBOUNDED_LENGTH, check_start
from ..programs.mehrotra import solved
from ..programs.program import Program
from ..results import AT_ROUNDING, CONVERGED, INFEASIBLE, RUNNING, STAGNATED, UNBOUNDED
from .constraints import ConstrainedObjective
from .method import ConstrainedMethod, ConstrainedSearch, largest, violation_of


@dataclass(frozen=True)
class SQP(ConstrainedMethod):
    """Sequential quadratic programming with a BFGS approximation of the Hessian: few evaluations, gradients only."""

    def start(self, problem: ConstrainedObjective, tol: float) -> ConstrainedSearch:
        return SequentialSearch(problem, tol)


class SequentialSearch(ConstrainedSearch):
    """Steps along the solutions of quadratic programs, with the merit function f + weights · violations."""

    def __init__(self, problem: ConstrainedObjective, tol: float) -> None:
        x, m = problem.layout.vector(problem.layout.start), problem.constraints.count
        n = len(x)
        self.bounds, self.lower, self.upper = problem.bounds, problem.lower, problem.upper
        self.tol, self.eps = tol, problem.layout.eps
        self.point = np.minimum(np.maximum(x, problem.bounds[0]), problem.bounds[1])
        self.trial = self.point.copy()
        self.gradient, self.values, self.slopes = np.zeros(n), np.zeros(m), np.zeros((m, n))
        self.multipliers, self.bound_multipliers, self.weights = np.zeros(m), np.zeros(n), np.zeros(m)
        self.matrix, self.is_fresh = np.eye(n), True
        self.step, self.length, self.fall, self.corrected = np.zeros(n), 1.0, 0.0, False
        self.missed = 0.0
        self.value = self.measure = self.flattest = math.inf
        self.stalls = 0
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def _merit(self, value: float, values: Vector) -> float:
        return value + float(self.weights @ violation_of(values, self.lower, self.upper))

    def learn(self, problem: ConstrainedObjective, evaluation: tuple[float, Vector, Vector, np.ndarray]) -> None:
        value, gradient, values, slopes = evaluation
        finite = bool(math.isfinite(value) and np.all(np.isfinite(gradient)) and np.all(np.isfinite(values)))
        finite = finite and bool(np.all(np.isfinite(slopes)))
        taken = self.is_start
        merit = self._merit(value, values)
        if self.is_start:
            check_start(value, gradient)
        else:
            now = self._merit(self.value, self.values)
            noise = 10.0 * self.eps * (abs(now) + 1.0)
            taken = finite and merit <= now + 1e-4 * self.length * self.fall + noise
        self.moved = taken and not self.is_start
        if self.moved:
            self._learn_curvature(gradient, slopes)
        self.is_start = False
        renew = taken
        if taken:
            self.point, self.value, self.gradient = self.trial.copy(), value, gradient.copy()
            self.values, self.slopes = values.copy(), slopes.copy()
        else:
            renew = self._retry(values, merit, finite)
        if renew:
            self._renew()

    def _learn_curvature(self, gradient: Vector, slopes: np.ndarray) -> None:
        """Update the matrix with the change of the gradient of the Lagrangian, damped (Powell, eq. 5.5 to 5.9)."""
        s = self.trial - self.point
        y = gradient + slopes.T @ self.multipliers - self.gradient - self.slopes.T @ self.multipliers
        curvature = float(s @ y)
        if self.is_fresh and curvature > 0.0:
            self.matrix = np.eye(len(s)) * min(max(float(y @ y) / curvature, 1e-6), 1e6)
            self.is_fresh = False
        seen = self.matrix @ s
        model = float(s @ seen)
        if model > 0.0:
            if curvature < 0.2 * model:
                part = 0.8 * model / (model - curvature)
                y = part * y + (1.0 - part) * seen
                curvature = float(s @ y)
            self.matrix = self.matrix + np.outer(y, y) / curvature - np.outer(seen, seen) / model

    def _renew(self) -> None:
        """Solve the quadratic program at the point, and test whether the search has ended."""
        n, m = len(self.point), len(self.values)
        gap = violation_of(self.values, self.lower, self.upper)
        # Each linearised constraint may keep the part δ, in [0, 1], of its violation, at a price.
        toward = np.minimum(np.maximum(self.values, self.lower), self.upper) - self.values
        A = np.concatenate([self.slopes, np.diag(toward)], axis=1)
        P = np.zeros((n + m, n + m))
        P[:n, :n] = self.matrix
        limits = (self.lower - self.values, self.upper - self.values)
        sides = (
            np.concatenate([self.bounds[0] - self.point, np.zeros(m)]),
            np.concatenate([self.bounds[1] - self.point, np.where(gap > 0.0, 1.0, 0.0)]),
        )
        price = min(10.0 * max(1.0, largest(self.multipliers)), 1e6 * max(1.0, largest(self.gradient)))
        turns, kept, last = 0, 1.0, math.inf
        step = np.zeros(n + m)
        while turns < 6 and kept > 1e-6 and kept < 0.9 * last:
            last = kept
            costs = price * np.maximum(gap, 1e-3)
            P[n:, n:] = np.diag(1e-3 * costs)
            q = np.concatenate([self.gradient, costs])
            found = solved(Program(P, q, A, limits, sides), 1e-11, 100)
            step = found.point
            self.multipliers, self.bound_multipliers = found.multipliers, found.bound_multipliers[:n]
            kept = float(step[n:] @ gap) / max(float(np.sum(gap)), 1e-300)
            price, turns = 10.0 * price, turns + 1
        self.missed = kept * largest(gap)
        self.step = np.minimum(np.maximum(step[:n], sides[0][:n]), sides[1][:n])
        sizes = np.abs(self.multipliers)
        self.weights = np.maximum(sizes, 0.5 * (self.weights + sizes))
        self.fall = float(self.gradient @ self.step) - float(self.weights @ (gap * (1.0 - step[n:])))
        bend = self.matrix @ self.step
        self.fall = min(self.fall, -0.5 * float(self.step @ bend)) if kept <= 1e-6 else self.fall
        self.measure = max(largest(np.where(self._is_held(), 0.0, bend)), largest(gap))
        self.length, self.corrected = 1.0, False
        self.trial = self.point + self.step
        noise = 10.0 * self.eps * (abs(self.value) + 1.0)
        if -self.fall <= noise:
            self.stalls = self.stalls + 1 if self.measure >= self.flattest else 0
            self.flattest = min(self.flattest, self.measure)
        if self.measure <= self.tol:
            self.code = CONVERGED
        elif self.stalls == 5 or largest(self.step) <= self.eps * max(1.0, largest(self.point)):
            self.code = self._failure()
        elif float(np.linalg.norm(self.point)) > UNBOUNDED_LENGTH:
            self.code = UNBOUNDED

    def _is_held(self) -> np.ndarray:
        """Return which unknowns stay at a bound."""
        return ((self.point <= self.bounds[0]) | (self.point >= self.bounds[1])) & (self.step == 0.0)

    def _retry(self, values: Vector, merit: float, finite: bool) -> bool:
        """Correct the step for the curvature of the constraints (18.36), or shorten it; return whether to begin anew."""
        renew = False
        if not self.corrected and self.length == 1.0 and finite and len(values) > 0:
            self.corrected = True
            inside = np.minimum(np.maximum(values, self.lower), self.upper)
            slopes = np.where(inside != values, 1.0, 0.0)[:, None] * self.slopes
            ahead = self.trial - np.linalg.pinv(slopes) @ (values - inside)
            self.trial = np.minimum(np.maximum(ahead, self.bounds[0]), self.bounds[1])
        else:
            bend = merit - self._merit(self.value, self.values) - self.length * self.fall
            factor = -0.5 * self.length * self.fall / bend if finite and bend > 0.0 else 0.1
            self.length = self.length * min(max(factor, 0.1), 0.5)
            self.trial = self.point + self.length * self.step
            if self.length < 1e-12 and self.is_fresh:
                self.code = self._failure()
            elif self.length < 1e-12:
                self.matrix, self.is_fresh, renew = np.eye(len(self.point)), True, True
        return renew

    def _failure(self) -> int:
        """Return why no better point was found."""
        if self.measure <= 1e4 * self.tol:
            return AT_ROUNDING
        return INFEASIBLE if self.missed > math.sqrt(self.tol) else STAGNATED
