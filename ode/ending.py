"""The end of a solve: its run as a ``Solution``; derivatives with respect to what chooses the steps are refused here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import nan
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import constant, lowering, no_derivative
from .dense_output import DenseOutput
from .loop import Run
from .solution import Happened, IntegrationFailed, Solution, reason
from .state import unpack

OF_STEPS = (
    "{} has no derivative with respect to {}: they choose the steps, whose sizes are held constant, so it would be zero. "
    "Wrap the one that depends on a differentiated argument in mo.stop_gradient"
)
OF_STOPS = (
    "{} has no derivative with respect to tstops: the ends of steps are held constant. If f jumps there, find the time by an "
    "event, or solve in two parts that meet there; if not, wrap tstops in mo.stop_gradient"
)

Held = Callable[[Any], Any]


def held_by(solver: str, settings: dict[str, Any], tstops: Any = ()) -> Held:
    """Return an identity for results of a solver, whose derivative with respect to the settings is an error."""
    values, names = tuple(settings.values()), ", ".join(settings)

    def held(x: Any) -> Any:
        x = no_derivative(x, OF_STEPS.format(solver, names), values)
        return no_derivative(x, OF_STOPS.format(solver), tstops) if np.size(tstops) else x

    return held


@constant
def now() -> float:
    """Return the seconds of a clock."""
    return perf_counter()


def _unknown() -> float:
    """A clock in compiled code would be a call of Python in each solve."""
    return nan


for _target in ("native", "xla"):
    lowering(now, _target)(_unknown)


def ended(
    run: Run,
    times: NDArray[Any],
    end: Any,
    leaves: Any,
    name: str,
    max_steps: int,
    throw: bool,
    held: Held,
    began: float,
    is_dense: bool = False,
    is_saving_steps: bool = False,
    is_inner: bool = False,
    min_step: float = 0.0,
) -> Solution:
    """Return the solution of a run, or raise the error of a failed one.

    end: the time that was to be reached. is_saving_steps: whether the times are the beginnings of the steps and the end.
    is_inner: whether the first and the last time are not asked for.
    """
    met = [happened(at, states, leaves, run.y, held) for at, states in zip(run.event_times, run.event_states)]
    sol = dense_output(run.record, leaves, held) if is_dense or is_saving_steps else None
    rows, t, y = held(run.rows), held(run.t), held(run.y)
    if sol is not None and is_saving_steps:
        times = np.concatenate([sol.starts, np.reshape(t, 1)])
        rows = np.concatenate([sol.states, y[None]])
    elif is_inner:
        times, rows = times[1:-1], rows[1:-1]
    kept = sol if is_dense else None
    # A new object: a write to that of the loop would make compiled code trace the loop again and again.
    stats = replace(run.stats, time=now() - began)
    solution = Solution(times, unpack(rows, leaves), stats, run.code, name, t, unpack(y, leaves), met, kept)
    if throw and run.code > 1:
        raise IntegrationFailed(reason(run.code, max_steps, run.t, end, stats.last_step, min_step), solution)
    return solution


def dense_output(record: list[Any], leaves: Any, held: Held) -> DenseOutput | None:
    if not record:
        return None
    starts, ends, sizes = (held(np.array([step[i] for step in record])) for i in range(3))
    states, coefficients = (held(np.stack([step[i] for step in record])) for i in (3, 4))
    return DenseOutput(starts, ends, sizes, states, coefficients, leaves)


def happened(times: list[Any], states: list[Any], leaves: Any, y: NDArray[Any], held: Held) -> Happened:
    if len(times) == 0:
        return Happened(np.zeros(0), unpack(np.zeros((0, len(y)), y.dtype), leaves))
    return Happened(held(np.array(times)), unpack(held(np.array(states)), leaves))
