"""The one lock under which the engine changes what all threads share: parsed sources, compiled forms, objects that are entered.

There is one and not several, as two threads that hold one each may want the other's: the collector may call a ``__del__`` of
the user's wherever the engine allocates, and that may differentiate and compile.  It is re-entrant for the same reason.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
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
