"""Other processes: their computations are not recorded, and a cotangent that reaches their results is refused.

The library code that starts processes and communicates with them runs unrecorded.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection, pool, process, queues
from typing import Any

from ...rules.registry import HANDLERS
from ..recorded.access import iterate
from ..recorded.tape import Tape
from .threads import receives, recording, send


def _as_it_is(*functions: Any) -> None:
    for function in functions:

        def handler(tape: Tape, *args: Any, _function: Any = function, **kwargs: Any) -> Any:
            send(tape, args, kwargs)
            return _function(*args, **kwargs)

        HANDLERS[function] = handler


def _calling(function: Any, over: bool) -> None:
    """Register a pool's method that calls a function once or ``over`` an iterable; thread pools record the calls."""

    def handler(tape: Tape, workers: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        if over and args:
            args = (list(iterate(tape, args[0])), *args[1:])
        if isinstance(workers, pool.ThreadPool):
            return function(workers, recording(tape, func), *args, **kwargs)
        send(tape, func, args, kwargs)
        return function(workers, func, *args, **kwargs)

    HANDLERS[function] = handler


_pool: Any = pool.Pool
for _name in ("_map_async", "imap", "imap_unordered"):
    _calling(getattr(_pool, _name), over=True)
_calling(_pool.apply_async, over=False)
_connection: Any = connection.Connection
_as_it_is(pool.Pool, pool.ThreadPool, process.BaseProcess.start, ProcessPoolExecutor.submit)
_as_it_is(queues.Queue.put, queues.SimpleQueue.put, _connection.send, _connection.send_bytes)
receives(pool.ApplyResult.get, pool.IMapIterator.next)
for _function in (queues.Queue.get, queues.SimpleQueue.get, _connection.recv, _connection.recv_bytes):
    receives(_function)
