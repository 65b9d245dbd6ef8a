"""Steps of Radau IIA methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant, implicit
from ..methods.radau import RadauTableau
from ..newton import iterated, linear
from ..problem import Problem
from .stepper import Stepper

Memory = tuple[NDArray[Any], NDArray[Any], Any]


class RadauStepper(Stepper):
    """The step of a ``RadauTableau``. The memory is f = M y' at the start of the step (n,), the collocation polynomial of the step
    before (s, n), from which Newton's method starts, and the size of that step.

    Stages that Newton's method does not find make the error infinite: the step is tried again, shorter.

    tableau: the method. dtype: of the state.
    """

    jacobians = 1

    def __init__(self, tableau: RadauTableau, dtype: np.dtype[Any]) -> None:
        self.tableau = tableau
        self.name, self.order, self.error_order = tableau.name, tableau.order, len(tableau.c) + 1
        self.factorisations = 1 + len(tableau.shifts)
        self.inverse = tableau.inverse.astype(dtype)
        self.interpolant = tableau.interpolant.astype(dtype)
        self.degree = len(self.interpolant)

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Memory:
        return problem.massed(slope), np.zeros((len(self.inverse), len(y)), y.dtype), 1.0

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Memory) -> Any:
        h = t_new - t
        found, error, count = _search(self, problem, t, t_new, y, memory)
        z = attached_stages(self, problem, t, t_new, y, found)
        slope = problem.massed(np.dot(self.inverse[-1] / h, z))
        return y + z[-1], (slope, np.dot(self.interpolant, z), h, error, count)

    def times(self, t: Any, t_new: Any) -> list[Any]:
        return [*(t + c * (t_new - t) for c in self.tableau.c[:-1].tolist()), t_new]

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return stages[3]

    def is_found(self, stages: Any) -> bool:
        return bool(np.isfinite(stages[3]).all())

    def spent(self, stages: Any) -> int:
        return stages[4]

    def advance(self, stages: Any) -> Memory:
        return stages[0], stages[1], stages[2]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        return stages[1]


def attached_stages(
    stepper: Any, problem: Problem, t: Any, t_new: Any, y: NDArray[Any], z: NDArray[Any]
) -> NDArray[Any]:
    """Return z (s, n), which solves the equations of the stages of a collocation method, with its derivative.

    stepper: has ``times(t, t_new)``, the times of the stages, and ``inverse``, the inverse of the Butcher matrix.
    """
    times = stepper.times(t, t_new)

    def residual(z: NDArray[Any]) -> NDArray[Any]:
        slopes = np.stack([problem.rhs(times[i], y + z[i]) for i in range(len(times))])
        return problem.massed(np.dot(stepper.inverse / (t_new - t), z)) - slopes

    def solver(is_transposed: bool) -> Callable[[Any, Any], Any]:
        return linear(
            lambda b: _solved(stepper, problem, t, t_new, y, z, is_transposed, b),
            lambda b: _solved(stepper, problem, t, t_new, y, z, not is_transposed, b),
        )

    return implicit(z, residual, (solver(True), solver(False)))


@constant
def _solved(
    stepper: Any,
    problem: Problem,
    t: float,
    t_new: float,
    y: NDArray[Any],
    z: NDArray[Any],
    is_transposed: bool,
    b: NDArray[Any],
) -> NDArray[Any]:
    """Return the solution of the linearised equations of the stages; b is flat."""
    form, times = problem.jacobian, stepper.times(t, t_new)
    entries = np.stack([form.entries(problem.rhs, times[i], y + z[i]) for i in range(len(times))])
    mixing = (stepper.inverse.T if is_transposed else stepper.inverse) / (t_new - t)
    solve = form.coupled(problem.rhs, entries, mixing, is_transposed, problem.matrix)
    return solve(b.reshape(z.shape)).reshape(-1)


@constant
def _search(
    stepper: RadauStepper, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Memory
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return Z (s, n), the error estimate (1, n), and the number of evaluations of f.

    The estimate is filtered by the real system, so that stiff components do not dominate it; and once more with f at the
    estimate, if it is above the tolerance (Hairer, Wanner II, IV.8.19 and 20).
    """
    tableau, h = stepper.tableau, t_new - t
    slope, polynomial, h_before = memory
    form = problem.jacobian
    entries = form.entries(problem.rhs, t, y)
    real = form.solver(problem.rhs, entries, tableau.shift / h, False, problem.matrix)
    pairs = [form.solver(problem.rhs, entries, complex(s) / h, False, problem.matrix) for s in tableau.shifts]
    theta = 1.0 + tableau.c * (h / h_before)
    z = np.dot(theta[:, None] ** np.arange(1.0, len(theta) + 1), polynomial) - polynomial.sum(axis=0)
    times = stepper.times(t, t_new)
    scale = problem.atol + problem.rtol * np.abs(y)
    to_real, from_real = np.real(tableau.to_modes[0]), np.real(tableau.from_modes[:, 0])

    def change(z: NDArray[Any]) -> NDArray[Any]:
        slopes = np.stack([problem.rhs(times[i], y + z[i]) for i in range(len(times))])
        residual = slopes - problem.massed(np.dot(stepper.inverse / h, z))
        total = from_real[:, None] * real(np.dot(to_real, residual))
        for i in range(len(pairs)):
            mode = pairs[i](np.dot(tableau.to_modes[i + 1], residual))
            total = total + np.real(tableau.from_modes[:, i + 1][:, None] * mode)
        return total

    z, is_found, count = iterated(problem, change, z, y)
    defect = problem.massed(np.dot(tableau.error / h, z))
    error = real(slope + defect)
    ratio = error / scale
    count *= len(times)
    if is_found and np.dot(ratio, ratio) >= ratio.size:
        error = real(problem.rhs(t, y + error) + defect)
        count += 1
    return z, np.where(is_found, np.abs(error), np.inf)[None], count
