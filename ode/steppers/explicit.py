"""Steps of explicit Runge-Kutta methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods.tableau import Tableau
from ..problem import Problem
from .stepper import Stepper


class ExplicitStepper(Stepper):
    """The step of a ``Tableau``. The memory is f at the start of the step, (1, n); the stages are all derivatives (s + 1, n).

    tableau: the method. dtype: of the state.
    """

    def __init__(self, tableau: Tableau, dtype: np.dtype[Any]) -> None:
        self.name, self.order, self.error_order = tableau.name, tableau.order, tableau.error_order
        self.is_adaptive = len(tableau.error) > 0
        self.weights = [row[: i + 1].astype(dtype) for i, row in enumerate(tableau.a)]
        self.fractions = tableau.c.tolist()
        self.error_weights = tableau.error.astype(dtype)
        self.dense = tableau.dense_output(dtype)
        self.evaluations = len(self.fractions)
        self.dense_evaluations = len(self.dense.fractions)
        self.degree = len(self.dense.interpolant)

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> NDArray[Any]:
        return slope[None]

    def step(
        self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        return _stages(problem, t, t_new, y, memory, self.weights, self.fractions)

    def error(self, h: float, stages: NDArray[Any]) -> NDArray[Any]:
        return h * np.dot(self.error_weights, stages)

    def spent(self, stages: NDArray[Any]) -> int:
        return self.evaluations

    def advance(self, stages: NDArray[Any]) -> NDArray[Any]:
        return stages[-1:]

    def polynomial(
        self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: NDArray[Any]
    ) -> NDArray[Any]:
        if self.dense_evaluations:
            _, stages = _stages(problem, t, t_new, y, stages, self.dense.weights, self.dense.fractions)
        return (t_new - t) * np.dot(self.dense.interpolant, stages)


def _stages(
    problem: Problem,
    t: float,
    t_new: float,
    y: NDArray[Any],
    k: NDArray[Any],
    weights: Sequence[Any],
    fractions: Sequence[float],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the state of the last stage and k with the derivatives of all stages appended.

    One matrix product per stage makes the adjoint of a stage one matrix product too.
    """
    h = t_new - t
    point = y
    for row, fraction in zip(weights, fractions):
        point = y + np.dot(h * row, k)
        time = t_new if fraction == 1.0 else t + fraction * h  # not t + h, which may lie behind a stop
        k = np.concatenate((k, problem.rhs(time, point)[None]))
    return point, k
