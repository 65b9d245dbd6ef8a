"""The forward solve as arrays: its states at the times, its dense output, and its cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant
from ..loop import Run
from ..solution import Stats

Record = tuple[Any, ...]
"""rows (m, n), starts (k,), sizes (k,), states (k, n), coefficients (k, d, n), the last state (n,) and time; then the code
and the numbers of ``Stats``. Without dense output, k is 0."""


def record_of(run: Run, is_dense: bool) -> Record:
    """Return a run as arrays and numbers, which a function with a pullback of its own may return."""
    s, n = run.stats, len(run.y)
    if is_dense:
        starts, sizes = (np.array([step[i] for step in run.record]) for i in (0, 2))
        states, coefficients = (np.stack([step[i] for step in run.record]) for i in (3, 4))
    else:
        starts, sizes = np.zeros(0), np.zeros(0)
        states, coefficients = np.zeros((0, n), run.y.dtype), np.zeros((0, 0, n), run.y.dtype)
    cost = (s.accepted, s.rejected, s.evaluations, s.last_step, s.jacobians, s.factorisations, s.implicit_steps)
    return (run.rows, starts, sizes, states, coefficients, run.y, run.t, run.code, *cost)


class OfStates:
    """A derivative of the states at the times alone."""

    def outputs(self, record: Record) -> NDArray[Any]:
        """Return the states at the times."""
        return np.copy(record[0])

    def found(self, record: Record, rows: NDArray[Any]) -> Run:
        """Return the run of a record, with states that have a derivative."""
        code = record[7]
        y = rows[-1] if code == 0 else record[5]
        return Run(rows, Stats(*record[8:]), code, record[6], y, [], [], [], [])


def outputs_of(run: Run, is_dense: bool) -> tuple[Any, ...]:
    """Return the numbers of a run that have derivatives: the states at the times, the last time and state, the times and states of
    the events, and the dense output."""
    dense: tuple[Any, ...] = ()
    if is_dense:
        dense = (
            *(np.array([step[i] for step in run.record]) for i in range(3)),
            *(np.stack([step[i] for step in run.record]) for i in (3, 4)),
        )
    at = tuple(np.array(times) if len(times) > 0 else np.zeros(0) for times in run.event_times)
    states = tuple(np.array(s) if len(s) > 0 else np.zeros((0, len(run.y)), run.y.dtype) for s in run.event_states)
    return run.rows, run.t, run.y, at, states, dense


def state_at(record: Record, t: Any) -> NDArray[Any]:
    """Return the dense output at a time, (n,)."""
    k = _step(record[1], record[2], t)
    theta = (t - record[1][k]) / record[2][k]
    c = record[4][k]
    total = c[-1]
    for j in range(len(c) - 2, -1, -1):
        total = c[j] + theta * total
    return record[3][k] + theta * total


@constant
def _step(starts: NDArray[Any], sizes: NDArray[Any], t: float) -> int:
    """Return the step that a time belongs to; where two meet, the later one."""
    sign = 1.0 if sizes[0] > 0 else -1.0
    return max(int(np.searchsorted(sign * starts, sign * t, side="right")) - 1, 0)
