"""Steps of the Taylor-series method.

With f along the series of the solution, y' = f gives one coefficient after the other: (k + 1) y_(k+1) = f_k. The size of a
step follows from its last two coefficients, before it is made.

Source: A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods,
Experimental Mathematics 14 (2005) 99, section 3.2.
"""

from __future__ import annotations

from math import exp, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant, taylor
from ..problem import Problem
from .stepper import Stepper


class TaylorStepper(Stepper):
    """The step of a ``Taylor`` method. The memory holds the coefficients (order, n) of t^1, t^2, ... at the start of the step.

    name, order: of the method. dtype: of the state.
    """

    proposes_sizes = True

    def __init__(self, name: str, order: int, dtype: np.dtype[Any]) -> None:
        self.name, self.order, self.error_order = name, order, order
        self.degree = order
        self.powers = np.arange(1.0, order + 1)
        self.dtype = dtype

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> NDArray[Any]:
        return self._coefficients(problem, t, y, slope)

    def _coefficients(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any]) -> NDArray[Any]:
        found = [slope]
        for k in range(1, self.order):
            f = taylor(problem.rhs, (t, y), k, ([1.0], found))[k]
            found.append((f / (k + 1)).astype(self.dtype))
        return np.stack(found)

    def size(self, problem: Problem, y: NDArray[Any], memory: NDArray[Any]) -> float:
        return _size(problem, y, memory)

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]) -> Any:
        h = t_new - t
        y_new = y + np.dot((h**self.powers).astype(self.dtype), memory)
        return y_new, (memory, self._coefficients(problem, t_new, y_new, problem.rhs(t_new, y_new)))

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return h**self.order * stages[0][-1:]

    def spent(self, stages: Any) -> int:
        return self.order

    def advance(self, stages: Any) -> NDArray[Any]:
        return stages[1]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        return ((t_new - t) ** self.powers)[:, None].astype(self.dtype) * stages[0]


@constant
def _size(problem: Problem, y: NDArray[Any], c: NDArray[Any]) -> float:
    """Return the size at which the terms of the last two powers are within the tolerance, with the paper's safety factor.

    The paper's radius of convergence over e^2 is this size for its order, (3-9) and (3-10).
    """
    scale = problem.atol + problem.rtol * np.abs(y)
    order = len(c)
    size = inf
    for k in (order - 1, order):
        ratio = np.abs(c[k - 1]) / scale
        largest = sqrt(float(np.dot(ratio, ratio)) / max(ratio.size, 1))
        if not largest <= 0.0:
            size = min(size, largest ** (-1.0 / k))
    return size * exp(-0.7 / (order - 1))
