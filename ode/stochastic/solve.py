"""``sdesolve``: stochastic differential equations dy = f dt + g dW."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import BadInput, constant, stop_gradient
from ..arguments import check_adaptive, check_steps, step_control as chosen_control, times_of, tolerance
from ..control import SUCCESS, StepControl
from ..ending import ended, held_by, now
from ..events import watch_of
from ..loop import Run, adaptive_steps, equal_steps
from ..problem import vector_field
from ..progress import teller_of
from ..solution import Solution
from ..state import Leaf, initial, unpack
from .brownian import BrownianPath
from .methods import (
    DIAGONAL,
    GENERAL,
    ITO,
    METHODS,
    SCALAR,
    STRATONOVICH,
    Method,
    Milstein,
    RosslerTableau,
    StratonovichTableau,
)
from .problem import Field, StochasticProblem
from .steppers import stepper_of


def sdesolve(
    f: Callable[..., Any],
    g: Callable[..., Any],
    y0: Any,
    ts: ArrayLike,
    *args: Any,
    path: int | BrownianPath,
    noise: str = DIAGONAL,
    interpretation: str = ITO,
    method: str | Method | None = None,
    rtol: ArrayLike = 1e-2,
    atol: ArrayLike = 1e-3,
    steps: int | None = None,
    first_step: float | None = None,
    max_step: float = inf,
    max_steps: int = 100_000,
    step_control: str | StepControl = "I",
    events: Any = (),
    throw: bool = True,
    progress: bool | Callable[[float, int], Any] = False,
) -> Solution:
    """Solve dy = f(t, y, *args) dt + g(t, y, *args) dW from y(ts[0]) = y0 along one Brownian path.

    The solution is a differentiable function of y0 and of all that f and g use; the path and the steps are constants.

    Args:
        f: the drift: ``f(t, y, *args)`` takes a float t and the state in y0's structure, and returns the same structure.
        g: the diffusion, with the arguments of f. What it returns depends on ``noise``.
        y0: a number, an array, or dicts, lists, tuples and objects of them; real. It is solved in float64.
        ts: (m,) increasing output times. Steps end there, since there is no dense output between.
        args: further arguments of f and g; gradients reach them.
        path: the seed of the ``BrownianPath`` from ts[0] to ts[-1], or a path. The same one gives the same solution, whatever
            the steps.
        noise: "diagonal": every number of y has a Brownian motion of its own, and g returns y0's structure; "scalar": one
            motion drives all, and g returns y0's structure; "general": g returns (n, m) for a vector y (n,) and m motions.
            With diagonal noise, a number of g may depend on t and the same number of y only.
        interpretation: "ito" or "stratonovich". A method of the other interpretation is given the changed drift.
        method: "sosri", "sriw1", "sriw2" (strong order 1.5, diagonal and scalar noise), "sosra", "sra1", "sra3" (1.5, additive
            noise: g must not depend on y), "milstein" (1, diagonal and scalar), "heun", "midpoint" (1 if the noise commutes, as
            diagonal, scalar and additive noise do, else 1/2), "euler_maruyama" (1/2), or a ``RosslerTableau`` or
            ``StratonovichTableau``. By default "sosri", or "heun" for general noise.
        rtol, atol: as in ``odesolve``: the estimated error of a step is kept below atol + rtol |y|. Methods without an
            estimate take two half steps beside each step.
        steps: take this many equal steps between neighbouring ``ts``, without error control.
        first_step, max_step, max_steps, step_control, events, throw, progress: as in ``odesolve``. Events are found on lines between
            the ends of steps.

    Returns:
        A ``Solution``: the times, the states at these times, the cost, and how the solve ended.

    Raises:
        BadInput: an argument has the wrong type, shape or value, or g returns the wrong shape.
        IntegrationFailed: as in ``odesolve``.

    Source: P. E. Kloeden, E. Platen, Numerical Solution of Stochastic Differential Equations (1992).

    >>> growth = lambda t, y, rate, volatility: rate * y
    >>> spread = lambda t, y, rate, volatility: volatility * y
    >>> price = sdesolve(growth, spread, 1.0, [0.0, 0.5, 1.0], 0.05, 0.2, path=7)
    >>> w = BrownianPath(7, 0.0, 1.0)(1.0)[0][0]
    >>> bool(abs(price.y[-1] - np.exp(0.05 - 0.02 + 0.2 * w)) < 1e-3)
    True
    """
    began, tell = now(), teller_of(progress)
    chosen = _chosen_method(method, noise, interpretation)
    for function, name, what in ((f, "f", "drift"), (g, "g", "diffusion")):
        if not callable(function):
            raise BadInput(
                f"{name} is {type(function).__name__}; sdesolve needs the {what}, a function {name}(t, y, *args)"
            )
    times = stop_gradient(times_of(ts))
    if len(times) < 2 or not times[-1] > times[0]:
        raise BadInput("ts must rise from its first to its last time: a stochastic equation is solved forward in time")
    y, leaves, size = initial(y0)
    if y.dtype.kind == "c":
        raise BadInput("y0 is complex; give its real and imaginary parts apart, as in (z.real, z.imag)")
    if not len(y):
        raise BadInput("y0 is empty; a stochastic equation needs at least one number")
    y = y.astype(float)
    drift = vector_field(f, args, leaves, y.dtype)
    diffusion, motions = _diffusion(g, args, noise, leaves, y, float(times[0]))
    driven = _path(path, times, motions)
    is_changed = bool(chosen.interpretation) and chosen.interpretation != interpretation and not chosen.is_additive
    problem = StochasticProblem(drift, diffusion, noise, interpretation, is_changed, driven)
    stepper = stepper_of(chosen, steps is None)
    watch = watch_of(events, args, leaves, y.dtype)
    if steps is not None:
        check_steps(steps)
        if watch is not None:
            raise BadInput("steps does not go together with events; leave out steps, or give max_step")
        rows, stats = equal_steps(stepper, problem, y, times, steps, tell)  # type: ignore[arg-type]
        run = Run(rows, stats, SUCCESS, times[-1], rows[-1], [], [], [], [])
        return ended(run, times, times[-1], leaves, chosen.name, max_steps, throw, lambda x: x, began)
    held = held_by("sdesolve", {"rtol": rtol, "atol": atol, "first_step": first_step, "max_step": max_step})
    relative, absolute = tolerance(rtol, "rtol", size, leaves), tolerance(atol, "atol", size, leaves)
    check_adaptive(relative, absolute, first_step, max_step, max_steps)
    if first_step is None:
        slope, spread = drift(float(times[0]), y), diffusion(float(times[0]), y)
        first_step = _first_step(y, slope, spread, float(times[-1] - times[0]), relative, absolute)
    run = adaptive_steps(
        stepper,
        problem,  # type: ignore[arg-type]
        y,
        times,
        times[1:],
        chosen_control(step_control),
        relative,
        absolute,
        first_step,
        float(max_step),
        max_steps,
        watch,
        False,
        tell=tell,
    )
    return ended(run, times, times[-1], leaves, chosen.name, max_steps, throw, held, began)


def _chosen_method(method: Any, noise: str, interpretation: str) -> Method:
    if noise not in (DIAGONAL, SCALAR, GENERAL):
        raise BadInput(f'noise is {noise!r}; expected "diagonal", "scalar" or "general"')
    if interpretation not in (ITO, STRATONOVICH):
        raise BadInput(f'interpretation is {interpretation!r}; expected "ito" or "stratonovich"')
    if method is None:
        method = "heun" if noise == GENERAL else "sosri"
    found = METHODS.get(method) if isinstance(method, str) else method
    if not isinstance(found, (RosslerTableau, StratonovichTableau, Milstein)):
        raise BadInput(f"method {method!r} is not known; choose one of {', '.join(METHODS)}, or give a RosslerTableau")
    if noise not in found.noises:
        able = ", ".join(name for name, m in METHODS.items() if noise in m.noises)
        raise BadInput(f'method "{found.name}" does not solve equations with {noise} noise; choose one of {able}')
    return found


def _diffusion(
    g: Callable[..., Any], args: tuple[Any, ...], noise: str, leaves: Any, y: NDArray[Any], start: float
) -> tuple[Field, int]:
    """Return g as a function of a time and a vector, and the number of Brownian motions."""
    if noise != GENERAL:
        shape = np.shape(g(start, unpack(y, leaves), *args)) if isinstance(leaves, Leaf) else ()
        if isinstance(leaves, Leaf) and shape != leaves.shape:
            raise BadInput(
                f"g returned shape {shape} for a state of shape {leaves.shape}; {noise} noise needs the shape of the state, and "
                'noise="general" a matrix (n, m)'
            )
        return vector_field(g, args, leaves, y.dtype), len(y) if noise == DIAGONAL else 1
    if not isinstance(leaves, Leaf) or len(leaves.shape) != 1:
        raise BadInput('noise="general" needs a y0 that is a vector (n,)')
    shape = np.shape(g(start, y, *args))
    if len(shape) != 2 or shape[0] != len(y):
        raise BadInput(f"g returned shape {shape} for a state of shape {y.shape}; general noise needs ({len(y)}, m)")

    def matrix(t: float, y: NDArray[Any]) -> NDArray[Any]:
        found = np.array(g(t, y, *args))
        if found.shape != shape:
            raise BadInput(
                f"g returned shape {found.shape} at t = {t:.6g}, and {shape} at the start; the two must agree"
            )
        return found

    return matrix, shape[1]


def _path(path: Any, times: NDArray[Any], motions: int) -> BrownianPath:
    if not isinstance(path, BrownianPath):
        return BrownianPath(path, float(times[0]), float(times[-1]), motions)
    if path.size != motions:
        raise BadInput(f"the path has {path.size} motions; the equation has {motions}")
    if path.start > times[0] or path.end < times[-1]:
        raise BadInput(
            f"the path goes from {path.start:.6g} to {path.end:.6g}; ts goes from {times[0]:.6g} to {times[-1]:.6g}"
        )
    return path


@constant
def _first_step(
    y: NDArray[Any], drift: NDArray[Any], diffusion: NDArray[Any], span: float, rtol: Any, atol: Any
) -> float:
    """Return a step over which drift and diffusion should change y by about the tolerance's square root."""
    scale = np.sqrt(atol + rtol * np.abs(y))
    steady = float(np.max(np.abs(drift) / scale, initial=1e-12))
    spread = np.abs(diffusion) if diffusion.ndim == 1 else np.abs(diffusion).sum(1)
    random = float(np.max(spread / scale, initial=1e-12))
    return min(0.1 * span, 0.1 / steady, 0.1 / random**2)
