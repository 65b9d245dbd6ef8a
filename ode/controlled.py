"""Controlled differential equations dy = f(t, y) dX, driven by data that are interpolated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import BadInput, stop_gradient
from .arguments import times_of
from .dense_output import DenseOutput
from .solution import Solution
from .solve import odesolve
from .state import Leaf

LINEAR, HERMITE = "linear", "hermite"


def control_path(times: ArrayLike, values: Any, interpolation: str = HERMITE) -> DenseOutput:
    """Return the path through data, as the control of ``cdesolve``; a differentiable function of the values.

    Args:
        times: (k,) rising, k >= 2; constants.
        values: (k, d) or (k,), real and finite: the data at these times. Channels for the time itself and for the number of
            observations so far let an equation depend on them.
        interpolation: "hermite", cubic pieces whose slope at each time is the difference to the time before it, so that the
            path up to a time depends on the data up to the next time only; or "linear".

    Returns:
        The path as a ``DenseOutput``: ``path(t)`` is (d,), ``path.derivative(t)`` its slope.

    Raises:
        BadInput: the times do not rise, or the values have another number of rows or are not finite.

    Source: P. Kidger, J. Morrill, J. Foster, T. Lyons, Neural controlled differential equations for irregular time series,
    NeurIPS (2020); J. Morrill, P. Kidger, L. Yang, T. Lyons, On the choice of interpolation scheme for neural CDEs, TMLR
    (2022).

    >>> path = control_path([0.0, 1.0, 3.0], np.array([0.0, 2.0, 4.0]), "linear")
    >>> path(2.0).tolist(), path.derivative(0.5).tolist()
    ([3.0], [2.0])
    """
    nodes = stop_gradient(times_of(times))
    x = np.asarray(values)
    if len(nodes) < 2 or not np.all(np.diff(nodes) > 0):
        raise BadInput("control_path: the times must rise, and there must be at least two")
    if x.ndim not in (1, 2) or len(x) != len(nodes) or x.dtype.kind not in "iuf":
        raise BadInput(
            f"control_path: values has shape {x.shape} and dtype {x.dtype}; expected real numbers ({len(nodes)}, d), a row "
            "for each time"
        )
    x = x.reshape(len(nodes), -1).astype(float)
    if not np.all(np.isfinite(x)):
        raise BadInput("control_path: values holds a number that is not finite; fill in what was not observed")
    if interpolation not in (LINEAR, HERMITE):
        raise BadInput(f'control_path: interpolation is {interpolation!r}; expected "hermite" or "linear"')
    h = np.diff(nodes)
    change = x[1:] - x[:-1]
    if interpolation == LINEAR:
        coefficients = change[:, None, :]
    else:
        slope = change / h[:, None]
        before = h[:, None] * np.concatenate((slope[:1], slope[:-1]))  # the slope at the start of each piece
        coefficients = np.stack((before, 2.0 * (change - before), before - change), axis=1)
    return DenseOutput(nodes[:-1], nodes[1:], h, x[:-1], coefficients, Leaf(0, x.shape[1], x.shape[1:]))


def cdesolve(
    f: Callable[..., Any], y0: Any, ts: ArrayLike, *args: Any, control: DenseOutput, **options: Any
) -> Solution:
    """Solve dy = f(t, y, *args) dX from y(ts[0]) = y0, for a control X; the solution is differentiable, also by the control.

    It is y' = f(t, y, *args) X'(t), solved by ``odesolve``. Where the control is linear between data, steps end at the data.

    Args:
        f: ``f(t, y, *args)`` takes a float t and the state (n,), and returns a matrix (n, d).
        y0: (n,), real.
        ts: (m,) rising output times, within the span of the control.
        args: further arguments of f; gradients reach them.
        control: X with d channels: ``control_path(times, values)``, or the ``sol`` of a solution whose state is a vector.
        options: as in ``odesolve``: method, rtol, atol, steps, events, adjoint and so on.

    Returns:
        A ``Solution``, as from ``odesolve``.

    Raises:
        BadInput: an argument has the wrong type, shape or value, or f does not return (n, d).
        IntegrationFailed: as in ``odesolve``.

    Source: T. Lyons, M. Caruana, T. Levy, Differential Equations Driven by Rough Paths (2007); P. Kidger and others (2020).

    >>> path = control_path([0.0, 1.0, 2.0], np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 2.0]]))
    >>> area = lambda t, y: np.array([[0.0, y[1]], [1.0, 0.0]])  # y[1] is the first channel, y[0] its integral by the second
    >>> cdesolve(area, np.zeros(2), [0.0, 2.0], control=path).y[-1].round(4).tolist()
    [1.1667, -0.0]
    """
    if not callable(f):
        raise BadInput(
            f"f is {type(f).__name__}; cdesolve needs a function f(t, y, *args) that returns a matrix (n, d)"
        )
    if not isinstance(control, DenseOutput):
        raise BadInput(f"control is {type(control).__name__}; give control_path(times, values)")
    if not isinstance(control.leaves, Leaf) or len(control.leaves.shape) != 1:
        raise BadInput("the control is not a vector at each time; give control_path(times, values)")
    if np.ndim(y0) != 1:
        raise BadInput(f"y0 has shape {np.shape(y0)}; cdesolve needs a vector (n,)")
    times = times_of(ts)
    start, end = float(control.starts[0]), float(control.ends[-1])
    if np.any(times < start) or np.any(times > end):
        raise BadInput(
            f"ts goes from {times[0]:.6g} to {times[-1]:.6g}; the control is known from {start:.6g} to {end:.6g}"
        )
    shape = (np.shape(y0)[0], control.leaves.shape[0])

    def rate(t: float, y: NDArray[Any], pieces: Any, *args: Any) -> NDArray[Any]:
        matrix = np.asarray(f(t, y, *args))
        if matrix.shape != shape:
            raise BadInput(f"f returned shape {matrix.shape}; the state and the control need {shape}")
        starts, ends, sizes, states, coefficients = pieces
        path = DenseOutput(starts, ends, sizes, states, coefficients, control.leaves)
        path.is_extrapolating = True  # rounding may take a stage beyond the last time
        return np.dot(matrix, path.derivative(t))

    if control.coefficients.shape[1] == 1 and "steps" not in options and "tstops" not in options:
        inner = stop_gradient(control.starts)[1:]  # one step ends before the slope jumps, another begins where it jumps
        options["tstops"] = np.concatenate((np.nextafter(inner, -np.inf), inner))
    pieces = control.starts, control.ends, control.sizes, control.states, control.coefficients
    return odesolve(rate, y0, ts, pieces, *args, **options)
