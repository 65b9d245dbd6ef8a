"""Steps of ESDIRK methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant
from ..methods.esdirk import EsdirkTableau
from ..newton import attached, newton
from ..problem import Problem
from .stepper import Stepper


class EsdirkStepper(Stepper):
    """The step of an ``EsdirkTableau``. The memory is y' at the start of the step (n,).

    A stage that Newton's method does not find makes the error infinite: the step is tried again, shorter.

    tableau: the method. dtype: of the state.
    """

    jacobians = factorisations = 1
    degree = 3

    def __init__(self, tableau: EsdirkTableau, dtype: np.dtype[Any]) -> None:
        self.tableau = tableau
        self.name, self.order, self.error_order = tableau.name, tableau.order, tableau.error_order
        self.is_adaptive = len(tableau.error) > 0
        self.a, self.c = tableau.a.astype(dtype), tableau.c
        self.error_weights = tableau.error.astype(dtype)

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> NDArray[Any]:
        return slope

    def step(
        self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]
    ) -> tuple[NDArray[Any], Any]:
        h = t_new - t
        weight = h * self.tableau.gamma
        found, error, count = _search(self, problem, t, t_new, y, memory)
        k = np.zeros((len(self.c), len(y)), y.dtype)
        k[0] = memory
        u = y
        for i in range(1, len(self.c)):
            base = y + np.dot(h * self.a[i], k)
            u = attached(problem, _time(self.c[i], t, t_new), base, weight, found[i - 1])
            k[i] = (u - base) / weight
        return u, (k, u, error, count)

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return stages[2]

    def is_found(self, stages: Any) -> bool:
        return bool(np.isfinite(stages[2]).all())

    def spent(self, stages: Any) -> int:
        return stages[3]

    def advance(self, stages: Any) -> NDArray[Any]:
        return stages[0][-1]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        k, y_new = stages[0], stages[1]
        f0, f1, change = (t_new - t) * k[0], (t_new - t) * k[-1], y_new - y
        return np.stack([f0, 3 * change - 2 * f0 - f1, f0 + f1 - 2 * change])


@constant
def _search(
    stepper: EsdirkStepper, problem: Problem, t: float, t_new: float, y: NDArray[Any], slope: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return the stages (s - 1, n), the error estimate (1, n), and the number of evaluations of f.

    The estimate is filtered by the matrix, so that stiff components do not dominate it (Hosea, Shampine 1996).
    """
    h = t_new - t
    weight = h * stepper.tableau.gamma
    solve = problem.solver(t, y, 1.0 / weight)
    k = np.zeros((len(stepper.c), len(y)), y.dtype)
    k[0] = slope
    u = y
    stages = np.empty((len(stepper.c) - 1, len(y)), y.dtype)
    is_found, count = True, 0
    for i in range(1, len(stepper.c)):
        base = y + np.dot(h * stepper.a[i], k)
        u, converged, evaluations = newton(problem, _time(stepper.c[i], t, t_new), base, weight, u, solve)
        is_found = is_found and converged
        count += evaluations
        stages[i - 1] = u
        k[i] = (u - base) / weight
    if not stepper.is_adaptive:
        return stages, np.full((1, len(y)), 0.0 if is_found else np.inf), count
    error = solve(problem.massed(h * np.dot(stepper.error_weights, k))) / weight
    return stages, np.where(is_found, np.abs(error), np.inf)[None], count


def _time(fraction: float, t: float, t_new: float) -> float:
    """Return the time of a stage; at the end it is t_new, not t + h, which may lie behind a stop."""
    return t_new if fraction == 1.0 else t + fraction * (t_new - t)
