"""The engine's lock, the user's locks, and cleanup that survives interrupts.

``one_at_a_time`` guards all state that threads share: parsed sources, compiled forms, objects in use by a run.  A
single lock cannot deadlock against another one: the garbage collector may call a user's ``__del__`` wherever the
engine allocates, and that may differentiate and compile.  The lock is re-entrant for the same reason.

``with_locks`` holds locks of the user's program while a compiled one is traced or run.  They are acquired before the
engine's lock, since a thread that holds one of them may wait for the engine.

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
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

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


class Unlocked(BaseException):
    """What is being traced or run needs locks of the user's program that are not held."""

    def __init__(self, locks: tuple[Any, ...]) -> None:
        super().__init__()
        self.locks = locks


class _Held(threading.local):
    locks: tuple[Any, ...] = ()


_held = _Held()
Result = TypeVar("Result")


def need(locks: tuple[Any, ...]) -> None:
    """Raise ``Unlocked`` if ``with_locks`` does not hold these locks in this thread."""
    missing = tuple(x for x in locks if all(x is not held for held in _held.locks))
    if missing:
        raise Unlocked(missing)


def with_locks(run: Callable[[], Result]) -> Result:
    """Return ``run()``, which is begun again, with the locks held, if it needs locks."""
    locks: tuple[Any, ...] = ()
    before = _held.locks
    while True:
        try:
            with _acquired(locks):
                try:
                    _held.locks = (*before, *locks)
                    return run()
                finally:
                    _held.locks = before
        except Unlocked as found:
            locks = (*locks, *found.locks)


def _acquired(locks: tuple[Any, ...]) -> ExitStack:
    """Acquire all of the locks, never waiting for one while holding another: their order may differ in other threads."""
    while True:
        with ExitStack() as stack:
            for i, lock in enumerate(locks):
                if not lock.acquire(blocking=i == 0):
                    locks = (*locks[i:], *locks[:i])
                    break
                stack.callback(lock.release)
            else:
                return stack.pop_all()


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
