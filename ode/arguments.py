"""Checks of the arguments of ``odesolve``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput
from .control import CONTROLS, StepControl
from .methods import METHODS, Extrapolation, Method, Multistep, RadauFamily, Switching, Taylor
from .state import Leaf


def chosen_method(method: str | Method, steps: int | None) -> Method:
    found = METHODS.get(method) if isinstance(method, str) else method
    if not isinstance(found, Method):
        raise BadInput(f"method {method!r} is not known; choose one of {', '.join(METHODS)}, or give a Tableau")
    if isinstance(found, (Multistep, Extrapolation, RadauFamily)):
        if steps is not None:
            raise BadInput(f'method "{found.name}" chooses its steps and its order; leave out steps')
        return found
    if isinstance(found, Switching):
        if steps is not None:
            raise BadInput(f'method "{found.name}" switches by what the steps show; leave out steps, or name a method')
        return found
    if steps is None and not isinstance(found, Taylor) and not len(found.error):
        raise BadInput(f'method "{found.name}" has no error estimate; give the number of steps, as in steps=10')
    if steps is not None:
        check_steps(steps)
    return found


def check_steps(steps: Any) -> None:
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
        raise BadInput(
            f"steps = {steps!r}; expected an integer of at least 1, the number of steps between neighbouring ts"
        )


def times_of(ts: Any) -> NDArray[np.float64]:
    if isinstance(ts, np.ndarray) and ts.dtype == np.float64:
        times = ts
    else:
        try:
            times = np.array(ts, dtype=float)
        except (TypeError, ValueError):
            raise BadInput(f"ts is {ts!r}; expected a sequence of real times, such as np.linspace(0, 1, 11)") from None
    if times.ndim != 1 or not times.size:
        raise BadInput(
            f"ts has shape {times.shape}; expected a one-dimensional sequence of times, such as np.linspace(0, 1, 11)"
        )
    if not np.isfinite(times).all():
        raise BadInput(f"ts holds a time that is not finite: {times}")
    changes = np.sign(np.diff(times))
    against = changes * changes[np.argmax(changes != 0)] < 0 if changes.size else changes < 0
    if against.any():
        i = int(np.argmax(against))
        raise BadInput(
            f"ts must be strictly increasing or strictly decreasing, but ts[{i}] = {times[i]:g} and ts[{i + 1}] = {times[i + 1]:g}"
        )
    return times


def tolerance(tolerance: Any, name: str, size: int, leaves: Any) -> Any:
    try:
        values = np.asarray(tolerance, dtype=float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise BadInput(f"{name} = {tolerance!r}; expected a finite number that is not negative")
    if not values.ndim:
        return float(values)
    if not isinstance(leaves, Leaf) or values.size != size:
        raise BadInput(f"{name} has shape {values.shape}; give one number, or an array of the shape of an array y0")
    return values.reshape(-1)


def check_positive(value: Any, name: str) -> None:
    if value is not None and not (isinstance(value, (int, float, np.number)) and value > 0):
        raise BadInput(f"{name} = {value!r}; it must be a positive number (its sign follows from ts)")


def check_adaptive(rtol: Any, atol: Any, first_step: Any, max_step: Any, max_steps: Any, min_step: Any = 0.0) -> None:
    """Check what steps that follow the error need."""
    if not np.all(rtol + atol > 0):
        raise BadInput("rtol and atol are both 0 for some component; no step could be accepted")
    check_positive(first_step, "first_step")
    check_positive(max_step, "max_step")
    check_positive(max_steps, "max_steps")
    if not (isinstance(min_step, (int, float, np.number)) and 0 <= min_step <= max_step):
        raise BadInput(f"min_step = {min_step!r}; expected a number from 0 to max_step = {max_step!r}")


def span_with(ts: NDArray[Any], saveat: Any) -> NDArray[Any]:
    """Return the span of ``ts`` with the times ``saveat`` inside."""
    inner = times_of(saveat)
    start, end = float(ts[0]), float(ts[-1])
    if np.any((inner - start) * (inner - end) > 0):
        raise BadInput(
            f"saveat goes from {inner[0]:.6g} to {inner[-1]:.6g}, outside of the span from {start:.6g} to {end:.6g}"
        )
    return times_of(np.concatenate([ts[:1], inner, ts[-1:]]))


def step_control(control: Any) -> StepControl:
    found = CONTROLS.get(control) if isinstance(control, str) else control
    if not isinstance(found, StepControl):
        raise BadInput(
            f"step_control {control!r} is not known; choose one of {', '.join(CONTROLS)}, or give a StepControl"
        )
    return found


def stops_between(tstops: Any, ts: NDArray[Any]) -> NDArray[Any]:
    """Return the times at which a step must end: ``tstops`` in the order of the span and not outside it, and its end."""
    try:
        given = np.array(tstops, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        given = np.array([np.nan])
    if not np.isfinite(given).all():
        raise BadInput(f"tstops is {tstops!r}; expected a sequence of finite times, such as [1.0, 2.5]")
    start, end = float(ts[0]), float(ts[-1])
    if not given.size:
        return np.array([end])
    sign = 1.0 if start < end else -1.0
    return np.append(np.clip(sign * np.sort(sign * given), min(start, end), max(start, end)), end)
