"""Runs of several threads that differentiate the same list, dict or object: one after the other.

While a run differentiates a container or an object, its entries are equal numbers and arrays of the run's own.  Another
run that entered it then would take these for the caller's.  So a run claims what it enters, and another thread's run waits
until it has left.  All claims of a run are made at once or not at all, and a run whose waiting could never end is refused.
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

_waiting: dict[int, Claim] = {}  # by thread: what its run waits for


class Claim:
    """A container or an object that is differentiated, by which thread, and in which of its nested runs."""

    __slots__ = ("gate", "holder", "root", "tapes", "thread")

    def __init__(self, holder: Any, root: Tape) -> None:
        self.holder, self.root = holder, root
        self.thread = threading.get_ident()
        self.tapes: set[Tape] = set()
        self.gate: Any = None  # for those that wait: a lock, open when nobody differentiates the holder any more


_claims: dict[int, Claim] = {}


def _root(tape: Tape) -> Tape:
    while tape.parent is not None:
        tape = tape.parent
    return tape


def of_others(tape: Tape, arguments: Sequence[Any]) -> Claim | None:
    """A claim of another thread's run on anything in ``arguments``; with the ``lock`` held."""
    return _of_others(_root(tape), arguments) if _claims else None


def claim(tape: Tape, holder: Any) -> None:
    """Claim a container or an object, with the ``lock`` held."""
    found = _claims.get(id(holder)) or Claim(holder, _root(tape))
    found.tapes.add(tape)
    _claims[id(holder)] = found


def release(tape: Tape, claimed: list[Any]) -> None:
    """Give up, with the ``lock`` held, what a run has claimed; what it has given up already is passed over."""
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
    """A claim of another thread's run on anything that ``arguments`` hold."""
    thread = threading.get_ident()
    # A copy, since the collector may call a ``__del__`` that differentiates in the midst of this.
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
    """Wait until some run has left; refuse to if the one that holds ``claim`` waits for this one."""
    thread = threading.get_ident()
    # A ``__del__`` that the collector calls may differentiate in the midst of what the lock guards, and so may a function that
    # is being compiled.  The lock cannot be given up then, and the other run may need it to go on.
    is_held = lock._is_owned()
    try:
        _waiting[thread] = claim
        after = claim
        while (following := _waiting.get(after.thread)) is not None:
            after = following
            if after.thread == thread:
                raise _refusal(claim, "waits for an object that this thread differentiates")
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
    """Whether a thread waits for another: a lock, an event, a result, the end of a thread."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(ENGINE):  # what records its waiting
        frame = frame.f_back
    return thread not in _waiting and frame is not None and frame.f_code.co_filename == threading.__file__


def _refusal(claim: Claim, reason: str) -> BadInput:
    return BadInput(
        f"another thread differentiates the same {type(claim.holder).__name__} and {reason}, so that neither could go on; "
        "give each thread a copy (copy.deepcopy)"
    )
