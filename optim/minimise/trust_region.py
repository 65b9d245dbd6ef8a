"""Trust regions: the step minimises a quadratic model within a radius that grows and shrinks with the model's success.

J. Nocedal and S.J. Wright, Numerical Optimization, 2nd ed. (2006), chapter 4. Where the decrease that the model
predicts is below the rounding of f, the norm of the gradient decides whether a step is taken.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..flatten import Vector
from ..results import AT_ROUNDING, CONVERGED, RUNNING, STAGNATED, UNBOUNDED
from .descent import UNBOUNDED_LENGTH, check_start
from .method import GradientSearch, Method
from .quadratic_models import DoglegModel, ExactModel, KrylovModel, QuadraticModel, RankOneModel


@dataclass(frozen=True)
class TrustRegionMethod(Method):
    """The settings of all trust regions."""

    radius: float = 1.0
    """The first radius."""

    @abstractmethod
    def model(self, size: int) -> QuadraticModel:
        """Return the model for ``size`` unknowns."""

    def start(self, x: Vector, tol: float, eps: float) -> GradientSearch:
        return TrustRegionSearch(self.model(len(x)), x, tol, eps, self.radius)


@dataclass(frozen=True)
class TrustRegion(TrustRegionMethod):
    """The Hessian as the model, minimised exactly from its eigenvalues; moves off saddle points. O(n³) per step.

    Source: J.J. Moré and D.C. Sorensen, SIAM J. Sci. Stat. Comput. 4 (1983) 553-572.
    """

    def model(self, size: int) -> QuadraticModel:
        return ExactModel(size)


@dataclass(frozen=True)
class Dogleg(TrustRegionMethod):
    """The Hessian as the model, minimised along the dogleg path; a Hessian that is not positive definite is shifted.

    Source: M.J.D. Powell, in P. Rabinowitz (ed.), Numerical Methods for Nonlinear Algebraic Equations (1970) 87-114.
    """

    def model(self, size: int) -> QuadraticModel:
        return DoglegModel(size)


@dataclass(frozen=True)
class TrustKrylov(TrustRegionMethod):
    """The model is minimised by conjugate gradients up to the boundary, from products with the Hessian only.

    Source: T. Steihaug, SIAM J. Numer. Anal. 20 (1983) 626-637.
    """

    def model(self, size: int) -> QuadraticModel:
        return KrylovModel()


@dataclass(frozen=True)
class SR1(TrustRegionMethod):
    """The symmetric rank-one update as the model; needs no second derivatives.

    Source: A.R. Conn, N.I.M. Gould and Ph.L. Toint, Math. Prog. 50 (1991) 177-195; Nocedal and Wright, algorithm 6.2.
    """

    def model(self, size: int) -> QuadraticModel:
        return RankOneModel(size)


class TrustRegionSearch(GradientSearch):
    """A search by steps within a radius."""

    def __init__(self, model: QuadraticModel, x: Vector, tol: float, eps: float, radius: float) -> None:
        self.model, self.tol, self.eps, self.radius, self.first_radius = model, tol, eps, radius, radius
        self.failures = 0
        """How often the model has been begun anew at this point."""
        self.point, self.trial, self.gradient = x.copy(), x.copy(), np.zeros(len(x))
        self.value = self.measure = math.inf
        self.farthest = UNBOUNDED_LENGTH * max(1.0, float(np.linalg.norm(x)))
        self.predicted = 0.0
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: tuple[float, Vector]) -> None:
        value, gradient = evaluation
        step = self.trial - self.point
        length = float(np.linalg.norm(step))
        noise = 10.0 * self.eps * abs(self.value) if not self.is_start else 0.0
        finite = math.isfinite(value) and bool(np.all(np.isfinite(gradient)))
        steepness = float(np.max(np.abs(gradient)))
        taken = self.is_start
        if self.is_start:
            check_start(value, gradient)
        else:
            if finite:
                self.model.learn(step, gradient - self.gradient)
            if finite and self.predicted <= noise:
                taken = steepness < self.measure
                if not taken and self.model.is_exact or self.failures == 2:
                    self.code = AT_ROUNDING if length < 0.9 * self.radius else STAGNATED
                elif not taken:
                    self.model.forget()
                    self.radius = self.first_radius
                    self.failures += 1
            else:
                ratio = (self.value - value) / max(self.predicted, 1e-300) if finite else -1.0
                taken = ratio > 1e-4
                if ratio < 0.25:
                    self.radius = 0.25 * min(length, self.radius)
                elif ratio > 0.75 and length > 0.8 * self.radius:
                    self.radius = 2.0 * self.radius
        self.moved = taken and not self.is_start
        self.is_start = False
        size = float(np.linalg.norm(self.trial))
        if taken:
            self.failures = 0
            self.point, self.value, self.gradient, self.measure = self.trial.copy(), value, gradient.copy(), steepness
            self.model.renew(problem, self.point, self.gradient)
            if steepness <= self.tol:
                self.code = CONVERGED
            elif size > self.farthest:
                self.code = UNBOUNDED
        elif self.code == RUNNING and self.radius <= 1e-15 * max(size, 1e-300):
            self.code = STAGNATED
        step, self.predicted = self.model.step(problem, self.point, self.gradient, self.radius)
        self.trial = self.point + step
