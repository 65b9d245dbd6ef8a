"""The engine's lock, and cleanup that survives interrupts.

``one_at_a_time`` guards all state that threads share: parsed sources, compiled forms, objects in use by a run.  A
single lock cannot deadlock against another one: the garbage collector may call a user's ``__del__`` wherever the
engine allocates, and that may differentiate and compile.  The lock is re-entrant for the same reason.

``undo`` completes the cleanup at the end of a run even if a ``KeyboardInterrupt``, another signal or a ``MemoryError``
arrives during it.  Python may raise a signal's exception at any function entry or loop iteration, also inside
``finally``.  The cleanup is therefore a list of repeatable steps, built before any state changes:

    ending = [...]
    try:
        ...
    finally:
        try:
            undo(ending)
        except BaseException:
            undo(ending)  # an interrupt may arrive before the first call's own "try"
            raise
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

one_at_a_time = threading.RLock()

if hasattr(os, "register_at_fork"):  # the thread that holds the lock does not exist in the child
    os.register_at_fork(after_in_child=one_at_a_time._at_fork_reinit)  # type: ignore[attr-defined]


@contextmanager
def given_up() -> Iterator[None]:
    """Release the lock for the duration of the block, at any depth of re-entry, while this thread waits for a worker."""
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
"""How often a step that raises an ``Exception`` is tried before it is dropped."""


def undo(steps: list[Callable[[], Any]]) -> None:
    """Call ``steps`` from last to first, repeating a step that is interrupted; raise the first exception at the end."""
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
