"""Shapes, casts and products of arrays."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...ir.dynamic import Operation
from ...ir.typed import (
    Dim,
    apart,
    broadcast_to,
    cast,
    complex_of,
    concatenate,
    custom,
    full,
    iota,
    raise_if,
    reshape,
    transpose,
)
from .indexing import Window, write
from .lengths import aligned, dimension, fit, length, masked
from .lower import Site, Walk, lowers


@lowers(raise_if, fails=True)
def _raise_if(walk: Walk, op: Operation, condition: Any, *values: Any, exception: Any, text: str) -> list[Any]:
    types = tuple(v.type for v in op.positional[1:])
    walk.fail_if(condition, Site(exception, text, types), values)
    return []


@lowers(cast)
def _cast(walk: Walk, op: Operation, x: Any, dtype: Any) -> Any:
    return converted(x, np.dtype(dtype))


def converted(x: Any, dtype: np.dtype) -> Any:
    """NumPy's ``astype``."""
    x = jnp.asarray(x)
    if x.dtype == dtype:
        return x
    if dtype.kind == "b":
        return x != 0
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    if x.dtype.kind == "f" and dtype.kind in "iu" and (dtype.kind == "u" or dtype.itemsize < 4):
        # C converts to a wider signed integer first and wraps; XLA's conversion would saturate.
        if dtype != np.uint64:
            x = lax.convert_element_type(x, np.int64)
    return lax.convert_element_type(x, dtype)


@lowers(np.imag)
def _imag(walk: Walk, op: Operation, x: Any) -> Any:
    return jnp.imag(x)


@lowers(complex_of)
def _complex_of(walk: Walk, op: Operation, *parts: Any) -> Any:
    result = op.results[0].type
    return lax.complex(
        *(jnp.broadcast_to(aligned(x, v.type, result), result.bounds) for x, v in zip(parts, op.operands))
    )


@lowers(apart)
def _apart(walk: Walk, op: Operation, x: Any) -> Any:
    return lax.optimization_barrier(x)


@lowers(full)
def _full(walk: Walk, op: Operation, x: Any) -> Any:
    return jnp.broadcast_to(x, op.results[0].type.bounds)


@lowers(broadcast_to)
def _broadcast_to(walk: Walk, op: Operation, x: Any) -> Any:
    kind = op.results[0].type
    return jnp.broadcast_to(aligned(x, op.operands[0].type, kind), kind.bounds)


@lowers(transpose)
def _transpose(walk: Walk, op: Operation, x: Any, axes: Any) -> Any:
    return lax.transpose(x, tuple(axes))


@lowers(iota)
def _iota(walk: Walk, op: Operation) -> Any:
    return lax.iota(np.int64, op.results[0].type.bounds[0])


@lowers(reshape)
def _reshape(walk: Walk, op: Operation, x: Any) -> Any:
    kind, result = op.operands[0].type, op.results[0].type
    if kind.is_static and result.is_static:
        return lax.reshape(x, result.bounds)
    before, after = ([n for n in t.shape if isinstance(n, Dim) or n != 1] for t in (kind, result))
    if [dimension(n) for n in before] == [dimension(n) for n in after] and before[1:] == after[1:]:
        return lax.reshape(x, result.bounds)
    if not any(isinstance(n, Dim) for n in (*before[1:], *after[1:])):
        # Only the first length varies, so strides are fixed and the elements stand in C order from the start.
        return lax.reshape(fit(jnp.ravel(x), [int(np.prod(result.bounds, dtype=int))]), result.bounds)
    # Compute the position of each element of the result in C order, and from it the index into x.
    place: Any = np.int64(0)
    for axis, n in enumerate(result.shape):
        place = place * length(walk, n) + lax.broadcasted_iota(np.int64, result.bounds, axis)
    index: list[Any] = []
    for n in reversed(kind.shape):
        size = jnp.maximum(length(walk, n), 1)
        index.insert(0, lax.rem(place, size))
        place = lax.div(place, size)
    return jnp.asarray(x).at[tuple(index)].get(mode="clip")


@lowers(concatenate)
def _concatenate(walk: Walk, op: Operation, *parts: Any, axis: int) -> Any:
    result = op.results[0].type
    types = [v.type for v in op.positional]
    if result.is_static and all(t.is_static for t in types):
        return lax.concatenate(parts, axis)
    joined, start = jnp.zeros(result.bounds, result.dtype), np.int64(0)
    for part, kind in zip(parts, types):
        bounds = [dimension(m if i == axis else n) for i, (m, n) in enumerate(zip(kind.shape, result.shape))]
        windows = [Window(np.int64(0), 1, n) for n in bounds]
        windows[axis] = Window(start, 1, kind.shape[axis])
        joined = write(walk, joined, windows, fit(part, bounds), add=False)
        start = start + length(walk, kind.shape[axis])
    return joined


@lowers(np.where)
def _where(walk: Walk, op: Operation, *operands: Any) -> Any:
    result = op.results[0].type
    c, x, y = (aligned(x, v.type, result) for x, v in zip(operands, op.operands))
    return jnp.broadcast_to(jnp.where(c, x, y), result.bounds)


@lowers(np.matmul)
def _matmul(walk: Walk, op: Operation, a: Any, b: Any) -> Any:
    left, right = (v.type for v in op.operands)
    contracted, along = left.ndim - 1, max(right.ndim - 2, 0)
    # Both operands are masked: padding may hold NaN, and 0 * NaN is not 0.
    a = masked(walk, a, left, 0, [contracted])
    b = masked(walk, b, right, 0, [along])
    n = min(np.shape(a)[contracted], np.shape(b)[along])
    a, b = lax.slice_in_dim(a, 0, n, axis=contracted), lax.slice_in_dim(b, 0, n, axis=along)
    if left.ndim > 2:
        batch = op.results[0].type.bounds[:-2]
        a, b = (fit(x, (*batch, *np.shape(x)[-2:])) for x in (a, b))
    batched = tuple(range(left.ndim - 2)) if left.ndim > 1 else ()
    dimensions = (((contracted,), (along,)), (batched, batched))
    if left.dtype.kind == "b":
        found = lax.dot_general(a.astype(np.int32), b.astype(np.int32), dimensions)
        return found != 0
    return lax.dot_general(a, b, dimensions, precision=lax.Precision.HIGHEST)


@lowers(custom)
def _custom(walk: Walk, op: Operation, *operands: Any, n: int, **more: Any) -> list[Any]:
    return list(operands[:n])
