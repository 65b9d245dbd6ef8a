"""Locks from outside that a program enters: each run holds them from before its guards are tested until its changes are made.

The reads and changes of a critical section are among those of the run, which are then one critical section as a whole.
Nothing else in a run may wait for another thread, so a program that takes locks does not call functions of the user.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

from ..errors import BadInput
from ..exclusion import need
from ..values.attributes import bound_to
from .traced import EFFECTS, traces

_OF_C = (type(threading.Lock()), type(threading.RLock()))
_KINDS = (*_OF_C, threading.Semaphore)


class Locks:
    """The locks that one program enters."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.entered: dict[int, int] = {}  # how often more than left, by id

    def enter(self, lock: Any) -> bool:
        if all(lock is not x for x in self.found):
            need((lock,))
            self.found.append(lock)
        self.entered[id(lock)] = self.entered.get(id(lock), 0) + 1
        return True

    def leave(self, lock: Any) -> None:
        self.entered[id(lock)] = self.entered.get(id(lock), 0) - 1

    def within(self, stack: ExitStack, lock: Any) -> Any:
        """Enter a lock until the stack is closed."""
        stack.callback(self.leave, lock)
        return self.enter(lock)

    def called(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Return the result of a lock's method."""
        lock, name = bound_to(function), function.__name__
        if name in ("acquire", "__enter__") and _waits(*args, **kwargs):
            return self.enter(lock)
        if name in ("release", "__exit__"):
            return self.leave(lock)
        raise BadInput(
            f"compiled code calls {name} of a lock from outside, whose result depends on other threads; only `with lock:`, and acquire() "
            "and release() without arguments, can be compiled"
        )

    def finish(self) -> None:
        """Refuse a program that leaves a lock acquired, or releases one that its caller has acquired."""
        if any(self.entered.values()):
            raise BadInput(
                "compiled code acquires a lock from outside and does not release it, or releases one that it has not acquired; use "
                "`with lock:`"
            )


def _waits(blocking: Any = True, timeout: Any = None) -> bool:
    return blocking is True and timeout in (None, -1)


def is_outside(trace: Any, x: Any) -> bool:
    """Whether something is a lock that the program has not made itself."""
    return isinstance(x, _KINDS) and id(x) not in trace.made


def is_made(x: Any) -> bool:
    """Whether the result of a call in C is a new lock."""
    return isinstance(x, _OF_C)


def _of_semaphore(function: Any) -> None:
    @traces(function)
    def apply(trace: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        if is_outside(trace, x):
            return trace.outside.locks.called(function.__get__(x), args, kwargs)
        return trace.calls.interpret(function, (x, *args), kwargs)

    EFFECTS.add(function)


for _name in ("acquire", "release", "__exit__"):
    _of_semaphore(getattr(threading.Semaphore, _name))
_of_semaphore(threading.BoundedSemaphore.release)
