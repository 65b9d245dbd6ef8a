"""``ddesolve``: delay differential equations y' = f(t, y, y(t - lag), *args)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import BadInput, stop_gradient
from ..arguments import (
    check_adaptive,
    chosen_method,
    step_control as chosen_control,
    stops_between,
    times_of,
    tolerance,
)
from ..control import StepControl
from ..ending import ended, held_by, now
from ..first_step import trial_step
from ..loop import adaptive_steps
from ..methods import METHODS, Tableau
from ..progress import teller_of
from ..solution import Solution
from ..state import initial
from .steps import DelayProblem, DelayStepper


def ddesolve(
    f: Callable[..., Any],
    history: Any,
    ts: ArrayLike,
    *args: Any,
    lags: Any,
    y0: Any = None,
    method: str | Tableau = "tsit5",
    rtol: ArrayLike = 1e-6,
    atol: ArrayLike = 1e-9,
    first_step: float | None = None,
    max_step: float = np.inf,
    max_steps: int = 5_000,
    step_control: str | StepControl = "PI",
    is_dense: bool = False,
    throw: bool = True,
    progress: bool | Callable[[float, int], Any] = False,
) -> Solution:
    """Solve y' = f(t, y, y(t - lag), *args) from a history; the solution is differentiable, also with respect to the lags.

    Steps end where a kink of the solution at the start propagates by constant lags, until it is smoother than the method's
    order. Steps are no longer than the smallest constant lag. Where a kink propagates by lags that are functions, the error
    estimate shortens the steps; there a gradient is less accurate than the solution (2e-4 at a tolerance of 1e-9).

    Args:
        f: ``f(t, y, past, *args)`` takes the state in its structure, and the state at t - lag: past is one state if ``lags`` is
            a number or a function, else a list with a state for each lag. It returns dy/dt in the same structure.
        history: ``history(t, *args)`` returns the state at a time t up to ts[0]; or a state, if it is constant.
        ts: (m,) rising output times. They do not restrict the steps.
        args: further arguments of all functions; gradients reach them.
        lags: a positive number, or a function ``lag(t, y, *args)`` that returns one; or a sequence of these.
        y0: the state at ts[0], if it is not that of the history; for lags that are numbers.
        method: an explicit Runge-Kutta method of ``odesolve`` with an error estimate, by its name or as a ``Tableau``.
        rtol, atol, first_step, max_step, step_control, throw, progress: as in ``odesolve``.
        max_steps: the limit on the number of steps; the solution is kept in arrays of this length.
        is_dense: whether the solution has ``sol``, a function of time.

    Returns:
        A ``Solution``: the times, the states at these times, the cost, and how the solve ended.

    Raises:
        BadInput: an argument has the wrong type, shape or value, or a function returns what does not fit.
        IntegrationFailed: as in ``odesolve``.

    Source: A. Bellen, M. Zennaro, Numerical Methods for Delay Differential Equations (2003), chapters 3 to 6; L. F. Shampine,
    S. Thompson, Solving DDEs in MATLAB, Appl. Numer. Math. 37 (2001) 441.

    >>> solution = ddesolve(lambda t, y, past: -past, 1.0, [0.0, 1.0, 2.0], lags=1.0)
    >>> bool(abs(solution.y - [1.0, 0.0, -0.5]).max() < 1e-6)
    True
    """
    began, tell = now(), teller_of(progress)
    chosen = chosen_method(method, None)
    if not isinstance(chosen, Tableau):
        able = ", ".join(name for name, m in METHODS.items() if isinstance(m, Tableau) and len(m.error))
        raise BadInput(f"{chosen.name} does not solve delay equations; choose one of {able}")
    if not callable(f):
        raise BadInput(f"f is {type(f).__name__}; ddesolve needs a function f(t, y, past, *args) that returns dy/dt")
    times = times_of(ts)
    if len(times) < 2 or not times[-1] > times[0]:
        raise BadInput("ts must rise from its first to its last time: a delay equation is solved forward in time")
    start = float(times[0])
    if history is None:
        raise BadInput("the history is None; give a state, or a function history(t, *args) for times up to ts[0]")
    first = y0 if y0 is not None else history(start, *args) if callable(history) else history
    y, leaves, size = initial(first, "the state at the start")
    held = held_by("ddesolve", {"rtol": rtol, "atol": atol, "first_step": first_step, "max_step": max_step})
    relative, absolute = tolerance(rtol, "rtol", size, leaves), tolerance(atol, "atol", size, leaves)
    check_adaptive(relative, absolute, first_step, max_step, max_steps)
    given, is_single = _lags(lags)
    problem = DelayProblem(f, args, history, given, is_single, start, leaves, y.dtype)
    for i, lag in enumerate(given):
        at_start = problem.lag(i, start, y) if callable(lag) else lag
        if not (at_start >= 0.0 if callable(lag) else 0.0 < at_start < np.inf):
            raise BadInput(f"lags[{i}] is {float(at_start):.6g} at the start; a lag is a positive number")
        if not np.all(np.isfinite(problem.before(start - at_start))):
            raise BadInput(
                f"the history is not finite at t = {float(start - at_start):.6g}, where lags[{i}] reaches from the start; it must be "
                "known from there to ts[0]"
            )
    if y0 is not None and problem.is_state_dependent and np.any(problem.before(start) != y):
        raise BadInput(
            "y0 differs from the history at the start, and the jumps of y' that follow are found for constant lags only; give "
            "numbers as lags, or a history that ends at y0"
        )
    fixed = [lag for lag in given if not callable(lag)]
    longest = float(max_step)
    for lag in fixed:  # 1%, by which a step may grow to end at a stop
        longest = min(longest, stop_gradient(float(lag)) / 1.01)
    if first_step is None:
        slope = problem.slope(start, y)
        first_step = trial_step(y, slope, times[-1] - times[0], relative, absolute)
    run = adaptive_steps(
        DelayStepper(chosen, y.dtype, int(max_steps), problem.is_state_dependent),
        problem,  # type: ignore[arg-type]
        y.copy(),
        times,
        _kinks(fixed, times, chosen.order),
        chosen_control(step_control),
        relative,
        absolute,
        first_step,
        longest,
        max_steps,
        None,
        is_dense,
        tell=tell,
    )
    return ended(run, times, times[-1], leaves, chosen.name, max_steps, throw, held, began, is_dense)


def _lags(lags: Any) -> tuple[list[Any], bool]:
    """Return the lags, and whether one was given alone."""
    is_single = callable(lags) or np.ndim(lags) == 0
    several: Any = lags
    given = [lags] if is_single else [several[i] for i in range(len(several))]
    if not given:
        raise BadInput("lags is empty; give a number, a function lag(t, y, *args), or a sequence of these")
    for i, lag in enumerate(given):
        if not callable(lag) and (np.ndim(lag) != 0 or np.asarray(lag).dtype.kind not in "iuf"):
            raise BadInput(f"lags[{i}] is {lag!r}; expected a positive number, or a function lag(t, y, *args)")
    return given, is_single


def _kinks(lags: list[Any], times: NDArray[Any], order: int) -> NDArray[Any]:
    """Return the times at which a step must end: the start plus sums of up to ``order`` lags, and the end.

    Each lag smoothes the kink of the start by one derivative. The times move with the lags.
    """
    counts = [n for n in product(range(order + 1), repeat=len(lags)) if 0 < sum(n) <= order]
    if not counts:
        return stops_between((), times)
    sums = np.dot(np.array(counts, dtype=float), np.stack([1.0 * lag for lag in lags]))
    stops = stops_between(times[0] + sums, times)
    close = 1e-9 * (times[-1] - times[0])  # sums that are equal but for rounding
    return np.concatenate([stops[:1], np.where(np.diff(stops) < close, stops[:-1], stops[1:])])
