"""Algebraically reversible solvers: a step that can be undone exactly, so that the backward sweep stores no states.

With the increment P_h(t, y) of an explicit Runge-Kutta step of size h from y at t, a step of the pair (y, z) is

    y_new = c y + (1 - c) z + P_h(t, z),        z_new = z - P_(-h)(t + h, y_new),

and z = z_new + P_(-h)(t + h, y_new), y = (y_new - (1 - c) z - P_h(t, z)) / c undo it. The order is that of the method.

With steps that the coupling does not damp, y and z part; with a coupling below 1, undoing a step multiplies its rounding errors by
1 / c. Both end in numbers that are no solution, so both are measured (APART, LOST).

Source: S. McCallum, J. Foster, Efficient, accurate and stable gradients for neural ODEs, arXiv:2410.11648 (2024).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core import MorulaError, constant, pullback, stop_gradient
from ..arguments import stops_between
from ..jacobians import DenseJacobian
from ..loop import Run, adaptive_steps
from ..problem import Problem
from ..state import Leaf
from ..steppers.stepper import Stepper
from .equation import pulled_times
from .options import Adjoint
from .records import OfStates, Record, record_of

if TYPE_CHECKING:
    from ..integration import Integration

APART = 30.0
"""How far y and z may be from each other at a saved time, in tolerances."""

LOST = 1.0
"""How far the first y and z, computed from the last ones, may be from y0, in tolerances."""


class ReversibleStepper(Stepper):
    """The step of the reversible form of an explicit method: of the vector (2 n,) of y and z, without a memory.

    base: the stepper of the method. problem: y' = f(t, y). coupling: c.
    """

    def __init__(self, base: Any, problem: Problem, coupling: float) -> None:
        self.base, self.problem, self.coupling = base, problem, coupling
        self.name, self.order, self.error_order = base.name, base.order, base.error_order
        self.evaluations = 2 * (base.evaluations + 1)

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> NDArray[Any]:
        return y[:0]

    def increment(self, t: Any, t_new: Any, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the change of a step of the method, and its stages."""
        y_new, stages = self.base.step(self.problem, t, t_new, y, self.problem.rhs(t, y)[None])
        return y_new - y, stages

    def step(
        self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]
    ) -> tuple[NDArray[Any], Any]:
        n, c = len(y) // 2, self.coupling
        z = y[n:]
        change, stages = self.increment(t, t_new, z)
        y_new = c * y[:n] + (1.0 - c) * z + change
        v_new = np.concatenate([y_new, z - self.increment(t_new, t, y_new)[0]])
        return v_new, (memory, stages, v_new)

    def undone(self, t: Any, t_new: Any, v_new: NDArray[Any]) -> NDArray[Any]:
        """Return y and z before a step."""
        n, c = len(v_new) // 2, self.coupling
        z = v_new[n:] + self.increment(t_new, t, v_new[:n])[0]
        return np.concatenate([(v_new[:n] - (1.0 - c) * z - self.increment(t, t_new, z)[0]) / c, z])

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        error = self.base.error(h, stages[1])
        return np.concatenate([error, error], axis=1)

    def spent(self, stages: Any) -> int:
        return self.evaluations

    def advance(self, stages: Any) -> NDArray[Any]:
        return stages[0]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        return (stages[2] - y)[None]  # every time is the end of a step, so only its end counts


class Reversal(OfStates):
    """The reversible solve of an integration; its backward sweep computes each state from the one after it.

    The cotangents of y0 and of the parameters are those of the discrete solution, those of the times are exact to the
    accuracy of the solution.

    integration: the settings. restore: makes ``args`` of the vector of parameters. options: of the adjoint.
    """

    is_forced, has_integral = False, True

    def __init__(self, integration: Integration, restore: Callable[[Any], Any], options: Adjoint) -> None:
        self.integration, self.restore, self.options = integration, restore, options

    def stepper(self, theta: NDArray[Any]) -> ReversibleStepper:
        i = self.integration
        return ReversibleStepper(i.stepper(), i.problem(self.restore(theta)), self.options.coupling)

    def run(self, y: NDArray[Any], theta: NDArray[Any], times: NDArray[Any]) -> Run:
        """Solve for y and z as one vector; every time is the end of a step."""
        i, n = self.integration, len(y)
        stepper = self.stepper(theta)
        rhs = stepper.problem.rhs

        def both(t: Any, v: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([rhs(t, v[:n]), rhs(t, v[n:])])

        rtol, atol = (x if np.ndim(x) == 0 else np.concatenate([x, x]) for x in (i.rtol, i.atol))
        problem = Problem(both, (), Leaf(0, 2 * n, (2 * n,)), y.dtype, DenseJacobian(), rtol, atol)
        stops = stop_gradient(_stops(i.tstops, stop_gradient(times)))
        settings = i.control, rtol, atol, i.first_step, i.max_step, i.max_steps
        v = np.concatenate([y, y])
        run = adaptive_steps(stepper, problem, v, times, stops, *settings, None, False, is_timed=True, tell=i.tell)
        apart = self.distance(run.rows[:, :n] - run.rows[:, n:], np.max(np.abs(run.rows[:, :n]), axis=0))
        if run.code <= 1 and not apart <= APART:
            raise MorulaError(
                f'the steps of adjoint="reversible" are unstable here: its two states are {apart:.3g} tolerances apart, of '
                f"which up to {APART:g} are taken for accurate; give smaller tolerances or a max_step, or take another "
                "adjoint"
            )
        return run

    def distance(self, difference: NDArray[Any], size: NDArray[Any]) -> float:
        """Return the largest root mean square of the rows of a difference (k, n), in tolerances of states of a size (n,)."""
        scaled = np.abs(difference) / (self.integration.atol + self.integration.rtol * size)
        return stop_gradient(np.sqrt(np.max(np.mean(scaled**2, axis=1))))

    def solve(self, y: NDArray[Any], theta: NDArray[Any], times: NDArray[Any]) -> Record:
        """Solve forwards; the record has the beginnings and ends of the steps, and the last y and z as its only state."""
        run, n = self.run(y, theta, times), len(y)
        found = record_of(run, False)
        begins, ends = (np.array([step[i] for step in run.path], dtype=float) for i in (0, 1))
        return (run.rows[:, :n], begins, ends, run.y[None], found[4][:, :, :n], run.y[:n], *found[6:])

    def pulled(
        self,
        record: Record,
        y: NDArray[Any],
        theta: NDArray[Any],
        times: NDArray[Any],
        g: NDArray[Any],
        shape: tuple[int, ...],
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the cotangents of y0 (n,), theta (p,), times (m,) and the forcing for those of the states (m, n)."""
        rows, begins, ends, v, n = record[0], record[1], record[2], record[3][0], len(y)
        stepper = self.stepper(theta)
        places = _places(times, ends)
        kicks = np.zeros((len(ends) + 1, n), g.dtype)
        np.add.at(kicks, places, g)

        def step(t: Any, t_new: Any, v: NDArray[Any], theta: NDArray[Any]) -> NDArray[Any]:
            return self.stepper(theta).step(stepper.problem, t, t_new, v, v[:0])[0]

        dv, dtheta = np.zeros(2 * n, g.dtype), np.zeros(len(theta), theta.dtype)
        for j in range(len(ends)):
            k = len(ends) - 1 - j
            t, t_new = begins[k], ends[k]
            v = stepper.undone(t, t_new, v)
            dv = dv + np.concatenate([kicks[k + 1], np.zeros(n, g.dtype)])
            found = pullback(lambda v, theta, t=t, t_new=t_new: step(t, t_new, v, theta), v, theta)[1](dv)
            dv, dtheta = found[0], dtheta + found[1]
        lost = self.distance((v - np.concatenate([y, y])).reshape(2, n), np.max(np.abs(rows), axis=0))
        if not lost <= LOST:
            raise MorulaError(
                f'the steps of adjoint="reversible" could not be undone: they lead back to a state that is {lost:.3g} '
                "tolerances from the first one; give a coupling nearer to 1, or take another adjoint"
            )
        dy0 = dv[:n] + dv[n:] + kicks[0]
        f = stepper.problem.rhs
        return dy0, dtheta, pulled_times(f, times, rows, g, dy0), np.zeros(shape, g.dtype)


@constant
def _stops(tstops: Any, times: NDArray[Any]) -> NDArray[Any]:
    """Return all stops: ``tstops`` and the times."""
    return stops_between(np.concatenate([np.asarray(tstops, dtype=float).reshape(-1), times[1:-1]]), times)


@constant
def _places(times: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
    """Return for each time 1 + the step that ends there, and 0 for the first time."""
    sign = 1.0 if times[-1] >= times[0] else -1.0
    places = np.searchsorted(sign * ends, sign * times, side="left") + 1
    return np.where(times == times[0], 0, np.minimum(places, len(ends)))
