"""The solve again on the steps of a first run, as a loop of known steps: what checkpoints are laid in.

The first run chooses the steps, and is a constant. The second is the discrete solution on these steps, whose derivative
is that of ``adjoint="discrete"`` with less memory: some states are held, and steps are run again from these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core import checkpoint, constant, nestlevel, online
from ..consistency import consistent
from ..events import Watch, along
from ..loop import Run, line, powers
from ..problem import Problem
from ..uncompiled import refused_when_compiled
from .options import Adjoint

if TYPE_CHECKING:
    from ..integration import Integration

Steps = tuple[Any, ...]
"""The steps (k,) of a run: their sizes, which stop they end at (0 for none, 1 for one of ``tstops``, 2 for the last time), the times of
the stops, the first and the last of the times in them, the event that ended them (-1 for none); of each event (k, e) where
in the step it stands (inf for nowhere) and how often it happened before; and how often each event happened (e,)."""


def checkpointed(
    integration: Integration,
    y: NDArray[Any],
    args: tuple[Any, ...],
    times: NDArray[Any],
    options: Adjoint,
    watch: Watch | None,
    is_dense: bool,
) -> Run:
    """Solve with nested checkpoints for the backward sweep."""
    if nestlevel() == 0:
        return integration.run(y, args, times, watch, is_dense)
    if watch is not None:
        _check_uncompiled()
    steps, code, stats = _first(integration, y, args, times, watch)
    given = (integration.stepper(), integration.problem(args), y, times, steps, watch, is_dense, code == 0)
    if options.memory is not None:
        found = checkpoint(again, *given, memory=options.memory)
    else:
        policy = "sqrt" if options.snapshots is None else online(options.snapshots)
        found = checkpoint(again, *given, policy=policy)
    rows, t, y, event_times, event_states, record = found
    return Run(rows, stats, code, t, y, event_times, event_states, record, [])


@constant
def _check_uncompiled() -> None:
    """Events are searched for in the steps of a first solve, which takes minutes to compile beside the loop with checkpoints."""


refused_when_compiled(
    _check_uncompiled,
    'the gradient by adjoint="checkpoint" with events cannot be compiled in reasonable time; take adjoint="discrete" or "forward", '
    "or leave out mo.jit",
)


def again(
    stepper: Any,
    problem: Problem,
    y: NDArray[Any],
    times: NDArray[Any],
    steps: Steps,
    watch: Watch | None,
    is_dense: bool,
    is_whole: bool,
) -> tuple[Any, ...]:
    """Return what a ``Run`` has, by known steps: the rows, the last time and state, the events, and the record.

    is_whole: whether the last time is reached.
    """
    sizes, stops, stop_times, low, high, hits, places, numbers, counts = steps
    kinds = 0 if watch is None else len(watch.events)
    t = float(times[0])
    stepper.wants_polynomials = is_dense or len(times) > 2 or watch is not None
    slope = problem.slope(t, y)
    memory = stepper.start(problem, t, y, slope, np.sum(sizes[:1]))
    ys = np.full((len(times), len(y)), np.nan, y.dtype)
    ys[0] = y
    event_times = [np.zeros(counts[i]) for i in range(kinds)]
    event_states = [np.zeros((counts[i], len(y)), y.dtype) for i in range(kinds)]
    record: list[Any] = []
    for _ in range(_is_empty(times)):
        ys = y + (times - t)[:, None].astype(y.dtype) * slope[None]
        if is_dense:
            record.append((t, t, 1.0 + 0.0 * t, y, line(slope, stepper.degree)))
    for k in range(len(sizes)):
        h = sizes[k]
        t_new = t + h
        if stops[k] > 0:
            t_new = float(times[-1]) if stops[k] == 2 else stop_times[k]
            h = t_new - t
        y_new, stages = stepper.step(problem, t, t_new, y, memory)
        t_next, y_next = t_new, y_new
        if watch is not None or is_dense or high[k] > low[k]:
            c = stepper.polynomial(problem, t, t_new, y, stages)
            if watch is not None:
                for i in range(kinds):
                    if places[k, i] <= 1.0:
                        t_event = watch.time(i, places[k, i], t, h, y, c)
                        y_event = along((t_event - t) / h, y, c)
                        event_times[i][numbers[k, i]] = t_event
                        event_states[i][numbers[k, i]] = y_event
                        if hits[k] == i:
                            t_next, y_next = t_event, y_event
            if high[k] > low[k]:
                ys[low[k] : high[k]] = y + powers((times[low[k] : high[k]] - t) / h, c)
            if is_dense:
                record.append((t, t_next, h, y, c))
        t, y = t_next, y_next
        if watch is not None and hits[k] >= 0:
            for i in range(kinds):
                if hits[k] == i:
                    y = watch.changed(i, t, y)
            if problem.mass is not None:
                y = consistent(problem, t, y)
            memory = stepper.start(problem, t, y, problem.slope(t, y), h)
        else:
            memory = stepper.advance(stages)
    if is_whole and len(sizes) > 0:
        ys[-1] = y
    return ys, t, y, event_times, event_states, record


@constant
def _is_empty(times: NDArray[Any]) -> int:
    """Return 1 for an empty span, else 0."""
    return 1 if times[0] == times[-1] else 0


@constant
def _first(
    integration: Integration, y: NDArray[Any], args: tuple[Any, ...], times: NDArray[Any], watch: Watch | None
) -> tuple[Steps, int, Any]:
    """Return the steps of a run, its code and its cost."""
    run = integration.run(y, args, times, watch, is_timed=True)
    begins, ends, sizes = (np.array([step[i] for step in run.path], dtype=float) for i in (0, 1, 2))
    is_stop, hits = (np.array([step[i] for step in run.path], dtype=int) for i in (3, 4))
    kinds = 0 if watch is None else len(watch.events)
    places = np.array([step[5] for step in run.path], dtype=float).reshape(len(sizes), kinds)
    sign = 1.0 if times[-1] >= times[0] else -1.0
    inner = max(len(times) - 1, 1)
    reached = np.concatenate([begins[1:], np.array([run.t])])[: len(sizes)]
    high = np.maximum(np.searchsorted(sign * times[:inner], sign * reached, side="right"), 1)
    low = np.concatenate([np.ones(1, high.dtype), high[:-1]])
    stops = is_stop * np.where(ends == times[-1], 2, 1)
    happened = (places <= 1.0).astype(int)
    numbers = np.cumsum(happened, axis=0) - happened
    counts = [int(np.sum(happened[:, i])) for i in range(kinds)]
    return (sizes, stops, ends, low, high, hits, places, numbers, counts), run.code, run.stats
