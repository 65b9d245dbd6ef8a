"""Differences and derivatives of sampled functions: diff, gradient, trapezoid."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...ir.dynamic import Value
from ...ir.typed import Dim
from ..traced import Trace, traces
from .arguments import axis_of, integer, refuse, value


def at(x: Value, axis: int, i: Any) -> tuple[Any, ...]:
    return (slice(None),) * axis + (i,)


@traces(np.diff)
def diff(
    trace: Trace, a: Any, n: Any = 1, axis: Any = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Any:
    call, n = trace.call, integer(trace, n, "the order of np.diff")
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    x = call(np.asanyarray, a)
    shape = value(trace, x).type.shape
    if not shape:
        raise ValueError("diff requires input that is at least one dimensional")
    i = axis_of(trace, axis, len(shape))
    parts = [e if e is x else call(np.asanyarray, e) for e in (prepend, x, append) if e is not np._NoValue]
    if len(parts) > 1:
        edge = tuple(1 if j == i else m for j, m in enumerate(shape))
        parts = [e if value(trace, e).type.shape else call(np.broadcast_to, e, edge) for e in parts]
        x = call(np.concatenate, parts, i)
    for _ in range(n):
        pair = [call(operator.getitem, x, at(value(trace, x), i, s)) for s in (slice(1, None), slice(None, -1))]
        is_bool = value(trace, x).type.dtype.kind == "b"
        x = call(np.not_equal if is_bool else np.subtract, *pair)
    return x


@traces(np.ediff1d)
def ediff1d(trace: Trace, ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    call = trace.call
    between = diff(trace, call(np.ravel, ary))
    dtype = value(trace, between).type.dtype
    parts: list[Any] = []
    for name, x in (("to_begin", to_begin), (None, between), ("to_end", to_end)):
        if name is not None and x is not None:
            if not np.can_cast(value(trace, x).type.dtype, dtype, "same_kind"):
                raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
            x = call(np.asarray, call(np.ravel, call(np.asarray, x)), dtype=dtype)
        parts += [] if x is None else [x]
    return call(np.concatenate, parts) if len(parts) > 1 else between


@traces(np.trapezoid)
def trapezoid(trace: Trace, y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    call = trace.call
    y = call(np.asanyarray, y)
    i = axis_of(trace, axis, y.type.ndim)
    d = dx
    if x is not None:
        x = call(np.asanyarray, x)
        if x.type.ndim == 1:
            d = call(np.diff, x)
            d = call(operator.getitem, d, (slice(None), *[None] * (y.type.ndim - 1 - i)))
        else:
            d = call(np.diff, x, axis=i)
    later, earlier = (call(operator.getitem, y, at(value(trace, y), i, s)) for s in (slice(1, None), slice(None, -1)))
    area = call(operator.truediv, call(operator.mul, d, call(operator.add, later, earlier)), 2.0)
    return call(np.sum, area, axis=i)


@traces(np.gradient)
def gradient(trace: Trace, f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    x = value(trace, f)
    if axis is None:
        axes = list(range(x.type.ndim))
    else:
        axes = [axis_of(trace, i, x.type.ndim) for i in (axis if isinstance(axis, (tuple, list)) else [axis])]
    spacings = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    order = integer(trace, edge_order, "the argument edge_order of np.gradient")
    f = trace.call(np.asarray, f) if x.type.is_inexact else trace.call(np.asarray, f, float)
    found = [_derivative(trace, f, h, i, order) for h, i in zip(spacings, axes)]
    return found[0] if len(found) == 1 else tuple(found)


def _derivative(trace: Trace, f: Any, h: Any, axis: int, order: int) -> Any:
    """Differentiate along one axis by NumPy's formulas: central differences inside, one-sided ones at the ends."""
    call, x = trace.call, value(trace, f)
    n = x.type.shape[axis]
    if isinstance(n, Dim) or n < order + 1:
        raise refuse(
            "np.gradient of too few samples, or of a number that is known only when the program runs", "use more"
        )
    spacing = value(trace, h)

    def part(s: Any) -> Any:
        return call(operator.getitem, f, at(x, axis, s))

    def times(a: Any, b: Any) -> Any:
        return call(operator.mul, a, b)

    def plus(*terms: Any) -> Any:
        total = terms[0]
        for t in terms[1:]:
            total = call(operator.add, total, t)
        return total

    def over(a: Any, b: Any) -> Any:
        return call(operator.truediv, a, b)

    def minus(a: Any, b: Any) -> Any:
        return call(operator.sub, a, b)

    first, second, third = (part(slice(i, i + 1)) if i < n else None for i in range(3))
    last, before, earlier = (part(slice(n - 1 - i, n - i)) if i < n else None for i in range(3))
    if not spacing.type.shape:
        inside = over(minus(part(slice(2, None)), part(slice(None, -2))), times(2.0, h))
        if order == 1:
            ends = over(minus(second, first), h), over(minus(last, before), h)
        else:
            ends = (
                over(plus(times(-1.5, first), times(2.0, second), times(-0.5, third)), h),
                over(plus(times(0.5, earlier), times(-2.0, before), times(1.5, last)), h),
            )
    else:
        d = call(np.diff, h)
        wide = (slice(None), *[None] * (x.type.ndim - 1 - axis))
        d1 = call(operator.getitem, call(operator.getitem, d, slice(None, -1)), wide)
        d2 = call(operator.getitem, call(operator.getitem, d, slice(1, None)), wide)
        both = plus(d1, d2)
        a = over(times(-1.0, d2), times(d1, both))
        b = over(minus(d2, d1), times(d1, d2))
        c = over(d1, times(d2, both))
        inside = plus(times(a, part(slice(None, -2))), times(b, part(slice(1, -1))), times(c, part(slice(2, None))))
        g = [call(operator.getitem, d, i) for i in ((0, -1) if n == 2 else (0, 1, -2, -1))]
        if order == 1:
            ends = over(minus(second, first), g[0]), over(minus(last, before), g[-1])
        else:
            p, q, r, s = g
            ends = (
                plus(
                    times(over(times(-1.0, plus(times(2.0, p), q)), times(p, plus(p, q))), first),
                    times(over(plus(p, q), times(p, q)), second),
                    times(over(times(-1.0, p), times(q, plus(p, q))), third),
                ),
                plus(
                    times(over(s, times(r, plus(r, s))), earlier),
                    times(over(times(-1.0, plus(r, s)), times(r, s)), before),
                    times(over(plus(times(2.0, s), r), times(s, plus(r, s))), last),
                ),
            )
    return call(np.concatenate, [ends[0], inside, ends[1]], axis)
