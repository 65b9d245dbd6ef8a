"""Initial-value problems: y' = f(t, y, *args), y(ts[0]) = y0.

One function makes a step of any tableau; one loop chooses the steps from the error estimate and reads the values at
`ts` off the dense output, another takes steps of a given size.  Everything is NumPy on a vector (`state`), with one
matrix product for each stage, so that the adjoint of a stage is one matrix product too.

The adaptive loop differentiates as the discrete solution on the steps taken: the step sizes are constants.  A value at
`ts[i]` moves with ts[i] along the dense output, whose slope is f, and all steps move with ts[0].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import BadInput, MorulaError, stop_gradient
from .control import error_norm, first_step, step_factor
from .dop853 import DOP853
from .state import Leaf, layout, pack, unpack
from .tableaux import BOSH3, DOPRI5, EULER, HEUN, MIDPOINT, RK4, TSIT5, Tableau

VectorField = Callable[[float, NDArray[Any]], NDArray[Any]]

METHODS = {m.name: m for m in (EULER, MIDPOINT, HEUN, RK4, BOSH3, DOPRI5, TSIT5, DOP853)}


class IntegrationFailed(MorulaError):
    """The step limit was reached, or the step became too small to advance the time."""


@dataclass
class Stats:
    """What a solve cost: steps accepted and rejected, evaluations of f, and the size of the last full step."""

    accepted: int
    rejected: int
    evaluations: int
    last_step: float


@dataclass
class Solution:
    """The times (m,), the state at each (y0's structure, with a leading axis of length m), and the cost."""

    ts: NDArray[Any]
    ys: Any
    stats: Stats


def odesolve(
    f: Callable[..., Any],
    y0: Any,
    ts: ArrayLike,
    *args: Any,
    method: str | Tableau = "tsit5",
    rtol: ArrayLike = 1e-6,
    atol: ArrayLike = 1e-9,
    steps: int | None = None,
    initial_step: float | None = None,
    max_step: float = np.inf,
    max_steps: int = 100_000,
) -> Solution:
    """Solve y' = f(t, y, *args) from y(ts[0]) = y0 and return y at every time of `ts`.

    f: takes a float t, the state in y0's structure, and args; returns the derivative in the same structure.
    y0: a number, an array of any shape, or a dict, list or tuple of them; float32 and complex are kept.
    ts: (m,) times, rising or falling; equal neighbours are allowed. They do not restrict the steps.
    method: "tsit5" (5th order), "dopri5" (5), "bosh3" (3), "dop853" (8), "heun", "midpoint" (2), or, with `steps`,
        "rk4" (4), "euler" (1); or a `Tableau`.
    rtol, atol: the local error is kept under atol + rtol |y|, root mean square; numbers, or arrays of the size of y0.
    steps: take this many equal steps between neighbouring `ts`, without error control.
    initial_step: the size of the first step; chosen from f if not given.
    max_step: the largest size of a step (the last one may be longer by 1%, to end at ts[-1]).
    max_steps: the limit on accepted and rejected steps together.

    Raises BadInput for arguments that do not fit, IntegrationFailed where the solution cannot be continued.

    Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.4 to II.6.

    >>> solution = odesolve(lambda t, y, rate: -rate * y, 1.0, [0.0, 0.5, 1.0], 2.0)
    >>> solution.ys.round(5).tolist()
    [1.0, 0.36788, 0.13534]
    """
    tableau = _method(method, steps)
    if not callable(f):
        raise BadInput(f"f is {type(f).__name__}; odesolve needs a function f(t, y, *args) that returns dy/dt")
    times = _times(ts)
    leaves, size = layout(stop_gradient(y0))
    y = pack(y0, leaves, "y0")
    if y.dtype.kind in "iu":
        y = y.astype(float)
    if not np.all(np.isfinite(y)):
        raise BadInput(f"y0 holds a value that is not finite: {y0!r}")
    rhs = _vector_field(f, args, leaves, y.dtype)
    if steps is not None:
        rows, stats = _equal_steps(rhs, y, times, tableau, steps)
    else:
        tolerances = _tolerance(rtol, "rtol", size, leaves), _tolerance(atol, "atol", size, leaves)
        if not np.all(tolerances[0] + tolerances[1] > 0):
            raise BadInput("rtol and atol are both 0 for some component; no step could be accepted")
        _positive(initial_step, "initial_step")
        _positive(max_step, "max_step")
        _positive(max_steps, "max_steps")
        rows, stats = _adaptive_steps(rhs, y, times, tableau, *tolerances, initial_step, float(max_step), max_steps)
    return Solution(times, unpack(rows, leaves), stats)


def _step(
    rhs: VectorField, t: float, y: NDArray[Any], k: NDArray[Any], h: float, a: NDArray[Any], c: Sequence[float]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """All derivatives of a step (s + 1, n) from the first, k (m, n), on, and the state at the last of them (n,)."""
    weights = h * a
    point = y
    for i in range(len(c)):
        point = y + np.dot(weights[i, : len(k)], k)
        k = np.concatenate((k, rhs(t + c[i] * h, point)[None]))
    return k, point


def _equal_steps(
    rhs: VectorField, y: NDArray[Any], ts: NDArray[Any], tableau: Tableau, steps: int
) -> tuple[NDArray[Any], Stats]:
    a, c = tableau.a.astype(y.dtype), tableau.c.tolist()
    rows = [y]
    h = 0.0
    k = rhs(float(ts[0]), y)
    for i in range(len(ts) - 1):
        t = float(ts[i])
        h = (float(ts[i + 1]) - t) / steps
        for j in range(steps):
            k_all, y = _step(rhs, t + j * h, y, k[None], h, a, c)
            k = k_all[-1]
        rows.append(y)
    count = steps * (len(ts) - 1)
    return np.stack(rows), Stats(count, 0, 1 + count * len(c), float(stop_gradient(h)))


def _adaptive_steps(
    rhs: VectorField,
    y: NDArray[Any],
    ts: NDArray[Any],
    tableau: Tableau,
    rtol: Any,
    atol: Any,
    initial_step: float | None,
    max_step: float,
    max_steps: int,
) -> tuple[NDArray[Any], Stats]:
    a, c, error_weights = tableau.a.astype(y.dtype), tableau.c.tolist(), tableau.error.astype(y.dtype)
    extra_a, extra_c = tableau.extra_a.astype(y.dtype), tableau.extra_c.tolist()
    interpolant, powers = tableau.interpolant, np.arange(1.0, len(tableau.interpolant) + 1)
    order = tableau.error_order

    t = float(ts[0])
    clock = stop_gradient(ts).tolist()
    end = clock[-1]
    direction = 1.0 if end >= clock[0] else -1.0
    k = rhs(t, y)
    if not np.all(np.isfinite(stop_gradient(k))):
        raise BadInput(f"f is not finite at the start, t = {clock[0]:.6g}: it returned {stop_gradient(k)}")
    if end == clock[0]:
        return y + (ts - t)[:, None].astype(y.dtype) * k, Stats(0, 0, 1, 0.0)

    if initial_step is None:
        h = first_step(rhs, clock[0], stop_gradient(y), stop_gradient(k), end - clock[0], order, rtol, atol)
    else:
        h = direction * float(initial_step)
    h = stop_gradient(h)
    size = np.abs(stop_gradient(y))
    accepted = rejected = dense = 0
    previous, after_rejection, last_step = 1.0, False, 0.0
    rows = [y[None]]
    done = 1

    while done < len(clock):
        now = stop_gradient(t)
        h = direction * min(abs(h), max_step)
        final = 1.01 * abs(h) >= abs(end - now)
        if final:
            h = end - now
        if accepted + rejected >= max_steps:
            raise IntegrationFailed(
                f"max_steps = {max_steps} steps were taken and t = {now:.6g} of {end:.6g} was reached, with steps of "
                f"{abs(h):.3g}; raise max_steps, loosen rtol or atol, or check whether the problem is stiff"
            )
        if not final and abs(h) <= 4 * np.spacing(abs(now)):
            raise IntegrationFailed(
                f"the step fell to {abs(h):.3g} at t = {now:.6g}, too small to advance it; the solution (now of size "
                f"{size.max():.3g}) may be singular there, or f may return values that are not finite"
            )
        k_all, y_new = _step(rhs, t, y, k[None], h, a, c)
        size_new = np.abs(stop_gradient(y_new))
        error = error_norm(error_weights, stop_gradient(k_all), h, atol + rtol * np.maximum(size, size_new))
        factor = step_factor(error, previous, order, after_rejection)
        if not error <= 1:
            rejected += 1
            after_rejection = True
            h *= factor
            continue

        reached = done
        while reached < len(clock) and (final or direction * (clock[reached] - now) <= abs(h)):
            reached += 1
        if reached > done:
            k_dense = k_all
            if extra_c:
                k_dense, _ = _step(rhs, t, y, k_all, h, extra_a, extra_c)
                dense += 1
            theta = (ts[done:reached] - t) / h
            weights = h * np.dot(theta[:, None] ** powers, interpolant)
            rows.append(y + np.dot(weights.astype(y.dtype), k_dense))
            done = reached
        accepted += 1
        if not final or accepted == 1:
            last_step = h
        previous, after_rejection = error, False
        t, y, k, size = t + h, y_new, k_all[-1], size_new
        h *= factor

    evaluations = 1 + (initial_step is None) + len(c) * (accepted + rejected) + len(extra_c) * dense
    return np.concatenate(rows), Stats(accepted, rejected, evaluations, last_step)


def _vector_field(f: Callable[..., Any], args: tuple[Any, ...], leaves: Any, dtype: np.dtype[Any]) -> VectorField:
    """f as a function of vectors.  A state that is a vector already is passed as it is."""
    if isinstance(leaves, Leaf) and len(leaves.shape) == 1:

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            dy = f(t, y, *args)
            if type(dy) is np.ndarray and dy.shape == leaves.shape and dy.dtype == dtype:
                return dy
            return _derivative(dy, leaves, dtype)

    else:

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            return _derivative(f(t, unpack(y, leaves), *args), leaves, dtype)

    return rhs


def _derivative(dy: Any, leaves: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    vector = pack(dy, leaves, "the derivative that f returned")
    if vector.dtype.kind == "c" and dtype.kind != "c":
        raise BadInput(f"f returned complex values for a real state; give y0 as complex to solve in {vector.dtype}")
    return vector if vector.dtype == dtype else vector.astype(dtype)


def _method(method: str | Tableau, steps: int | None) -> Tableau:
    tableau = METHODS.get(method) if isinstance(method, str) else method
    if not isinstance(tableau, Tableau):
        raise BadInput(f"method {method!r} is not known; choose one of {', '.join(METHODS)}, or give a Tableau")
    if steps is None and not len(tableau.error):
        raise BadInput(f'method "{tableau.name}" has no error estimate; give the number of steps, as in steps=10')
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1):
        raise BadInput(f"steps = {steps!r}; it is the whole number of steps between neighbouring ts, at least 1")
    return tableau


def _times(ts: Any) -> NDArray[np.float64]:
    times = ts if isinstance(ts, np.ndarray) and ts.dtype == np.float64 else np.array(ts, dtype=float)
    if times.ndim != 1 or not times.size:
        raise BadInput(f"ts has shape {times.shape}; it is a sequence of times, as in np.linspace(0, 1, 11)")
    if not np.isfinite(times).all():
        raise BadInput(f"ts holds a time that is not finite: {times}")
    changes = np.sign(np.diff(times))
    against = changes == -changes[np.argmax(changes != 0)] if changes.any() else changes.astype(bool)
    if against.any():
        i = int(np.argmax(against))
        raise BadInput(
            f"ts must rise or fall throughout, but ts[{i}] = {times[i]:g} and ts[{i + 1}] = {times[i + 1]:g}"
        )
    return times


def _tolerance(tolerance: Any, name: str, size: int, leaves: Any) -> Any:
    values = np.asarray(tolerance, dtype=float)
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise BadInput(f"{name} = {tolerance!r}; a tolerance is finite and not negative")
    if not values.ndim:
        return float(values)
    if not isinstance(leaves, Leaf) or values.size != size:
        raise BadInput(f"{name} has shape {values.shape}; give one number, or an array of the shape of an array y0")
    return values.reshape(-1)


def _positive(value: Any, name: str) -> None:
    if value is not None and not value > 0:
        raise BadInput(f"{name} = {value!r}; it must be positive (its sign follows from ts)")
