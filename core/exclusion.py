"""What threads and interrupts must not break: the one lock, and undoing.

The one lock under which the engine changes what all threads share: parsed sources, compiled forms, objects that are entered.

There is one and not several, as two threads that hold one each may want the other's: the collector may call a ``__del__`` of
the user's wherever the engine allocates, and that may differentiate and compile.  It is re-entrant for the same reason.

What is undone at the end of a run is undone whatever arrives in the midst of it: a ``KeyboardInterrupt``, a signal, no memory.

Python may raise the exception of a signal wherever a function is entered or a loop turns, also in a ``finally``.  What has to be
undone is therefore a list of steps that may be repeated, made before anything is changed:

    ending = [...]
    try:
        ...
    finally:
        try:
            undo(ending)
        except BaseException:
            undo(ending)  # an interrupt may come before anything else in it
            raise
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

one_at_a_time = threading.RLock()

if hasattr(os, "register_at_fork"):  # the thread that holds it is not in the child
    os.register_at_fork(after_in_child=one_at_a_time._at_fork_reinit)  # type: ignore[attr-defined]


@contextmanager
def given_up() -> Iterator[None]:
    """Leave the lock to a thread that does a part of this one's work, which holds it."""
    lock: Any = one_at_a_time
    if not lock._is_owned():
        yield
        return
    state = lock._release_save()
    try:
        yield
    finally:
        lock._acquire_restore(state)


ATTEMPTS = 3
"""To do a step that raises an error of its own."""


def undo(steps: list[Callable[[], Any]]) -> None:
    """Call ``steps``, the last first, again where one is interrupted; what was raised is raised when all is done."""
    raised: BaseException | None = None
    failed = 0
    while steps:
        try:
            steps[-1]()
            steps.pop()
            failed = 0
        except BaseException as error:
            raised = raised or error
            failed += isinstance(error, Exception)
            if failed == ATTEMPTS:
                steps.pop()
                failed = 0
    if raised is not None:
        raise raised
