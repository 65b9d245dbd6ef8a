"""Serialises runs in several threads that differentiate the same list, dict or object.

While a run differentiates a container or an object, its entries are replaced by equal numbers and arrays of that run.
Another run that entered the container then would mistake these for the caller's.  So a run claims the containers that
it enters, and another thread's run waits until it has left.  A run makes all its claims at once or none; a run that
would wait forever is refused.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

from ...errors import ENGINE, BadInput
from ...exclusion import one_at_a_time
from ...values.holders import kind_of
from ..recorded.tape import Tape

PATIENCE = 60.0
"""Seconds after which a run is refused if the thread that it waits for has itself been waiting all that time."""

INTERVAL = 0.1

lock: Any = one_at_a_time
"""Held while arguments are entered and left."""

_waiting: dict[int, Claim] = {}  # by thread: the claim that its run waits for


class Claim:
    """A container or an object that a thread differentiates, with the nested runs of that thread that entered it."""

    __slots__ = ("gate", "holder", "root", "tapes", "thread")

    def __init__(self, holder: Any, root: Tape) -> None:
        self.holder, self.root = holder, root
        self.thread = threading.get_ident()
        self.tapes: set[Tape] = set()
        self.gate: Any = None  # a lock for waiting runs, released when no run differentiates the holder any more


_claims: dict[int, Claim] = {}


def _root(tape: Tape) -> Tape:
    while tape.parent is not None:
        tape = tape.parent
    return tape


def of_others(tape: Tape, arguments: Sequence[Any]) -> Claim | None:
    """Return a claim of another thread's run on anything in ``arguments``, or None.  The ``lock`` must be held."""
    return _of_others(_root(tape), arguments) if _claims else None


def claim(tape: Tape, holder: Any) -> None:
    """Claim a container or an object.  The ``lock`` must be held."""
    found = _claims.get(id(holder)) or Claim(holder, _root(tape))
    found.tapes.add(tape)
    _claims[id(holder)] = found


def release(tape: Tape, claimed: list[Any]) -> None:
    """Release the claims of a run, except those released already.  The ``lock`` must be held."""
    for holder in claimed:
        found = _claims.get(id(holder))
        if found is not None and tape in found.tapes:
            if len(found.tapes) == 1:
                if found.gate is not None and found.gate.locked():
                    found.gate.release()
                _claims.pop(id(holder), None)
            found.tapes.discard(tape)
    claimed.clear()


def _of_others(root: Tape, arguments: Sequence[Any]) -> Claim | None:
    """Return a claim of another thread's run on anything that ``arguments`` hold, or None."""
    thread = threading.get_ident()
    # Copy, because the garbage collector may call a ``__del__`` that differentiates during the iteration.
    others = {key: claim for key, claim in _claims.copy().items() if claim.thread != thread and claim.root is not root}
    stack, seen = list(arguments) if others else [], set()
    while stack:
        x = stack.pop()
        kind = kind_of(type(x))
        if kind is None or id(x) in seen:
            continue
        if id(x) in others:
            return others[id(x)]
        if kind.is_mutable:
            seen.add(id(x))
        stack += [value for _, value in kind.entries(x)]
    return None


def wait(claim: Claim) -> None:
    """Wait until the run that holds ``claim`` has left; refuse if that run waits for this thread."""
    thread = threading.get_ident()
    # A ``__del__`` called by the garbage collector, or a function being compiled, may differentiate inside a section
    # that the lock guards.  The lock cannot be released then, and the other run may need it to go on.
    is_held = lock._is_owned()
    try:
        _waiting[thread] = claim
        after = claim
        while (following := _waiting.get(after.thread)) is not None:
            after = following
            if after.thread == thread:
                raise _refusal(claim, "waits for an object that this thread is differentiating")
        with lock:
            if claim.gate is None:
                claim.gate = threading.Lock()
                claim.gate.acquire()
        patience = PATIENCE
        while _claims.get(id(claim.holder)) is claim:
            if claim.gate.acquire(timeout=INTERVAL):
                claim.gate.release()
                break
            patience = patience - INTERVAL if is_held or _is_blocked(claim.thread) else PATIENCE
            if patience <= 0:
                raise _refusal(claim, f"has been waiting for another thread for {PATIENCE:g} seconds")
    finally:
        _waiting.pop(thread, None)


def _is_blocked(thread: int) -> bool:
    """Whether a thread waits for another one: for a lock, an event, a result or the end of a thread."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(ENGINE):  # frames that record the wait
        frame = frame.f_back
    return thread not in _waiting and frame is not None and frame.f_code.co_filename == threading.__file__


def _refusal(claim: Claim, reason: str) -> BadInput:
    return BadInput(
        f"another thread is differentiating the same {type(claim.holder).__name__} object and {reason}: a deadlock; "
        "give each thread its own copy (copy.deepcopy)"
    )
