"""Global searches by many local ones: basin hopping and multistart, for functions with a gradient.

D.J. Wales and J.P.K. Doye, J. Phys. Chem. A 101 (1997) 5111-5116; A.H.G. Rinnooy Kan and G.T. Timmer, Math. Program. 39 (1987) 27-78.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core import BadInput, random
from .constrained.bounded import BoundedDescent
from .derivative_free.method import GlobalMethod, ValueSearch
from .derivative_free.populations import latin_hypercube
from .flatten import Vector
from .minimise.quasi_newton import StoredSteps
from .results import CONVERGED, RUNNING, UNBOUNDED

MEMORY, LOCAL_ITERATIONS = 10, 1000
LOCAL = 1e-3
"""The tolerance of the gradient of a local search, in relation to ``tol``."""
SAME = 1e-8
"""Minima whose values differ by less than this, relative to them or to 1, count as one."""
ADAPTATION = 10
"""After this number of local searches the displacement is adapted."""


@dataclass(frozen=True)
class BasinHopping(GlobalMethod):
    """Local searches from displaced minima; a higher minimum is taken with the probability exp(-rise / temperature).

    ``step`` is the largest displacement in relation to the box; it follows the part of minima that are taken, towards a half. The search has
    converged after ``patience`` local searches in turn that found no lower minimum.
    """

    step: float = 0.15
    temperature: float = 1.0
    patience: int = 50
    needs_gradient: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (self.step > 0 and self.temperature >= 0 and self.patience >= 1):
            raise BadInput(f"BasinHopping: {self}; expected a positive step and patience, and no negative temperature")

    def start(self, lower: Vector, upper: Vector, tol: float, seed: int) -> ValueSearch:
        return HoppingSearch(self, lower, upper, tol, seed)


@dataclass(frozen=True)
class MultiStart(GlobalMethod):
    """Local searches from ``starts`` points of a Latin hypercube; the search has converged after the last."""

    starts: int = 30
    needs_gradient: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.starts < 1:
            raise BadInput(f"MultiStart: starts is {self.starts!r}, expected 1 or more")

    def start(self, lower: Vector, upper: Vector, tol: float, seed: int) -> ValueSearch:
        return StartsSearch(self.starts, lower, upper, tol, seed)


class LocalSearches(ValueSearch):
    """One local search after another; an iteration is a whole local search."""

    def __init__(self, first: Vector, lower: Vector, upper: Vector, tol: float, generator: random.Generator) -> None:
        self.lower, self.upper, self.tol, self.generator = lower, upper, LOCAL * tol, generator
        eps = float(np.finfo(np.float64).eps)
        self.local = BoundedDescent(StoredSteps(len(lower), MEMORY), first, lower, upper, self.tol, eps)
        self.point, self.trial = first.copy(), first.copy()
        self.value = self.measure = math.inf
        self.moved, self.code, self.iterations, self.evaluations = False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: tuple[float, Vector]) -> None:
        value, gradient = evaluation
        fails = self.local.is_start and not (math.isfinite(value) and bool(np.all(np.isfinite(gradient))))
        if not fails:
            self.local.learn(problem, evaluation)
            if self.local.moved:
                self.local.iterations += 1
        self.moved = fails or self.local.code != RUNNING or self.local.iterations >= LOCAL_ITERATIONS
        if self.moved:
            found = math.inf if fails else self.local.value
            if found < self.value:
                self.point, self.value = self.local.point.copy(), found
            start = self.following(found)
            if not fails and self.local.code == UNBOUNDED:
                self.code = UNBOUNDED
            self.local.point, self.local.iterations = start.copy(), 0
            self.local.begin_anew(self.tol)
        self.trial = self.local.trial.copy()

    @abstractmethod
    def following(self, found: float) -> Vector:
        """Take the value of the local minimum that was found; return where the next local search begins."""


class HoppingSearch(LocalSearches):
    """``current`` is the minimum, of value ``level``, from which the next displacement is measured."""

    def __init__(self, method: BasinHopping, lower: Vector, upper: Vector, tol: float, seed: int) -> None:
        generator = random.Generator(seed)
        first = lower + (upper - lower) * generator.random(len(lower))
        super().__init__(first, lower, upper, tol, generator)
        self.temperature, self.patience, self.step = method.temperature, method.patience, method.step
        self.current, self.level, self.least = first.copy(), math.inf, math.inf
        self.waited, self.taken = 0, 0

    def following(self, found: float) -> Vector:
        margin = SAME * max(1.0, abs(found)) if math.isfinite(found) else 0.0
        self.waited = 0 if found < self.least - margin else self.waited + 1
        self.least = min(self.least, found)
        self.measure = float(self.patience - self.waited)
        rise = max(found - self.level, 0.0) if math.isfinite(found) else math.inf
        chance = math.exp(-min(rise / max(self.temperature, 1e-300), 700.0))
        if not math.isfinite(self.level) or float(self.generator.random()) < chance:
            self.current, self.level = self.local.point.copy(), found
            self.taken += 1
        if (self.iterations + 1) % ADAPTATION == 0:
            self.step = min(self.step / 0.9 if 2 * self.taken > ADAPTATION else self.step * 0.9, 0.5)
            self.taken = 0
        if self.measure <= 0.0:
            self.code = CONVERGED
        width = self.upper - self.lower
        displaced = self.current + self.step * width * self.generator.uniform(-1.0, 1.0, len(width))
        return np.minimum(np.maximum(displaced, self.lower), self.upper)


class StartsSearch(LocalSearches):
    """``ahead`` holds the starts of all local searches."""

    def __init__(self, starts: int, lower: Vector, upper: Vector, tol: float, seed: int) -> None:
        generator = random.Generator(seed)
        self.ahead = lower + (upper - lower) * latin_hypercube(generator, starts, len(lower))
        super().__init__(self.ahead[0], lower, upper, tol, generator)

    def following(self, found: float) -> Vector:
        done = self.iterations + 1
        self.measure = float(len(self.ahead) - done)
        if done >= len(self.ahead):
            self.code = CONVERGED
        return self.ahead[min(done, len(self.ahead) - 1)]
