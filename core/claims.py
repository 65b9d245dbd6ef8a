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

from .errors import BadInput
from .holders import kind_of
from .tape import Tape

PATIENCE = 60.0
"""Seconds after which a run is refused if the thread that it waits for has itself been waiting all that time."""

INTERVAL = 0.1

lock = threading.Condition(threading.RLock())
"""Held while arguments are entered and left."""

_waiting: dict[int, Claim] = {}  # by thread: what its run waits for


class Claim:
    """A container or an object that is differentiated, by whom, and in how many nested runs."""

    __slots__ = ("depth", "holder", "root", "thread")

    def __init__(self, holder: Any, root: Tape) -> None:
        self.holder, self.root = holder, root
        self.thread = threading.get_ident()
        self.depth = 0


_claims: dict[int, Claim] = {}


def _root(tape: Tape) -> Tape:
    while tape.parent is not None:
        tape = tape.parent
    return tape


def admit(tape: Tape, arguments: Sequence[Any]) -> None:
    """Wait, with the ``lock`` held, until no other thread's run differentiates anything in ``arguments``."""
    while _claims:
        claim = _of_others(_root(tape), arguments)
        if claim is None:
            break
        _wait(claim)


def claim(tape: Tape, holder: Any) -> None:
    """Claim a container or an object, with the ``lock`` held."""
    found = _claims.get(id(holder))
    if found is None:
        found = _claims[id(holder)] = Claim(holder, _root(tape))
    found.depth += 1


def release(claimed: list[Any]) -> None:
    """Give up, with the ``lock`` held, what a run has claimed."""
    for holder in claimed:
        found = _claims[id(holder)]
        found.depth -= 1
        if not found.depth:
            del _claims[id(holder)]
    claimed.clear()
    if _waiting:
        lock.notify_all()


def _of_others(root: Tape, arguments: Sequence[Any]) -> Claim | None:
    """A claim of another thread's run on anything that ``arguments`` hold."""
    thread = threading.get_ident()
    others = {key: claim for key, claim in _claims.items() if claim.thread != thread and claim.root is not root}
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


def _wait(claim: Claim) -> None:
    """Wait until some run has left; refuse to if the one that holds ``claim`` waits for this one."""
    thread = threading.get_ident()
    _waiting[thread] = claim
    try:
        after = claim
        while after.thread in _waiting:
            after = _waiting[after.thread]
            if after.thread == thread:
                raise _refusal(claim, "waits for an object that this thread differentiates")
        patience = PATIENCE
        while _claims.get(id(claim.holder)) is claim and not lock.wait(INTERVAL):
            patience = patience - INTERVAL if _is_blocked(claim.thread) else PATIENCE
            if patience <= 0:
                raise _refusal(claim, f"has been waiting for another thread for {PATIENCE:g} seconds")
    finally:
        del _waiting[thread]


def _is_blocked(thread: int) -> bool:
    """Whether a thread waits for another: a lock, an event, a result, the end of a thread."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_globals.get("__package__") == __package__:  # what records its waiting
        frame = frame.f_back
    return thread not in _waiting and frame is not None and frame.f_code.co_filename == threading.__file__


def _refusal(claim: Claim, reason: str) -> BadInput:
    return BadInput(
        f"another thread differentiates the same {type(claim.holder).__name__} and {reason}, so that neither could go on; "
        "give each thread a copy (copy.deepcopy)"
    )
