"""Events with the adjoint equation: solves from one event to the next, with jump conditions made of the events' derivatives.

A first solve, a constant, finds the events. Then the state is solved again up to each event, at whose found time T it is y_T.
The time of the event is the root s of its function along the solution through (T, y_T); near T, a step of a Runge-Kutta method of
length s - T = 0 has the solution's first four derivatives. A change of the state begins a new solve, whose derivative by its
first time is that of the adjoint.

Source: S. Galan, W. F. Feehery, P. I. Barton, Parametric sensitivity functions for hybrid discrete/continuous systems, Appl.
Numer. Math. 31 (1999) 17.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant, implicit, stop_gradient
from ..events import Watch
from ..loop import Run
from ..uncompiled import refused_when_compiled

if TYPE_CHECKING:
    from ..integration import Integration

Solve = Callable[["Integration", NDArray[Any], NDArray[Any]], NDArray[Any]]
"""``solve(integration, y, times)`` returns the states at the times."""


def between_events(
    integration: Integration,
    y: NDArray[Any],
    args: tuple[Any, ...],
    times: NDArray[Any],
    watch: Watch,
    solve: Solve,
) -> Run:
    """Solve with events, by a derivative of the states at given times."""
    run = _found(integration, y, args, times, watch)
    if run.code > 1:  # it failed
        return integration.run(y, args, times, watch)
    quiet = replace(integration, tell=None)
    rhs = integration.problem(args).rhs
    moved = np.zeros_like(run.rows)
    moved[0] = y - stop_gradient(y)
    event_times: list[list[Any]] = [[] for _ in watch.events]
    event_states: list[list[Any]] = [[] for _ in watch.events]
    t: Any = times[0]
    done = 1
    for events, reached in _pieces(run, times):
        at = [T for _, T, _ in events]
        is_last = not events or not events[-1][2]
        given = np.concatenate([np.reshape(t, 1), times[done:reached], at, times[-1:] if is_last else []])
        order, where = _order(given, float(times[-1]) - float(times[0]))
        rows = solve(quiet, y, given[order])[where]
        count = reached - done
        moved[done:reached] = rows[1 : 1 + count] - stop_gradient(rows[1 : 1 + count])
        for k in range(len(events)):
            i, T, is_stopping = events[k]
            state = rows[1 + count + k]
            t_event = implicit(T, lambda s, i=i, T=T, x=state: watch.value(i, s, flow(rhs, T, s, x)))
            y_event = _with_derivative(run.event_states[i][len(event_times[i])], flow(rhs, T, t_event, state))
            event_times[i].append(t_event)
            event_states[i].append(y_event)
            if is_stopping:
                t, y = t_event, watch.changed(i, t_event, y_event)
        if is_last:
            t, y = times[-1], _with_derivative(run.y, rows[-1])
        done = reached
    if run.code == 0:
        moved[-1] = y - stop_gradient(y)
    return Run(run.rows + moved, run.stats, run.code, t, y, event_times, event_states, [], [])


refused_when_compiled(
    between_events,
    "the adjoint equation with events cannot be compiled: the events divide the solve into parts; take "
    'adjoint="discrete", "checkpoint" or "forward"',
)


def flow(rhs: Callable[[Any, NDArray[Any]], NDArray[Any]], t: Any, s: Any, y: NDArray[Any]) -> NDArray[Any]:
    """Return the state at s of the solution through y at t, for s near t: a step of the classical method of order 4."""
    h = s - t
    k1 = rhs(t, y)
    k2 = rhs(t + 0.5 * h, y + 0.5 * h * k1)
    k3 = rhs(t + 0.5 * h, y + 0.5 * h * k2)
    k4 = rhs(s, y + h * k3)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def _with_derivative(value: Any, x: Any) -> Any:
    """Return a value with the derivative of x, which is another approximation of it."""
    return value + (x - stop_gradient(x))


@constant
def _found(integration: Integration, y: NDArray[Any], args: tuple[Any, ...], times: NDArray[Any], watch: Watch) -> Run:
    return integration.run(y, args, times, watch, is_timed=True)


def _pieces(run: Run, times: NDArray[Any]) -> list[tuple[list[tuple[int, float, bool]], int]]:
    """Return for each part of a run, up to an event that stops it or to the last time: its events, each with its time and
    whether it stops; and the number of the times that were reached at its end."""
    pieces: list[tuple[list[tuple[int, float, bool]], int]] = []
    events: list[tuple[int, float, bool]] = []
    sign = 1.0 if times[-1] >= times[0] else -1.0
    inner = len(times) - 1
    for t, _, h, _, hit, places in run.path:
        for i in np.argsort(places, kind="stable"):
            if places[i] <= 1.0 and i != int(hit):
                events.append((int(i), float(t + places[i] * h), False))
        if hit >= 0:
            T = float(t + places[int(hit)] * h)
            events.append((int(hit), T, True))
            reached = max(1, int(np.searchsorted(sign * times[:inner], sign * T, side="right")))
            pieces.append((events, reached))
            events = []
    if run.code == 0 and (not pieces or run.t != pieces[-1][0][-1][1] or events):
        pieces.append((events, max(1, inner)))
    return pieces


def _order(times: NDArray[Any], span: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the order of times in the direction of the solve, the first one first, and the place of each in it."""
    sign = 1.0 if span >= 0 else -1.0
    order = np.concatenate([np.zeros(1, int), 1 + np.argsort(sign * times[1:], kind="stable")])
    return order, np.argsort(order)
