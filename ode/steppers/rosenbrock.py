"""Steps of Rosenbrock methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods.rosenbrock import RosenbrockTableau
from ..problem import Problem
from .stepper import Stepper


class RosenbrockStepper(Stepper):
    """The step of a ``RosenbrockTableau``. The memory is f at the start of the step (n,).

    The Jacobian is differentiated like everything else in a step: the order of the gradient rests on it.

    tableau: the method. dtype: of the state.
    """

    is_implicit = True

    def __init__(self, tableau: RosenbrockTableau, dtype: np.dtype[Any]) -> None:
        self.tableau = tableau
        self.name, self.order, self.error_order = tableau.name, tableau.order, tableau.error_order
        self.a, self.C = tableau.a.astype(dtype), tableau.C.astype(dtype)
        self.c, self.d = tableau.c, tableau.d
        self.m, self.error_weights = tableau.m.astype(dtype), tableau.error.astype(dtype)
        self.interpolant = tableau.interpolant.astype(dtype)
        self.degree = len(self.interpolant)
        stages = len(self.c)
        self.evaluations = stages if tableau.is_last_stage_at_end else stages + 1
        self.evaluations -= 1  # f at the start is the memory

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> NDArray[Any]:
        return problem.massed(slope)

    def step(
        self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]
    ) -> tuple[NDArray[Any], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        h = t_new - t
        solve = problem.solver(t, y, 1.0 / (h * self.tableau.gamma))
        drift = problem.time_derivative(t, y)
        u = np.zeros((len(self.c), len(y)), y.dtype)
        u[0] = solve(memory + (h * self.d[0]) * drift)
        f = memory
        for i in range(1, len(self.c)):
            time = t_new if self.c[i] == 1.0 else t + self.c[i] * h  # not t + h, which may lie behind a stop
            f = problem.rhs(time, y + np.dot(self.a[i], u))
            u[i] = solve(f + problem.massed(np.dot(self.C[i] / h, u)) + (h * self.d[i]) * drift)
        y_new = y + np.dot(self.m, u)
        if not self.tableau.is_last_stage_at_end:
            f = problem.rhs(t_new, y_new)
        return y_new, (u, memory, f)

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return np.dot(self.error_weights, stages[0])[None]

    def spent(self, stages: Any) -> int:
        return self.evaluations

    def advance(self, stages: Any) -> NDArray[Any]:
        return stages[2]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        u, f0, f1 = stages
        h = t_new - t
        return np.dot(self.interpolant, np.concatenate((u, (h * f0)[None], (h * f1)[None])))
