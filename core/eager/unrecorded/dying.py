"""Records the ``__del__`` of objects that a run has made, which Python calls from C at any time.

After a run has made an instance of a class with a ``__del__`` in Python, and until the run ends, a hook replaces that
``__del__`` in the class.  For all other instances, including those of other threads, the hook calls the original.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ...exclusion import one_at_a_time
from ...values.attributes import class_attribute
from ...values.numbers import call_on
from ..recorded.tape import Tape


class Hook:
    """Replaces the ``__del__`` of a class."""

    def __init__(self, owner: type) -> None:
        self.owner, self.original = owner, owner.__dict__["__del__"]
        self.tapes: dict[int, Tape] = {}  # by the identity of an object: the tape of the run that made it
        self.runs: set[Tape] = set()

    def __get__(self, x: Any, kind: type | None = None) -> Any:
        return self if x is None else Dying(self, x)

    def __call__(self, x: Any) -> Any:
        return Dying(self, x)()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


class Dying:
    """The bound ``__del__`` of one object."""

    def __init__(self, hook: Hook, x: Any) -> None:
        self.hook, self.x = hook, x

    def __call__(self) -> Any:
        tape = self.hook.tapes.pop(id(self.x), None)
        while tape is not None and tape.over:
            tape = tape.parent
        return call_on(tape, self.hook.original, self.x)

    def __morula_call__(self, tape: Tape) -> Any:
        return tape.call(self.hook.original, self.x)


def is_mortal(cls: type) -> bool:
    """Whether the ``__del__`` of a class is written in Python."""
    return isinstance(class_attribute(cls.__mro__, "__del__"), (FunctionType, Hook))


def watch_over(tape: Tape, x: Any) -> Any:
    """Return ``x``, which the run has made, after arranging that its ``__del__`` is recorded on ``tape``."""
    if not is_mortal(type(x)):
        return x
    owner = next(cls for cls in type(x).__mro__ if "__del__" in cls.__dict__)
    with one_at_a_time:
        hook = class_attribute((owner,), "__del__")
        hook = hook if type(hook) is Hook else Hook(owner)
        if tape not in hook.runs:
            tape.lent.append(hook)  # first, so that an interrupted run still releases the hook
            hook.runs.add(tape)
        if owner.__dict__["__del__"] is not hook:
            type.__setattr__(owner, "__del__", hook)
        hook.tapes[id(x)] = tape
    return x


def let_go(tape: Tape, hook: Hook) -> None:
    """Release a hook at the end of a run; the class gets its ``__del__`` back when no other run needs the hook."""
    with one_at_a_time:
        hook.runs.discard(tape)
        if not hook.runs and hook.owner.__dict__.get("__del__") is hook:
            type.__setattr__(hook.owner, "__del__", hook.original)
