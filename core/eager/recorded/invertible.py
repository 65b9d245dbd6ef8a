"""``invertible``: steps with a declared inverse, so that a loop of them is reversed without storing any of its states."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ...ir.memory_policies import TOLERANCE, Report
from ...rules.connected import connected
from ...rules.registry import CALLERS
from ...source.requirements import check_function
from .call import call
from .tape import Tape

CALLS: ContextVar[list[Any] | None] = ContextVar("calls", default=None)
"""The calls of invertible steps in the iteration that runs: (step, arguments, result)."""


def invertible(step: Callable[..., Any], inverse: Callable[..., Any], tolerance: float = TOLERANCE) -> Invertible:
    """Return ``step`` with a declared inverse: loops of it can be differentiated without storing their states.

    Steps whose inverse follows from their form need none (``inverse``).

    Under ``checkpoint(f, ..., policy="inverse")`` the backward sweep of a loop in ``f`` whose iterations call the step as
    ``a, b = step(a, b, *others)`` computes each state from the next one. Rounding adds up on the way: the drift is the
    largest difference between the state before the loop and the one computed, relative to 1 + the largest number in it.
    The attribute ``drift`` holds that of the last backward sweep. Without that policy, the step is an ordinary function.

    Args:
        step: a function of the state, one or several numbers or arrays, and of other arguments. It returns the new
            state, as a tuple if there are several, and writes into no array from before its call.
        inverse: a function of the state after the step and the same other arguments, which returns the state before it.
        tolerance: the largest drift that is accepted.

    Returns:
        A function with the arguments of ``step``.

    Raises:
        BadInput: ``step`` or ``inverse`` is not callable; in the backward sweep: the drift exceeds the tolerance, or the
            loop has other variables than the state.

    Source: Gomez, Ren, Urtasun and Grosse, "The reversible residual network", NeurIPS 2017.

    >>> from morula.core import checkpoint, grad, invertible
    >>> def kick_and_drift(q, p, dt):
    ...     p = p - dt * q
    ...     return q + dt * p, p
    >>> def back(q, p, dt):
    ...     q = q - dt * p
    ...     return q, p + dt * q
    >>> step = invertible(kick_and_drift, back)
    >>> def orbit(q, p):
    ...     for _ in range(1000):
    ...         q, p = step(q, p, 0.01)
    ...     return q * q
    >>> round(grad(lambda q: checkpoint(orbit, q, 0.0, policy="inverse"))(1.0), 4)
    1.3989
    >>> step.drift < 1e-12
    True
    """
    check_function(step)
    check_function(inverse)
    return Invertible(step, inverse, tolerance)


class Invertible:
    """A step with its inverse; see ``invertible``."""

    def __init__(self, step: Callable[..., Any], inverse: Callable[..., Any], tolerance: float) -> None:
        self.step, self.inverse, self.tolerance = step, inverse, tolerance
        self.__name__ = getattr(step, "__name__", "step")
        self.__doc__ = getattr(step, "__doc__", None)
        self.report = Report()

    @property
    def drift(self) -> float | None:
        return self.report.drift

    def __call__(self, *args: Any) -> Any:
        return self.step(*args)

    def __morula_trace__(self, trace: Any, *args: Any) -> Any:
        return connected.trace_invertible(trace, self, args)

    def recorded(self, tape: Tape, *args: Any) -> Any:
        y = call(tape, self.step, *args)
        calls = CALLS.get()
        if calls is not None:
            calls.append((self, args, y if isinstance(y, tuple) else (y,)))
        return y


CALLERS[Invertible] = lambda tape, step, *args: step.recorded(tape, *args)
