"""The one lock under which the engine changes what all threads share: parsed sources, compiled forms, objects that are entered.

There is one and not several, as two threads that hold one each may want the other's: the collector may call a ``__del__`` of
the user's wherever the engine allocates, and that may differentiate and compile.  It is re-entrant for the same reason.
"""

from __future__ import annotations

import threading

one_at_a_time = threading.RLock()
