"""Single indices and slices of one dimension, with NumPy's treatment of negative indices, clamping and errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.affine import Affine
from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.typed import Dim
from ..traced import Trace
from .arguments import integer


def int64(builder: Builder, x: Value) -> Value:
    """Return integers as int64."""
    return x if x.type.dtype == np.int64 else builder.cast(x, np.int64)


def length_of(builder: Builder, n: int | Dim) -> Value:
    """Return a length as a value; a known one is weakly typed, so that it takes the type of the index it meets."""
    return n.value if isinstance(n, Dim) else builder.constant(n)


def element(builder: Builder, i: Value, n: int | Dim, axis: int | None, text: str = "") -> Value:
    """Return an index as an int64 from 0 to n - 1; the program checks it at run time unless it is proved in range.

    ``text`` is the error's message for a Python container, which has no ``axis``.
    """
    text = text or f"index {{}} is out of bounds for axis {axis} with size {{}}"
    if i.is_constant and isinstance(n, int):
        at = int(i.constant)
        if not -n <= at < n:
            raise IndexError(text.format(at, n))
        return builder.constant(at % n)
    integers = builder.integers
    i, length = int64(builder, i), length_of(builder, n)
    form, size = integers.form(i), integers.length(n)
    values = () if axis is None else (i, length)
    if not integers.is_less(form, size):
        builder.raise_if(builder.ufunc(np.greater_equal, i, length), IndexError, text, *values)
    if integers.is_at_most(Affine(0), form):
        return i
    if not integers.is_at_most(size * -1, form):
        least = builder.ufunc(np.negative, length)
        builder.raise_if(builder.ufunc(np.less, i, least), IndexError, text, *values)
    return from_end(builder, i, length)


def from_end(builder: Builder, i: Value, length: Value) -> Value:
    """Return the index with the length added if it is negative."""
    integers = builder.integers
    if integers.is_at_most(Affine(0), integers.form(i)):
        return i
    wrapped = builder.ufunc(np.add, i, length)
    if integers.is_less(integers.form(i), Affine(0)):
        return wrapped
    return builder.where(builder.ufunc(np.less, i, builder.constant(0)), wrapped, i)


def elements(builder: Builder, indices: Value, n: int | Dim, axis: int) -> Value:
    """Return an array of indices as int64 from 0 to n - 1."""
    text = f"index {{}} is out of bounds for axis {axis} with size {{}}"
    if indices.is_constant and isinstance(n, int):
        found = np.asarray(indices.constant, np.int64)
        bad = found[(found < -n) | (found >= n)]
        if bad.size:
            raise IndexError(text.format(bad.flat[0], n))
        return builder.constant(np.where(found < 0, found + n, found))
    indices, length = int64(builder, indices), length_of(builder, n)
    low, high = builder.integers.interval(indices)
    smallest = builder.integers.lower(builder.integers.length(n))
    if low < 0 or high >= smallest:
        out = []
        if high >= smallest:
            out.append(builder.ufunc(np.greater_equal, indices, length))
        if low < -smallest:
            out.append(builder.ufunc(np.less, indices, builder.ufunc(np.negative, length)))
        if out:
            is_out = out[0] if len(out) == 1 else builder.ufunc(np.logical_or, *out)
            any_out = builder.reduce(np.any, is_out, range(is_out.type.ndim))
            some = f"an index of an index array is out of bounds for axis {axis} with size {{}}"
            builder.raise_if(any_out, IndexError, some, length)
    if low < 0:
        wrapped = builder.ufunc(np.add, indices, length)
        negative = builder.ufunc(np.less, indices, builder.constant(0))
        indices = builder.where(negative, wrapped, indices)
    if isinstance(n, int):
        builder.integers.intervals[indices] = max(low, 0) if low >= 0 else 0, min(high, n - 1)
    return indices


def slice_entry(trace: Trace, s: slice, n: int | Dim) -> Any:
    """Convert a slice of a dimension of length n to ":" or ("s", start, step, length)."""
    builder = trace.builder
    step = 1 if s.step is None else integer(trace, s.step, "the step of a slice")
    if step == 0:
        raise ValueError("slice step cannot be zero")
    bounds = [_bound(trace, b) for b in (s.start, s.stop)]
    if isinstance(n, int) and all(b is None or b.is_constant for b in bounds):
        numbers = [None if b is None else int(b.constant) for b in bounds]
        start, stop, step = slice(numbers[0], numbers[1], step).indices(n)
        count = len(range(start, stop, step))
        if (start, step, count) == (0, 1, n):
            return ":"
        return "s", builder.constant(start if count else 0), step, count
    length = length_of(builder, n)
    one, zero = builder.constant(1), builder.constant(0)
    last = builder.ufunc(np.subtract, length, one)
    low, high = (zero, length) if step > 0 else (builder.constant(-1), last)
    first, after = (low, high) if step > 0 else (high, low)
    start = first if bounds[0] is None else _clamped(builder, bounds[0], length, low, high)
    stop = after if bounds[1] is None else _clamped(builder, bounds[1], length, low, high)
    count = _count(builder, start, stop, step)
    found = _dim(builder, count, n, bounds, step)
    if step == 1 and start.is_constant and int(start.constant) == 0 and _is_length(builder, found, n):
        return ":"
    return "s", start, step, found


def _bound(trace: Trace, x: Any) -> Value | None:
    if x is None:
        return None
    v = trace.value(x)
    if v.type.dtype.kind not in "iu" or v.type.shape:
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return int64(trace.builder, v)


def _clamped(builder: Builder, bound: Value, length: Value, low: Value, high: Value) -> Value:
    """Return a slice's bound, counted from the end if negative, clamped to ``low`` and ``high``."""
    integers = builder.integers
    if not integers.is_at_most(Affine(0), integers.form(bound)):
        bound = builder.ufunc(np.maximum, bound, builder.ufunc(np.subtract, low, length))
    if not integers.is_less(integers.form(bound), Affine(0)):
        bound = builder.ufunc(np.minimum, bound, high)
    return from_end(builder, bound, length)


def _count(builder: Builder, start: Value, stop: Value, step: int) -> Value:
    """Return the number of elements from start to stop."""
    zero = builder.constant(0)
    span = builder.ufunc(np.subtract, stop, start) if step > 0 else builder.ufunc(np.subtract, start, stop)
    span = builder.ufunc(np.maximum, span, zero)
    if abs(step) == 1:
        return span
    rounded = builder.ufunc(np.add, span, builder.constant(abs(step) - 1))
    return builder.ufunc(np.floor_divide, rounded, builder.constant(abs(step)))


def _dim(builder: Builder, count: Value, n: int | Dim, bounds: list[Value | None], step: int) -> int | Dim:
    """Return a slice's length: an int if it is proved, else a Dim."""
    integers = builder.integers
    low, high = integers.interval(count)
    high = min(high, n.bound if isinstance(n, Dim) else n)
    if bounds[0] is not None and bounds[1] is not None:  # a[k:k+3] has at most 3
        apart = (integers.unchecked(bounds[1]) - integers.unchecked(bounds[0])) * (1 if step > 0 else -1)
        if not apart.terms and apart.constant >= 0:
            high = min(high, -(apart.constant // -abs(step)))
    if low >= high:
        return high
    if count.is_constant:
        return int(count.constant)
    found = Dim(count, high)
    integers.length(found)
    return found


def _is_length(builder: Builder, found: int | Dim, n: int | Dim) -> bool:
    if isinstance(found, Dim) and isinstance(n, Dim):
        return found.value is n.value
    return found == n
