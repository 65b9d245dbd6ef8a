"""Steps of another method, each followed by the projection onto invariants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..invariants import Invariants
from ..problem import Problem
from .stepper import Stepper


class ProjectedStepper(Stepper):
    """The step of ``inner`` and the projection. The memory is that of ``inner``, and the value of the invariants (k,).

    The slope that a method keeps from the end of its step is that before the projection: the difference is of the order of the local
    error. A projection that is not found makes the error infinite, so that a shorter step is tried.
    """

    sought = "stages or the projection onto the invariants"

    def __init__(self, inner: Any, invariants: Invariants) -> None:
        self.inner, self.invariants = inner, invariants
        self.name, self.order, self.error_order = inner.name, inner.order, inner.error_order
        self.is_adaptive, self.degree = inner.is_adaptive, inner.degree
        self.dense_evaluations = inner.dense_evaluations
        self.is_implicit, self.steady = inner.is_implicit, inner.steady

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Any:
        return self.inner.start(problem, t, y, slope, h), self.invariants.value(t, y)

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Any) -> Any:
        inner, value = memory
        y_new, stages = self.inner.step(problem, t, t_new, y, inner)
        projected, is_found = self.invariants.projected(t_new, y_new, value)
        return projected, (stages, projected - y_new, value, is_found)

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return np.where(stages[3], self.inner.error(h, stages[0]), np.inf)

    def is_found(self, stages: Any) -> bool:
        return self.inner.is_found(stages[0]) and stages[3]

    def spent(self, stages: Any) -> int:
        return self.inner.spent(stages[0])

    def power(self, stages: Any) -> Any:
        return self.inner.power(stages[0])

    def matrices(self, stages: Any) -> tuple[int, int]:
        return self.inner.matrices(stages[0])

    def advance(self, stages: Any) -> Any:
        return self.inner.advance(stages[0]), stages[2]

    def again(self, memory: Any, stages: Any) -> Any:
        return self.inner.again(memory[0], stages[0]), memory[1]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        """Return the polynomial of ``inner``, bent to end at the projection."""
        c = self.inner.polynomial(problem, t, t_new, y, stages[0])
        return np.concatenate([c[:-1], (c[-1] + stages[1])[None]])
