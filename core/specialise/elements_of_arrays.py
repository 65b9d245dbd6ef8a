"""Iterators of NumPy over the elements of arrays: ``np.nditer`` and ``np.ndenumerate``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from .arguments import has_traced
from .surface.view_or_copy import stands_in_order
from .traced import Array

_FLAGS = frozenset(("refs_ok", "zerosize_ok"))


def nditer(trace: Any, op: Any, flags: Any = None, op_flags: Any = None, *args: Any, **options: Any) -> Any:
    """``np.nditer``: views of no dimensions of one array, which are read."""
    if not has_traced(op):
        return NotImplemented
    if isinstance(op, (list, tuple)) or set(flags or ()) - _FLAGS or op_flags or args or options:
        raise BadInput(
            "np.nditer of several arrays, or with other flags than refs_ok, cannot be compiled; write a loop"
        )
    if isinstance(op, Array) and stands_in_order(trace, op) is not True:
        raise BadInput(
            "np.nditer of an array that is not C-contiguous cannot be compiled; pass np.ascontiguousarray(x)"
        )
    return trace.call(iter, [trace.call(operator.getitem, op, (*i, ...)) for i in np.ndindex(shape_of(trace, op))])


def ndenumerate(trace: Any, arr: Any) -> Any:
    """``np.ndenumerate``."""
    if not has_traced(arr):
        return NotImplemented
    return trace.call(zip, list(np.ndindex(shape_of(trace, arr))), trace.call(np.ravel, trace.call(np.asarray, arr)))


def shape_of(trace: Any, x: Any) -> tuple[int, ...]:
    shape = trace.call(np.shape, x)
    return tuple(int(trace.concrete(n, "the number of elements that are iterated over")) for n in shape)


ITERATORS: dict[Any, Callable[..., Any]] = {np.nditer: nditer, np.ndenumerate: ndenumerate}
"""What these classes do on traced arrays; ``NotImplemented`` for others."""
