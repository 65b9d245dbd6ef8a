"""Line searches: a step length along a descent direction, from values and slopes of φ(α) = f(x + α d).

A line search is a state machine: ``step`` is the length to evaluate, ``learn`` takes φ and φ' there, until ``ended``.
``taken`` is then the length to take, 0 if no lower value was found.

A trial with a non-finite value or slope becomes an upper bound, the wall; later steps stay below it. Where the decrease
is below the rounding of φ, only the slopes decide (the approximate Wolfe conditions of W.W. Hager and H. Zhang, SIAM J.
Optim. 16 (2005) 170-192, eq. 4.1), so that the minimum is found to full precision instead of to half of the digits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass


class Line(ABC):
    """The state of a search along one line."""

    step: float
    """The length to evaluate next."""
    best_step: float
    """The length of the lowest trial; 0 at first."""
    best_value: float
    is_best: bool
    """Whether the last trial is the lowest."""
    ended: bool
    taken: float

    @abstractmethod
    def learn(self, value: float, slope: float) -> None:
        """Take φ(step) and φ'(step)."""


class LineSearch(ABC):
    """The settings of a line search."""

    @abstractmethod
    def start(self, value: float, slope: float, first: float, longest: float, noise: float) -> Line:
        """Begin at φ(0) and φ'(0) < 0, with ``first`` as the first length and ``longest`` as the longest.

        ``noise`` is the absolute rounding error of φ.
        """


@dataclass(frozen=True)
class Backtracking(LineSearch):
    """Shorten the step until the decrease is sufficient (Armijo); each length minimises the parabola through the values.

    Source: Nocedal and Wright, Numerical Optimization, 2nd ed. (2006), algorithm 3.1 and eq. 3.57.
    """

    c1: float = 1e-4
    shortest: float = 0.1
    """The smallest and largest factor between two lengths."""
    largest: float = 0.5
    trials: int = 60

    def start(self, value: float, slope: float, first: float, longest: float, noise: float) -> Line:
        return _Backtracking(self, value, slope, min(first, longest), noise)


class _Backtracking(Line):
    def __init__(self, settings: Backtracking, value: float, slope: float, first: float, noise: float) -> None:
        self.c1, self.shortest, self.largest, self.left = (
            settings.c1,
            settings.shortest,
            settings.largest,
            settings.trials,
        )
        self.value, self.slope, self.noise = value, slope, noise
        self.step, self.best_step, self.best_value, self.taken = first, 0.0, value, 0.0
        self.is_best, self.ended = True, False

    def learn(self, value: float, slope: float) -> None:
        self.left -= 1
        self.is_best = True  # the search ends with the first trial that it takes
        decrease = self.c1 * self.slope
        finite = math.isfinite(value) and math.isfinite(slope)
        flat = (
            abs(value - self.value) <= self.noise and (2 * self.c1 - 1) * self.slope >= slope
        )  # the slope decides, at rounding
        if finite and (value <= self.value + self.step * decrease or flat):
            self.best_step, self.best_value = self.step, value
            self.taken, self.ended = self.step, True
        elif self.left == 0:
            self.ended = True
        else:
            bend = value - self.value - self.step * self.slope
            factor = self.shortest
            if finite and bend > 0.0:
                factor = min(max(-0.5 * self.slope * self.step / bend, self.shortest), self.largest)
            self.step = self.step * factor


@dataclass(frozen=True)
class MoreThuente(LineSearch):
    """Find a length that satisfies the strong Wolfe conditions, by safeguarded cubic and quadratic interpolation.

        φ(α) <= φ(0) + c1 α φ'(0)      (sufficient decrease)
        |φ'(α)| <= c2 |φ'(0)|          (curvature: the slope has nearly vanished)

    Source: J.J. Moré and D.J. Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM Trans. Math.
    Software 20 (1994) 286-307.
    """

    c1: float = 1e-4
    c2: float = 0.9
    trials: int = 40
    """The largest number of evaluations along one line."""

    def start(self, value: float, slope: float, first: float, longest: float, noise: float) -> Line:
        return _MoreThuente(self, value, slope, first, longest, noise)


class _MoreThuente(Line):
    def __init__(
        self, settings: MoreThuente, value: float, slope: float, first: float, longest: float, noise: float
    ) -> None:
        self.c1, self.c2, self.left = settings.c1, settings.c2, settings.trials
        self.value, self.slope, self.longest, self.noise = value, slope, longest, noise
        self.step = min(first, longest)
        self.best_step, self.best_value, self.best_slope = 0.0, value, slope
        self.other_step, self.other_value, self.other_slope = 0.0, value, slope
        self.bracketed, self.relaxed, self.is_best = False, True, False
        self.width, self.width_before = longest, 2 * longest
        self.lower, self.upper, self.wall = 0.0, 5 * first, math.inf
        self.ended, self.taken = False, 0.0

    def learn(self, value: float, slope: float) -> None:
        self.left -= 1
        self.is_best = False
        step, decrease = self.step, self.c1 * self.slope
        finite = math.isfinite(value) and math.isfinite(slope)
        enough = value <= self.value + step * decrease
        flat = abs(value - self.value) <= self.noise
        met = (enough and abs(slope) <= -self.c2 * self.slope) or (
            flat and (2 * self.c1 - 1) * self.slope >= slope >= self.c2 * self.slope
        )
        if finite and (met or (step >= self.longest and enough and slope <= decrease)):
            self.best_step, self.best_value, self.is_best = step, value, True
            self.taken, self.ended = step, True
        else:
            if finite:
                self._narrow(value, slope, enough)
            else:
                self.wall = step
                self.step = self.best_step + 0.25 * (step - self.best_step)
                self.upper = min(self.upper, self.best_step + 0.9 * (step - self.best_step))
            if self.left == 0:
                self.ended = True
            if self.ended and self.best_value < self.value:
                self.taken = self.best_step

    def _narrow(self, value: float, slope: float, enough: bool) -> None:
        """Choose the next length, and the interval that holds it (section 4, cases 1 to 4)."""
        step, decrease = self.step, self.c1 * self.slope
        # Until a step with sufficient decrease and a rising slope is found, minimise φ(α) - c1 α φ'(0) instead of φ:
        # its minimiser has sufficient decrease.
        self.relaxed = self.relaxed and not (enough and slope >= 0)
        tilt = decrease if self.relaxed and value <= self.best_value and not enough else 0.0
        ax, fx, dx = self.best_step, self.best_value - tilt * self.best_step, self.best_slope - tilt
        ay, fy, dy = self.other_step, self.other_value - tilt * self.other_step, self.other_slope - tilt
        a, f, d = step, value - tilt * step, slope - tilt
        opposite = d * math.copysign(1.0, dx) < 0.0
        higher, flatter = f > fx, abs(d) < abs(dx)
        closing = self.bracketed and not (higher or opposite or flatter)  # case 4 interpolates with the other end

        # The minimiser of the cubic through two points, as a distance from the first: in case 1 this is the best point,
        # else the trial; in case 4 the second is the other end of the interval.
        p0, f0, d0 = (ax, fx, dx) if higher else (a, f, d)
        p1, f1, d1 = (a, f, d) if higher else (ay, fy, dy) if closing else (ax, fx, dx)
        theta = 3.0 * (f1 - f0) / (p0 - p1) + d1 + d0
        scale = max(abs(theta), abs(d0), abs(d1), 1e-300)
        radicand = (theta / scale) * (theta / scale) - (d1 / scale) * (d0 / scale)
        gamma = scale * math.sqrt(max(radicand, 0.0))
        gamma = -gamma if p0 > p1 else gamma
        denominator = ((gamma - d0) + gamma) + d1
        ratio = ((gamma - d0) + theta) / denominator if denominator != 0.0 else 0.5
        cubic = p0 + ratio * (p1 - p0)
        fall = d - dx
        secant = a + d / fall * (ax - a) if fall != 0.0 else a
        if higher:  # Case 1: the value is higher, so a minimum lies between.
            bend = (fx - f) / (a - ax) + dx
            quadratic = ax + 0.5 * (dx / bend) * (a - ax) if bend != 0.0 else 0.5 * (ax + a)
            next_step = cubic if abs(cubic - ax) < abs(quadratic - ax) else cubic + 0.5 * (quadratic - cubic)
        elif opposite:  # Case 2: lower, and the slope has changed sign.
            next_step = cubic if abs(cubic - a) > abs(secant - a) else secant
        elif flatter:  # Case 3: lower, same sign, flatter: the cubic may have no minimum in this direction.
            ahead = self.upper if a > ax else self.lower
            cubic = cubic if ratio < 0.0 and gamma != 0.0 else ahead  # else no minimum ahead
            nearer = abs(cubic - a) < abs(secant - a)
            next_step = cubic if nearer == self.bracketed else secant
            limit = a + 0.66 * (ay - a)
            if not self.bracketed:
                next_step = min(max(next_step, self.lower), self.upper)
            elif a > ax:
                next_step = min(limit, next_step)
            else:
                next_step = max(limit, next_step)
        else:  # Case 4: lower, same sign, no flatter.
            ahead = self.upper if a > ax else self.lower
            next_step = cubic if closing else ahead
        self.bracketed = self.bracketed or higher or opposite

        if higher:
            self.other_step, self.other_value, self.other_slope = step, value, slope
        else:
            if opposite:
                self.other_step, self.other_value, self.other_slope = self.best_step, self.best_value, self.best_slope
            self.best_step, self.best_value, self.best_slope, self.is_best = step, value, slope, True
        if self.bracketed:
            if abs(self.other_step - self.best_step) >= 0.66 * self.width_before:
                next_step = self.best_step + 0.5 * (self.other_step - self.best_step)
            self.width_before, self.width = self.width, abs(self.other_step - self.best_step)
            self.lower, self.upper = min(self.best_step, self.other_step), max(self.best_step, self.other_step)
            if self.upper - self.lower <= 1e-15 * self.upper or not self.lower < next_step < self.upper:
                self.ended = True
        else:
            self.lower = next_step + 1.1 * (next_step - self.best_step)
            self.upper = next_step + 4.0 * (next_step - self.best_step)
            next_step = min(next_step, self.longest, self.best_step + 0.9 * (self.wall - self.best_step))
            if next_step == step:
                self.ended = True
        self.step = next_step
