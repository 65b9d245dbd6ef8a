"""``invertible``: steps with an inverse, so that a loop of them is reversed without storing any of its states.

On a tape, such a loop is one record. Its sweep computes the state before an iteration by the inverse, runs the iteration
on a tape of its own, sweeps and drops that, and goes on to the iteration before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...errors import BadInput
from ...rules.connected import connected
from ...rules.registry import CALLERS
from ...source.requirements import check_function
from ...values.memory import identity
from .call import call
from .outliving import values_in
from .pullback import seed
from .repeated import Repeat, nothing, sweep_and_drop
from .tape import Cotangents, Record, Tape

_CALLS: ContextVar[list[Any] | None] = ContextVar("calls", default=None)
"""The calls of invertible steps in the iteration that runs: (step, arguments, result)."""


def invertible(step: Callable[..., Any], inverse: Callable[..., Any], tolerance: float = 1e-6) -> Invertible:
    """Return ``step`` with a declared inverse: loops of it can be differentiated without storing their states.

    Under ``checkpoint(f, ..., policy="inverse")`` the backward sweep of a loop in ``f`` whose iterations call the step as
    ``a, b = step(a, b, *others)`` computes each state from the next one. Rounding adds up on the way: the drift is the
    largest difference between the state before the loop and the one computed, relative to 1 + the largest number in it.
    The attribute ``drift`` holds that of the last eager sweep. Without that policy, the step is an ordinary function.

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
        self.drift = 0.0

    def __call__(self, *args: Any) -> Any:
        return self.step(*args)

    def __morula_trace__(self, trace: Any, *args: Any) -> Any:
        return connected.trace_invertible(trace, self, args)

    def recorded(self, tape: Tape, *args: Any) -> Any:
        y = call(tape, self.step, *args)
        calls = _CALLS.get()
        if calls is not None:
            calls.append((self, args, y if isinstance(y, tuple) else (y,)))
        return y


CALLERS[Invertible] = lambda tape, step, *args: step.recorded(tape, *args)


class Inversion:
    """The iterations of a loop that is reversed by inverses; ``loop`` runs one of them on a tape."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        # For each iteration: the step, its other arguments, and the numbers of the variables that are its state before and after.
        self.steps: list[tuple[Invertible, tuple[Any, ...], list[int], list[int]]] = []
        self.__name__, self.__code__ = f"a loop of {loop.body.__name__}", loop.body.__code__

    def refuse(self, why: str) -> BadInput:
        place = f"{self.__code__.co_filename}:{self.__code__.co_firstlineno}"
        return BadInput(f"the loop at {place} cannot be reversed by an inverse: {why}")

    def run(self, tape: Tape, items: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the loop's iterations, numbered by ``items``, and leave one record."""
        begin, repeat = state, Repeat(tape, self, state, {}, self.loop.roots)
        for k in items:
            before = state
            goes_on, state, _ = repeat.step(lambda: self.iteration(tape, k, before), before)  # noqa: B023
            if not goes_on:
                break
            if not repeat.is_possible or repeat.contents:
                raise self.refuse(
                    "an iteration writes into an array from before it, or leaves values elsewhere than in the state"
                )
        if self.steps:
            tape.records.append((_invert, state, self, begin, repeat.state))
        return state

    def iteration(self, tape: Tape, k: int, before: tuple[Any, ...]) -> tuple[bool, tuple[Any, ...], Any]:
        """Run an iteration; return whether there is one, the state, and the step's other arguments, which are kept."""
        token = _CALLS.set([])
        try:
            goes_on, after = self.loop.attempt(tape, k, before)
            calls = _CALLS.get()
        finally:
            _CALLS.reset(token)
        if goes_on:
            self.note(calls, before, after)
        return goes_on, after, self.steps[-1][1] if goes_on else ()

    def note(self, calls: Any, before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
        """Note the step of an iteration, and which variables it maps."""
        if len(calls) != 1:
            raise self.refuse(f"an iteration must call one function from morula.invertible, not {len(calls)}")
        step, args, y = calls[0]
        there, back = _places(y, after), _places(args[: len(y)], before)
        others = [i for i, (a, b) in enumerate(zip(before, after)) if a is not b and i not in there]
        if -1 in there or -1 in back or others:
            raise self.refuse(
                f"the arguments of {step.__name__} must be the variables that it assigns, as in `q, p = step(q, p)`, and an "
                "iteration must assign no other"
            )
        self.steps.append((step, args[len(y) :], back, there))

    def before(self, table: Cotangents, k: int, after: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the state before iteration k, in objects of its own."""
        step, others, back, there = self.steps[k]
        found = table.run(step.inverse, *(after[i] for i in there), *others)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(back):
            raise self.refuse(f"the inverse of {step.__name__} returns {len(found)} values for a state of {len(back)}")
        state = list(after)
        for i, x in zip(back, found):
            is_given = any(x is y for y in (*after, *others))
            state[i] = table.run(np.copy, x) if isinstance(x, np.ndarray) and is_given else x * 1 if is_given else x
        return tuple(state)

    def check(self, begin: tuple[Any, ...], found: tuple[Any, ...]) -> None:
        """Compare the state before the loop with the one that the inverses have led to."""
        step, _, back, _ = self.steps[0]
        step.drift = max(_drift(begin[i], found[i]) for i in back)
        if not step.drift <= step.tolerance:
            raise BadInput(
                f"the inverse of {step.__name__} does not lead back to the state before the loop: its drift is {step.drift:.3g}, "
                f"and {step.tolerance:g} was allowed"
            )


def _places(values: tuple[Any, ...], among: tuple[Any, ...]) -> list[int]:
    """Return which of some variables hold values; -1 where none does. Each is found once."""
    found: list[int] = []
    for x in values:
        found.append(next((i for i, y in enumerate(among) if y is x and i not in found), -1))
    return found


def _drift(x: Any, y: Any) -> float:
    scale = 1.0 + float(np.max(np.abs(x), initial=0.0))
    return float(np.max(np.abs(np.asarray(y) - x), initial=0.0)) / scale


def _invert(table: Cotangents, record: Record) -> None:
    _, state, inversion, begin, reached = record
    dys = table.take(state)
    if dys is None:
        return
    with reached.restored():
        for k in reversed(range(len(inversion.steps))):
            before = inversion.before(table, k, state)
            again = Tape(table.parent)
            again.integers = None if table.tape is None else table.tape.integers
            _, after = inversion.loop.attempt(again, k, before)
            if dys is not None:
                seed(table, after, dys)
            again.records.append((nothing, after))
            del state, after
            sweep_and_drop(again, table, reached.outside.union(map(identity, values_in(before))))
            state, dys = before, table.take(before)
    inversion.check(begin, state)
    seed(table, begin, dys)
