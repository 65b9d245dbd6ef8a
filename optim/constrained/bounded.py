"""Minimisation within bounds: any direction, on the unknowns that are free, along the projected line.

D.P. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", SIAM J. Control Optim. 20
(1982) 221-246: unknowns at or very near a bound beyond which the negative gradient points follow the gradient, the others
the direction; the step x(α) = P(x + α d) is shortened until f falls by a part of g·(x - x(α)). Once the set of bounds
that hold has settled, this is the unconstrained method on the free unknowns.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..flatten import Vector
from ..minimise.descent import UNBOUNDED_LENGTH, check_start
from ..minimise.direction import Direction
from ..minimise.method import GradientSearch
from ..results import AT_ROUNDING, CONVERGED, RUNNING, STAGNATED, UNBOUNDED

SUFFICIENT, SHORTEST, LARGEST = 1e-4, 0.1, 0.5


class FreeUnknowns:
    """The second derivatives of a problem with respect to the free unknowns; the identity for the others."""

    def __init__(self, problem: Any, free: Any) -> None:
        self.problem, self.free = problem, free

    def hessian(self, x: Vector) -> np.ndarray:
        both = self.free[:, None] & self.free
        return np.where(both, self.problem.hessian(x), np.eye(len(x)))

    def product(self, x: Vector, v: Vector) -> Vector:
        return np.where(self.free, self.problem.product(x, np.where(self.free, v, 0.0)), v)


class BoundedDescent(GradientSearch):
    """A search along projected lines."""

    def __init__(self, direction: Direction, x: Vector, lower: Vector, upper: Vector, tol: float, eps: float) -> None:
        self.direction, self.lower, self.upper, self.tol, self.eps = direction, lower, upper, tol, eps
        self.point, self.trial = x.copy(), x.copy()
        self.gradient, self.along = np.zeros(len(x)), np.zeros(len(x))
        self.free = np.ones(len(x), dtype=bool)
        self.value = self.measure = math.inf
        self.step, self.failures, self.growth = 1.0, 0, 1.0
        self.farthest = UNBOUNDED_LENGTH * max(1.0, float(np.linalg.norm(x)))
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def begin_anew(self, tol: float) -> None:
        """Search on from the point, for another function and tolerance."""
        self.direction.forget()
        self.trial, self.tol, self.value, self.measure = self.point.copy(), tol, math.inf, math.inf
        self.is_start, self.code, self.failures, self.growth = True, RUNNING, 0, 1.0

    def learn(self, problem: Any, evaluation: tuple[float, Vector]) -> None:
        value, gradient = evaluation
        finite = math.isfinite(value) and bool(np.all(np.isfinite(gradient)))
        # The length of P(x - g) - x, without its cancellation for large x.
        downhill = np.minimum(np.maximum(-gradient, self.lower - self.trial), self.upper - self.trial)
        steepness = float(np.max(np.abs(downhill))) if finite else math.inf
        fall = float(self.gradient @ (self.point - self.trial))
        noise = 0.0 if self.is_start else 10.0 * self.eps * abs(self.value)
        taken, renew = self.is_start, self.is_start
        if self.is_start:
            check_start(value, gradient)
        elif finite and fall <= noise:  # the values agree to rounding: the gradient decides
            taken = renew = steepness < self.measure
        else:
            taken = renew = finite and value <= self.value - SUFFICIENT * fall
        self.moved = taken and not self.is_start
        if self.moved:
            y = np.where(self.free, gradient - self.gradient, 0.0)
            s = np.where(self.free, self.trial - self.point, 0.0)
            self.direction.learn(s, y, gradient)
            # Steps grow as long as no curvature is seen along them: f may decrease without bound.
            self.growth = 4.0 * self.growth if float(s @ y) <= 0.0 and self.failures == 0 else 1.0
        self.is_start = False
        if taken:
            self.point, self.value, self.gradient, self.measure = self.trial.copy(), value, gradient.copy(), steepness
            self.failures = 0
        elif fall <= noise or self.failures == 40:
            self.failures = 0
            if self.direction.is_fresh:
                self.code = AT_ROUNDING if fall <= 10.0 * noise else STAGNATED
            else:
                self.direction.forget()
                renew = True
        else:
            bend = value - self.value + fall
            factor = 0.5 * fall / bend if finite and bend > 0.0 else SHORTEST
            self.step = self.step * min(max(factor, SHORTEST), LARGEST)
            self.failures += 1
        if renew:
            self._renew(problem)
        self.trial = self._inside(self.point + self.step * self.along)
        size = float(np.linalg.norm(self.point))
        if taken and self.measure <= self.tol:
            self.code = CONVERGED
        elif size > self.farthest:
            self.code = UNBOUNDED

    def _inside(self, x: Vector) -> Vector:
        return np.minimum(np.maximum(x, self.lower), self.upper)

    def _renew(self, problem: Any) -> None:
        """Choose the free unknowns, and the direction of the next line."""
        near = min(1e-8, self.measure) * np.maximum(1.0, np.abs(self.point))
        held = ((self.point <= self.lower + near) & (self.gradient > 0.0)) | (
            (self.point >= self.upper - near) & (self.gradient < 0.0)
        )
        self.free = ~held
        slope = np.where(held, 0.0, self.gradient)
        along = np.where(held, 0.0, self.direction.along(FreeUnknowns(problem, self.free), self.point, slope))
        if not float(along @ slope) < 0.0:
            self.direction.forget()
            along = -slope
        # Unknowns that are held within rounding of their bound move onto it.
        self.along = np.where(held, -self.gradient, along)
        self.step = self.growth
        if self.direction.is_fresh:
            self.step = self.growth * min(1.0, 1.0 / max(float(np.linalg.norm(slope)), 1e-300))
