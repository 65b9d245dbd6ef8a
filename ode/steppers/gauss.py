"""Steps of Gauss methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant
from ..methods.gauss import GaussTableau
from ..newton import ROUNDING, reach
from ..problem import Problem
from .radau import attached_stages
from .stepper import ImplicitStepper

Memory = tuple[NDArray[Any], Any]


class GaussStepper(ImplicitStepper):
    """The step of a ``GaussTableau``. The memory is the collocation polynomial of the step before (s, n), from which Newton's
    method starts, and the size of that step.

    The stages are found to rounding, whatever the tolerance: errors of the stages would make the energy drift.

    tableau: the method. dtype: of the state.
    """

    is_adaptive = False

    def __init__(self, tableau: GaussTableau, dtype: np.dtype[Any]) -> None:
        self.tableau = tableau
        self.name, self.order, self.error_order = tableau.name, tableau.order, tableau.order
        self.inverse = tableau.inverse.astype(dtype)
        self.interpolant = tableau.interpolant.astype(dtype)
        self.degree = len(self.interpolant)
        self.rounding = float(ROUNDING * np.finfo(dtype).eps)

    begins = (0,)

    def begin(self, place: int) -> int:
        return 0

    def times(self, t: Any, t_new: Any) -> NDArray[Any]:
        return t + self.tableau.c * (t_new - t)

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Memory:
        return np.zeros((len(self.inverse), len(y)), y.dtype), 1.0

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Memory) -> Any:
        found, is_found, count = _search(self, problem, t, t_new, y, memory)
        h = t_new - t
        z = attached_stages(self, problem, 0, self.times(t, t_new), self.inverse / h, y, found)
        polynomial = np.dot(self.interpolant, z)
        error = np.zeros((1, len(y))) if is_found else np.full((1, len(y)), np.inf)
        return y + polynomial.sum(axis=0), (error, count, 1, 1, polynomial, h)

    def advance(self, stages: Any) -> Memory:
        return stages[4], stages[5]


@constant
def _search(
    stepper: GaussStepper, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Memory
) -> tuple[NDArray[Any], bool, int]:
    """Return Z (s, n), whether it solves the equations, and the number of evaluations of f."""
    h = t_new - t
    polynomial, h_before = memory
    form, times = problem.jacobian, stepper.times(t, t_new)
    entries = form.entries(problem.rhs, t, y)
    coupled = np.stack([entries for _ in times])
    solve = form.coupled(problem.rhs, coupled, stepper.inverse / h, False, problem.matrix)
    theta = 1.0 + stepper.tableau.c * reach(h, h_before)
    z = np.dot(theta[:, None] ** np.arange(1.0, len(theta) + 1), polynomial) - polynomial.sum(axis=0)
    count, size, before, going = 0, 0.0, np.inf, True
    while going:
        slopes = np.stack([problem.rhs(times[i], y + z[i]) for i in range(len(times))])
        step = solve(slopes - np.dot(stepper.inverse / h, z)).reshape(z.shape)
        z = z + step
        state = np.max(np.abs(y), initial=0.0) + np.max(np.abs(z), initial=0.0)
        size = float(np.max(np.abs(step), initial=0.0) / (state + 1e-300))
        count += 1
        # The last steps are rounding errors, which do not shrink.
        going = (
            size > 0.1 * stepper.rounding
            and count < problem.most_iterations
            and (size < before or size > stepper.rounding)
        )
        before = size
    return z, bool(size <= stepper.rounding), count * len(times)
