"""Equations with random jumps at the times of Poisson processes, whose rates may depend on time and state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import BadInput, constant, random
from .arguments import times_of
from .events import Event
from .solution import Happened, IntegrationFailed, Solution
from .solve import odesolve
from .uncompiled import outside_of_programs, refused_when_compiled


@dataclass(frozen=True)
class Jump:
    """A Poisson process, and how the state changes when it counts.

    >>> shot = Jump(rate=lambda t, y: 2.0, change=lambda t, y, z: y + 1.0)
    >>> shot.rate(0.0, 0.0)
    2.0
    """

    rate: Callable[..., Any]
    """``rate(t, y, *args)`` returns the expected number of jumps per unit of time, at least 0."""
    change: Callable[..., Any]
    """``change(t, y, z, *args)`` returns the state after the jump; z (2,) holds independent standard normal numbers of the jump."""


def jumpsolve(
    f: Callable[..., Any],
    y0: Any,
    ts: ArrayLike,
    *args: Any,
    jumps: Jump | Sequence[Jump],
    seed: int,
    **options: Any,
) -> Solution:
    """Solve dy = f(t, y, *args) dt with jumps of the state, along the path of one seed.

    A process jumps whenever the integral of its rate since its last jump reaches an exponentially distributed number (the
    time change of Poisson processes), which the seed determines. These times are found as events of ``odesolve``.

    The derivative is that of the path: the thresholds are constants, the times of the jumps move. Its mean over seeds is the
    derivative of the mean with respect to y0, f and the changes. With respect to what the rates depend on, it
    leaves out that jumps enter and leave the span, and is the derivative of the mean only where y after the last time would
    not change by them, as for the time of a jump, or a smooth function of jump times that is zero at the end of the span.

    Args:
        f: ``f(t, y, *args)`` takes a float t and the state in y0's structure; it returns the same structure.
        y0: a number, an array, or dicts, lists, tuples and objects of them; real.
        ts: (m,) rising output times.
        args: further arguments of f, of the rates and of the changes; gradients reach them.
        jumps: a ``Jump``, or a sequence of these.
        seed: an integer of up to 63 bits; the same seed gives the same path, whatever the tolerances.
        options: as in ``odesolve``: method, rtol, atol, first_step, max_step, max_steps, step_control, throw.

    Returns:
        A ``Solution`` as from ``odesolve``; ``events[i].t`` and ``events[i].y`` are the times of the jumps of process i, and the
        states before them. ``y`` at the time of a jump is the state before it.

    Raises:
        BadInput: an argument has the wrong type or value, or a rate is negative at the start; or it is called in a compiled
            function.
        IntegrationFailed: as in ``odesolve``.

    Source: D. F. Anderson, A modified next reaction method for simulating chemical systems with time dependent propensities
    and delays, J. Chem. Phys. 127 (2007) 214107, for the time change; S. Asmussen, P. W. Glynn, Stochastic Simulation (2007),
    VII.2, for the derivative.

    >>> shot = Jump(rate=lambda t, y: 3.0, change=lambda t, y, z: y + 1.0)
    >>> found = jumpsolve(lambda t, y: 0.0 * y, 0.0, [0.0, 2.0], jumps=shot, seed=5)
    >>> bool(found.y[-1] == len(found.events[0].t))
    True
    """
    processes = [jumps] if isinstance(jumps, Jump) else list(jumps) if isinstance(jumps, (list, tuple)) else []
    if not processes or not all(isinstance(jump, Jump) for jump in processes):
        raise BadInput(f"jumps is {jumps!r}; expected a Jump(rate, change), or a sequence of these")
    if not callable(f):
        raise BadInput(f"f is {type(f).__name__}; jumpsolve needs a function f(t, y, *args) that returns dy/dt")
    for name in ("events", "steps", "is_dense", "saveat", "mass", "adjoint", "error_control"):
        if name in options:
            raise BadInput(f"jumpsolve does not take {name}; its options are those of odesolve for adaptive steps")
    times = times_of(ts)
    if len(times) < 2 or not times[-1] > times[0]:
        raise BadInput("ts must rise from its first to its last time: a process that jumps is solved forward in time")
    count = len(processes)
    stream = random.Generator(seed)
    for i, jump in enumerate(processes):
        if not jump.rate(times[0], y0, *args) >= 0.0:
            raise BadInput(f"the rate of jumps[{i}] is negative or NaN at the start; a rate is at least 0")

    def rate(t: float, state: Any, *args: Any) -> Any:
        y = state["y"]
        each = [jump.rate(t, y, *args) * 1.0 for jump in processes]
        return {"y": f(t, y, *args), "due": -np.stack(each), "counts": np.zeros(count)}

    def change(i: int) -> Callable[..., Any]:
        def changed(t: float, state: Any, *args: Any) -> Any:
            of_this = np.arange(count) == i
            counts = state["counts"] + of_this
            normals = _normals(stream, counts)
            after = processes[i].change(t, state["y"], normals[i, 2:], *args)
            return {"y": after, "due": np.where(of_this, _thresholds(normals), state["due"]), "counts": counts}

        return changed

    events = [Event(lambda t, state, *args, i=i: state["due"][i], direction=-1, change=change(i)) for i in range(count)]
    counts = np.zeros(count)
    start = {"y": y0, "due": _thresholds(_normals(stream, counts)), "counts": counts}
    try:
        return _of_state(odesolve(rate, start, ts, *args, events=events, **options))
    except IntegrationFailed as failure:
        raise IntegrationFailed(str(failure), _of_state(failure.solution)) from None


refused_when_compiled(
    jumpsolve,
    outside_of_programs(
        jumpsolve,
        "the compiler takes many minutes for events that draw random numbers",
        "f",
        ". For many seeds see ode.ensemble with target='python' and an executor",
    ),
)


def _of_state(s: Solution) -> Solution:
    """Return the solution without what counts the jumps."""
    met = [Happened(e.t, e.y["y"]) for e in s.events]
    return Solution(s.t, s.y["y"], s.stats, s.code, s.method, s.t_reached, s.y_reached["y"], met)


def _thresholds(normals: NDArray[Any]) -> NDArray[Any]:
    """Return exponentially distributed numbers (k,): half the sums of two squares of normal numbers."""
    return 0.5 * (normals[:, 0] ** 2 + normals[:, 1] ** 2)


@constant
def _normals(stream: random.Generator, counts: NDArray[Any]) -> NDArray[Any]:
    """Return four normal numbers (k, 4) for each process, after its number of jumps: two for its next time, two for its last jump."""
    k = len(counts)
    blocks = 2 * (np.round(counts).astype(np.uint64) * np.uint64(k) + np.arange(k, dtype=np.uint64))
    return stream.normals_at(np.stack((blocks, blocks + np.uint64(1)), axis=1)).reshape(k, 4)
