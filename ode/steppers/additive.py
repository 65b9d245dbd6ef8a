"""Steps of additive Runge-Kutta methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant
from ..methods.additive import AdditiveTableau
from ..newton import Kept, attached, newton, nothing_kept, searched, usable
from ..problem import Problem
from .stepper import ImplicitStepper, cubic_hermite

Memory = tuple[NDArray[Any], Kept]


class AdditiveStepper(ImplicitStepper):
    """The step of an ``AdditiveTableau``. The memory is (2, n), the slopes of the stiff and the other part at the start, and
    what Newton's method keeps.

    tableau: the method. dtype: of the state.
    """

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

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Memory:
        kept = nothing_kept(problem, y, problem.jacobian.unfactored(len(y), y.dtype))
        return _slopes(problem, t, y), kept

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Memory) -> Any:
        h = t_new - t
        weight, stiff, s = h * self.gamma, problem.stiff_part(), len(self.c)
        slopes, kept = memory
        found, error, cost, kept = _search(self, problem, t, t_new, y, slopes, kept)
        k = np.zeros((2 * s, len(y)), y.dtype)
        k[0], k[s] = slopes[0], slopes[1]
        u = y
        for i in range(1, s):
            base = y + np.dot(h * self.rows[i], k)
            u = attached(stiff, self.time(i, t, t_new), base, weight, found[i - 1])
            k[i] = (u - base) / weight
            k[s + i] = _nonstiff(problem, self.time(i, t, t_new), u)
        y_new = u + np.dot(h * self.last, k[s:])
        return y_new, (error, *cost, slopes, _slopes(problem, t_new, y_new), y_new, kept)

    def time(self, stage: int, t: float, t_new: float) -> float:
        """Return the time of a stage; at the end it is t_new, not t + h, which may lie behind a stop."""
        return t_new if self.c[stage] == 1.0 else t + self.c[stage] * (t_new - t)

    def advance(self, stages: Any) -> Memory:
        return stages[5], stages[7]

    def again(self, memory: Memory, stages: Any) -> Memory:
        return memory[0], usable(stages[7])

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        return cubic_hermite(t_new - t, stages[6] - y, stages[4].sum(axis=0), stages[5].sum(axis=0))


def _nonstiff(problem: Problem, t: float, y: NDArray[Any]) -> NDArray[Any]:
    assert problem.parts is not None
    return problem.parts[1](t, y)


def _slopes(problem: Problem, t: float, y: NDArray[Any]) -> NDArray[Any]:
    assert problem.parts is not None
    return np.stack([problem.parts[0](t, y), problem.parts[1](t, y)])


@constant
def _search(
    stepper: AdditiveStepper,
    problem: Problem,
    t: float,
    t_new: float,
    y: NDArray[Any],
    slopes: NDArray[Any],
    kept: Kept,
) -> tuple[NDArray[Any], NDArray[Any], tuple[int, int, int], Kept]:
    """Return the stages (s - 1, n), the error estimate (1, n), the numbers of evaluations of a part, Jacobians and factorisations,
    and what Newton's method keeps.

    The estimate is filtered by the matrix, so that stiff components do not dominate it.
    """
    h = t_new - t
    weight, stiff, s = h * stepper.gamma, problem.stiff_part(), len(stepper.c)
    form, rhs = stiff.jacobian, stiff.rhs

    def attempt(factors: Any, eta: float) -> Any:
        u, is_found, count, rate = y, True, 2, 0.0
        stages, k = np.zeros((s - 1, len(y)), y.dtype), np.zeros((2 * s, len(y)), y.dtype)
        k[0], k[s] = slopes[0], slopes[1]
        for i in range(1, s):
            base = y + np.dot(h * stepper.rows[i], k)
            time = stepper.time(i, t, t_new)
            solve = lambda b: form.solved(rhs, factors, b, False)  # noqa: E731
            u, converged, steps, own, eta = newton(stiff, time, base, weight, u, solve, eta)
            is_found = is_found and converged
            count += steps + 1
            rate = max(rate, own)
            stages[i - 1] = u
            k[i] = (u - base) / weight
            k[s + i] = _nonstiff(problem, time, u)
        return (stages, k), is_found, count, rate, eta

    guess = np.zeros((s - 1, len(y)), y.dtype), np.zeros((2 * s, len(y)), y.dtype)
    (stages, k), is_found, cost, _, kept = searched(
        stiff, t, y, h, kept, guess, lambda entries: form.factors(rhs, entries, 1.0 / weight, False), attempt
    )
    if not stepper.is_adaptive:
        return stages, np.full((1, len(y)), 0.0 if is_found else np.inf), cost, kept
    error = form.solved(rhs, kept[1], h * np.dot(stepper.error_weights, k), False) / weight
    return stages, np.where(is_found, np.abs(error), np.inf)[None], cost, kept
