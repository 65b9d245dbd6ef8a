"""Methods for systems of equations: Newton's, with the Jacobian at each point, updated, or kept; steps are shortened
until they reduce the norm of f.

J.E. Dennis and R.B. Schnabel, Numerical Methods for Unconstrained Optimization and Nonlinear Equations (1996), chapters 6
and 8.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..flatten import Vector
from ..least_squares.losses import linear
from ..least_squares.methods import FitSearch, LevenbergMarquardt
from ..loop import Search
from ..results import AT_ROUNDING, CONVERGED, RUNNING, STAGNATED
from .equations import Equations
from .linearisations import Exact, Kept, Linearisation, Updated


class RootSearch(Search):
    """A search that evaluates f."""

    residual: Vector
    """f at ``point``."""


class RootMethod(ABC):
    """The settings of a method; an object, or its name for the default settings, is the ``method`` of ``root``."""

    @abstractmethod
    def start(self, x: Vector, tol: float, eps: float) -> RootSearch:
        """Return the search from ``x``, which converges when no entry of f exceeds ``tol``."""


@dataclass(frozen=True)
class LinearisedMethod(RootMethod):
    """The settings of all Newton-like methods."""

    damped: bool = True
    """Whether steps that do not reduce the norm of f are shortened."""

    @abstractmethod
    def linearisation(self, size: int) -> Linearisation:
        """Return the linear model for ``size`` unknowns."""

    def start(self, x: Vector, tol: float, eps: float) -> RootSearch:
        return NewtonSearch(self.linearisation(len(x)), self.damped, x, tol, eps)


@dataclass(frozen=True)
class Newton(LinearisedMethod):
    """Newton's method: the Jacobian at each point, O(n³) per step; converges quadratically."""

    def linearisation(self, size: int) -> Linearisation:
        return Exact(size)


@dataclass(frozen=True)
class Broyden(LinearisedMethod):
    """Broyden's method: a rank-one update of the inverse, O(n²) per step; the Jacobian at the start and where that fails.

    Source: C.G. Broyden, Math. Comp. 19 (1965) 577-593.
    """

    def linearisation(self, size: int) -> Linearisation:
        return Updated(size)


@dataclass(frozen=True)
class Chord(LinearisedMethod):
    """The chord method: the Jacobian of the start is kept, and computed anew where that fails."""

    def linearisation(self, size: int) -> Linearisation:
        return Kept(size)


@dataclass(frozen=True)
class TrustRegionNewton(RootMethod):
    """Levenberg-Marquardt for the sum of squares of f: for far starts, and Jacobians that become singular."""

    radius: float = 0.1

    def start(self, x: Vector, tol: float, eps: float) -> RootSearch:
        return SquaresSearch(self.radius, x, tol, eps)


class NewtonSearch(RootSearch):
    """Newton-like steps, shortened where the norm of f does not fall."""

    def __init__(self, linearisation: Linearisation, damped: bool, x: Vector, tol: float, eps: float) -> None:
        self.linearisation, self.damped, self.tol, self.eps = linearisation, damped, tol, eps
        self.point, self.trial = x.copy(), x.copy()
        self.residual, self.step = np.zeros(len(x)), np.zeros(len(x))
        self.value = self.measure = math.inf
        self.length, self.farthest = 1.0, 1e20 * max(1.0, float(np.linalg.norm(x)))
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def learn(self, problem: Equations, evaluation: Vector) -> None:
        there = evaluation
        finite = problem.is_finite(there, self.is_start)
        norm = float(np.linalg.norm(there))
        lower = finite and (norm <= (1.0 - 1e-4 * self.length) * self.value or not self.damped)
        taken, renew, fresh = self.is_start or lower, self.is_start, self.linearisation.is_fresh
        shortened = self.length
        if lower and not self.is_start:
            renew = self.linearisation.learn(self.trial - self.point, there - self.residual)
        elif not self.is_start and not fresh:
            renew = True
        elif not self.is_start:
            # The minimiser of the parabola through |f|² here and there, with the slope -2 |f|² of a Newton step.
            square = self.value**2
            bend = norm**2 - square + 2.0 * square * self.length
            factor = square * self.length / bend if finite and bend > 0.0 else 0.1
            shortened = self.length * min(max(factor, 0.1), 0.5)
        self.moved = taken and not self.is_start
        self.is_start = False
        if taken:
            self.point, self.residual = self.trial.copy(), there.copy()
            self.value, self.measure = norm, float(np.max(np.abs(there)))
        if renew:
            self.linearisation.renew(problem, self.point)
        size = float(np.linalg.norm(self.point))
        if taken or renew:
            self.step, self.length = self.linearisation.step(self.residual), 1.0
        else:
            self.length = shortened
        reach = float(np.linalg.norm(self.step))
        if self.measure <= self.tol:
            self.code = CONVERGED
        elif not math.isfinite(reach) or size > self.farthest or (self.length * reach <= self.eps * size and not taken):
            # Rounding keeps f from the tolerance if rounding x changes it as much.
            self.code = AT_ROUNDING if self.value <= 1e3 * self.eps * self.linearisation.norm * size else STAGNATED
        elif self.length < 1e-12:
            self.code = STAGNATED
        self.trial = self.point + self.length * self.step


class SquaresSearch(RootSearch):
    """A fit of f to zero, which has converged where f vanishes."""

    def __init__(self, radius: float, x: Vector, tol: float, eps: float) -> None:
        n = len(x)
        unbounded = np.full(n, np.inf)
        self.fit = FitSearch(LevenbergMarquardt(radius), x, n, -unbounded, unbounded, False, linear, 1.0, 1e-14, eps)
        self.tol = tol
        self.point, self.trial, self.residual = x.copy(), x.copy(), np.zeros(n)
        self.value = self.measure = math.inf
        self.moved, self.code, self.iterations, self.evaluations = False, RUNNING, 0, 0

    def learn(self, problem: Equations, evaluation: Vector) -> None:
        self.fit.learn(problem, evaluation)
        self.moved, self.code = self.fit.moved, self.fit.code
        self.point, self.residual, self.trial = self.fit.point.copy(), self.fit.residual.copy(), self.fit.trial.copy()
        self.value, self.measure = float(np.linalg.norm(self.residual)), float(np.max(np.abs(self.residual)))
        if self.measure <= self.tol:
            self.code = CONVERGED
        elif self.code != RUNNING:  # a minimum of the norm at which f does not vanish
            self.code = STAGNATED
