"""Sums, extrema, cumulative functions and sorting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...ir.dynamic import Operation
from ...ir.typed import cast
from .elementwise import apply_ufunc
from .lengths import masked
from .lower import Walk, lowers


def lowest(dtype: np.dtype) -> Any:
    """Return the identity of max for a dtype."""
    if dtype.kind == "c":
        return complex(-np.inf, -np.inf)
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def highest(dtype: np.dtype) -> Any:
    """Return the identity of min for a dtype."""
    if dtype.kind == "c":
        return complex(np.inf, np.inf)
    if dtype.kind == "f":
        return np.inf
    return True if dtype.kind == "b" else np.iinfo(dtype).max


_SHORT = 32
"""The length up to which running sums are not computed by a loop."""

_REDUCTIONS: dict[Any, tuple[Callable[..., Any], Callable[[np.dtype], Any]]] = {
    np.sum: (jnp.sum, lambda dtype: 0),
    np.prod: (jnp.prod, lambda dtype: 1),
    np.min: (jnp.min, highest),
    np.max: (jnp.max, lowest),
    np.any: (jnp.any, lambda dtype: 0),
    np.all: (jnp.all, lambda dtype: 1),
}


def _reduce(walk: Walk, op: Operation, x: Any, axis: Any = None, **more: Any) -> Any:
    kind, result = op.operands[0].type, op.results[0].type
    axes = range(kind.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    function, identity = _REDUCTIONS[op.callee]
    counted = walk.maker.get(op.operands[0]) if op.callee is np.sum and result.dtype.kind == "i" else None
    if counted is not None and counted.callee is cast and counted.operands[0].type.dtype.kind == "b":
        if np.prod([kind.bounds[i] for i in axes]) <= 1 << 24:  # exact; XLA sums floats in vectors, ints one by one
            x, kind = jnp.asarray(walk[counted.operands[0]], np.float32), replace(kind, dtype=np.dtype(np.float32))
            return jnp.sum(masked(walk, x, kind, 0, axes), axis=tuple(axes)).astype(result.dtype)
    x = masked(walk, jnp.asarray(x), kind, identity(kind.dtype), axes)
    if op.callee in (np.sum, np.prod) and kind.dtype != result.dtype:
        x = lax.convert_element_type(x, result.dtype)
    if op.callee in (np.min, np.max) and kind.dtype.kind == "c":
        binary = np.minimum if op.callee is np.min else np.maximum
        return lax.reduce(x, x.dtype.type(identity(kind.dtype)), lambda a, b: apply_ufunc(binary, a, b), tuple(axes))
    return function(x, axis=tuple(axes))


for _function in _REDUCTIONS:
    lowers(_function)(_reduce)


@lowers(np.argmax, np.argmin)
def _argmax(walk: Walk, op: Operation, x: Any, axis: int, **more: Any) -> Any:
    kind = op.operands[0].type
    is_max = op.callee is np.argmax
    x = masked(walk, jnp.asarray(x), kind, (lowest if is_max else highest)(kind.dtype), [axis])
    if kind.dtype.kind == "c":
        # As NumPy: the first element that is NaN or equals the extremum in lexicographic order.
        binary = np.maximum if is_max else np.minimum
        first = x.dtype.type((lowest if is_max else highest)(kind.dtype))
        best = lax.reduce(x, first, lambda a, b: apply_ufunc(binary, a, b), (axis,))
        best = jnp.expand_dims(best, axis)
        return lax.argmax(((x == best) | jnp.isnan(x)).astype(np.int8), axis, np.int64)
    return (lax.argmax if is_max else lax.argmin)(x.astype(np.int8) if x.dtype == bool else x, axis, np.int64)


def _cumulative(function: Callable[..., Any], ufunc: np.ufunc) -> Callable[..., Any]:
    """Return a lowering by JAX's ``function``; XLA compiles it for the CPU to many additions for each element.

    There a loop that combines the elements one by one takes less time, except for few of them.
    """
    one_by_one = _scanned(ufunc)

    def lower(walk: Walk, op: Operation, x: Any, axis: int = 0, **more: Any) -> Any:
        if walk.on_cpu and np.shape(x)[axis] > _SHORT:
            return one_by_one(walk, op, x, axis)
        return function(lax.convert_element_type(x, op.results[0].type.dtype), axis)

    return lower


def _scanned(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return a lowering of ``ufunc.accumulate`` that combines the elements in NumPy's order."""

    def lower(walk: Walk, op: Operation, x: Any, axis: int = 0, **more: Any) -> Any:
        dtype = op.results[0].type.dtype
        x = jnp.moveaxis(lax.convert_element_type(x, dtype), axis, 0)
        if not x.shape[0]:
            return jnp.moveaxis(x, 0, axis)

        def step(so_far: Any, row: Any) -> Any:
            so_far = apply_ufunc(ufunc, so_far, row).astype(dtype)
            return so_far, so_far

        _, rest = lax.scan(step, x[0], x[1:])
        return jnp.moveaxis(jnp.concatenate([x[:1], rest]), 0, axis)

    return lower


_running_sum = _cumulative(lambda x, axis: jnp.cumsum(x, axis), np.add)
lowers(np.cumsum, np.add.accumulate)(_running_sum)
lowers(np.cumprod, np.multiply.accumulate)(_cumulative(lambda x, axis: jnp.cumprod(x, axis), np.multiply))
for _ufunc in (
    np.maximum,
    np.minimum,
    np.fmax,
    np.fmin,
    np.subtract,
    np.divide,
    np.power,
    np.logaddexp,
    np.logaddexp2,
    np.logical_and,
    np.logical_or,
    np.logical_xor,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.hypot,
):
    lowers(_ufunc.accumulate)(_scanned(_ufunc))


@lowers(np.sort, np.argsort)
def _sort(walk: Walk, op: Operation, x: Any, axis: int, **more: Any) -> Any:
    kind = op.operands[0].type
    dtype = kind.dtype
    # NaNs are sorted to the end. The padding is NaN too and, since the sort is stable, stays behind them.
    last = complex(np.nan, np.nan) if dtype.kind == "c" else np.nan if dtype.kind == "f" else highest(dtype)
    x = masked(walk, jnp.asarray(x), kind, last, [axis])
    if op.callee is np.sort:
        return jnp.sort(x, axis=axis, stable=True)
    return jnp.argsort(x, axis=axis, stable=True).astype(np.int64)


def _can_search(op: Operation) -> bool:
    a = op.positional[0].type
    return a.is_static and a.shape[0] > 0 and a.dtype.kind in "biuf"


@lowers(np.searchsorted, when=_can_search)
def _searchsorted(walk: Walk, op: Operation, a: Any, v: Any, side: str = "left") -> Any:
    a = jnp.asarray(a)
    if a.dtype.kind == "i" and isinstance(v, np.ndarray) and v.ndim and np.array_equal(v, np.arange(v.size)):
        # How many elements are at most 0, 1, ...: a running sum, as the rows of entries follow from row pointers.
        least = jnp.clip(a, 0, v.size) if side == "right" else jnp.clip(a, -1, v.size - 1) + 1
        counts = jnp.zeros(v.shape, np.int64).at[least].add(1, mode="drop")
        return _running_sum(walk, op, counts)
    numbers = [x.astype(np.int8) if x.dtype == bool else x for x in (a, jnp.asarray(v))]
    return jnp.searchsorted(*numbers, side=side).astype(np.int64)
