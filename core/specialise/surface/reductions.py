"""Sums, products, extremes, norms and related reductions, along any axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.typed import Dim
from ..traced import Trace, by_rule, traces
from .arguments import axis_of, integer, reduced_axes, refuse, strong, value
from .operators import stored
from .views import reshape

NOT_GIVEN = np._NoValue  # type: ignore[attr-defined]


def finish(trace: Trace, x: Value, axes: Any, reduced: Value, keepdims: Any, out: Any = None) -> Any:
    """Finish a reduction of x: restore the axes if ``keepdims``, write to ``out``, wrap."""
    if keepdims is not NOT_GIVEN and keepdims:
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.type.shape))
        reduced = reshape(trace.builder, reduced, shape)
    return stored(trace, reduced, out, "a reduction")


def given(x: Any) -> bool:
    return x is not None and x is not NOT_GIVEN


def kept(trace: Trace, x: Value, where: Any, neutral: Any) -> Value:
    """Return x with the elements that ``where`` leaves out replaced by the neutral element."""
    if where is True or where is NOT_GIVEN:
        return x
    return trace.builder.where(value(trace, where), x, trace.builder.constant(neutral, x.type.dtype))


def _totalled(function: Any, ufunc: np.ufunc, neutral: int) -> Callable[..., Any]:
    def apply(
        trace: Trace,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NOT_GIVEN,
        where: Any = True,
    ) -> Any:
        x = strong(trace.builder, value(trace, a))
        axes = reduced_axes(trace, axis, x.type.ndim)
        x = kept(trace, x, where, neutral)
        found = trace.builder.reduce(function, x, axes, dtype)
        if given(initial):
            found = trace.builder.ufunc(ufunc, found, trace.builder.cast(value(trace, initial), found.type.dtype))
        return finish(trace, x, axes, found, keepdims, out)

    return apply


traces(np.sum)(_totalled(np.sum, np.add, 0))
traces(np.prod)(_totalled(np.prod, np.multiply, 1))


def squares(builder: Builder, x: Value) -> Value:
    """Return the squared absolute values, as reals."""
    if x.type.dtype.kind != "c":
        return builder.ufunc(np.multiply, x, x)
    return real(builder, builder.ufunc(np.multiply, x, builder.ufunc(np.conjugate, x)))


def real(builder: Builder, x: Value) -> Value:
    return builder.cast(x, np.zeros(0, x.type.dtype).real.dtype)


def _extreme(function: Any, ufunc: np.ufunc) -> Callable[..., Any]:
    def apply(
        trace: Trace,
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NOT_GIVEN,
        where: Any = True,
        dtype: Any = None,
    ) -> Any:
        x = strong(trace.builder, value(trace, a))
        axes = reduced_axes(trace, axis, x.type.ndim)
        if where is not True and where is not NOT_GIVEN:
            if not given(initial):
                raise ValueError(
                    f"reduction operation '{ufunc.__name__}' does not have an identity, so initial= is needed"
                )
            first = trace.builder.cast(value(trace, initial), x.type.dtype)
            x = trace.builder.where(value(trace, where), x, first)
        if any(x.type.shape[i] == 0 for i in axes):
            if not given(initial):
                raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
            shape = tuple(n for i, n in enumerate(x.type.shape) if i not in axes)
            found = trace.builder.broadcast_to(trace.builder.cast(value(trace, initial), x.type.dtype), shape)
        else:
            _refuse_empty(trace, x, axes, ufunc)
            found = trace.builder.reduce(function, x, axes)
            if given(initial):
                found = trace.builder.ufunc(ufunc, found, trace.builder.cast(value(trace, initial), x.type.dtype))
        return finish(trace, x, axes, found, keepdims, out)

    return apply


def _refuse_empty(trace: Trace, x: Value, axes: Any, ufunc: Any) -> None:
    """Raise at run time if an axis is empty: an empty array has no extreme."""
    builder = trace.builder
    for i in axes:
        n = x.type.shape[i]
        if isinstance(n, Dim):
            empty = builder.ufunc(np.equal, n.value, builder.constant(0, np.int64))
            text = f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
            builder.raise_if(empty, ValueError, text)


traces(np.max, np.amax)(_extreme(np.max, np.maximum))
traces(np.min, np.amin)(_extreme(np.min, np.minimum))


def _has_initial(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, *rest: Any, **options: Any
) -> bool:
    return given(initial)


# The rule shares the gradient among all equal extremes, of which the initial value is one.
by_rule(np.max, np.amax, np.min, np.amin, when=_has_initial)


def _logical(function: Any, neutral: bool) -> Callable[..., Any]:
    def apply(
        trace: Trace, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        x = truths(trace.builder, value(trace, a))
        axes = reduced_axes(trace, axis, x.type.ndim)
        x = kept(trace, x, where, neutral)
        return finish(trace, x, axes, trace.builder.reduce(function, x, axes), keepdims, out)

    return apply


def truths(builder: Builder, x: Value) -> Value:
    """Return which elements are nonzero."""
    if x.type.dtype.kind == "b":
        return strong(builder, x)
    return strong(builder, builder.ufunc(np.not_equal, x, builder.constant(0, x.type.dtype)))


traces(np.all)(_logical(np.all, True))
traces(np.any)(_logical(np.any, False))


@traces(np.count_nonzero)
def count_nonzero(trace: Trace, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return trace.call(np.sum, trace.wrap(truths(trace.builder, value(trace, a))), axis=axis, keepdims=keepdims)


# Where the extremes are


@traces(np.ptp)
def ptp(trace: Trace, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    largest = trace.call(np.max, a, axis=axis, keepdims=keepdims)
    return trace.call(np.subtract, largest, trace.call(np.min, a, axis=axis, keepdims=keepdims), out=out)


def _place(function: Any) -> Callable[..., Any]:
    def apply(trace: Trace, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        builder, x = trace.builder, value(trace, a)
        shape = x.type.shape
        if axis is None or not shape:
            x = value(trace, trace.call(np.ravel, trace.wrap(x) if shape else [trace.wrap(x)]))
        i = 0 if axis is None else axis_of(trace, axis, x.type.ndim)
        if x.type.shape[i] == 0:
            raise ValueError(f"attempt to get {function.__name__} of an empty sequence")
        _refuse_empty(trace, x, [i], function)
        kind = x.type.shape[:i] + x.type.shape[i + 1 :]
        found = builder.call(function, [x], [type(x.type)(np.dtype(np.intp), kind)], axis=i)[0]
        if keepdims:
            kept = tuple(1 if axis is None or j == i else n for j, n in enumerate(shape))
            found = reshape(builder, found, kept)
        return stored(trace, found, out)

    return apply


traces(np.argmax)(_place(np.argmax))
traces(np.argmin)(_place(np.argmin))


# Cumulative


def _cumulative(function: Any) -> Callable[..., Any]:
    def apply(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        builder = trace.builder
        x = value(trace, a)
        if axis is None or not x.type.shape:
            x = value(trace, trace.call(np.ravel, a))
        i = axis_of(trace, 0 if axis is None else axis, x.type.ndim)
        x = builder.cast(x, function(np.zeros(1, x.type.dtype)).dtype if dtype is None else dtype)
        found = builder.call(function, [x], [x.type], axis=i)[0]
        return stored(trace, found, out)

    return apply


traces(np.cumsum)(_cumulative(np.cumsum))
traces(np.cumprod)(_cumulative(np.cumprod))


def _running(function: Any, neutral: int) -> Callable[..., Any]:
    def apply(
        trace: Trace, x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        v = value(trace, x)
        if axis is None and v.type.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0 if axis is None else axis
        if not include_initial:
            return trace.call(function, x, axis=axis, dtype=dtype, out=out)
        found = trace.call(function, x, axis=axis, dtype=dtype)
        kind, i = value(trace, found).type, axis_of(trace, axis, value(trace, found).type.ndim)
        shape = tuple(1 if j == i else n for j, n in enumerate(kind.shape))
        first = trace.builder.full(shape, trace.builder.constant(neutral, kind.dtype))
        return stored(trace, value(trace, trace.call(np.concatenate, [trace.wrap(first), found], axis=i)), out)

    return apply


if hasattr(np, "cumulative_sum"):
    traces(np.cumulative_sum)(_running(np.cumsum, 0))
    traces(np.cumulative_prod)(_running(np.cumprod, 1))


by_rule(np.linalg.norm)


def one_axis(trace: Trace, a: Any, axis: Any, function: str) -> tuple[Value, int]:
    """Return an array and its one axis; the ravelled array if the axis is None."""
    x = strong(trace.builder, value(trace, trace.call(np.ravel, a) if axis is None else a))
    if isinstance(axis, (tuple, list)):
        if len(axis) != 1:
            raise refuse(f"{function} along several axes", "reshape the array so that these axes become one")
        (axis,) = axis
    return x, axis_of(trace, integer(trace, axis or 0, "an axis"), x.type.ndim)
