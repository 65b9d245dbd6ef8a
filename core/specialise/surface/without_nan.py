"""Reductions that leave NaN out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..traced import Trace, traces
from .arguments import strong, value
from .operators import stored
from .reductions import NOT_GIVEN, given

# Without NaNs


def _without_nan(function: Any, neutral: float) -> Callable[..., Any]:
    def apply(trace: Trace, a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        builder, x = trace.builder, strong(trace.builder, value(trace, a))
        if not x.type.is_inexact:
            return trace.call(function, a, axis, *args, **kwargs)
        x = builder.where(builder.ufunc(np.isnan, x), builder.constant(neutral, x.type.dtype), x)
        return trace.call(function, trace.wrap(x), axis, *args, **kwargs)

    return apply


traces(np.nansum)(_without_nan(np.sum, 0.0))
traces(np.nanprod)(_without_nan(np.prod, 1.0))
traces(np.nancumsum)(_without_nan(np.cumsum, 0.0))
traces(np.nancumprod)(_without_nan(np.cumprod, 1.0))


def _extreme_without_nan(function: Any, neutral: float) -> Callable[..., Any]:
    def apply(
        trace: Trace,
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NOT_GIVEN,
        where: Any = True,
    ) -> Any:
        call, builder, x = trace.call, trace.builder, strong(trace.builder, value(trace, a))
        if not x.type.is_inexact:
            return call(function, a, axis, out, keepdims, initial, where)
        is_nan = builder.ufunc(np.isnan, x)
        x = builder.where(is_nan, builder.constant(neutral, x.type.dtype), x)
        found = value(trace, call(function, trace.wrap(x), axis, None, keepdims, initial, where))
        if not given(initial):
            all_nan = call(np.all, trace.wrap(is_nan), axis, None, keepdims)
            found = builder.where(value(trace, all_nan), builder.constant(np.nan, x.type.dtype), found)
        return stored(trace, found, out)

    return apply


traces(np.nanmax)(_extreme_without_nan(np.max, -np.inf))
traces(np.nanmin)(_extreme_without_nan(np.min, np.inf))


def _place_without_nan(function: Any, neutral: float) -> Callable[..., Any]:
    def apply(trace: Trace, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        call = trace.call
        if not value(trace, a).type.is_inexact:
            return call(function, a, axis=axis, out=out, keepdims=keepdims)
        is_nan = call(np.isnan, a)
        some = value(trace, call(np.any, call(np.all, is_nan, axis=axis)))
        trace.builder.raise_if(some, ValueError, "All-NaN slice encountered")
        x = call(np.where, is_nan, np.array(neutral, value(trace, a).type.dtype), a)
        return call(function, x, axis=axis, out=out, keepdims=keepdims)

    return apply


traces(np.nanargmax)(_place_without_nan(np.argmax, -np.inf))
traces(np.nanargmin)(_place_without_nan(np.argmin, np.inf))


def _where_not_nan(function: Any) -> Callable[..., Any]:
    def apply(
        trace: Trace, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        axis = axis if value(trace, a).type.shape else None  # NumPy accepts axis=0 of a number here
        mask = trace.call(np.logical_not, trace.call(np.isnan, a))
        return trace.call(function, a, axis, dtype, out, *args, where=mask, **kwargs)

    return apply


traces(np.nanmean)(_where_not_nan(np.mean))
traces(np.nanvar)(_where_not_nan(np.var))
traces(np.nanstd)(_where_not_nan(np.std))
