"""Whether an array's elements are contiguous in memory: this decides whether NumPy gives a view or a copy."""

from __future__ import annotations

import numpy as np

from ..traced import Array, Trace
from .arguments import refuse
from .memory_order import UnknownOrder, has_order, is_contiguous, is_known_in_c_order, layout, note_dependence


def note_view(array: Array, is_view: bool) -> bool:
    """Note on the storage that the memory order decided between a view and a copy."""
    if is_view:
        array.storage.is_viewed = True
    else:
        array.storage.is_copied = True
    return is_view


def is_c_array(trace: Trace, array: Array) -> bool:
    """Whether an array, of any lengths, is known to be C-contiguous."""
    if not is_contiguous(array.view):
        return False
    if not has_order(trace, array.storage):
        return True
    note_dependence(trace, array.storage)
    return is_known_in_c_order(trace, array.storage)


def known_layout(trace: Trace, array: Array) -> np.ndarray | None:
    """Return an array with another's strides; None if they are not known while compiling."""
    if not array.type.is_static and not has_order(trace, array.storage):
        raise refuse(
            "reshape of a slice whose length is known only when the program runs, which may be a view or a copy,",
            "copy it first",
        )
    if has_order(trace, array.storage):
        note_dependence(trace, array.storage)
    try:
        return layout(trace, array)
    except UnknownOrder:
        return None


def maybe_copied(array: Array, copied: Array) -> Array:
    """Return the copy of an array where NumPy may give a view, and forbid later writes to either."""
    text = (
        "an array may or may not share memory with its reshape, depending on a memory order that is not known while compiling, so "
        "neither can be written to; use .copy() or np.ascontiguousarray before the reshape"
    )
    for x in (array, copied):
        x.storage.tied = x.storage.tied or text
    return copied


def stands_in_order(trace: Trace, array: Array, order: str = "C") -> bool | None:
    """Whether an array is contiguous by rows ("C") or by columns ("F"); None if that is not known while compiling."""
    if 0 in array.type.shape:
        return True
    if is_c_array(trace, array) and (order == "C" or array.type.ndim < 2):
        return note_view(array, True)
    if order == "F" and not array.type.is_static:
        return False
    like = known_layout(trace, array)
    return None if like is None else note_view(array, like.flags[f"{order}_CONTIGUOUS"])
