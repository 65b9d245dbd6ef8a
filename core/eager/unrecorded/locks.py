"""Locks: values that unrecorded threads leave in lists, dicts and attributes are not treated as constants.

Events, conditions, barriers, semaphores and ``join`` are built on locks: every wait ends with an acquired lock, and
every signal is a released lock.  At each of these, the values reachable by threads that do not record are listed.  A
number or an array that was not in the previous list was computed by such a thread, perhaps from values of this run.  A
cotangent that arrives there is refused, unless the tape knows the object.

A lock that other threads cannot reach, such as a library's own, needs no check while none of them has run.
"""

from __future__ import annotations

import _thread
import functools
import inspect
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from ...rules.registry import HANDLERS
from ...source.definitions import is_of_library, user_frame
from ...values.memory import identity, owner
from ...values.numbers import NUMBER_TYPES, call_on
from ...values.program_state import Reach, Variables, entries_of, is_of_engine
from ..libraries.threads import sent_to, taken_from
from ..recorded.tape import Tape, enclosing_tapes
from .frames import leads_to
from .opaque import Opaque, note, note_overwritten
from .opaque_calls import Recording


class Shared(Reach):
    """The objects that threads can reach, not followed into installed packages."""

    @staticmethod
    def is_elsewhere(module: str | None) -> bool:
        return Reach.is_elsewhere(module) or _is_installed(module or "")


@functools.lru_cache(maxsize=4096)
def _is_installed(module: str) -> bool:
    package = __name__.partition(".")[0]
    return module.partition(".")[0] == package or is_of_library(
        getattr(sys.modules.get(module), "__file__", None) or ""
    )


class Shown:
    """The values that other threads and this one could reach when a run last acquired or released a lock."""

    def __init__(self, tape: Tape, others: list[FrameType], before: Shown | None, worked: Any) -> None:
        own = list(_program_frames(sys._getframe(1)))
        held = () if before is None else before.held
        variables = {} if before is None else before.variables
        roots = (held, *(tuple(entries_of(x).values()) for x in variables.values()), *_roots(others))
        # List what this thread can reach first, so that values that others add meanwhile count as new.
        self.alive = Shared(roots, *_roots(own)).values  # kept alive, so that their ids are not reused
        self.known = {*map(identity, self.alive)}
        self.known.update(id(x) for frame in (*others, *own) for x in _literals(frame.f_code))
        self.since = len(tape.records)
        reach = Shared(*roots)
        self.reached = reach.seen if reach.is_whole else None
        self.worked = worked
        self.values = reach.values
        self.held = tuple([x for x, _ in reach.held if type(x) is not Variables])
        found = [x for x, _ in reach.held if type(x) is Variables]
        self.variables = variables | {(id(x.scope), *sorted(x.names)): x for x in found}
        self.arrays = [
            (a, call_on(tape.parent, np.copy, a))
            for a in (x if type(x) is np.ndarray else x.view(np.ndarray) for x in self.values if _is_writeable(x))
        ]

    def is_current(self, lock: Any, worked: Any) -> bool:
        """Whether no other thread can reach ``lock``, and none has run since: their times ``worked`` are unchanged."""
        return (
            worked is not None and worked == self.worked and self.reached is not None and id(lock) not in self.reached
        )


def _worked(threads: Iterable[int]) -> list[tuple[int, int]] | None:
    """Return the processor time of each thread in nanoseconds, or None where the system does not provide it."""
    try:
        return [(t, time.clock_gettime_ns(time.pthread_getcpuclockid(t))) for t in threads]
    except (AttributeError, OSError):
        return None


def _is_writeable(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.flags.writeable


def look(tape: Tape, lock: Any) -> None:
    """Note on each enclosing tape the values that threads not recording there have left since the last check.

    ``lock`` is the lock that is acquired or released, or the thread that is joined.
    """
    if not _thread._count() and tape.parent is None and Shown not in tape.memory:
        return  # there is no other thread
    stacks = sys._current_frames()
    if len(stacks) == 1 and not any(Shown in t.memory for t in enclosing_tapes(tape)):
        return
    del stacks[threading.get_ident()]
    worked = _worked(stacks)
    for enclosing in enclosing_tapes(tape):
        before = enclosing.memory.get(Shown)
        if before is not None and before.is_current(lock, worked):
            continue
        others = [f for frame in stacks.values() if not _records(frame, enclosing) for f in _program_frames(frame)]
        if others or before is not None:
            now = enclosing.memory[Shown] = Shown(enclosing, others, before, worked)
            if before is not None:
                _note_new(enclosing, before, now)
            sent_to(enclosing, now.values)


def _note_new(tape: Tape, before: Shown, now: Shown) -> None:
    """Note new values, and arrays whose contents have changed without a recorded write."""
    says = functools.partial(_refused, user_frame())
    taken = taken_from(tape)
    written = {id(owner(r[1])) for r in tape.records[before.since :] if isinstance(r[1], np.ndarray)}
    for a, old in before.arrays:
        if a.tobytes() != old.tobytes() and id(owner(a)) not in written:
            note_overwritten(tape, a, old, Opaque(look, taken, says=says))
    new = [x for x in now.values if identity(x) not in before.known]
    if new:
        note(tape, new, look, taken, says)


def _refused(where: tuple[str, int]) -> str:
    return (
        "a value that the function reads after the lock or the wait at "
        f"{where[0]}:{where[1]} depends on differentiated arguments but was computed by another process, or by a thread "
        "started before the differentiated function was called; such work is not recorded. Start the thread inside the "
        "differentiated function, or compute the value there."
    )


def _records(frame: FrameType | None, tape: Tape) -> bool:
    """Whether the thread with this innermost frame records on ``tape``."""
    while frame is not None:
        code = frame.f_code
        names = [n for n in (*code.co_varnames[:1], *code.co_freevars) if n.endswith("tape") or n == "self"]
        for x in map(frame.f_locals.get, names):
            if leads_to(x.tape if type(x) is Recording else x, tape):
                return True
        frame = frame.f_back
    return False


def _program_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of a thread that run the program, and those of ``threading``, which hold the thread's target."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "threading" or not (
            is_of_library(frame.f_code.co_filename) or is_of_engine(frame.f_globals.get("__name__"))
        ):
            yield frame
        frame = frame.f_back


def _roots(frames: list[FrameType]) -> Iterator[Any]:
    """Yield the roots that frames can reach: their variables, and the globals that their code names."""
    for frame in frames:
        code, scope = frame.f_code, frame.f_globals
        if code.co_flags & inspect.CO_OPTIMIZED:
            yield tuple([x for x in frame.f_locals.values() if not _is_engine(x)])
        if not is_of_library(code.co_filename):
            # A function made from the code, never called, stands for the globals that the code names.
            yield FunctionType(code.replace(co_freevars=(), co_flags=code.co_flags & ~inspect.CO_NESTED), scope)


def _is_engine(x: Any) -> bool:
    return isinstance(x, FunctionType) and is_of_engine(x.__module__)


@functools.lru_cache(maxsize=4096)
def _literals(code: CodeType) -> list[Any]:
    """Return the numeric literals of code, including nested functions."""
    found, waiting = [], list(code.co_consts)
    while waiting:
        x = waiting.pop()
        if isinstance(x, (tuple, frozenset)):
            waiting += x
        elif isinstance(x, CodeType):
            waiting += x.co_consts
        elif type(x) in NUMBER_TYPES:
            found.append(x)
    return found


def _acquiring(function: Any) -> None:
    def handler(tape: Tape, lock: Any, *args: Any, **kwargs: Any) -> Any:
        if Shown not in tape.memory:
            look(tape, lock)
        y = function(lock, *args, **kwargs)
        look(tape, lock)
        return y

    HANDLERS[function] = handler


def _releasing(function: Any) -> None:
    def handler(tape: Tape, lock: Any, *args: Any, **kwargs: Any) -> Any:
        look(tape, lock)
        return function(lock, *args, **kwargs)

    HANDLERS[function] = handler


for _lock in (_thread.LockType, _thread.RLock):
    for _name in ("acquire", "acquire_lock", "__enter__", "_acquire_restore"):
        if hasattr(_lock, _name):
            _acquiring(getattr(_lock, _name))
    for _name in ("release", "release_lock", "__exit__", "_release_save"):
        if hasattr(_lock, _name):
            _releasing(getattr(_lock, _name))
_handle: Any = getattr(_thread, "_ThreadHandle", None)  # ``Thread.join`` waits by it from Python 3.13 on
if _handle is not None:
    _acquiring(_handle.join)
