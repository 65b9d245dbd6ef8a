"""The solve again on the steps of a first run, as a loop of known steps: what checkpoints are laid in.

The first run chooses the steps, and is a constant. The second is the discrete solution on these steps, whose derivative
is that of ``adjoint="discrete"`` with less memory: some states are held, and steps are run again from these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core import checkpoint, constant, nestlevel, online, stop_gradient
from ..loop import Run, powers
from ..problem import Problem
from .options import Adjoint

if TYPE_CHECKING:
    from ..integration import Integration


def checkpointed(
    integration: Integration, y: NDArray[Any], args: tuple[Any, ...], times: NDArray[Any], options: Adjoint
) -> Run:
    """Solve with nested checkpoints for the backward sweep."""
    if nestlevel() == 0:
        return integration.run(y, args, times)
    found = _first(integration, y, args, times)
    offset = times[0] - stop_gradient(times[0])
    begins = found[0] + np.where(found[1] > 0, 0.0, offset)
    ends = np.concatenate([begins[1:], times[-1:]])
    problem, stepper = integration.problem(args), integration.stepper()
    given = (stepper, problem, y, times, begins, ends, found[2], found[3])
    if found[7] != 0 or len(begins) == 0:  # it failed, or the span is empty
        return integration.run(y, args, times)
    if options.memory is not None:
        rows = checkpoint(again, *given, memory=options.memory)
    else:
        policy = "sqrt" if options.snapshots is None else online(options.snapshots)
        rows = checkpoint(again, *given, policy=policy)
    return Run(rows, found[8], found[7], found[6], rows[-1], [], [], [], [])


def again(
    stepper: Any,
    problem: Problem,
    y: NDArray[Any],
    times: NDArray[Any],
    begins: NDArray[Any],
    ends: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
) -> NDArray[Any]:
    """Return the states (m, n) at the times, by steps from begins (k,) to ends, with times[low:high] in each."""
    t = begins[0]
    stepper.wants_polynomials = len(times) > 2
    memory = stepper.start(problem, t, y, problem.rhs(t, y), ends[0] - t)
    ys = np.empty((len(times), len(y)), y.dtype)
    ys[0] = y
    for k in range(len(begins)):
        t, t_new = begins[k], ends[k]
        y_new, stages = stepper.step(problem, t, t_new, y, memory)
        if high[k] > low[k]:
            c = stepper.polynomial(problem, t, t_new, y, stages)
            ys[low[k] : high[k]] = y + powers((times[low[k] : high[k]] - t) / (t_new - t), c)
        memory = stepper.advance(stages)
        y = y_new
    ys[-1] = y
    return ys


@constant
def _first(integration: Integration, y: NDArray[Any], args: tuple[Any, ...], times: NDArray[Any]) -> tuple[Any, ...]:
    """Return of the steps (k,) their beginnings, whether a stop was passed before, and the first and the last of the times
    in them; then the last state, the step, the time, the code and the cost."""
    run = integration.run(y, args, times, is_timed=True)
    begins, ends = (np.array([step[i] for step in run.path], dtype=float) for i in (0, 1))
    is_stop = np.array([step[3] for step in run.path], dtype=float)
    passed = np.cumsum(is_stop) - is_stop
    sign = 1.0 if times[-1] >= times[0] else -1.0
    inner = max(len(times) - 1, 1)
    high = np.maximum(np.searchsorted(sign * times[:inner], sign * ends, side="right"), 1)
    low = np.concatenate([np.ones(1, high.dtype), high[:-1]])
    return begins, passed, low, high, run.y, run.stats.last_step, run.t, run.code, run.stats
