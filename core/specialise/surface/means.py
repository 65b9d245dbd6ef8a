"""Means, variances and weighted averages, along any axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.dynamic import Value
from ..traced import Trace, by_rule, length, traces
from .arguments import axes_of, axis_of, strong, total, value
from .reductions import NOT_GIVEN, finish, given, kept, squares
from .views import reshape


def _count(trace: Trace, x: Value, axes: Any, where: Any, ddof: Any = 0) -> Value:
    """Return the number of elements along axes, less ``ddof``; a known number is weakly typed."""
    builder = trace.builder
    if where is not True and where is not NOT_GIVEN:
        mask = builder.broadcast_to(value(trace, where), x.type.shape)
        n = builder.reduce(np.sum, mask, axes)
    else:
        size = total(builder, tuple(x.type.shape[i] for i in axes))
        n = builder.constant(size) if isinstance(size, int) else size.value
    if not isinstance(ddof, (int, float)) or ddof:
        n = builder.ufunc(np.subtract, n, value(trace, ddof))
        n = builder.ufunc(np.maximum, n, builder.constant(0))
    return n


def mean_of(trace: Trace, x: Value, axes: Any, where: Any = True, dtype: Any = None, ddof: Any = 0) -> Value:
    """Return the sum along axes divided by the number of elements less ``ddof``."""
    builder, result = trace.builder, dtype
    if dtype is None:
        result = np.dtype(np.float64) if x.type.dtype.kind in "iub" else x.type.dtype
        dtype = np.dtype(np.float32) if result == np.float16 else result
    sums = builder.reduce(np.sum, kept(trace, x, where, 0), axes, dtype)
    n = _count(trace, x, axes, where, ddof)
    n = n if n.is_constant and n.type.weak else builder.cast(n, np.zeros(0, sums.type.dtype).real.dtype)
    return builder.cast(builder.ufunc(np.true_divide, sums, n), result)


@traces(np.mean)
def mean(
    trace: Trace,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Any:
    x = strong(trace.builder, value(trace, a))
    axes = axes_of(trace, axis, x.type.ndim)
    return finish(trace, x, axes, mean_of(trace, x, axes, where, dtype), keepdims, out)


def _spread(is_root: bool) -> Callable[..., Any]:
    def apply(
        trace: Trace,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = NOT_GIVEN,
        correction: Any = NOT_GIVEN,
    ) -> Any:
        builder = trace.builder
        x = strong(builder, value(trace, a))
        if given(dtype):
            x = builder.cast(x, dtype)
        axes = axes_of(trace, axis, x.type.ndim)
        if given(mean):
            centre = value(trace, mean)
        else:
            shape = tuple(1 if i in axes else n for i, n in enumerate(x.type.shape))
            centre = reshape(builder, mean_of(trace, x, axes, where), shape)
        # Elements left out may be NaN: drop them before squaring, whose derivative would bring the NaN back.
        apart = squares(builder, kept(trace, builder.ufunc(np.subtract, x, centre), where, 0))
        found = mean_of(trace, apart, axes, where, None, correction if given(correction) else ddof)
        if is_root and given(mean):  # np.std has a rule for this kink, but it has no derivative for ``mean``
            zero = builder.ufunc(np.equal, found, builder.constant(0))
            root = builder.ufunc(np.sqrt, builder.where(zero, builder.constant(1.0), found))
            found = builder.where(zero, builder.constant(0.0), root)
        elif is_root:
            found = builder.ufunc(np.sqrt, found)
        return finish(trace, x, axes, found, keepdims, out)

    return apply


traces(np.var)(_spread(False))
traces(np.std)(_spread(True))
by_rule(np.std)


@traces(np.average)
def average(
    trace: Trace, a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    call, builder = trace.call, trace.builder
    x = value(trace, a)
    if weights is None:
        found = call(np.mean, a, axis, keepdims=keepdims)
        scale: Any = length(total(builder, tuple(x.type.shape[i] for i in axes_of(trace, axis, x.type.ndim))))
        scale = trace.wrap(builder.cast(value(trace, scale), value(trace, found).type.dtype))
    else:
        w = _weights(trace, x, value(trace, weights), axis)
        dtype = np.result_type(x.type.dtype, w.type.dtype, *(["f8"] if x.type.dtype.kind in "iub" else []))
        scale = call(np.sum, trace.wrap(w), axis=axis, dtype=dtype, keepdims=keepdims)
        zero = builder.reduce(
            np.any,
            builder.ufunc(np.equal, value(trace, scale), builder.constant(0, dtype)),
            range(value(trace, scale).type.ndim),
        )
        builder.raise_if(zero, ZeroDivisionError, "Weights sum to zero, can't be normalized")
        product = call(np.multiply, a, trace.wrap(w), dtype=dtype)
        found = call(np.true_divide, call(np.sum, product, axis=axis, keepdims=keepdims), scale)
    if not returned:
        return found
    shape = value(trace, found).type.shape
    return found, scale if value(trace, scale).type.shape == shape else call(
        np.copy, call(np.broadcast_to, scale, shape)
    )


def _weights(trace: Trace, x: Value, w: Value, axis: Any) -> Value:
    """Return weights in the shape of x, or with length 1 along each axis that is not averaged."""
    shape = x.type.shape
    if w.type.shape == shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = [axis_of(trace, i, len(shape)) for i in (axis if isinstance(axis, (tuple, list)) else [axis])]
    if w.type.shape != tuple(shape[i] for i in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    w = value(trace, trace.call(np.transpose, trace.wrap(w), tuple(int(i) for i in np.argsort(axes))))
    return reshape(trace.builder, w, tuple(n if i in axes else 1 for i, n in enumerate(shape)))
