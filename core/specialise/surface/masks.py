"""Elements chosen by a mask: parts of arrays whose length is known only when the program runs.

A cumulative sum of the mask counts the chosen elements.  Of n + 1 slots, the i-th chosen element writes its index into
slot i, all others write into the last; the first ``count`` slots are the result.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...ir.dynamic import Value
from ...ir.typed import ArrayType, Dim
from ..traced import Array, Trace, length, traces
from .arguments import axis_of, new_array, refuse, refuse_given, total, value
from .reductions import truths
from .views import reshape


def places(trace: Trace, mask: Value) -> Value:
    """Return the indices at which a one-dimensional mask is true, in order."""
    return trace.builder.once(("places", mask), lambda: _counted(trace, mask))


def _counted(trace: Trace, mask: Value) -> Value:
    builder, n = trace.builder, mask.type.shape[0]
    one = builder.constant(1, np.int64)
    bound = n.bound if isinstance(n, Dim) else n
    kind = ArrayType(np.dtype(np.int64), (n,))
    so_far = builder.call(np.cumsum, [builder.cast(mask, np.int64)], [kind], axis=0)[0]
    slots = builder.where(mask, builder.ufunc(np.subtract, so_far, one), builder.length(n))
    more = n + 1 if isinstance(n, int) else Dim(builder.ufunc(np.add, n.value, one), bound + 1)
    filled = builder.setitem(builder.zeros((more,), np.int64), [slots], builder.iota(n), ("a",))
    count = Dim(builder.reduce(np.sum, mask, [0]), bound)
    builder.integers.length(count)
    return builder.getitem(filled, [builder.constant(0, np.int64)], (("s", 1),), [count])


def index_arrays(trace: Trace, mask: Value) -> tuple[Value, ...]:
    """Return the index arrays, one per dimension, of a mask's true elements in C order."""
    builder, shape = trace.builder, mask.type.shape
    if len(shape) == 1:
        return (places(trace, mask),)
    size = total(builder, shape)
    flat = places(trace, builder.once(("flat", mask), lambda: reshape(builder, mask, (size,))))
    found = []
    for n in shape[:0:-1]:
        found.append(builder.ufunc(np.remainder, flat, builder.length(n)))
        flat = builder.ufunc(np.floor_divide, flat, builder.length(n))
    return (flat, *found[::-1])


@traces(np.nonzero)
def nonzero(trace: Trace, a: Any) -> Any:
    mask = truths(trace.builder, value(trace, a))
    if not mask.type.shape:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    return tuple(map(trace.wrap, index_arrays(trace, mask)))


@traces(np.flatnonzero)
def flatnonzero(trace: Trace, a: Any) -> Any:
    return nonzero(trace, trace.call(np.ravel, a))[0]


@traces(np.argwhere)
def argwhere(trace: Trace, a: Any) -> Any:
    return trace.call(np.stack, nonzero(trace, a), -1)


@traces(np.extract)
def extract(trace: Trace, condition: Any, arr: Any) -> Any:
    flat = trace.call(np.ravel, trace.call(np.asarray, arr))
    return trace.call(operator.getitem, flat, flatnonzero(trace, condition))


@traces(np.compress)
def compress(trace: Trace, condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    refuse_given("np.compress", out=out)
    array = trace.call(np.ravel, a) if axis is None else a
    i = axis_of(trace, axis or 0, value(trace, array).type.ndim)
    return trace.call(operator.getitem, array, (*(slice(None),) * i, flatnonzero(trace, condition)))


@traces(np.unique)
def unique(
    trace: Trace,
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    **options: Any,
) -> Any:
    v = value(trace, ar)
    if v.is_constant:
        found = np.unique(v.constant, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan, **options)
        return tuple(map(_constant(trace), found)) if isinstance(found, tuple) else _constant(trace)(found)
    refuse_given("np.unique", **options)
    call = trace.call
    wanted = (return_index, return_inverse, return_counts)
    if axis is not None:
        return _unique_rows(trace, call(np.asarray, ar), axis, wanted)
    flat = call(np.ravel, call(np.asarray, ar))
    order = call(np.argsort, flat, stable=return_index or None)
    x = call(operator.getitem, flat, order)
    later, earlier = (call(operator.getitem, x, s) for s in (slice(1, None), slice(None, -1)))
    differs = call(operator.ne, later, earlier)
    if v.type.is_inexact and equal_nan:  # all NaNs count as one value
        both = call(operator.and_, call(np.isnan, later), call(np.isnan, earlier))
        differs = call(operator.and_, differs, call(np.logical_not, both))
    is_first = call(np.ones, 1, bool) if _has_elements(trace, x) else call(np.zeros, 0, bool)
    is_first = call(np.concatenate, [is_first, differs])
    found = call(operator.getitem, x, is_first)
    more = _places(trace, order, is_first, wanted, tuple(map(length, v.type.shape)))
    return (found, *more) if more else found


def _unique_rows(trace: Trace, array: Array, axis: Any, wanted: tuple[bool, bool, bool]) -> Any:
    """Return the different parts of an array along an axis, in lexicographic order; parts with NaN all differ."""
    call = trace.call
    parts = call(np.moveaxis, array, axis, 0)
    n, *rest = parts.type.shape
    if not parts.type.is_static or 0 in parts.type.shape:
        raise refuse("np.unique(axis=) of an array without elements, or of unknown lengths,", "use np.lexsort")
    rows = call(np.reshape, parts, (n, int(np.prod(rest))))
    order = call(np.lexsort, call(operator.getitem, call(np.transpose, rows), slice(None, None, -1)))
    x = call(operator.getitem, rows, order)
    later, earlier = (call(operator.getitem, x, s) for s in (slice(1, None), slice(None, -1)))
    differs = call(np.any, call(operator.ne, later, earlier), axis=1)
    is_first = call(np.concatenate, [call(np.ones, 1, bool), differs])
    found = call(operator.getitem, x, is_first)
    whole = call(np.moveaxis, call(np.reshape, found, (-1, *rest)), 0, axis)
    shape = np.unique(np.zeros(array.type.bounds), return_inverse=True, axis=axis)[1].shape  # NumPy's versions differ
    more = _places(trace, order, is_first, wanted, shape)
    return (whole, *more) if more else whole


def _places(trace: Trace, order: Any, is_first: Any, wanted: tuple[bool, bool, bool], shape: Any) -> list[Any]:
    """Return the indices, the inverse in this shape, and the counts of unique elements, which are ``wanted``, in sorted order."""
    call, found = trace.call, []
    if wanted[0]:
        found.append(call(operator.getitem, order, is_first))
    if wanted[1]:
        inverse = call(np.zeros_like, order)
        call(operator.setitem, inverse, order, call(np.subtract, call(np.cumsum, is_first), 1))
        found.append(call(np.reshape, inverse, shape))
    if wanted[2]:
        starts = flatnonzero(trace, is_first)
        ends = call(np.concatenate, [starts, call(np.reshape, call(len, order), 1)])
        found.append(call(np.diff, ends))
    return found


def _constant(trace: Trace) -> Any:
    return lambda x: new_array(trace.builder.constant(x))


def _has_elements(trace: Trace, x: Any) -> bool:
    n = length(value(trace, x).type.shape[0])
    if isinstance(n, int):
        return n > 0
    empty = trace.builder.ufunc(np.equal, trace.value(n), trace.builder.constant(0))
    trace.builder.end_if(
        empty,
        ValueError,
        "compiled np.unique of a masked array needs at least one element; test for an empty array before",
    )
    return True
