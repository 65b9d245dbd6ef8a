"""Proximal gradient methods: a gradient step of the smooth part, and the proximal operator of the other.

A. Beck and M. Teboulle, SIAM J. Imaging Sci. 2 (2009) 183-202; S.J. Wright, R.D. Nowak and M.A.T. Figueiredo, IEEE Trans. Signal
Process. 57 (2009) 2479-2493; B. O'Donoghue and E. Candès, Found. Comput. Math. 15 (2015) 715-732.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..flatten import Vector
from ..minimise.descent import UNBOUNDED_LENGTH, check_start
from ..minimise.method import GradientSearch
from ..minimise.objective import Objective
from ..results import AT_ROUNDING, CONVERGED, RUNNING, STAGNATED, UNBOUNDED
from .terms import Term

SHORTENINGS = 60
"""After this number of halvings in turn, no step is found that the model of f bounds."""


class Composite(Objective):
    """f(x) + h(x): a function with a gradient and a term with a proximal operator."""

    term: Term

    def penalty(self, x: Vector) -> float:
        """Return h at a vector."""
        return float(np.reshape(self.term.value(self.layout.structure(x)), ()))

    def prox(self, x: Vector, step: float) -> Vector:
        """Return the proximal operator of h at a vector."""
        return self.layout.vector(self.term.prox(self.layout.structure(x), step), "the proximal operator")


class ProximalMethod(ABC):
    """The settings of a method; an object, or its name, is the ``method`` of ``proximal_gradient``."""

    @abstractmethod
    def start(self, x: Vector, tol: float, eps: float) -> ProximalSearch:
        """Return the search from ``x``, which converges when no entry of the proximal gradient exceeds ``tol``."""


@dataclass(frozen=True)
class FISTA(ProximalMethod):
    """Nesterov's acceleration, begun anew where the momentum points uphill; its error falls as 1/k², or linearly."""

    def start(self, x: Vector, tol: float, eps: float) -> ProximalSearch:
        return ProximalSearch(True, x, tol, eps)


@dataclass(frozen=True)
class ISTA(ProximalMethod):
    """No acceleration; the first trial of each step has the length of Barzilai and Borwein (SpaRSA)."""

    def start(self, x: Vector, tol: float, eps: float) -> ProximalSearch:
        return ProximalSearch(False, x, tol, eps)


class ProximalSearch(GradientSearch):
    """Steps from a base point, which is ahead of the best point by the momentum.

    A step t is short enough if the parabola through f at the base, of curvature 1/t, is above f at the trial.
    """

    def __init__(self, is_accelerated: bool, x: Vector, tol: float, eps: float) -> None:
        self.is_accelerated, self.tol, self.eps = is_accelerated, tol, eps
        n = len(x)
        self.point, self.trial, self.gradient = x.copy(), x.copy(), np.zeros(n)
        self.base, self.base_value, self.base_gradient = x.copy(), math.inf, np.zeros(n)
        self.value = self.measure = math.inf
        self.step, self.momentum, self.shortenings, self.is_first = 1.0, 1.0, 0, True
        self.at_base, self.is_start = True, True
        self.farthest = UNBOUNDED_LENGTH * max(1.0, float(np.linalg.norm(x)))
        self.moved, self.code, self.iterations, self.evaluations = False, RUNNING, 0, 0

    def learn(self, problem: Composite, evaluation: tuple[float, Vector]) -> None:
        value, gradient = evaluation
        finite = math.isfinite(value) and bool(np.all(np.isfinite(gradient)))
        self.moved = False
        if self.is_start:
            check_start(value, gradient, problem.solver)
            self.value, self.gradient = value + problem.penalty(self.point), gradient.copy()
            self.step = 1.0 / max(float(np.linalg.norm(gradient)), 1e-300)
            self.step = self.step * max(1.0, float(np.linalg.norm(self.point)))
        renew = self.is_start
        self.is_start = False
        if self.at_base:
            usable = finite
            self.base_value, self.base_gradient = value, gradient.copy()
        else:
            usable = finite and self._is_bounded(value, gradient)
            self.moved = usable
        if self.moved:
            self._take(problem, value, gradient)
            renew = True
        elif self.at_base and usable:
            renew = True
        elif self.at_base:  # the momentum led out of the domain of f
            self._begin_anew()
            renew = False
        else:
            self.step = 0.5 * self.step
            self.shortenings += 1
            if self.shortenings > SHORTENINGS:
                self.code = AT_ROUNDING if self.measure <= 1e3 * self.eps / self.step else STAGNATED
            renew = True
        self._propose(problem, renew)

    def _is_bounded(self, value: float, gradient: Vector) -> bool:
        """Return whether the parabola bounds f at the trial; by gradients where rounding blurs the values."""
        d = self.trial - self.base
        bound = 0.5 * float(d @ d) / self.step
        if bound <= 1e4 * self.eps * abs(self.base_value):
            rise = 0.5 * float((gradient - self.base_gradient) @ d)
        else:
            rise = value - self.base_value - float(self.base_gradient @ d)
        return rise <= bound * (1.0 + 1e-12)

    def _take(self, problem: Composite, value: float, gradient: Vector) -> None:
        """Make the trial the best point; choose the next base and step."""
        s, d = self.trial - self.point, self.trial - self.base
        curvature = float(d @ (gradient - self.base_gradient))
        estimate = float(d @ d) / curvature if curvature > 0.0 else 4.0 * self.step
        uphill = float(-d @ s) > 0.0
        self.point, self.gradient = self.trial.copy(), gradient.copy()
        self.value, self.shortenings = value + problem.penalty(self.point), 0
        reached = self.point - problem.prox(self.point - self.step * gradient, self.step)
        self.measure = float(np.max(np.abs(reached))) / self.step
        size = float(np.max(np.abs(self.point)))
        if self.measure <= self.tol:
            self.code = CONVERGED
        elif float(np.max(np.abs(reached))) <= self.eps * size:
            self.code = AT_ROUNDING
        elif float(np.linalg.norm(self.point)) > self.farthest:
            self.code = UNBOUNDED
        if not self.is_accelerated or self.is_first:
            self.step = estimate
        elif uphill:
            self.step = 2.0 * self.step
        if not self.is_accelerated or self.is_first or uphill:
            self.momentum = 1.0
            self.base, self.base_value, self.base_gradient = self.point.copy(), value, gradient.copy()
            self.at_base = False
        else:
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self.momentum**2))
            self.base = self.point + (self.momentum - 1.0) / following * s
            self.momentum, self.at_base = following, True
        self.is_first = False

    def _begin_anew(self) -> None:
        self.momentum, self.base, self.trial = 1.0, self.point.copy(), self.point.copy()

    def _propose(self, problem: Composite, renew: bool) -> None:
        """Set the next trial: the base where f is not known there, else the step from it."""
        if self.moved and self.at_base:
            self.trial = self.base.copy()
        elif renew:
            self.trial = problem.prox(self.base - self.step * self.base_gradient, self.step)
            self.at_base = False
