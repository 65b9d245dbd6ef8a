"""The one lock under which the engine changes what all threads share: parsed sources, compiled forms, objects that are entered.

There is one and not several, as two threads that hold one each may want the other's: the collector may call a ``__del__`` of
the user's wherever the engine allocates, and that may differentiate and compile.  It is re-entrant for the same reason.
"""

from __future__ import annotations

import os
import threading

one_at_a_time = threading.RLock()

if hasattr(os, "register_at_fork"):  # the thread that holds it is not in the child
    os.register_at_fork(after_in_child=one_at_a_time._at_fork_reinit)  # type: ignore[attr-defined]
