"""Sums over groups of elements: ``np.bincount`` and ``ufunc.reduceat``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.dynamic import Value
from ..constants import known_content
from ..traced import Trace, traces
from .arguments import axis_of, integer, new_array, refuse, static, value


@traces(np.bincount)
def bincount(trace: Trace, x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    bins, call = value(trace, x), trace.call
    if bins.type.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if bins.type.ndim else "object of too small depth for desired array"
        )
    if bins.type.dtype.kind not in "iub":
        raise TypeError(
            f"Cannot cast array data from {bins.type.dtype!r} to dtype('int64') according to the rule 'safe'"
        )
    minlength = integer(trace, minlength, "the argument minlength of np.bincount")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if weights is not None:
        weights = call(np.asarray, weights, float)
        if value(trace, weights).type.shape != bins.type.shape:
            raise ValueError("The weights and list don't have the same length.")
    n = _count_of_bins(trace, bins, minlength)
    made = new_array(trace.builder.zeros((n,), np.int64 if weights is None else np.float64))
    call(np.add.at, made, new_array(bins), 1 if weights is None else weights)
    return made


def _count_of_bins(trace: Trace, bins: Value, minlength: int) -> int:
    builder = trace.builder
    if bins.is_constant:
        if bins.constant.size and bins.constant.min() < 0:
            raise ValueError("'list' argument must have no negative elements")
        return max(minlength, int(bins.constant.max()) + 1 if bins.constant.size else 0)
    low, high = builder.integers.interval(bins)
    if low < 0:
        negative = trace.value(trace.call(np.any, trace.call(operator.lt, new_array(bins), 0)))
        builder.end_if(negative, ValueError, "'list' argument must have no negative elements")
    if 0 <= high < minlength:
        return minlength
    raise refuse(
        "np.bincount of bins that are not known while compiling, whose result's length depends on them,",
        "write counts = np.zeros(n); np.add.at(counts, bins, weights)",
    )


def reduceat_trace(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return what ``ufunc.reduceat`` does on traced values; the indices must be known while compiling."""

    def reduceat(trace: Trace, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        name = f"{ufunc.__name__}.reduceat"
        if out is not None:
            raise refuse(f"{name}(out=)", "assign the result")
        array, places = trace.call(np.asarray, array, dtype), value(trace, indices)
        kind = static(value(trace, array), name).type
        axis = axis_of(trace, axis, kind.ndim)
        n = kind.bounds[axis]
        found = known_content(trace, places)
        if found is None or not found.ndim or not found.size:
            raise refuse(f"{name} with no indices, or with indices that are not known while compiling", "write a loop")
        starts = found.astype(np.intp)
        for i in starts:
            if not 0 <= i < n:
                raise IndexError(f"index {i} out-of-bounds in {name} [0, {n})")
        ends = np.append(starts[1:], n)
        ends = np.where(ends > starts, ends, starts + 1)
        before = (slice(None),) * axis
        if ufunc is not np.add:
            parts = [
                trace.call(operator.getitem, array, (*before, slice(int(i), int(j)))) for i, j in zip(starts, ends)
            ]
            return trace.call(np.stack, [trace.call(ufunc.reduce, part, axis) for part in parts], axis)
        numbers = np.empty(0, kind.dtype)
        made = trace.builder.zeros(
            (*kind.shape[:axis], len(starts), *kind.shape[axis + 1 :]), np.add.reduce(numbers).dtype
        )
        made = new_array(made)
        segments = np.repeat(np.arange(len(starts)), ends - starts)
        places = np.concatenate([np.arange(i, j) for i, j in zip(starts, ends)])
        parts = trace.call(operator.getitem, array, (*before, places))
        trace.call(np.add.at, made, (*before, segments), parts)
        return made

    return reduceat
