"""Sorting, searching, order statistics, and picking elements by index arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...ir.dynamic import Value
from ...ir.typed import ArrayType
from ..traced import Array, Trace, length, traces
from .arguments import axis_of, refuse, refuse_given, value
from .calculus import at
from .indexing import update
from .reductions import one_axis
from .slices import elements


@traces(np.sort)
def sort(trace: Trace, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    x, i = one_axis(trace, a, axis, "np.sort")
    return trace.wrap(trace.builder.call(np.sort, [x], [x.type], axis=i)[0])


@traces(np.partition)
def partition(trace: Trace, a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    return sort(trace, a, axis)


@traces(np.argsort)
def argsort(trace: Trace, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    x, i = one_axis(trace, a, axis, "np.argsort")
    options = {"stable": True} if stable or kind in ("stable", "mergesort") else {}
    result = ArrayType(np.dtype(np.intp), x.type.shape)
    return trace.wrap(trace.builder.call(np.argsort, [x], [result], axis=i, **options)[0])


@traces(np.lexsort)
def lexsort(trace: Trace, keys: Any, axis: Any = -1) -> Any:
    """Sort by each key in turn, the most important last."""
    keys = [trace.call(np.asarray, key) for key in trace.iterate(keys)]
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    order: Any = trace.call(np.argsort, keys[0], axis, stable=True)
    for key in keys[1:]:
        sorted_key = trace.call(np.take_along_axis, key, order, axis)
        order = trace.call(np.take_along_axis, order, trace.call(np.argsort, sorted_key, axis, stable=True), axis)
    return order


@traces(np.argpartition)
def argpartition(trace: Trace, a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    return argsort(trace, a, axis)


@traces(np.searchsorted)
def searchsorted(trace: Trace, a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    refuse_given("np.searchsorted", sorter=sorter)
    builder, x, y = trace.builder, value(trace, a), value(trace, v)
    dtype = np.result_type(x.type.dtype, y.type.dtype)
    kind = ArrayType(np.dtype(np.intp), y.type.shape)
    made = builder.call(np.searchsorted, [builder.cast(x, dtype), builder.cast(y, dtype)], [kind], side=side)[0]
    return trace.wrap(made)


@traces(np.digitize)
def digitize(trace: Trace, x: Any, bins: Any, right: bool = False) -> Any:
    return searchsorted(trace, bins, x, "left" if right else "right")


def _all_axes(trace: Trace, a: Any, axis: Any) -> tuple[Any, int, tuple[int, ...]]:
    """Return the array with the reduced axes merged into a last one, its number of dimensions, and the axes."""
    x = value(trace, a)
    if axis is None:
        axes = tuple(range(x.type.ndim))
    else:
        axes = tuple(axis_of(trace, i, x.type.ndim) for i in (axis if isinstance(axis, (tuple, list)) else [axis]))
    rest = [i for i in range(x.type.ndim) if i not in axes]
    moved = trace.call(np.transpose, trace.wrap(x), [*rest, *axes]) if x.type.ndim else trace.wrap(x)
    shape = tuple(length(x.type.shape[i]) for i in rest)
    sizes = [x.type.shape[i] for i in axes]
    merged = math.prod(sizes) if all(isinstance(n, int) for n in sizes) else -1  # -1 has no meaning if one is 0
    flat = trace.call(np.reshape, moved, (*shape, merged))
    return flat, x.type.ndim, axes


def _restored(trace: Trace, found: Any, ndim: int, axes: tuple[int, ...], keepdims: Any) -> Any:
    return trace.call(np.expand_dims, found, axes) if keepdims and axes else found


@traces(np.median)
def median(
    trace: Trace, a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    refuse_given("np.median", out=out)
    call = trace.call
    x, ndim, axes = _all_axes(trace, a, axis)
    x = call(np.sort, x, axis=-1)
    n = length(value(trace, x).type.shape[-1])
    if isinstance(n, int) and n == 0:
        raise refuse("np.median of an empty array", "it has no median")
    half = call(operator.floordiv, n, 2)
    low = call(operator.floordiv, call(operator.sub, n, 1), 2)
    pair = [call(operator.getitem, x, (..., i)) for i in (low, half)]
    found = call(np.mean, call(np.stack, pair), axis=0)
    if value(trace, x).type.is_inexact:
        found = call(
            np.where, call(np.isnan, call(operator.getitem, x, (..., -1))), np.array(np.nan, found.dtype), found
        )
    return _scalar(trace, _restored(trace, found, ndim, axes, keepdims))


@traces(np.nanmedian)
def nanmedian(
    trace: Trace, a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    refuse_given("np.nanmedian", out=out)
    call = trace.call
    x, ndim, axes = _all_axes(trace, a, axis)
    if not value(trace, x).type.is_inexact:
        return median(trace, a, axis, None, False, keepdims)
    if 0 in value(trace, x).type.shape[-1:]:
        kind = value(trace, x).type
        found = call(np.full, tuple(length(n) for n in kind.shape[:-1]), np.nan, kind.dtype)
        return _scalar(trace, _restored(trace, found, ndim, axes, keepdims))
    x = call(np.sort, x, axis=-1)  # NaNs are last
    count = call(np.sum, call(np.logical_not, call(np.isnan, x)), axis=-1, keepdims=True)
    low = call(np.maximum, call(operator.floordiv, call(operator.sub, count, 1), 2), 0)
    high = call(np.maximum, call(np.minimum, call(operator.floordiv, count, 2), call(operator.sub, count, 1)), 0)
    pair = [call(np.take_along_axis, x, i, -1) for i in (low, high)]
    found = call(operator.getitem, call(np.mean, call(np.stack, pair), axis=0), (..., 0))
    return _scalar(trace, _restored(trace, found, ndim, axes, keepdims))


def _scalar(trace: Trace, x: Any) -> Any:
    """Turn a 0-dimensional result into a number, as NumPy's functions do."""
    return trace.wrap(value(trace, x)) if isinstance(x, Array) and not x.type.shape else x


def _quantile(scale: float) -> Any:
    def apply(
        trace: Trace,
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
        interpolation: Any = None,
    ) -> Any:
        refuse_given("np.quantile", out=out, weights=weights, interpolation=interpolation)
        if method not in _PLACES:
            raise refuse(f"np.quantile(method={method!r})", f"the methods are {', '.join(_PLACES)}")
        call = trace.call
        x, ndim, axes = _all_axes(trace, a, axis)
        x = call(np.moveaxis, call(np.sort, x, axis=-1), -1, 0)
        n, is_inexact = length(x.type.shape[0]), x.type.is_inexact
        if not is_inexact and method == "linear":
            x = call(np.asarray, x, float)
        fraction = q if scale == 1 else call(np.true_divide, q, scale)
        place = call(np.multiply, fraction, call(operator.sub, n, 1))
        low = call(_PLACES[method], place)
        index = call(np.asarray, low, np.int64)
        found = call(operator.getitem, x, index)
        if method == "linear":
            above = call(np.minimum, call(operator.add, index, 1), call(operator.sub, n, 1))
            rest = call(operator.sub, place, low)
            wide = (..., *[None] * (x.type.ndim - 1))
            t = call(operator.getitem, call(np.asarray, rest, _dtype_with(value(trace, q).type, x.type.dtype)), wide)
            lower, upper = found, call(operator.getitem, x, above)
            gap = call(operator.sub, upper, lower)
            from_low = call(operator.add, lower, call(operator.mul, gap, t))
            from_high = call(operator.sub, upper, call(operator.mul, gap, call(operator.sub, 1, t)))
            found = call(np.where, call(operator.ge, t, 0.5), from_high, from_low)
        if is_inexact:
            last = call(np.isnan, call(operator.getitem, x, -1))
            found = call(np.where, last, np.array(np.nan, found.dtype), found)
        if keepdims and axes:
            q_ndim = value(trace, q).type.ndim
            found = call(np.expand_dims, found, tuple(q_ndim + i for i in axes))
        return _scalar(trace, found)

    return apply


def _dtype_with(q: Any, dtype: np.dtype) -> np.dtype:
    """Return the dtype of quantiles of ``dtype`` at ``q``: a Python number leaves it as it is."""
    return dtype if q.weak else np.result_type(dtype, q.dtype if q.is_inexact else np.float64)


_PLACES: dict[str, Any] = {"linear": np.floor, "lower": np.floor, "higher": np.ceil, "nearest": np.rint}
traces(np.quantile)(_quantile(1))
traces(np.percentile)(_quantile(100))


# Picking by index arrays


@traces(np.take)
def take(trace: Trace, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    refuse_given("np.take", out=out)
    array = trace.call(np.ravel, a) if axis is None else a
    x = value(trace, array)
    i = axis_of(trace, axis or 0, x.type.ndim)
    n = length(x.type.shape[i])
    if mode == "clip":
        indices = trace.call(np.clip, indices, 0, trace.call(operator.sub, n, 1))
    elif mode == "wrap":
        indices = trace.call(np.remainder, indices, n)
    found = trace.call(operator.getitem, array, at(x, i, indices))
    return trace.wrap(value(trace, found)) if isinstance(found, Array) else found


@traces(np.put)
def put(trace: Trace, a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    n = trace.call(np.size, a)
    if mode == "clip":
        ind = trace.call(np.clip, ind, 0, trace.call(operator.sub, n, 1))
    elif mode == "wrap":
        ind = trace.call(np.remainder, ind, n)
    if isinstance(a, Array):
        a.check_writeable("put: output array is read-only")
    flat = trace.call(np.ravel, in_c_order(trace, a))
    ind, v = trace.call(np.ravel, ind), trace.call(np.ravel, v)
    count, given = (value(trace, x).type.shape[0] for x in (ind, v))
    if count == 0 or given == 0:
        return  # as NumPy does
    if count != given and given != 1:
        v = trace.call(np.resize, v, length(count))
    update(trace, flat, ind, value(trace, v))


def in_c_order(trace: Trace, a: Any) -> Array:
    """Return the array itself, which must be in C order so that it can be written through its ravelled view."""
    from .view_or_copy import stands_in_order

    if not isinstance(a, Array) or not stands_in_order(trace, a):
        raise refuse("a write by flat indices to an array that is not C-contiguous", "write a[i, j] = x")
    return a


def _grid(trace: Trace, x: Value, index: Value, axis: int) -> tuple[list[Value], tuple[str, ...]]:
    """Return full index arrays for ``take_along_axis``: ``index`` along the axis, an iota along each other."""
    builder = trace.builder
    if index.type.ndim != x.type.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    found = []
    for i, n in enumerate(x.type.shape):
        if i == axis:
            found.append(elements(builder, index, n, axis))
        else:
            places = _zero(trace) if n == 1 else builder.iota(n)
            found.append(builder.reshape(places, tuple(n if j == i else 1 for j in range(x.type.ndim))))
    shape = builder.broadcast_shape([f.type.shape for f in found])
    return [builder.broadcast_to(f, shape) for f in found], ("a",) * x.type.ndim


def _zero(trace: Trace) -> Value:
    return trace.builder.constant(np.zeros(1, np.int64))


def _flat(trace: Trace, arr: Any, axis: Any) -> tuple[Any, int]:
    if axis is None:
        return trace.call(np.ravel, arr), 0
    return arr, axis_of(trace, axis, value(trace, arr).type.ndim)


@traces(np.take_along_axis)
def take_along_axis(trace: Trace, arr: Any, indices: Any, axis: Any = -1) -> Any:
    array, i = _flat(trace, arr, axis)
    x = value(trace, array)
    index, spec = _grid(trace, x, value(trace, indices), i)
    return trace.wrap(trace.builder.getitem(x, index, spec, []))


@traces(np.put_along_axis)
def put_along_axis(trace: Trace, arr: Any, indices: Any, values: Any, axis: Any) -> None:
    array, i = _flat(trace, in_c_order(trace, arr) if axis is None else arr, axis)
    builder, x = trace.builder, value(trace, array)
    index, spec = _grid(trace, x, value(trace, indices), i)
    v = builder.broadcast_to(builder.cast(value(trace, values), x.type.dtype), index[0].type.shape)
    trace.write(array, builder.setitem(x, index, v, spec))
