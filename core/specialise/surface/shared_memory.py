"""``np.shares_memory`` and ``np.may_share_memory``: whether two arrays look into one storage."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..traced import Array, Trace, traces
from .arguments import refuse

_REMEDY = "test it outside of the compiled function, or copy the array"


@traces(np.shares_memory, np.may_share_memory)
def shares_memory(trace: Trace, a: Any, b: Any, max_work: Any = None) -> bool:
    if not isinstance(a, Array) or not isinstance(b, Array):
        if any(isinstance(x, np.ndarray) for x in (a, b)):
            raise refuse("np.shares_memory of an array from outside", _REMEDY)
        return False  # a number has memory of its own
    if not a.type.is_static or not b.type.is_static:
        raise refuse("np.shares_memory of arrays of unknown length", _REMEDY)
    if 0 in (*a.type.shape, *b.type.shape):
        return False
    if a.storage is not b.storage:
        if may_be_another(trace, a) or may_be_another(trace, b) or is_given(trace, a) and is_given(trace, b):
            raise refuse("np.shares_memory of arrays that may be the same", _REMEDY)
        return False
    if a.view is not None and b.view is not None and a.view is not b.view:
        raise refuse("np.shares_memory of two views of one array", _REMEDY)
    return True


def may_be_another(trace: Any, x: Array) -> bool:
    """Whether an array may share memory with others of other storages."""
    return bool(x.storage.tied) or trace.aliases.is_one_of_several(x.storage)


def is_given(trace: Any, x: Array) -> bool:
    """Whether an array is an argument's or from outside, so that others of these may share its memory."""
    return any(x.storage is given.storage for given in trace.given_arrays)
