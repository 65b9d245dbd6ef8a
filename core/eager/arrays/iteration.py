"""NumPy's iterators over arrays, ``nditer`` and ``broadcast``.

The entries that they yield are on the tape; iterators that yield copies are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.registry import handles
from ...source.definitions import user_frame
from ...values.memory import owner
from ...values.numbers import differentiable
from ..recorded.call import call
from ..recorded.tape import Tape


@handles(np.nditer)
def nditer(tape: Tape, op: Any, flags: Any = (), *args: Any, **kwargs: Any) -> Any:
    """Make an ``nditer``; its entries are read and written as views of the operands, so copies are refused."""
    several = isinstance(op, (tuple, list))
    given = [
        x if x is None or isinstance(x, np.ndarray) else call(tape, np.asarray, x) for x in (op if several else [op])
    ]
    iterator: Any = np.nditer(given if several else given[0], flags, *args, **kwargs)
    written = any(x is None for x in given) or "write" in str((*args, *kwargs.values()))
    copied = [x for x, y in zip(given, iterator.operands) if x is not None and owner(x) is not owner(y)]
    if any(map(differentiable, given if written and "buffered" in (flags or ()) else copied)):
        raise NoDerivative(
            f"numpy.nditer, called at {':'.join(map(str, user_frame()))}, copies entries of its operands (into a buffer, or to "
            "another dtype), which has no derivative; leave out the flag 'buffered', and pass operands of the requested dtype"
        )
    return iterator


@handles(np.nested_iters)
def nested_iters(tape: Tape, op: Any, *args: Any, **kwargs: Any) -> Any:
    if differentiable(op):
        raise NoDerivative(
            f"numpy.nested_iters, called at {':'.join(map(str, user_frame()))}, has no derivative; use nested loops over indices, "
            "or numpy.nditer"
        )
    return np.nested_iters(op, *args, **kwargs)


class Broadcast:
    """An ``np.broadcast`` that reads its entries on the tape."""

    def __init__(self, shape: Any, arrays: Any) -> None:
        self.broadcast = shape
        self.arrays = arrays

    def __getattr__(self, name: str) -> Any:
        return getattr(self.broadcast, name)

    def __iter__(self) -> Iterator[Any]:
        for i in np.ndindex(self.broadcast.shape):
            yield tuple(a[i] for a in self.arrays)


@handles(np.broadcast)
def broadcast(tape: Tape, *args: Any) -> Any:
    arrays = [call(tape, np.asarray, x) for x in args]
    shape = np.broadcast(*arrays)
    if not any(map(differentiable, arrays)):
        return shape
    return Broadcast(shape, [call(tape, np.broadcast_to, x, shape.shape) for x in arrays])
