"""Methods for one equation in one unknown from a guess: Newton's, Halley's and those of higher order, and the secant's.

A.S. Householder, The Numerical Treatment of a Single Nonlinear Equation (1970), section 4.4: the step of order d is
``d (1/f)⁽ᵈ⁻¹⁾ / (1/f)⁽ᵈ⁾``. The Taylor coefficients of 1/f follow from those of f, which one run in Taylor mode gives.
"""

from __future__ import annotations

import math
from typing import Any

from ...core import BadInput
from ..loop import Search
from ..results import CONVERGED, RUNNING, STAGNATED

ORDERS = {"newton": 1, "halley": 2, "householder": 3, "secant": 0}


class OpenSearch(Search):
    """Householder's steps of an order; with order 0, secants."""

    def __init__(self, x: float, order: int, xtol: float, rtol: float) -> None:
        self.order, self.xtol, self.rtol = order, xtol, rtol
        self.point, self.trial, self.residual = x, x, 0.0
        self.before, self.value_before = x, 0.0
        self.value = self.measure = math.inf
        self.moved, self.code, self.iterations, self.evaluations = False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: tuple[float, ...]) -> None:
        value = evaluation[0]
        is_start = self.evaluations == 0
        if is_start and not math.isfinite(value):
            raise BadInput(f"root_scalar: f(x0) is {value}; expected a start at which f is finite")
        self.before, self.value_before = self.point, self.residual
        self.point, self.residual, self.value = self.trial, value, abs(value)
        self.moved = not is_start
        step = math.nan
        if self.order == 0:
            rise = value - self.value_before
            if is_start:
                step = 1e-4 * max(abs(self.point), 1.0)
            elif rise != 0.0:
                step = -value * (self.point - self.before) / rise
        elif value != 0.0:
            step = householder_step(evaluation)
        self.measure = abs(step)
        if value == 0.0 or (
            self.measure <= self.xtol + self.rtol * abs(self.point) and not (is_start and self.order == 0)
        ):
            self.code = CONVERGED
            step = 0.0 if value == 0.0 else step
        elif not math.isfinite(step) or not math.isfinite(value):
            self.code = STAGNATED
            step = 0.0
        self.trial = self.point + step


def householder_step(series: tuple[float, ...]) -> float:
    """Return the step from the Taylor coefficients of f, f(x) != 0 first; NaN where it is not defined."""
    reciprocal = [1.0 / series[0]]
    for k in range(1, len(series)):
        reciprocal.append(-sum(series[j] * reciprocal[k - j] for j in range(1, k + 1)) / series[0])
    last = reciprocal[-1]
    return reciprocal[-2] / last if last != 0.0 else math.nan
