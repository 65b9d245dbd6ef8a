"""Threads and queues: work handed to a pool is recorded, and values from other threads are not treated as constants.

A thread started by the run executes recording code.  A worker that was running before the run does not, so a pool gets
functions that record in whatever thread they run.  A value from a queue may have been computed, by such a worker or by
another process, from values that the run has sent.  Unless the tape knows that object, a cotangent that reaches it is
refused.
"""

from __future__ import annotations

import functools
import queue
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import FunctionType
from typing import Any

from ...rules.registry import HANDLERS
from ...source.definitions import user_frame
from ...values.program_state import Reach
from ..recorded.tape import Tape, enclosing_tapes
from ..rewriting.instrument import instrument
from ..unrecorded.opaque import note
from ..unrecorded.opaque_calls import CALLABLE, Recording

SENT = "sent to other threads and processes"


def send(tape: Tape, *values: Any) -> None:
    """Remember the values that a run sends to threads and processes that may not belong to it."""
    reached = Reach(*values).values
    for enclosing in enclosing_tapes(tape):
        sent_to(enclosing, reached)


def sent_to(tape: Tape, values: list[Any]) -> None:
    """Remember numbers and arrays that are visible to threads and processes not recording on ``tape``."""
    tape.memory.setdefault(SENT, {}).update((id(x), x) for x in values)


def taken_from(tape: Tape) -> tuple[Any, ...]:
    """Return the numbers and arrays from which other threads and processes may have computed."""
    return tuple(tape.memory.get(SENT, {}).values())


def receive(tape: Tape, function: Any, y: Any) -> Any:
    """Return ``y``, which ``function`` received from a thread or a process; note that it may depend on sent values."""
    for enclosing in enclosing_tapes(tape):
        sent = taken_from(enclosing)
        if sent:
            note(enclosing, y, function, sent, functools.partial(_refused, function.__qualname__, user_frame()))
    return y


def _refused(name: str, taken: tuple[str, int]) -> str:
    return (
        f"{name}, called at {taken[0]}:{taken[1]}, returns a value that depends on differentiated arguments but was computed by another process, "
        "or by a thread started before the differentiated function was called; such work is not recorded. Start the thread "
        "inside the differentiated function, or compute the value there."
    )


def plainly(tape: Tape, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call ``function`` without its handler: record its source if it is a Python function, else just call it."""
    recorded = isinstance(function, FunctionType)
    return instrument(function)(tape, *args, **kwargs) if recorded else function(*args, **kwargs)


def sends(*functions: Any) -> None:
    """Register methods that send their arguments to other threads or processes."""
    for function in functions:

        def handler(tape: Tape, *args: Any, _function: Any = function, **kwargs: Any) -> Any:
            send(tape, args[1:], kwargs)
            return plainly(tape, _function, *args, **kwargs)

        HANDLERS[function] = handler


def receives(*functions: Any) -> None:
    """Register methods that return values from other threads or processes."""
    for function in functions:

        def handler(tape: Tape, *args: Any, _function: Any = function, **kwargs: Any) -> Any:
            return receive(tape, _function, plainly(tape, _function, *args, **kwargs))

        HANDLERS[function] = handler


def recording(tape: Tape, function: Any) -> Any:
    """Return a user function wrapped so that it records whichever thread calls it."""
    return Recording(tape, function) if isinstance(function, CALLABLE) or callable(function) else function


def _submit(tape: Tape, pool: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    if pool._initializer is not None and not pool._threads:
        pool._initializer = recording(tape, pool._initializer)
    return ThreadPoolExecutor.submit(pool, recording(tape, fn), *args, **kwargs)


HANDLERS[ThreadPoolExecutor.submit] = _submit
sends(queue.Queue.put, queue.SimpleQueue.put, queue.SimpleQueue.put_nowait)
receives(queue.Queue.get, queue.SimpleQueue.get, queue.SimpleQueue.get_nowait, Future.result)
