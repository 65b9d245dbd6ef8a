"""Joining, repeating, padding and splitting arrays."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.dynamic import Value
from ...ir.typed import Dim
from ..rows import rows_of
from ..traced import Trace, Traced, traces
from .arguments import axis_of, integer, new_array, refuse, static, strong, total, value
from .operators import stored
from .python_numbers import items_of
from .views import reshape


@traces(np.concatenate)
def concatenate(
    trace: Trace, arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    if rows_of(arrays) is not None:
        whole = trace.wrap(value(trace, arrays))
        if whole.type.ndim < 2 or axis != 0:
            raise refuse(
                "np.concatenate of a list whose length is known only at run time", "join its items along the first axis"
            )
        return trace.call(np.reshape, whole, (-1, *whole.type.shape[2:]))
    parts = [value(trace, x) for x in items_of(trace, arrays)]
    if axis is None:
        parts = [value(trace, trace.call(np.ravel, trace.wrap(p))) for p in parts]
    return stored(trace, joined(trace, parts, axis or 0, dtype), out)


def joined(trace: Trace, parts: Sequence[Value], axis: Any, dtype: Any = None) -> Value:
    """Concatenate arrays along an axis, in their common dtype."""
    builder = trace.builder
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if any(not p.type.shape for p in parts):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = axis_of(trace, axis, parts[0].type.ndim)
    for k, p in enumerate(parts[1:], 1):
        if p.type.ndim != parts[0].type.ndim:
            text = (
                "all the input arrays must have same number of dimensions, but the array at index 0 has "
                f"{parts[0].type.ndim} dimension(s) and the array at index {k} has {p.type.ndim} dimension(s)"
            )
            raise BadInput(text, in_python=ValueError(text))
        for i, (n, m) in enumerate(zip(parts[0].type.shape, p.type.shape)):
            if i == axis or n == m:
                continue
            if not isinstance(n, Dim) and not isinstance(m, Dim):
                text = (
                    "all the input array dimensions except for the concatenation axis must match exactly, but along dimension "
                    f"{i}, the array at index 0 has size {n} and the array at index {k} has size {m}"
                )
                raise BadInput(text, in_python=ValueError(text))
            builder.same_length(n, m)
    common = np.result_type(*(p.type.dtype for p in parts)) if dtype is None else dtype
    lengths = [p.type.shape[axis] for p in parts]
    length: int | Dim = 0
    for n in lengths:
        length = _sum(trace, length, n)
    return builder.concatenate([builder.cast(p, common) for p in parts], axis, length)


def _sum(trace: Trace, n: int | Dim, m: int | Dim) -> int | Dim:
    if isinstance(n, int) and isinstance(m, int):
        return n + m
    builder = trace.builder
    bound = sum(x.bound if isinstance(x, Dim) else x for x in (n, m))
    return Dim(builder.ufunc(np.add, builder.length(n), builder.length(m)), bound)


@traces(np.stack)
def stack(
    trace: Trace, arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    if rows_of(arrays) is not None:
        return trace.call(np.moveaxis, trace.wrap(value(trace, arrays)), 0, axis)
    parts = [strong(trace.builder, value(trace, x)) for x in items_of(trace, arrays)]
    shapes = {p.type.bounds for p in parts}
    if len(shapes) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis = axis_of(trace, axis, parts[0].type.ndim + 1)
    wide = [reshape(trace.builder, p, (*p.type.shape[:axis], 1, *p.type.shape[axis:])) for p in parts]
    return stored(trace, joined(trace, wide, axis, dtype), out)


def _stacked(widen: Any, axis: int) -> Any:
    def apply(trace: Trace, tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
        if rows_of(tup) is not None:
            return trace.wrap(_joined_rows(trace, value(trace, tup), widen, axis))
        parts = [widen(trace, x) for x in items_of(trace, tup)]
        flat = axis == 1 and widen is _at_least_1 and parts[0].type.ndim == 1
        return trace.wrap(joined(trace, [value(trace, p) for p in parts], 0 if flat else axis, dtype))

    return apply


def _joined_rows(trace: Trace, whole: Value, widen: Any, axis: int) -> Value:
    """Join the rows of an array, widened, along an axis; the number of rows may be known only at run time."""
    one = trace.wrap(trace.builder.zeros(whole.type.shape[1:], whole.type.dtype))
    shape = value(trace, widen(trace, one)).type.shape
    at = 0 if axis == 1 and widen is _at_least_1 and len(shape) == 1 else axis
    wide = reshape(trace.builder, whole, (whole.type.shape[0], *shape))
    first = trace.call(np.moveaxis, trace.wrap(wide), 0, at)
    joined = total(trace.builder, (whole.type.shape[0], shape[at]))
    return reshape(trace.builder, trace.value(first), (*shape[:at], joined, *shape[at + 1 :]))


def _at_least_1(trace: Trace, x: Any) -> Any:
    return trace.call(np.atleast_1d, x)


def _at_least_2(trace: Trace, x: Any) -> Any:
    return trace.call(np.atleast_2d, x)


def _at_least_3(trace: Trace, x: Any) -> Any:
    return trace.call(np.atleast_3d, x)


def _column(trace: Trace, x: Any) -> Any:
    x = trace.call(np.atleast_1d, x)
    return trace.call(operator.getitem, x, (slice(None), None)) if x.type.ndim == 1 else x


traces(np.vstack)(_stacked(_at_least_2, 0))
traces(np.hstack)(_stacked(_at_least_1, 1))
traces(np.dstack)(_stacked(_at_least_3, 2))
traces(np.column_stack)(_stacked(_column, 1))


@traces(np.block)
def block(trace: Trace, arrays: Any) -> Any:
    depth = _depth(arrays)
    ndim = max(depth, _most_dimensions(trace, arrays))
    return trace.wrap(_blocks(trace, arrays, depth, ndim))


def _depth(x: Any) -> int:
    return 1 + max(map(_depth, x)) if isinstance(x, list) else 0


def _most_dimensions(trace: Trace, x: Any) -> int:
    return max(_most_dimensions(trace, e) for e in x) if isinstance(x, list) else value(trace, x).type.ndim


def _blocks(trace: Trace, x: Any, depth: int, ndim: int) -> Value:
    if not isinstance(x, list):
        v = strong(trace.builder, value(trace, x))
        return reshape(trace.builder, v, (*[1] * (ndim - v.type.ndim), *v.type.shape))
    return joined(trace, [_blocks(trace, e, depth - 1, ndim) for e in x], ndim - depth)


@traces(np.append)
def append(trace: Trace, arr: Any, values: Any, axis: Any = None) -> Any:
    return concatenate(trace, (trace.call(np.atleast_1d, arr), trace.call(np.atleast_1d, values)), axis)


def _positions(trace: Trace, x: Any, what: str) -> Any:
    """Return an index that must be known, in a form that NumPy accepts."""
    if isinstance(x, Traced):
        return trace.concrete(x, what)
    if isinstance(x, slice):
        return slice(*(None if e is None else integer(trace, e, what) for e in (x.start, x.stop, x.step)))
    return x


@traces(np.delete)
def delete(trace: Trace, arr: Any, obj: Any, axis: Any = None) -> Any:
    array = trace.call(np.ravel, arr) if axis is None else arr
    v = static(value(trace, array), "np.delete")
    axis = axis_of(trace, axis or 0, v.type.ndim)
    kept = np.delete(np.arange(v.type.shape[axis]), _positions(trace, obj, "the index of np.delete"))
    return trace.call(operator.getitem, array, (slice(None),) * axis + (kept,))


@traces(np.insert)
def insert(trace: Trace, arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    array = trace.call(np.ravel, arr) if axis is None else arr
    v = static(value(trace, array), "np.insert")
    axis = axis_of(trace, 0 if axis is None else axis, v.type.ndim)
    shape, n = v.type.shape, v.type.shape[axis]
    obj = _positions(trace, obj, "the index of np.insert")
    np.insert(np.arange(n), obj, -1)  # raises what NumPy raises
    places = np.arange(*obj.indices(n)) if isinstance(obj, slice) else np.array(obj)
    if places.dtype == bool:
        places = np.flatnonzero(places)
    if places.size == 1:
        new = value(trace, trace.call(np.array, values, dtype=v.type.dtype))
        new = reshape(trace.builder, new, (1,) * (len(shape) - new.type.ndim) + new.type.shape)
        values = trace.call(np.moveaxis, trace.wrap(new), 0, axis) if places.ndim == 0 else trace.wrap(new)
        places = np.repeat(places, value(trace, values).type.shape[axis])
    elif places.size == 0:
        places = places.astype(int)
    kept = np.insert(np.arange(n), places, -1) >= 0
    places[places < 0] += n
    places[places.argsort(kind="stable")] += np.arange(len(places))
    whole = (slice(None),) * axis
    result = trace.call(np.empty, (*shape[:axis], len(kept), *shape[axis + 1 :]), v.type.dtype)
    trace.call(operator.setitem, result, (*whole, places), values)
    trace.call(operator.setitem, result, (*whole, np.flatnonzero(kept)), array)
    return result


def _split(function: Any) -> Any:
    def apply(trace: Trace, ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
        v = static(value(trace, ary), function.__name__)
        axis = axis_of(trace, axis, v.type.ndim)
        sections = indices_or_sections
        if isinstance(sections, Traced):
            sections = trace.concrete(sections, "the number of sections of a split")
        n = v.type.shape[axis]
        if np.ndim(sections):
            points = [0, *(integer(trace, i, "an index of a split") for i in sections), n]
        else:
            points = np.cumsum([0, *map(len, function(np.arange(n), sections))]).tolist()
        index = [(slice(None),) * axis + (slice(a, b),) for a, b in itertools.pairwise(points)]
        return [trace.call(operator.getitem, ary, i) for i in index]

    return apply


traces(np.split)(_split(np.split))
traces(np.array_split)(_split(np.array_split))


@traces(np.hsplit)
def hsplit(trace: Trace, ary: Any, indices_or_sections: Any) -> Any:
    return _split(np.split)(trace, ary, indices_or_sections, 0 if value(trace, ary).type.ndim == 1 else 1)


@traces(np.vsplit)
def vsplit(trace: Trace, ary: Any, indices_or_sections: Any) -> Any:
    return _split(np.split)(trace, ary, indices_or_sections, 0)


@traces(np.dsplit)
def dsplit(trace: Trace, ary: Any, indices_or_sections: Any) -> Any:
    return _split(np.split)(trace, ary, indices_or_sections, 2)


@traces(np.unstack) if hasattr(np, "unstack") else lambda f: f
def unstack(trace: Trace, x: Any, /, *, axis: Any = 0) -> Any:
    return tuple(items_of(trace, trace.call(np.moveaxis, x, axis, 0)))


@traces(np.tile)
def tile(trace: Trace, A: Any, reps: Any) -> Any:
    builder, x = trace.builder, strong(trace.builder, value(trace, A))
    counts = [
        integer(trace, n, "the number of repetitions of np.tile")
        for n in (reps if isinstance(reps, (tuple, list)) else [reps])
    ]
    ndim = max(len(counts), x.type.ndim)
    counts = [1] * (ndim - len(counts)) + counts
    shape = (*[1] * (ndim - x.type.ndim), *x.type.shape)
    x = reshape(builder, x, shape)
    for axis, count in enumerate(counts):
        if count == 0:
            x = builder.zeros((*x.type.shape[:axis], 0, *x.type.shape[axis + 1 :]), x.type.dtype)
        elif count > 1:
            before, n, after = x.type.shape[:axis], x.type.shape[axis], x.type.shape[axis + 1 :]
            wide = builder.broadcast_to(builder.reshape(x, (*before, 1, n, *after)), (*before, count, n, *after))
            x = builder.reshape(wide, (*before, _times(trace, n, count), *after))
    return new_array(x)


def _times(trace: Trace, n: int | Dim, count: int) -> int | Dim:
    if isinstance(n, int):
        return n * count
    builder = trace.builder
    return Dim(builder.ufunc(np.multiply, n.value, builder.constant(count, np.int64)), n.bound * count)


@traces(np.repeat)
def repeat(trace: Trace, a: Any, repeats: Any, axis: Any = None) -> Any:
    array = trace.call(np.ravel, a) if axis is None else a
    builder, x = trace.builder, value(trace, array)
    axis = axis_of(trace, axis or 0, x.type.ndim)
    if isinstance(repeats, Traced):
        counts = trace.value(repeats)
        repeats = (
            counts.constant if counts.is_constant else trace.concrete(repeats, "the number of repetitions of np.repeat")
        )
    if np.size(repeats) == 1:
        count = int(np.reshape(repeats, ()))
        before, n, after = x.type.shape[:axis], x.type.shape[axis], x.type.shape[axis + 1 :]
        wide = builder.broadcast_to(builder.reshape(x, (*before, n, 1, *after)), (*before, n, count, *after))
        return trace.wrap(builder.reshape(wide, (*before, _times(trace, n, count), *after)))
    static(x, "np.repeat")
    places = np.repeat(np.arange(x.type.shape[axis]), repeats)
    return trace.call(operator.getitem, array, (slice(None),) * axis + (places,))


@traces(np.resize)
def resize(trace: Trace, a: Any, new_shape: Any) -> Any:
    flat = trace.call(np.ravel, a)
    x = static(value(trace, flat), "np.resize")
    n = x.type.shape[0]
    if n == 0:  # NumPy gives zeros
        return trace.call(np.zeros, new_shape, x.type.dtype)
    return trace.call(operator.getitem, flat, np.resize(np.arange(n), new_shape))


@traces(np.pad)
def pad(trace: Trace, array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    x = static(strong(trace.builder, value(trace, array)), "np.pad")
    widths = _pairs(trace, pad_width, x.type.ndim)
    if mode == "constant":
        return _padded(trace, x, widths, options.pop("constant_values", 0))
    if mode not in ("edge", "reflect", "symmetric", "wrap") or options:
        raise refuse(
            f"np.pad(mode={mode!r}) with these options", "use mode 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'"
        )
    found = trace.wrap(x)
    for axis, width in enumerate(widths):
        if any(width):
            places = np.pad(np.arange(x.type.shape[axis]), width, mode)
            found = trace.call(operator.getitem, found, (slice(None),) * axis + (places,))
    return found


def _pairs(trace: Trace, widths: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(widths, Traced):
        widths = trace.concrete(widths, "a width of np.pad")
    if isinstance(widths, dict):
        widths = [widths.get(i, widths.get(i - ndim, 0)) for i in range(ndim)]
        widths = [w if isinstance(w, (tuple, list)) else (w, w) for w in widths]
    wide = np.broadcast_to(np.asarray(widths, dtype=object), (ndim, 2))
    return [tuple(integer(trace, w, "a width of np.pad") for w in pair) for pair in wide]  # type: ignore[misc]


def _padded(trace: Trace, x: Value, widths: list[tuple[int, int]], constants: Any) -> Any:
    builder = trace.builder
    if (
        isinstance(constants, (int, float, complex, np.number))
        or isinstance(constants, Traced)
        and not constants.type.shape
    ):
        shape = tuple(n + a + b for n, (a, b) in zip(x.type.shape, widths))
        whole = builder.broadcast_to(builder.cast(value(trace, constants), x.type.dtype), shape)
        starts = [builder.constant(a, np.int64) for a, _ in widths]
        return trace.wrap(builder.setitem(whole, starts, x, (("s", 1),) * x.type.ndim))
    pairs = np.broadcast_to(np.asarray(constants, dtype=object), (x.type.ndim, 2))
    for axis, (width, fill) in enumerate(zip(widths, pairs)):
        parts = [x]
        for place, (n, c) in enumerate(zip(width, fill)):
            shape = (*x.type.shape[:axis], n, *x.type.shape[axis + 1 :])
            edge = builder.broadcast_to(builder.cast(value(trace, c), x.type.dtype), shape)
            parts = [edge, *parts] if place == 0 else [*parts, edge]
        x = joined(trace, parts, axis)
    return trace.wrap(x)
