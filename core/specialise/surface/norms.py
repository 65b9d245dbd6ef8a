"""Norms of vectors and matrices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..traced import Array, Trace, traces
from .arguments import axis_of, value
from .reductions import finish, squares

# Norms


@traces(np.linalg.norm)
def norm(trace: Trace, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    call, builder = trace.call, trace.builder
    v = value(trace, x)
    if not v.type.is_inexact:
        v = builder.cast(v, np.float64)
    if axis is None and (ord is None or ord == 2 and v.type.ndim == 1 or ord in ("f", "fro") and v.type.ndim == 2):
        axes = tuple(range(v.type.ndim))
    elif axis is None:
        axes = tuple(range(v.type.ndim))
    else:
        axes = tuple(axis_of(trace, i, v.type.ndim) for i in (axis if isinstance(axis, (tuple, list)) else [axis]))
    array = trace.wrap(v)
    if ord is None or len(axes) == 1 and ord == 2 or len(axes) == 2 and ord in ("f", "fro"):
        found = builder.reduce(np.sum, squares(builder, v), sorted(axes))
        return finish(trace, v, axes, builder.ufunc(np.sqrt, found), keepdims)
    size = call(abs, array)
    if len(axes) == 1:
        return _vector_norm(trace, size, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    rows, columns = axes
    if ord in (1, -1, np.inf, -np.inf):
        over, along = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = call(np.sum, size, axis=over, keepdims=True)
        return _reduced(trace, call(np.max if ord > 0 else np.min, sums, axis=along, keepdims=True), axes, keepdims)
    if ord in (2, -2, "nuc"):
        values = call(np.linalg.svd, call(np.moveaxis, array, axes, (-2, -1)), compute_uv=False)
        function = {2: np.max, -2: np.min, "nuc": np.sum}[ord]
        found = value(trace, call(function, values, axis=-1))
        return finish(trace, v, axes, found, keepdims)
    raise ValueError("Invalid norm order for matrices.")


def _reduced(trace: Trace, x: Any, axes: Any, keepdims: Any) -> Any:
    return x if keepdims else trace.wrap(value(trace, trace.call(np.squeeze, x, tuple(axes))))


def _vector_norm(trace: Trace, size: Any, ord: Any, axes: Any, keepdims: Any) -> Any:
    call = trace.call
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord in (np.inf, -np.inf):
        return call(np.max if ord > 0 else np.min, size, axis=axes[0], keepdims=keepdims)
    if ord == 0:
        dtype = value(trace, size).type.dtype
        return call(np.sum, call(np.asarray, call(operator.ne, size, 0), dtype), axis=axes[0], keepdims=keepdims)
    if ord == 1:
        return call(np.sum, size, axis=axes[0], keepdims=keepdims)
    sums = call(np.sum, call(operator.pow, size, ord), axis=axes[0], keepdims=keepdims)
    return call(operator.pow, sums, 1.0 / ord if not isinstance(ord, Array) else call(operator.truediv, 1.0, ord))
