"""Steps of the extrapolation method, and the choice of its order and step size by the work per unit step.

Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.9, and the code ODEX.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant
from ..methods.extrapolation import Extrapolation
from ..problem import Problem
from .stepper import Stepper


@dataclass
class Lines:
    """The number of lines of the next step, with what it is chosen from.

    steps: those of each line. work: the evaluations of f up to each line. target: the number of lines that should do.
    """

    steps: NDArray[np.int64]
    work: NDArray[np.float64]
    target: int
    factors: NDArray[np.float64]
    """The best next step over this one, for each number of lines."""
    costs: NDArray[np.float64]
    """The work per unit step, for each number of lines."""
    count: int = 0
    """The number of lines of the last step."""
    is_first: bool = True
    is_again: bool = False
    """Whether the last step was rejected."""

    @constant
    def restart(self) -> None:
        """Begin without a step before."""
        self.is_first, self.is_again = True, False

    @constant
    def goes_on(self, count: int, error: float) -> bool:
        """Return whether another line follows the first ``count``, whose result has this error over the tolerance."""
        self.count = count
        if count == 1:
            return True
        power = 1.0 / (2 * count - 1)
        least = 0.02**power
        bounded = (max(error, 1e-15) / 0.65) ** power / 0.94 if error < 1e100 else 4.0 / least
        factor = 1.0 / min(4.0 / least, max(least, bounded))
        self.factors[count - 1] = factor
        self.costs[count - 1] = self.work[count - 1] / factor
        if error <= 1.0 and (self.is_first or count >= self.target - 1):
            return False
        if not error < 1e100 or count > self.target:
            return False
        if count == self.target - 1 and not self.is_again:
            return (
                error <= (self.steps[count + 1] * self.steps[count] / 4) ** 2
            )  # else the two lines that may follow do not do
        if count == self.target:
            return error <= (self.steps[count] / 2) ** 2
        return True

    @constant
    def total(self, errors: NDArray[Any]) -> float:
        """Return the error over the tolerance; that of values between the steps may be ten times as large."""
        return max(float(errors[0]), 0.1 * float(errors[1])) if len(errors) > 1 else float(errors[0])

    @constant
    def accepted(self, errors: NDArray[Any], safety: float) -> float:
        """Choose the number of lines after a step that was accepted; return the factor of its size."""
        last, most = self.count, len(self.steps) - 1
        best = last if last <= self.target else last - 1
        if last == 2:
            best = 2 if self.is_again else min(3, most)
        elif last <= self.target:
            if self.costs[last - 2] < 0.8 * self.costs[last - 1]:
                best = last - 1
            elif self.costs[last - 1] < 0.9 * self.costs[last - 2]:
                best = min(last + 1, most)
        else:
            if last > 3 and self.costs[last - 3] < 0.8 * self.costs[last - 2]:
                best = last - 2
            if self.costs[last - 1] < 0.9 * self.costs[best - 1]:
                best = min(last, most)
        if self.is_again:
            best = min(best, last)
        if best <= last:
            factor = self.factors[best - 1]
        elif last < self.target and self.costs[last - 1] < 0.8 * self.costs[last - 2]:
            factor = self.factors[last - 1] * self.work[best] / self.work[last - 1]
        else:
            factor = self.factors[last - 1] * self.work[best - 1] / self.work[last - 1]
        if self.is_again:
            factor = min(factor, 1.0)
        if len(errors) > 1:
            factor = min(factor, _factor(float(errors[1]), last))
        self.target = best
        self.is_first = self.is_again = False
        return float(factor)

    @constant
    def rejected(self, errors: NDArray[Any], safety: float, is_again: bool) -> float:
        """Choose the number of lines after a step that was rejected; return the factor of its size."""
        best, factor = min(self.target, self.count), 0.9
        if len(errors) > 1 and float(errors[0]) <= 1.0:
            factor = 0.9 * _factor(float(errors[1]), self.count)
        if best > 2 and self.costs[best - 2] < 0.8 * self.costs[best - 1]:
            best -= 1
        self.target = best
        self.is_again = True
        return min(float(self.factors[best - 1]), factor)


def _factor(error: float, lines: int) -> float:
    """Return the factor of the step at which the dense output of this error would be within the tolerance."""
    return max(error, 1e-15) ** (-1.0 / (2 * lines + 1))


class ExtrapolationStepper(Stepper):
    """The step of an ``Extrapolation``. The memory is f at the start of the step (n,).

    method: the method. dtype: of the state. tolerance: from which the first order follows.
    """

    is_variable_order = True

    def __init__(self, method: Extrapolation, dtype: np.dtype[Any], tolerance: float) -> None:
        self.name, self.order, self.error_order = method.name, method.order, 4
        self.method = method
        self.weights, self.differences = method.weights.astype(dtype), method.differences.astype(dtype)
        self.dense, self.shift = method.dense.astype(dtype), method.shift.astype(dtype)
        self.degree = len(self.shift)
        lines = len(method.steps)
        target = min(max(int(1.5 - 0.6 * log10(tolerance)), 2), lines - 1)
        self.orders = Lines(
            method.steps, (1 + np.cumsum(method.steps)).astype(float), target, np.ones(lines), np.ones(lines)
        )

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> NDArray[Any]:
        self.orders.restart()
        return slope

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]) -> Any:
        ends = np.zeros((len(self.weights), len(y)), y.dtype)
        middles = np.zeros_like(ends)
        slopes = np.zeros((self.method.rows, len(y)), y.dtype)
        slopes[self.method.offsets] = memory
        size, lines, place, is_going = t_new - t, 0, 1, True
        steps, row = 2, 1
        h = size / steps
        before, now = y, y + h * memory
        while is_going:
            f = problem.rhs(t_new if place == steps else t + place * h, now)
            slopes[row] = f
            row += 1
            if 2 * place == steps:
                middles[lines] = now
            if place < steps:
                before, now = now, before + 2 * h * f
                place += 1
            else:
                ends[lines] = 0.5 * (before + now + h * f)  # Gragg's smoothing step
                lines += 1
                is_going = _goes_on(self, problem, y, ends, lines)
                steps, row, place = 4 * lines + 2, row + 1, 1
                h = size / steps
                before, now = y, y + h * memory
        y_new = np.dot(self.weights[lines - 1], ends)
        error = np.dot(self.differences[lines - 1], ends)[None]
        slope = problem.rhs(t_new, y_new)
        known = np.concatenate((middles - y, size * slopes, (size * slope)[None], (y_new - y)[None]))
        if self.wants_polynomials:
            error = np.concatenate([error, np.dot(self.method.tails[lines - 1], known)[None]])
        return y_new, (slope, known, error, lines)

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return stages[2]

    def spent(self, stages: Any) -> int:
        return 2 * stages[3] ** 2 + 1

    def advance(self, stages: Any) -> NDArray[Any]:
        return stages[0]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        return np.dot(self.shift, np.dot(self.dense[stages[3] - 1], stages[1]))


@constant
def _goes_on(stepper: ExtrapolationStepper, problem: Problem, y: NDArray[Any], ends: NDArray[Any], lines: int) -> bool:
    scale = problem.atol + problem.rtol * np.maximum(np.abs(y), np.abs(np.dot(stepper.weights[lines - 1], ends)))
    ratio = np.abs(np.dot(stepper.differences[lines - 1], ends)) / scale
    return stepper.orders.goes_on(lines, sqrt(float(np.dot(ratio, ratio)) / max(ratio.size, 1)))
