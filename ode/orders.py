"""The choice of the order of methods that have several.

Source: L. F. Shampine, M. K. Gordon, Computer Solution of Ordinary Differential Equations (1975), chapter 7; A. C.
Hindmarsh, LSODE and LSODI, two new initial value ordinary differential equation solvers, ACM SIGNUM Newsl. 15 (1980) 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..core import constant


@dataclass
class Orders:
    """The order of the next step, with what it is chosen from.

    most: the highest order. growth: the greatest ratio of neighbouring steps.
    """

    most: int
    growth: float
    order: int = 1
    waited: int = 0
    """The number of steps since the order or the step size was changed."""
    known: int = 0
    """The number of steps since the start, which bounds the order."""
    is_starting: bool = True
    """Whether the order still rises with every step."""

    @constant
    def restart(self) -> None:
        """Begin again with order 1."""
        self.order, self.waited, self.known = 1, 0, 0
        self.is_starting = True

    @constant
    def current(self) -> int:
        """Return the order of the next step."""
        return self.order

    @constant
    def total(self, errors: NDArray[Any]) -> float:
        """Return the error of the step over the tolerance."""
        return float(errors[0])

    @constant
    def accepted(self, errors: NDArray[Any], safety: float) -> float:
        """Set the order after a step whose errors (3,) at order k, k - 1 and k + 1 are given; return the factor of its size."""
        error, lower, higher = float(errors[0]), float(errors[1]), float(errors[2])
        k = self.order
        self.known += 1
        self.waited += 1
        if self.is_starting and k < self.most and self.known > k and (k < 3 or higher < error):
            self.order, self.waited = k + 1, 0
            return min(self.growth, _factor(error, k, safety))
        self.is_starting = False
        own = _factor(error, k, safety)
        if self.waited <= k:
            return min(own, 1.0) if own < 0.9 else 1.0
        down = _factor(lower, k - 1, safety) if k > 1 else 0.0
        up = _factor(higher, k + 1, safety) if k < self.most and self.known > k + 1 else 0.0
        best = max(own, down, up)
        if best < 1.1 and own >= 0.9:
            return 1.0
        if down == best and down > own:
            self.order = k - 1
        elif up == best and up > own:
            self.order = k + 1
        self.waited = 0
        return min(self.growth, best)

    @constant
    def rejected(self, errors: NDArray[Any], safety: float, is_again: bool) -> float:
        """Note a rejected step, the second one in a row lowers the order; return the factor of its size."""
        factor = _factor(float(errors[0]), self.order, safety)
        self.is_starting = False
        self.waited = 0
        if is_again and self.order > 1:
            self.order -= 1
        return factor


def _factor(error: float, order: int, safety: float) -> float:
    return safety * max(error, 1e-10) ** (-1.0 / (order + 1))
