"""The recursion limit while the engine runs.

Instrumented code uses more frames than plain Python, and the engine itself recurses as deep as a program is nested.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable
from typing import Any

from .exclusion import given_up, one_at_a_time


class DeepRecursion:
    """Raise the recursion limit so that user code, at up to five frames a call, recurses as deep as in Python.

    The limit is shared by all threads, so it stays raised until the last ``DeepRecursion`` has ended.
    """

    __slots__ = ("at_least",)

    def __init__(self, at_least: int = 0) -> None:
        self.at_least = at_least  # if given, replaces five times the limit in force

    def begin(self) -> None:
        global _in_force
        with one_at_a_time:
            limit = now = sys.getrecursionlimit()
            if _raised and now == _in_force:
                limit = next(reversed(_raised.values()))
            _raised[self] = limit
            _in_force = max(now if limit != now else 0, self.at_least or 5 * limit)
            sys.setrecursionlimit(_in_force)

    def end(self) -> None:
        with one_at_a_time:
            if self in _raised:
                if len(_raised) == 1 and sys.getrecursionlimit() == _in_force:
                    sys.setrecursionlimit(_raised[self])
                _raised.pop(self, None)


def is_raised() -> bool:
    """Return whether some thread has raised the limit."""
    return bool(_raised)


_raised: dict[DeepRecursion, int] = {}
"""Each ``DeepRecursion`` that is in force -> the limit before the first of them began."""

_in_force = 0


STACK_SIZE, FRAMES = 1 << 28, 30_000
"""Stack size and recursion limit of the thread that compiles programs nested too deeply for the caller's stack."""


def in_thread(run: Callable[[], Any]) -> Any:
    """Return ``run()``, called in a thread of its own with a larger stack: signal handlers do not run there.

    A handler that raises here leaves the thread running; ``threading.Thread`` is not used, because it would not survive that.
    """
    found: list[Any] = []
    raised: list[BaseException] = []
    done = _thread.allocate_lock()

    def attempt() -> None:
        try:
            found.append(run())
        except BaseException as error:
            raised.append(error)
        finally:
            done.release()

    done.acquire()
    before = _thread.stack_size(STACK_SIZE)
    try:
        _thread.start_new_thread(attempt, ())
    finally:
        _thread.stack_size(before)
    done.acquire()
    if raised:
        raise raised[0]
    return found[0]


def deeply(run: Callable[[], Any]) -> Any:
    """Return ``run()``; on a RecursionError, run it again in a thread with a larger stack."""
    try:
        return run()
    except RecursionError:
        pass

    def again() -> Any:
        with one_at_a_time:
            return run()

    deep = DeepRecursion(FRAMES)
    try:
        deep.begin()
        with given_up():
            return in_thread(again)
    finally:
        deep.end()
