"""Steps of ESDIRK methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant
from ..methods.esdirk import EsdirkTableau
from ..newton import Kept, attached, newton, nothing_kept, searched, usable
from ..problem import Problem
from .stepper import ImplicitStepper, cubic_hermite

Memory = tuple[NDArray[Any], Kept]


class EsdirkStepper(ImplicitStepper):
    """The step of an ``EsdirkTableau``. The memory is y' at the start of the step (n,), and what Newton's method keeps.

    tableau: the method. dtype: of the state.
    """

    degree = 3

    def __init__(self, tableau: EsdirkTableau, dtype: np.dtype[Any]) -> None:
        self.tableau = tableau
        self.name, self.order, self.error_order = tableau.name, tableau.order, tableau.error_order
        self.is_adaptive = len(tableau.error) > 0
        self.a, self.c = tableau.a.astype(dtype), tableau.c
        self.error_weights = tableau.error.astype(dtype)

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Memory:
        kept = nothing_kept(problem, y, problem.jacobian.unfactored(len(y), y.dtype))
        return slope, kept

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Memory) -> Any:
        h = t_new - t
        weight = h * self.tableau.gamma
        slope, kept = memory
        found, error, cost, kept = _search(self, problem, t, t_new, y, slope, kept)
        k = np.zeros((len(self.c), len(y)), y.dtype)
        k[0] = slope
        u = y
        for i in range(1, len(self.c)):
            base = y + np.dot(h * self.a[i], k)
            u = attached(problem, _time(self.c[i], t, t_new), base, weight, found[i - 1])
            k[i] = (u - base) / weight
        return u, (error, *cost, k, u, kept)

    def advance(self, stages: Any) -> Memory:
        return stages[4][-1], stages[6]

    def again(self, memory: Memory, stages: Any) -> Memory:
        return memory[0], usable(stages[6])

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        k, y_new = stages[4], stages[5]
        return cubic_hermite(t_new - t, y_new - y, k[0], k[-1])


@constant
def _search(
    stepper: EsdirkStepper, problem: Problem, t: float, t_new: float, y: NDArray[Any], slope: NDArray[Any], kept: Kept
) -> tuple[NDArray[Any], NDArray[Any], tuple[int, int, int], Kept]:
    """Return the stages (s - 1, n), the error estimate (1, n), the numbers of evaluations of f, Jacobians and factorisations, and
    what Newton's method keeps.

    The estimate is filtered by the matrix, so that stiff components do not dominate it (Hosea, Shampine 1996).
    """
    h = t_new - t
    weight = h * stepper.tableau.gamma
    form, rhs, M = problem.jacobian, problem.rhs, problem.matrix

    def attempt(factors: Any, eta: float) -> Any:
        u, is_found, count, rate = y, True, 0, 0.0
        stages, k = np.zeros((len(stepper.c) - 1, len(y)), y.dtype), np.zeros((len(stepper.c), len(y)), y.dtype)
        k[0] = slope
        for i in range(1, len(stepper.c)):
            base = y + np.dot(h * stepper.a[i], k)
            solve = lambda b: form.solved(rhs, factors, b, False, M)  # noqa: E731
            u, converged, steps, own, eta = newton(problem, _time(stepper.c[i], t, t_new), base, weight, u, solve, eta)
            is_found = is_found and converged
            count += steps
            rate = max(rate, own)
            stages[i - 1] = u
            k[i] = (u - base) / weight
        return (stages, k), is_found, count, rate, eta

    guess = np.zeros((len(stepper.c) - 1, len(y)), y.dtype), np.zeros((len(stepper.c), len(y)), y.dtype)
    (stages, k), is_found, cost, _, kept = searched(
        problem, t, y, h, kept, guess, lambda entries: form.factors(rhs, entries, 1.0 / weight, False, M), attempt
    )
    if not stepper.is_adaptive:
        return stages, np.full((1, len(y)), 0.0 if is_found else np.inf), cost, kept
    filtered = form.solved(rhs, kept[1], problem.massed(h * np.dot(stepper.error_weights, k)), False, M)
    return stages, np.where(is_found, np.abs(filtered / weight), np.inf)[None], cost, kept


def _time(fraction: float, t: float, t_new: float) -> float:
    """Return the time of a stage; at the end it is t_new, not t + h, which may lie behind a stop."""
    return t_new if fraction == 1.0 else t + fraction * (t_new - t)
