"""Powell's method of conjugate directions.

M.J.D. Powell, Comput. J. 7 (1964) 155-162; the rule for the direction that is replaced is that of W.H. Press et al., Numerical
Recipes (2007), section 10.7. Along each direction, three values bracket a minimum, which steps of successive parabolic interpolation
and golden sections narrow (R.P. Brent, Algorithms for Minimization without Derivatives, 1973, chapter 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..flatten import Vector
from ..results import CONVERGED, RUNNING
from .method import ValueMethod, ValueSearch

BEGINNING, BRACKETING, NARROWING, LOOKING = 0, 1, 2, 3
GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))


@dataclass(frozen=True)
class Powell(ValueMethod):
    """Minimises along n directions in turn, and replaces one by the direction of the whole turn.

    ``size`` is the first length of a step in relation to x.
    """

    size: float = 0.1

    def start(self, x: Vector, lower: Vector, upper: Vector, tol: float) -> ValueSearch:
        return DirectionsSearch(self.size, x, lower, upper, tol)


class DirectionsSearch(ValueSearch):
    """The line is ``origin + t direction`` with t in [low, high]; (a, m, b) brackets its minimum."""

    def __init__(self, size: float, x: Vector, lower: Vector, upper: Vector, tol: float) -> None:
        self.lower, self.upper, self.tol = lower, upper, tol
        self.directions = np.diag(size * np.maximum(1.0, np.abs(x)))
        self.point = np.minimum(np.maximum(x, lower), upper)
        self.trial, self.origin, self.direction = self.point.copy(), self.point.copy(), self.directions[0].copy()
        self.turn_start, self.turn_value = self.point.copy(), math.inf
        self.value = self.measure = math.inf
        self.index, self.steepest, self.largest_fall = 0, 0, 0.0
        self.a = self.m = self.b = self.t = 0.0
        self.fa = self.fm = self.fb = math.inf
        self.low, self.high, self.narrowings = -math.inf, math.inf, 0
        self.extrapolated = math.inf
        self.before, self.last = 0.0, 0.0
        self.is_extra = False
        self.phase, self.moved, self.code, self.iterations, self.evaluations = BEGINNING, False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: float) -> None:
        value = evaluation if math.isfinite(evaluation) else math.inf
        self.moved = False
        ended = False
        begin = False
        if self.phase == BEGINNING:
            self.value = self.turn_value = value
            begin = True
        elif self.phase == LOOKING:
            begin = True
            self._replace(value)
        elif self.phase == BRACKETING:
            ended = self._bracket(value)
        else:
            ended = self._narrow(value)
        if ended:
            begin = self._arrive()
        if begin:
            self._begin_line()
        if self.phase == LOOKING:
            ahead = 2.0 * self.point - self.turn_start
            self.trial = np.minimum(np.maximum(ahead, self.lower), self.upper)
        else:
            inside = np.minimum(np.maximum(self.origin + self.t * self.direction, self.lower), self.upper)
            self.trial = inside

    def _begin_line(self) -> None:
        """Begin the search along the present direction."""
        self.origin = self.point.copy()
        d = self.direction
        moving = d != 0.0
        step = np.where(moving, d, 1.0)
        one = np.where(moving, (self.lower - self.origin) / step, -np.inf)
        other = np.where(moving, (self.upper - self.origin) / step, np.inf)
        self.low = min(float(np.max(np.minimum(one, other))), 0.0)
        self.high = max(float(np.min(np.maximum(one, other))), 0.0)
        self.a = self.m = 0.0
        self.fa = self.fm = self.value
        self.fb, self.before = math.inf, self.value
        self.t = 1.0 if self.high >= 1.0 else (self.high if self.high >= -self.low else max(self.low, -1.0))
        self.b, self.narrowings = self.t, 0
        self.phase = BRACKETING

    def _bracket(self, value: float) -> bool:
        """Go downhill in growing steps until the value rises; return whether the line has ended at a bound."""
        ended = False
        if value < self.fm:
            self.a, self.fa = self.m, self.fm
            self.m, self.fm = self.t, value
            ahead = self.m + (self.m - self.a) * 1.618
            self.t = min(max(ahead, self.low), self.high)
            ended = self.t == self.m
        elif self.a == self.m:  # uphill at once: the minimum may be on the other side
            self.b, self.fb = self.t, value
            back = min(max(-self.t, self.low), self.high)
            self.a, self.fa = self.t, value
            self.t = back
            if back == 0.0:
                self.b, self.fb = 0.0, self.fm
                self.phase = NARROWING
                self._divide()
        else:
            self.b, self.fb = self.t, value
            self.phase = NARROWING
            self._divide()
        return ended

    def _narrow(self, value: float) -> bool:
        """Replace an end of the bracket; return whether it is narrow enough."""
        if value < self.fm:
            if (self.t - self.m) * (self.b - self.m) > 0.0:
                self.a, self.fa = self.m, self.fm
            else:
                self.b, self.fb = self.m, self.fm
            self.m, self.fm = self.t, value
        elif (self.t - self.m) * (self.b - self.m) > 0.0:
            self.b, self.fb = self.t, value
        else:
            self.a, self.fa = self.t, value
        self.narrowings += 1
        self._divide()
        width = abs(self.b - self.a) * float(np.max(np.abs(self.direction)))
        size = max(1.0, float(np.max(np.abs(self.origin))))
        return width <= math.sqrt(self.tol) * 0.1 * size or self.narrowings >= 40

    def _divide(self) -> None:
        """Choose the next t: the vertex of the parabola if it is well inside, else a golden section of the longer part."""
        p = (self.m - self.a) * (self.fm - self.fb)
        q = (self.m - self.b) * (self.fm - self.fa)
        bottom = 2.0 * (p - q)
        vertex = self.m - ((self.m - self.a) * p - (self.m - self.b) * q) / bottom if bottom != 0.0 else math.inf
        least, most = min(self.a, self.b), max(self.a, self.b)
        margin = 1e-3 * (most - least)
        good = least + margin < vertex < most - margin and abs(vertex - self.m) > 0.1 * margin
        part = self.b if abs(self.b - self.m) > abs(self.a - self.m) else self.a
        self.t = vertex if good and self.narrowings % 3 < 2 else self.m + GOLDEN * (part - self.m)

    def _arrive(self) -> bool:
        """Take the minimum of a line; return whether another line begins."""
        n = len(self.point)
        if self.fm < self.value:
            self.point = np.minimum(np.maximum(self.origin + self.m * self.direction, self.lower), self.upper)
            self.value = self.fm
        fall = self.before - self.value
        if self.is_extra:
            self.is_extra = False
            return self._next_turn()
        if fall > self.largest_fall:
            self.largest_fall, self.steepest = fall, self.index
        self.index += 1
        if self.index < n:
            self.direction = self.directions[self.index].copy()
            return True
        self.phase = LOOKING
        return False

    def _replace(self, value: float) -> None:
        """Decide whether the direction of the whole turn replaces the one along which f fell most."""
        total = self.turn_value - self.value
        worth = 2.0 * (self.turn_value - 2.0 * self.value + value) * (total - self.largest_fall) ** 2
        along = self.point - self.turn_start
        if (
            value < self.turn_value
            and worth < self.largest_fall * (self.turn_value - value) ** 2
            and bool(np.any(along != 0.0))
        ):
            self.directions[self.steepest] = self.directions[-1].copy()
            self.directions[-1] = along
            self.direction = along.copy()
            self.is_extra = True
        else:
            self._next_turn()

    def _next_turn(self) -> bool:
        """Test whether the search has ended, and begin the next turn."""
        moved = np.abs(self.point - self.turn_start) / np.maximum(1.0, np.abs(self.point))
        self.measure = float(np.max(moved))
        fall = self.turn_value - self.value
        if self.measure <= self.tol or 2.0 * fall <= 1e-3 * self.tol**2 * (abs(self.value) + abs(self.turn_value)):
            self.code = CONVERGED
        self.moved = True
        self.turn_start, self.turn_value = self.point.copy(), self.value
        self.index, self.largest_fall, self.steepest = 0, 0.0, 0
        self.direction = self.directions[0].copy()
        return True
