"""The loops of all methods: steps of a given size, and steps that follow the error estimate.

The derivative of the adaptive loop is that of the discrete solution on the steps taken: step sizes are constants, and all
steps move with ts[0]. A step that ends at a stop ends there exactly: its size moves with both of its ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, constant
from .consistency import consistent
from .control import RUNNING, Controller, GivenSteps, StepControl
from .events import Watch, along
from .first_step import initial_step, trial_step
from .problem import Problem
from .progress import Progress
from .solution import Stats


@dataclass
class Run:
    """What a solve found."""

    rows: NDArray[Any]
    """(m, n): the states at ts; NaN where they were not reached."""
    stats: Stats
    code: int
    """The code of the status."""
    t: Any
    y: NDArray[Any]
    """The last time and state that were reached."""
    event_times: list[Any]
    event_states: list[Any]
    """For each event, the times and states at which it happened."""
    record: list[Any]
    """For dense output: of each step the times of its ends, its size, the state at its start, and its polynomial."""
    path: list[Any]
    """If asked for: of each step the times of its ends, its size, whether it ended at a stop, the event that cut it short (-1
    for none), and where in it each event stands (e,), inf for nowhere."""


def equal_steps(
    stepper: Any,
    problem: Problem,
    y: NDArray[Any],
    ts: NDArray[Any],
    steps: int,
    tell: Callable[..., None] | None = None,
) -> tuple[NDArray[Any], Stats]:
    """Return the states (m, n) at ts (m,), with ``steps`` steps between neighbouring times; and the cost."""
    ys = np.empty((len(ts), len(y)), y.dtype)
    ys[0] = y
    h, count, jacobians, factorisations = 0.0, 1, 0, 0
    start, end = _ends(ts)
    progress = None if tell is None or end == start else Progress(tell, start, end)
    if progress is not None:
        progress.begun()
    memory = stepper.start(problem, float(ts[0]), y, problem.slope(float(ts[0]), y), 0.0)
    for i in range(len(ts) - 1):
        t = float(ts[i])
        h = (float(ts[i + 1]) - t) / steps
        for j in range(steps):
            y, stages = stepper.step(problem, t + j * h, t + (j + 1) * h, y, memory)
            if not stepper.is_found(stages):
                raise BadInput(
                    f"the {stepper.sought} of {stepper.name} were not found at t = {t + j * h:.6g}: Newton's method does not converge for "
                    f"steps of {h:.3g}; give more steps"
                )
            memory = stepper.advance(stages)
            made = stepper.matrices(stages)
            count += stepper.spent(stages)
            jacobians += made[0]
            factorisations += made[1]
            if progress is not None:
                progress.passed(t + (j + 1) * h, i * steps + j + 1)
        ys[i + 1] = y
    total = steps * (len(ts) - 1)
    if progress is not None:
        progress.ended(end, total)
    implicit = total if stepper.is_implicit else 0
    return ys, Stats(total, 0, count, h, jacobians, factorisations, implicit)


def adaptive_steps(
    stepper: Any,
    problem: Problem,
    y: NDArray[Any],
    ts: NDArray[Any],
    stops: NDArray[Any],
    control: StepControl,
    rtol: Any,
    atol: Any,
    first_step: float | None,
    max_step: float,
    max_steps: int,
    watch: Watch | None,
    is_dense: bool,
    landing: Callable[[int, Any, NDArray[Any]], NDArray[Any]] | None = None,
    steps: NDArray[Any] | None = None,
    is_timed: bool = False,
    tell: Callable[..., None] | None = None,
    min_step: float = 0.0,
) -> Run:
    """Solve the problem; see ``Run`` for the results.

    ``landing(j, t, y)`` returns the state with which the solve goes on after stop j. With ``steps`` (k,), these steps are
    taken, whatever their errors. With ``is_timed``, the run has its ``path``. ``tell`` is what ``Progress`` calls.
    """
    t = float(ts[0])
    slope = problem.slope(t, y)
    start, end = _ends(ts)
    if not np.isfinite(slope).all():
        raise BadInput(f"f is not finite at the start, t = {start:.6g}: it returned {np.asarray(slope).tolist()}")
    kinds = 0 if watch is None else len(watch.events)
    nowhere = np.full(kinds, np.inf)
    event_times: list[Any] = [[] for _ in range(kinds)]
    event_states: list[Any] = [[] for _ in range(kinds)]
    if end == start:
        ys = y + (ts - t)[:, None].astype(y.dtype) * slope[None]
        record: list[Any] = []
        for _ in range(_one(start) if is_dense else 0):  # compiled, a list of any length, like that of the steps
            record.append((t, t, 1.0 + 0.0 * t, y, line(slope, stepper.degree)))
        return Run(ys, Stats(0, 0, 1, 0.0), 0, t, y, event_times, event_states, record, [])
    order = stepper.error_order
    if first_step is None:
        h = trial_step(y, slope, end - start, rtol, atol)
        if problem.mass is None:
            h = initial_step(h, y, slope, problem.rhs(t + h, y + h * slope), end - start, order, rtol, atol)
    else:
        h = float(first_step)
    if steps is None:
        controller = Controller(start, stops, h, control, rtol, atol, max_step, max_steps, min_step)
    else:
        controller = GivenSteps(start, stops, h, control, rtol, atol, max_step, max_steps, steps=steps)
    inner = len(ts) - 1  # the last time is a stop
    stepper.wants_polynomials = is_dense or inner > 1 or watch is not None
    memory = stepper.start(problem, t, y, slope, h)
    ys = np.full((len(ts), len(y)), np.nan, y.dtype)
    ys[0] = y
    done, dense, restarts, spent, jacobians, factorisations = 1, 0, 0, 0, 0, 0
    record = []
    path: list[Any] = []
    c: Any = None
    values = np.zeros(0) if watch is None else watch.values(t, y)
    progress = None if tell is None else Progress(tell, start, end)
    if progress is not None:
        progress.begun()

    while True:
        if stepper.proposes_sizes and (first_step is None or controller.accepted):
            controller.resize(stepper.size(problem, y, memory))
        h, is_stop = controller.propose(t)
        if controller.code != RUNNING:
            break
        t_new = t + h
        if is_stop:
            t_new = _stop_time(ts, stops, controller.stop)
            h = t_new - t
        y_new, stages = stepper.step(problem, t, t_new, y, memory)
        spent += stepper.spent(stages)
        made = stepper.matrices(stages)
        jacobians += made[0]
        factorisations += made[1]
        if not controller.accepts(stepper, h, is_stop, stages, y, y_new):
            memory = stepper.again(memory, stages)
            continue
        hit, t_next, y_next = -1, t_new, y_new
        places = nowhere
        if is_dense:
            c = stepper.polynomial(problem, t, t_new, y, stages)
            dense += 1
        if watch is not None:
            values_new = watch.values(t_new, y_new)
            if watch.may_cross(values, values_new):
                if not is_dense:
                    c = stepper.polynomial(problem, t, t_new, y, stages)
                    dense += 1
                hit, places = watch.first_stop(watch.crossings(values, values_new, t, h, y, c))
                for i in range(len(watch.events)):
                    if places[i] <= 1.0:
                        t_event = watch.time(i, places[i], t, h, y, c)
                        y_event = along((t_event - t) / h, y, c)
                        event_times[i].append(t_event)
                        event_states[i].append(y_event)
                        if hit == i:
                            t_next, y_next = t_event, y_event
            values = values_new
        if inner > 1:
            reached = _reached(ts, done, inner, t_next, h)
            if reached > done:
                if not is_dense:
                    c = stepper.polynomial(problem, t, t_new, y, stages)
                    dense += 1
                ys[done:reached] = y + powers((ts[done:reached] - t) / h, c)
                done = reached
        if is_dense:
            record.append((t, t_next, h, y, c))
        if is_timed:
            path.append((t, t_new, h, float(is_stop), float(hit), places))
        t, y = t_next, y_next
        if progress is not None:
            progress.passed(t, controller.accepted)
        if hit >= 0 and watch is not None:
            for i in range(len(watch.events)):
                if hit == i:
                    y = watch.changed(i, t, y)
                    if watch.events[i].is_terminal and len(event_times[i]) >= watch.events[i].is_terminal:
                        controller.terminate()
            if problem.mass is not None:
                y = consistent(problem, t, y)
            memory = stepper.start(problem, t, y, problem.slope(t, y), h)
            values = watch.after(hit, watch.values(t, y))
            restarts += 1
            if is_stop and _equal(t, t_new):
                controller.arrive()
        else:
            if stepper.is_multistep and controller.is_short:
                memory = stepper.replaced(memory, stages)
            else:
                memory = stepper.advance(stages)
            if is_stop:
                if landing is not None:
                    y = landing(controller.stop, t, y)
                    memory = stepper.start(problem, t, y, problem.rhs(t, y), h)
                    restarts += 1
                controller.arrive()
        if controller.code != RUNNING:
            break
    if controller.code == 0:
        ys[inner:] = y
    if progress is not None:
        progress.ended(t, controller.accepted)

    tried = controller.accepted + controller.rejected
    evaluations = 1 + (first_step is None) + restarts + spent + stepper.dense_evaluations * dense
    implicit = stepper.choice.tried if stepper.is_switching else tried if stepper.is_implicit else 0
    stats = Stats(
        controller.accepted,
        controller.rejected,
        evaluations,
        controller.last_step,
        jacobians,
        factorisations,
        implicit,
    )
    return Run(ys, stats, controller.code, t, y, event_times, event_states, record, path)


def line(slope: NDArray[Any], degree: int) -> NDArray[Any]:
    """Return the coefficients (degree, n) of a dense output with a slope (n,)."""
    return np.concatenate([slope[None], np.zeros((degree - 1, len(slope)), slope.dtype)])


def powers(theta: NDArray[Any], coefficients: NDArray[Any]) -> NDArray[Any]:
    """Return sum_j theta^(j + 1) coefficients[j], for theta (m,) and coefficients (degree, n)."""
    powers = theta[:, None] ** np.arange(1.0, len(coefficients) + 1)
    return np.dot(powers.astype(coefficients.dtype), coefficients)


def _stop_time(ts: NDArray[Any], stops: NDArray[Any], stop: int) -> Any:
    """Return a stop; the last one is ts[-1] and moves with it."""
    return float(ts[-1]) if stop == len(stops) - 1 else float(stops[stop])


@constant
def _one(start: float) -> int:
    return 1 if start == start else 0


@constant
def _equal(a: float, b: float) -> bool:
    return a == b


@constant
def _ends(ts: NDArray[Any]) -> tuple[float, float]:
    return float(ts[0]), float(ts[-1])


@constant
def _reached(ts: NDArray[Any], done: int, inner: int, t: float, h: float) -> int:
    """Return how many of ts[:inner] are reached after a step of h that ends at t; ``done`` were reached before it."""
    count = done
    while count < inner and (ts[count] <= t if h > 0 else ts[count] >= t):
        count += 1
    return count
