"""The equation with its past, and a step of an explicit method on it, in the form that the loop of ``odesolve`` runs.

The memory is the solution up to now: for each step its start, its size, the state there, and the polynomial of the dense
output. A stage that asks for y(t - lag) gets it from there, or from the history before the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import BadInput, constant
from ..events import along
from ..methods import Tableau
from ..problem import vector_field
from ..state import pack, unpack
from ..steppers.explicit import ExplicitStepper
from ..steppers.stepper import Stepper

Memory = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], int]
"""The starts (N,), the sizes (N,), the states (N, n), the polynomials (N, degree, n), and the number of steps."""

SWEEPS = 2
"""The passes of a step whose lags depend on the state: the last of them finds y(t - lag) within the step itself."""


class DelayProblem:
    """y' = f(t, y, past) on vectors (n,), where past has y at the times t - lag.

    f, args: the user's function and its further arguments. history: the state before the start, as a function of time, or the
    state itself. lags: numbers and functions of (t, y, *args). is_single: whether f takes one state in place of a list.
    start: the first time. leaves, dtype: of the state.
    """

    mass = None

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        history: Any,
        lags: Sequence[Any],
        is_single: bool,
        start: float,
        leaves: Any,
        dtype: np.dtype[Any],
    ) -> None:
        self.f, self.args, self.history, self.lags, self.is_single = f, args, history, list(lags), is_single
        self.start, self.leaves, self.dtype = start, leaves, dtype
        self.constant = None if callable(history) else pack(history, leaves, "the history").astype(dtype)
        self.is_state_dependent = any(callable(lag) for lag in self.lags)

    def before(self, t: Any) -> NDArray[Any]:
        """Return the state (n,) of the history at t."""
        if self.constant is not None:
            return self.constant
        return pack(self.history(t, *self.args), self.leaves, "the history").astype(self.dtype)

    def lag(self, i: int, t: Any, y: NDArray[Any]) -> Any:
        """Return lag i, a function of the state."""
        found = self.lags[i](t, unpack(y, self.leaves), *self.args)
        if np.shape(found) != () or np.iscomplexobj(found):
            raise BadInput(f"lags[{i}] returned shape {np.shape(found)}; expected a real number")
        return found

    def slope(self, t: Any, y: NDArray[Any]) -> NDArray[Any]:
        """Return y' at the start."""
        return Along(self, t, t, first_memory(1, 1, t, y, np.zeros_like(y)), None).rhs(t, y)


class Along:
    """The equation during one step.

    t, middle: its start and its middle, which tells for constant lags whether the step looks into the history. memory: the
    solution up to t. present: the size of the step, the state at its start, and its polynomial, if it is known.
    """

    def __init__(self, problem: DelayProblem, t: Any, middle: Any, memory: Memory, present: Any) -> None:
        self.problem, self.t, self.middle, self.memory, self.present = problem, t, middle, memory, present

    def rhs(self, t: Any, y: NDArray[Any]) -> NDArray[Any]:
        """Return y' (n,)."""
        problem = self.problem
        past = [unpack(self._past(i, t, y), problem.leaves) for i in range(len(problem.lags))]
        args = (past[0] if problem.is_single else past, *problem.args)
        return vector_field(problem.f, args, problem.leaves, problem.dtype)(t, y)

    def _past(self, i: int, t: Any, y: NDArray[Any]) -> NDArray[Any]:
        problem = self.problem
        if callable(problem.lags[i]):
            time = t - problem.lag(i, t, y)
            is_before = _is_below(time, problem.start)
        else:
            time = t - problem.lags[i]
            # At the ends of a step rounding could decide; the history may jump at the start.
            is_before = _is_below(self.middle - problem.lags[i], problem.start)
        return problem.before(time) if is_before else self._solution(time)

    def _solution(self, time: Any) -> NDArray[Any]:
        """Return the state (n,) at a time after the start; beyond what is known, the last polynomial goes on."""
        if self.present is not None:
            h, y, c = self.present
            if _is_below(self.t, time):
                return along((time - self.t) / h, y, c)
        starts, sizes, states, coefficients, _ = self.memory
        k = _step_of(starts, time)
        return along((time - starts[k]) / sizes[k], states[k], coefficients[k])


@constant
def _is_below(time: float, other: float) -> bool:
    return time < other


@constant
def _step_of(starts: NDArray[Any], time: float) -> int:
    return max(int(np.searchsorted(starts, time, side="right")) - 1, 0)


def first_memory(capacity: int, degree: int, t: Any, y: NDArray[Any], slope: NDArray[Any]) -> Memory:
    """Return the memory before the first step: the line through the start, which the first step replaces."""
    starts, sizes = np.full(capacity, np.inf), np.ones(capacity)
    states, coefficients = np.zeros((capacity, len(y)), y.dtype), np.zeros((capacity, degree, len(y)), y.dtype)
    starts[0] = t
    states[0] = y
    coefficients[0, 0] = slope
    return starts, sizes, states, coefficients, 0


class DelayStepper(Stepper):
    """The step of an explicit method. f is evaluated at the start of each step anew, since y' may jump there.

    tableau: the method. dtype: of the state. capacity: the largest number of steps.
    """

    def __init__(self, tableau: Tableau, dtype: np.dtype[Any], capacity: int, is_state_dependent: bool) -> None:
        self.inner = ExplicitStepper(tableau, dtype)
        self.name, self.order, self.error_order = tableau.name, tableau.order, tableau.error_order
        self.capacity, self.degree = capacity, len(self.inner.dense.interpolant)
        self.sweeps = SWEEPS if is_state_dependent else 1

    def start(self, problem: DelayProblem, t: Any, y: NDArray[Any], slope: NDArray[Any], h: float) -> Memory:
        return first_memory(self.capacity, self.degree, t, y, slope)

    def step(
        self, problem: DelayProblem, t: Any, t_new: Any, y: NDArray[Any], memory: Memory
    ) -> tuple[NDArray[Any], Any]:
        h = t_new - t
        y_new, c, error = self._sweep(Along(problem, t, 0.5 * (t + t_new), memory, None), t, t_new, y)
        for _ in range(self.sweeps - 1):
            y_before = y_new
            y_new, c, error = self._sweep(Along(problem, t, 0.5 * (t + t_new), memory, (h, y, c)), t, t_new, y)
            error = np.abs(error) + np.abs(y_new - y_before)
        return y_new, (c, error, memory, t, h, y)

    def _sweep(self, equation: Along, t: Any, t_new: Any, y: NDArray[Any]) -> tuple[NDArray[Any], Any, Any]:
        y_new, k = self.inner.step(equation, t, t_new, y, equation.rhs(t, y)[None])  # type: ignore[arg-type]
        c = self.inner.polynomial(equation, t, t_new, y, k)  # type: ignore[arg-type]
        return y_new, c, self.inner.error(t_new - t, k)

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return stages[1]

    def spent(self, stages: Any) -> int:
        return self.sweeps * (1 + self.inner.evaluations + self.inner.dense_evaluations)

    def advance(self, stages: Any) -> Memory:
        c, _, memory, t, h, y = stages
        starts, sizes, states, coefficients, count = memory
        starts[count] = t
        sizes[count] = h
        states[count] = y
        coefficients[count] = c
        return starts, sizes, states, coefficients, count + 1

    def polynomial(self, problem: DelayProblem, t: Any, t_new: Any, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        return stages[0]
