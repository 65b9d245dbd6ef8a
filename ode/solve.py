"""Initial-value problems: y' = f(t, y, *args), y(ts[0]) = y0.

``_stages`` makes a step of any tableau. ``_adaptive_steps`` chooses step sizes from the error estimate and evaluates
the dense output at ``ts``; ``_equal_steps`` takes steps of a given size. Both are NumPy on a vector (``state``), with
one matrix product per stage, so that the adjoint of a stage is one matrix product too.

The derivative of the adaptive loop is that of the discrete solution on the steps taken: step sizes are constants. The
derivative with respect to ts[i] is the slope of the dense output there; all steps move with ts[0].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import BadInput, constant, stop_gradient
from .control import Controller, initial_step, trial_step
from .dop853 import DOP853
from .state import Leaf, layout, pack, unpack
from .tableaux import BOSH3, DOPRI5, EULER, HEUN, MIDPOINT, RK4, TSIT5, Tableau

VectorField = Callable[[float, NDArray[Any]], NDArray[Any]]
Rows = Sequence[NDArray[Any]]

METHODS = {m.name: m for m in (EULER, MIDPOINT, HEUN, RK4, BOSH3, DOPRI5, TSIT5, DOP853)}


@dataclass
class Stats:
    """The cost of an ``odesolve``."""

    accepted: int
    """The number of accepted steps."""
    rejected: int
    """The number of rejected steps."""
    evaluations: int
    """The number of evaluations of f."""
    last_step: float
    """The size of the last step that was not shortened to end at ts[-1]."""


@dataclass
class Solution:
    """The result of ``odesolve``."""

    ts: NDArray[Any]
    """The times (m,)."""
    ys: Any
    """The state at these times, in y0's structure; every leaf has a leading axis of length m."""
    stats: Stats
    """The numbers of steps and evaluations."""


def odesolve(
    f: Callable[..., Any],
    y0: Any,
    ts: ArrayLike,
    *args: Any,
    method: str | Tableau = "tsit5",
    rtol: ArrayLike = 1e-6,
    atol: ArrayLike = 1e-9,
    steps: int | None = None,
    first_step: float | None = None,
    max_step: float = np.inf,
    max_steps: int = 100_000,
) -> Solution:
    """Solve y' = f(t, y, *args) from y(ts[0]) = y0 by an explicit Runge-Kutta method; it is differentiable.

    Args:
        f: ``f(t, y, *args)`` takes a float t and the state in y0's structure; it returns dy/dt in the same structure.
        y0: a number, an array of any shape, or dicts, lists, tuples and objects of them; float32 and complex are kept.
        ts: (m,) output times, rising or falling; equal neighbours are allowed. They do not restrict the adaptive steps.
        args: further arguments of f; gradients reach them.
        method: "tsit5" (order 5), "dopri5" (5), "bosh3" (3), "dop853" (8), "heun", "midpoint" (2); with ``steps`` also
            "rk4" (4), "euler" (1); or a ``Tableau``.
        rtol, atol: the root mean square of the local error over atol + rtol |y| is kept below 1; numbers, or arrays of
            the size of an array y0.
        steps: take this many equal steps between neighbouring ``ts``, without error control.
        first_step: the size of the first step; chosen from f by default.
        max_step: the largest step size; the last step may be 1% longer, to end at ts[-1].
        max_steps: the limit on the number of accepted and rejected steps.

    Returns:
        A ``Solution``: the times, the states at these times and the cost.

    Raises:
        BadInput: an argument has the wrong type, shape or value, or f does at the start.
        IntegrationFailed: ``max_steps`` is reached, or the step size becomes too small to advance the time.

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
        _positive(first_step, "first_step")
        _positive(max_step, "max_step")
        _positive(max_steps, "max_steps")
        rows, stats = _adaptive_steps(rhs, y, times, tableau, *tolerances, first_step, float(max_step), max_steps)
    return Solution(times, unpack(rows, leaves), stats)


def _stages(
    rhs: VectorField, t: float, y: NDArray[Any], k: NDArray[Any], weights: Rows, offsets: Sequence[float]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Append the stages of ``weights`` and ``offsets`` to the derivatives k (m, n).

    Returns all derivatives of the step, (s + 1, n), and the state at which the last was evaluated, (n,).
    """
    point = y
    for row, offset in zip(weights, offsets):
        point = y + np.dot(row, k)
        k = np.concatenate((k, rhs(t + offset, point)[None]))
    return k, point


def _scaled(h: float, a: Rows, c: Sequence[float]) -> tuple[Rows, list[float]]:
    """Return the rows and times of a tableau multiplied by the step size h."""
    return [h * row for row in a], [h * fraction for fraction in c]


@constant
def _chosen(h: float, a: Rows, c: Sequence[float]) -> tuple[Rows, list[float]]:
    """Return ``_scaled`` without a derivative: an adaptive step size is a constant."""
    return _scaled(h, a, c)


def _equal_steps(
    rhs: VectorField, y: NDArray[Any], ts: NDArray[Any], tableau: Tableau, steps: int
) -> tuple[NDArray[Any], Stats]:
    a, c = tableau.rows(y.dtype), tableau.c.tolist()
    ys = np.empty((len(ts), len(y)), y.dtype)
    ys[0] = y
    h = 0.0
    k = rhs(float(ts[0]), y)[None].copy()
    for i in range(len(ts) - 1):
        t = float(ts[i])
        h = (float(ts[i + 1]) - t) / steps
        weights, offsets = _scaled(h, a, c)
        for j in range(steps):
            k, y = _stages(rhs, t + j * h, y, k[-1:], weights, offsets)
        ys[i + 1] = y
    count = steps * (len(ts) - 1)
    return ys, Stats(count, 0, 1 + count * len(c), h)


def _adaptive_steps(
    rhs: VectorField,
    y: NDArray[Any],
    ts: NDArray[Any],
    tableau: Tableau,
    rtol: Any,
    atol: Any,
    first_step: float | None,
    max_step: float,
    max_steps: int,
) -> tuple[NDArray[Any], Stats]:
    a, c = tableau.rows(y.dtype), tableau.c.tolist()
    extra_a, extra_c = tableau.extra_rows(y.dtype), tableau.extra_c.tolist()
    order, error_weights = tableau.error_order, tableau.error.astype(y.dtype)

    t = float(ts[0])
    k = rhs(t, y)[None].copy()  # f may fill and return one and the same array
    start, end = _ends(ts)
    if not np.isfinite(k).all():
        raise BadInput(f"f is not finite at the start, t = {start:.6g}: it returned {np.asarray(k[0]).tolist()}")
    if end == start:
        return y + (ts - t)[:, None].astype(y.dtype) * k, Stats(0, 0, 1, 0.0)
    if first_step is None:
        h = trial_step(y, k[0], end - start, rtol, atol)
        h = initial_step(h, y, k[0], rhs(t + h, y + h * k[0]), end - start, order, rtol, atol)
    else:
        h = float(first_step)
    control = Controller(end, h, order, error_weights, rtol, atol, max_step, max_steps)
    ys = np.empty((len(ts), len(y)), y.dtype)
    ys[0] = y
    done, dense = 1, 0

    while done < len(ts):
        h, final = control.propose(t)
        weights, offsets = _chosen(h, a, c)
        k_all, y_new = _stages(rhs, t, y, k, weights, offsets)
        if not control.accepts(h, final, k_all, y, y_new):
            continue
        reached = len(ts) if final else _reached(ts, done, t + h, h)
        if reached > done:
            k_dense = k_all
            if extra_c:
                weights, offsets = _chosen(h, extra_a, extra_c)
                k_dense, _ = _stages(rhs, t, y, k_all, weights, offsets)
                dense += 1
            ys[done:reached] = _interpolate(ts[done:reached], t, h, y, k_dense, tableau.interpolant)
            done = reached
        t, y, k = t + h, y_new, k_all[-1:]

    tried = control.accepted + control.rejected
    evaluations = 1 + (first_step is None) + len(c) * tried + len(extra_c) * dense
    return ys, Stats(control.accepted, control.rejected, evaluations, control.last_step)


def _interpolate(
    ts: NDArray[Any], t: float, h: float, y: NDArray[Any], k: NDArray[Any], interpolant: NDArray[Any]
) -> NDArray[Any]:
    """Return the dense output (m, n) at the times ts (m,), in a step of size h from the state y at time t."""
    theta = (ts - t) / h
    weights = h * np.dot(theta[:, None] ** np.arange(1.0, len(interpolant) + 1), interpolant)
    return y + np.dot(weights.astype(y.dtype), k)


@constant
def _ends(ts: NDArray[Any]) -> tuple[float, float]:
    return float(ts[0]), float(ts[-1])


@constant
def _reached(ts: NDArray[Any], done: int, t: float, h: float) -> int:
    """Return how many of ``ts`` are reached after a step of size h that ends at t; ``done`` were reached before it."""
    count = done
    while ts[count] <= t if h > 0 else ts[count] >= t:
        count += 1
    return count


def _vector_field(f: Callable[..., Any], args: tuple[Any, ...], leaves: Any, dtype: np.dtype[Any]) -> VectorField:
    """Return f as a function of a time and a vector; a state that is one array or number needs no packing."""
    shape = leaves.shape if isinstance(leaves, Leaf) else None

    if shape is None:

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            return _derivative(f(t, unpack(y, leaves), *args), leaves, dtype)

    elif shape == ():
        numbers = (dtype.type, {"f8": float, "c16": complex}.get(dtype.str[1:]))

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            dy = f(t, y[0], *args)
            return np.array([dy]) if type(dy) in numbers else _derivative(dy, leaves, dtype)

    elif len(shape) == 1:

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            dy = f(t, y, *args)
            if type(dy) is np.ndarray and dy.shape == shape and dy.dtype == dtype:
                return dy
            return _derivative(dy, leaves, dtype)

    else:

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            dy = f(t, y.reshape(shape), *args)
            if type(dy) is np.ndarray and dy.shape == shape and dy.dtype == dtype:
                return dy.reshape(-1)
            return _derivative(dy, leaves, dtype)

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
        raise BadInput(
            f"steps = {steps!r}; expected an integer of at least 1, the number of steps between neighbouring ts"
        )
    return tableau


def _times(ts: Any) -> NDArray[np.float64]:
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


def _tolerance(tolerance: Any, name: str, size: int, leaves: Any) -> Any:
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


def _positive(value: Any, name: str) -> None:
    if value is not None and not (isinstance(value, (int, float, np.number)) and value > 0):
        raise BadInput(f"{name} = {value!r}; it must be a positive number (its sign follows from ts)")
