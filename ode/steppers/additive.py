"""Steps of additive Runge-Kutta methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant
from ..methods.additive import AdditiveTableau
from ..newton import attached, newton
from ..problem import Problem
from .stepper import Stepper


class AdditiveStepper(Stepper):
    """The step of an ``AdditiveTableau``. The memory is (2, n), the slopes of the stiff and the other part at the start.

    A stage that Newton's method does not find makes the error infinite: the step is tried again, shorter.

    tableau: the method. dtype: of the state.
    """

    jacobians = factorisations = 1
    degree = 3

    def __init__(self, tableau: AdditiveTableau, dtype: np.dtype[Any]) -> None:
        implicit = tableau.implicit
        self.name, self.order, self.error_order = tableau.name, tableau.order, implicit.error_order
        self.is_adaptive = len(tableau.error) > 0
        self.gamma, self.c = implicit.gamma, implicit.c
        self.rows = np.concatenate([implicit.a, tableau.explicit], axis=1).astype(dtype)
        """(s, 2 s): the weights of the slopes of both parts, those of the stiff part first."""
        self.last = (tableau.weights - tableau.explicit[-1]).astype(dtype)
        """(s,): what the step adds to the last stage."""
        self.error_weights = np.concatenate([implicit.error, tableau.explicit_error]).astype(dtype)

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> NDArray[Any]:
        return _slopes(problem, t, y)

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]) -> Any:
        h = t_new - t
        weight, stiff, s = h * self.gamma, problem.stiff_part(), len(self.c)
        found, error, count = _search(self, problem, t, t_new, y, memory)
        k = np.zeros((2 * s, len(y)), y.dtype)
        k[0], k[s] = memory[0], memory[1]
        u = y
        for i in range(1, s):
            base = y + np.dot(h * self.rows[i], k)
            u = attached(stiff, self.time(i, t, t_new), base, weight, found[i - 1])
            k[i] = (u - base) / weight
            k[s + i] = _nonstiff(problem, self.time(i, t, t_new), u)
        y_new = u + np.dot(h * self.last, k[s:])
        return y_new, (memory, _slopes(problem, t_new, y_new), y_new, error, count)

    def time(self, stage: int, t: float, t_new: float) -> float:
        """Return the time of a stage; at the end it is t_new, not t + h, which may lie behind a stop."""
        return t_new if self.c[stage] == 1.0 else t + self.c[stage] * (t_new - t)

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return stages[3]

    def is_found(self, stages: Any) -> bool:
        return bool(np.isfinite(stages[3]).all())

    def spent(self, stages: Any) -> int:
        return stages[4]

    def advance(self, stages: Any) -> NDArray[Any]:
        return stages[1]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        h, change = t_new - t, stages[2] - y
        f0, f1 = h * stages[0].sum(axis=0), h * stages[1].sum(axis=0)
        return np.stack([f0, 3 * change - 2 * f0 - f1, f0 + f1 - 2 * change])


def _nonstiff(problem: Problem, t: float, y: NDArray[Any]) -> NDArray[Any]:
    assert problem.parts is not None
    return problem.parts[1](t, y)


def _slopes(problem: Problem, t: float, y: NDArray[Any]) -> NDArray[Any]:
    assert problem.parts is not None
    return np.stack([problem.parts[0](t, y), problem.parts[1](t, y)])


@constant
def _search(
    stepper: AdditiveStepper, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return the stages (s - 1, n), the error estimate (1, n), and the number of evaluations of a part.

    The estimate is filtered by the matrix, so that stiff components do not dominate it.
    """
    h = t_new - t
    weight, stiff, s = h * stepper.gamma, problem.stiff_part(), len(stepper.c)
    solve = stiff.solver(t, y, 1.0 / weight)
    k = np.zeros((2 * s, len(y)), y.dtype)
    k[0], k[s] = memory[0], memory[1]
    u = y
    stages = np.empty((s - 1, len(y)), y.dtype)
    is_found, count = True, 2
    for i in range(1, s):
        base = y + np.dot(h * stepper.rows[i], k)
        time = stepper.time(i, t, t_new)
        u, converged, evaluations = newton(stiff, time, base, weight, u, solve)
        is_found = is_found and converged
        count += evaluations + 1
        stages[i - 1] = u
        k[i] = (u - base) / weight
        k[s + i] = _nonstiff(problem, time, u)
    if not stepper.is_adaptive:
        return stages, np.full((1, len(y)), 0.0 if is_found else np.inf), count
    error = solve(h * np.dot(stepper.error_weights, k)) / weight
    return stages, np.where(is_found, np.abs(error), np.inf)[None], count
