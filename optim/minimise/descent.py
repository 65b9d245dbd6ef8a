"""Descent along lines: a direction, a line search, and the tests that end the search.

Where the decrease that is still possible is below the rounding of f, differences of values are rounding errors. The
search goes on while the gradient still becomes smaller. If no lower value is found along the gradient itself, the
rounding errors of f are measured there; they decide whether that is a minimum at rounding or a failure.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core import BadInput
from ..flatten import Vector
from ..results import AT_ROUNDING, CONVERGED, RUNNING, STAGNATED, UNBOUNDED
from .direction import Direction
from .line_search import LineSearch, MoreThuente
from .method import GradientSearch, Method

BEGINNING, SEARCHING, MEASURING = 0, 1, 2
UNBOUNDED_LENGTH = 1e20
"""Where x has become longer than this, times its first length, f is taken to decrease without bound."""


@dataclass(frozen=True)
class LineMethod(Method):
    """A method that searches along lines; its parts can be exchanged."""

    line_search: LineSearch = field(default_factory=MoreThuente, kw_only=True)

    @abstractmethod
    def direction(self, size: int) -> Direction:
        """Return the state of the directions for ``size`` unknowns."""

    def start(self, x: Vector, tol: float, eps: float) -> GradientSearch:
        return Descent(self.direction(len(x)), self.line_search, x, tol, eps)


class Descent(GradientSearch):
    """A search along lines."""

    def __init__(self, direction: Direction, line_search: LineSearch, x: Vector, tol: float, eps: float) -> None:
        self.direction, self.line_search, self.tol, self.eps = direction, line_search, tol, eps
        self.point, self.trial = x.copy(), x.copy()
        self.value = self.measure = math.inf
        self.farthest = UNBOUNDED_LENGTH * max(1.0, float(np.linalg.norm(x)))
        self.gradient, self.best_gradient, self.along = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
        self.line = line_search.start(0.0, -1.0, 1.0, 1.0, 0.0)
        self.phase, self.code, self.moved, self.iterations, self.evaluations = BEGINNING, RUNNING, False, 0, 0
        self.stalls, self.flattest, self.gain = 0, math.inf, math.inf
        self.first, self.noise = 1.0, 0.0
        self.samples, self.count = np.zeros(len(SPACINGS)), 0

    def learn(self, problem: Any, evaluation: tuple[float, Vector]) -> None:
        value, gradient = evaluation
        self.moved = False
        renew = False
        if self.phase == BEGINNING:
            check_start(value, gradient)
            self.value, self.gradient, renew = value, gradient.copy(), True
        elif self.phase == MEASURING:
            self.samples[self.count] = value
            self.count += 1
            if self.count == len(SPACINGS):
                measured = max(self.noise, rounding_error(self.samples))
                self.code = AT_ROUNDING if self.gain <= 10.0 * measured else STAGNATED
        else:
            self.line.learn(value, float(gradient @ self.along))
            if self.line.is_best:
                self.best_gradient = gradient.copy()
            if self.line.ended and self.line.taken > 0.0:
                step = self.line.taken * self.along
                self.direction.learn(step, self.best_gradient - self.gradient, self.best_gradient)
                self.point, self.gradient = self.point + step, self.best_gradient.copy()
                self.value = self.line.best_value
                self.moved, renew, self.gain = True, True, math.inf
            elif self.line.ended:
                if self.direction.is_fresh:
                    self.phase, self.count = MEASURING, 0
                else:  # it may be the direction that is wrong: the gradient has the last word
                    self.direction.forget()
                    renew = True
        if renew:
            self._renew(problem)
        if self.phase == MEASURING:
            self.trial = self.point + (SPACINGS[self.count % len(SPACINGS)] * self.first) * self.along
        else:
            self.trial = self.point + self.line.step * self.along

    def _renew(self, problem: Any) -> None:
        """Test whether the search has ended, or begin the next line."""
        self.measure = float(np.max(np.abs(self.gradient)))
        length = float(np.linalg.norm(self.point))
        self.noise = 10.0 * self.eps * abs(self.value)
        along = self.direction.along(problem, self.point, self.gradient)
        slope = float(self.gradient @ along)
        if not slope < 0.0:  # rounding has made the matrix indefinite
            self.direction.forget()
            along, slope = -self.gradient, -float(self.gradient @ self.gradient)
        fresh = self.direction.is_fresh
        self.first = min(1.0, 1.0 / math.sqrt(max(-slope, 1e-300))) if fresh else 1.0
        # The decrease predicted for a Newton step or, before anything is known of the Hessian, for a step as long as x.
        gain = math.sqrt(max(-slope, 0.0)) * max(1.0, length) if fresh else -0.5 * slope
        self.gain = min(self.gain, gain)
        if gain <= self.noise:
            self.stalls = self.stalls + 1 if self.measure >= self.flattest else 0
            self.flattest = min(self.flattest, self.measure)
        self.along, self.phase = along.copy(), SEARCHING
        reach = 1e3 * max(1.0, length) / max(float(np.linalg.norm(along)), 1e-300)
        self.line = self.line_search.start(self.value, slope, self.first, max(reach, self.first), self.noise)
        if self.measure <= self.tol:
            self.code = CONVERGED
        elif length > self.farthest:
            self.code = UNBOUNDED
        elif self.stalls == 3:
            self.code = AT_ROUNDING


def check_start(value: float, gradient: Vector, solver: str = "minimize") -> None:
    """Refuse a start at which f is not finite or not differentiable."""
    if not math.isfinite(value):
        raise BadInput(f"{solver}: f(x0) is {value}; expected a start at which f is finite")
    if not np.all(np.isfinite(gradient)):
        raise BadInput(f"{solver}: the gradient at x0 is not finite; expected a start at which f is differentiable")


SPACINGS = np.concatenate([spacing * np.arange(-3.0, 4.0) for spacing in (1e-3, 1e-4, 1e-5)])
"""Where the rounding errors of φ are measured: seven values each within three lengths."""


def rounding_error(samples: Vector) -> float:
    """Return the standard deviation of the rounding errors of φ near 0, from its values at ``SPACINGS``.

    Fourth differences of seven values remove the smooth part of φ and amplify the errors by √(8!)/4! (R.W. Hamming,
    Introduction to Applied Numerical Analysis, chapter 6; J.J. Moré and S.M. Wild, SIAM J. Sci. Comput. 33 (2011)
    1292-1314). Rounding errors do not depend on the spacing of the values, so the smallest of three results is taken; 0 if φ is
    not finite near 0.
    """
    differences = np.diff(samples.reshape(3, 7), 4, axis=1)  # NaN where values are infinite
    spread = np.sqrt(np.mean(differences**2, axis=1) * math.factorial(4) ** 2 / math.factorial(8))
    smallest = float(np.min(np.where(np.isfinite(spread), spread, np.inf)))
    return smallest if math.isfinite(smallest) else 0.0
