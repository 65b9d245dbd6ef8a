"""Threads and queues: work that is handed to a pool is recorded, and what comes from elsewhere is not taken for a constant.

A thread that the run starts runs code that records.  A worker that was running before does not, so a pool is given functions
that record whoever calls them.  What a queue gives out may have been computed by such a worker, or by another process, from
what the run has sent: it is refused if a cotangent reaches it and it is not an object that the tape knows.
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
from ..unrecorded.opaque import CALLABLE, Recording, note

SENT = "sent to other threads and processes"


def send(tape: Tape, *values: Any) -> None:
    """Remember what a run hands to threads and processes that may not be its own."""
    reached = Reach(*values).values
    for enclosing in enclosing_tapes(tape):
        sent_to(enclosing, reached)


def sent_to(tape: Tape, values: list[Any]) -> None:
    """Remember numbers and arrays that threads and processes can see which do not record on ``tape``."""
    tape.memory.setdefault(SENT, {}).update((id(x), x) for x in values)


def taken_from(tape: Tape) -> tuple[Any, ...]:
    """The numbers and arrays of which threads and processes may have computed others."""
    return tuple(tape.memory.get(SENT, {}).values())


def receive(tape: Tape, function: Any, y: Any) -> Any:
    """``y``, which ``function`` has got from a thread or a process."""
    for enclosing in enclosing_tapes(tape):
        sent = taken_from(enclosing)
        if sent:
            note(enclosing, y, function, sent, functools.partial(_refused, function.__qualname__, user_frame()))
    return y


def _refused(name: str, taken: tuple[str, int]) -> str:
    return (
        f"{name}, called at {taken[0]}:{taken[1]}, gives a value that another process, or a thread from before the run, computed "
        "from what is differentiated; such work is not recorded. Start the thread inside of the function that is "
        "differentiated, or compute the value there."
    )


def plainly(tape: Tape, function: Any, *args: Any, **kwargs: Any) -> Any:
    """``function`` as it is: its source, if it has one, on the tape; else called."""
    recorded = isinstance(function, FunctionType)
    return instrument(function)(tape, *args, **kwargs) if recorded else function(*args, **kwargs)


def sends(*functions: Any) -> None:
    """Register methods that hand their arguments to others."""
    for function in functions:

        def handler(tape: Tape, *args: Any, _function: Any = function, **kwargs: Any) -> Any:
            send(tape, args[1:], kwargs)
            return plainly(tape, _function, *args, **kwargs)

        HANDLERS[function] = handler


def receives(*functions: Any) -> None:
    """Register methods that return what others have computed."""
    for function in functions:

        def handler(tape: Tape, *args: Any, _function: Any = function, **kwargs: Any) -> Any:
            return receive(tape, _function, plainly(tape, _function, *args, **kwargs))

        HANDLERS[function] = handler


def recording(tape: Tape, function: Any) -> Any:
    """A function of the user's, in the form that records whoever calls it."""
    return Recording(tape, function) if isinstance(function, CALLABLE) or callable(function) else function


def _submit(tape: Tape, pool: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    if pool._initializer is not None and not pool._threads:
        pool._initializer = recording(tape, pool._initializer)
    return ThreadPoolExecutor.submit(pool, recording(tape, fn), *args, **kwargs)


HANDLERS[ThreadPoolExecutor.submit] = _submit
sends(queue.Queue.put, queue.SimpleQueue.put, queue.SimpleQueue.put_nowait)
receives(queue.Queue.get, queue.SimpleQueue.get, queue.SimpleQueue.get_nowait, Future.result)
