"""Steps of Runge-Kutta-Nystrom methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods.nystrom import NystromTableau
from ..problem import Problem
from .stepper import Stepper


class NystromStepper(Stepper):
    """The step of a ``NystromTableau``. The memory is the acceleration at the start, (1, n / 2); the stages are all accelerations.

    tableau: the method. dtype: of the state, which is (q, v) one after the other.
    """

    def __init__(self, tableau: NystromTableau, dtype: np.dtype[Any]) -> None:
        self.name, self.order, self.error_order = tableau.name, tableau.order, tableau.error_order
        self.is_adaptive = len(tableau.error) > 0
        self.rows = [row[: i + 1].astype(dtype) for i, row in enumerate(tableau.a)]
        self.extra_rows = [row[: len(tableau.a) + i + 1].astype(dtype) for i, row in enumerate(tableau.extra_a)]
        self.fractions, self.extra_fractions = tableau.c.tolist(), tableau.extra_c.tolist()
        self.velocity = tableau.velocity.astype(dtype)
        self.error_weights = tableau.error.astype(dtype)
        self.interpolant = tableau.interpolant.astype(dtype)
        self.powers = np.arange(2.0, len(self.interpolant) + 2)[:, None].astype(dtype)
        self.evaluations, self.dense_evaluations = len(self.fractions), len(self.extra_fractions)
        self.degree = len(self.interpolant) + 1

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> NDArray[Any]:
        return slope[None, len(y) // 2 :]

    def step(
        self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        position, k = _stages(problem, t, t_new, y, memory, self.rows, self.fractions)
        velocity = y[len(y) // 2 :] + np.dot((t_new - t) * self.velocity, k)
        return np.concatenate([position, velocity]), k

    def error(self, h: float, stages: NDArray[Any]) -> NDArray[Any]:
        errors = np.dot(self.error_weights, stages)
        return np.concatenate([h * h * errors[0], h * errors[1]])[None]

    def spent(self, stages: NDArray[Any]) -> int:
        return self.evaluations

    def advance(self, stages: NDArray[Any]) -> NDArray[Any]:
        return stages[-1:]

    def polynomial(
        self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: NDArray[Any]
    ) -> NDArray[Any]:
        h, n = t_new - t, len(y) // 2
        _, k = _stages(problem, t, t_new, y, stages, self.extra_rows, self.extra_fractions)
        c = h * np.dot(self.interpolant, k)
        none = np.zeros((1, n), y.dtype)
        return np.concatenate(
            [np.concatenate([h * y[None, n:], h * c]), np.concatenate([self.powers * c, none])], axis=1
        )


def _stages(
    problem: Problem, t: float, t_new: float, y: NDArray[Any], k: NDArray[Any], rows: list[Any], fractions: list[float]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the position of the last stage, and k with the accelerations of all stages appended."""
    h, n = t_new - t, len(y) // 2
    position = y[:n]
    for row, fraction in zip(rows, fractions):
        position = y[:n] + (fraction * h) * y[n:] + np.dot((h * h) * row, k)
        time = t_new if fraction == 1.0 else t + fraction * h  # not t + h, which may lie behind a stop
        k = np.concatenate([k, problem.acceleration(time, position)[None]])
    return position, k
