"""Joining arrays and taking them apart: concatenate, stack, block, split, insert, delete, pad.

The transpose of joining is cutting at the same places, and that of cutting is joining.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .order import median_pullback
from .reductions import extremum_pullback, mean_pullback
from .table import joint, linear, takes_sequences, vjp
from .transposes import scatter, unbroadcast

# concatenate, stack and their relatives: each array is reshaped, then they are joined along an axis


def cut(dy: Any, arrays: Any, shapes: list[tuple[int, ...]], axis: int) -> Any:
    """``dy`` cut along ``axis`` into pieces of ``shapes``, each in the shape of its array."""
    pieces, start = [], 0
    before = (slice(None),) * (axis % np.ndim(dy))
    for x, shape in zip(arrays, shapes):
        stop = start + shape[axis]
        pieces.append(np.reshape(dy[(*before, slice(start, stop))], np.shape(x)))
        start = stop
    return np.stack(pieces) if isinstance(arrays, np.ndarray) and pieces else pieces


def at_least(x: Any, rank: int) -> tuple[int, ...]:
    """The shape that ``atleast_1d``, ``atleast_2d`` or ``atleast_3d`` gives to ``x``."""
    shape = np.shape(x)
    if len(shape) >= rank:
        return shape
    if rank == 3:
        return (1, 1, 1) if not shape else (1, shape[0], 1) if len(shape) == 1 else (*shape, 1)
    return (1,) * (rank - len(shape)) + shape


def concatenate_pullback(dy, y, arrays, axis=0, out=None, **kwargs):
    if axis is None:
        return cut(dy, arrays, [(np.size(x),) for x in arrays], 0)
    return cut(dy, arrays, [np.shape(x) for x in arrays], axis)


def stack_pullback(dy, y, arrays, axis=0, out=None, **kwargs):
    if isinstance(arrays, np.ndarray):
        return np.moveaxis(dy, axis, 0)
    before = (slice(None),) * (axis % np.ndim(dy))
    return [dy[(*before, i)] for i in range(len(arrays))]


def vstack_pullback(dy, y, tup, **kwargs):
    return cut(dy, tup, [at_least(x, 2) for x in tup], 0)


def hstack_pullback(dy, y, tup, **kwargs):
    return cut(dy, tup, [at_least(x, 1) for x in tup], 0 if np.ndim(dy) == 1 else 1)


def dstack_pullback(dy, y, tup):
    return cut(dy, tup, [at_least(x, 3) for x in tup], 2)


def column_stack_pullback(dy, y, tup):
    return cut(dy, tup, [np.shape(x) if np.ndim(x) > 1 else (np.size(x), 1) for x in tup], 1)


vjp(np.concatenate, concatenate_pullback)
vjp(np.stack, stack_pullback)
vjp(np.vstack, vstack_pullback)
vjp(np.hstack, hstack_pullback)
vjp(np.dstack, dstack_pullback)
vjp(np.column_stack, column_stack_pullback)
takes_sequences(np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block)


def block_pullback(dy, y, arrays):
    """The innermost lists are joined along the last axis, their parents along the one before, and so on."""
    return cut_block(dy, arrays, depth(arrays))


def depth(arrays: Any) -> int:
    return 1 + max((depth(x) for x in arrays), default=0) if isinstance(arrays, list) else 0


def cut_block(dy: Any, arrays: Any, level: int) -> Any:
    if not isinstance(arrays, list):
        return np.reshape(dy, np.shape(arrays))
    pieces, start = [], 0
    before = (slice(None),) * (np.ndim(dy) - level)
    for x in arrays:
        stop = start + block_length(x, level)
        pieces.append(cut_block(dy[(*before, slice(start, stop))], x, level - 1))
        start = stop
    return pieces


def block_length(x: Any, level: int) -> int:
    """The length of a block along the axis that is ``level`` axes from the end."""
    if isinstance(x, list):
        return block_length(x[0], level)
    shape = np.shape(x)
    return shape[-level] if level <= len(shape) else 1


vjp(np.block, block_pullback)


# split and its relatives


def join(dy: Any, y: Any, ary: Any, indices_or_sections: Any, axis: int) -> Any:
    """Concatenate the cotangents of the pieces; scatter and add them if the pieces overlap or leave gaps."""
    shape = np.shape(ary)
    axis = axis % len(shape)
    pieces = [np.zeros_like(part) if g is None else g for g, part in zip(dy, y)]
    if sum(part.shape[axis] for part in y) == shape[axis]:
        return np.concatenate(pieces, axis=axis)
    ends = [operator.index(i) for i in np.ravel(indices_or_sections)]
    total = np.zeros(shape)
    for start, stop, g in zip([0, *ends], [*ends, None], pieces):
        total = total + scatter(g, (slice(None),) * axis + (slice(start, stop),), shape)
    return total


def split_pullback(dy, y, ary, indices_or_sections, axis=0):
    return join(dy, y, ary, indices_or_sections, axis)


def unstack_pullback(dy, y, x, *, axis=0):
    return np.stack([np.zeros_like(part) if g is None else g for g, part in zip(dy, y)], axis=axis)


vjp((np.split, np.array_split), split_pullback)
vjp(np.hsplit, lambda dy, y, ary, indices: join(dy, y, ary, indices, 0 if np.ndim(ary) == 1 else 1))
vjp(np.vsplit, lambda dy, y, ary, indices: join(dy, y, ary, indices, 0))
vjp(np.dsplit, lambda dy, y, ary, indices: join(dy, y, ary, indices, 2))
if hasattr(np, "unstack"):  # NumPy 2.1
    vjp(np.unstack, unstack_pullback)


# append, insert, delete


def append_pullback(dy, y, arr, values, axis=None):
    if axis is None:
        shapes, axis = [(np.size(arr),), (np.size(values),)], 0
    else:
        shapes = [np.shape(arr), np.shape(values)]
    return tuple(cut(dy, (arr, values), shapes, axis))


def insert_pullback(dy, y, arr, obj, values, axis=None):
    """Inserting numbers into a range of indices shows where each element of the result came from."""
    shape = np.shape(arr) if axis is not None else (np.size(arr),)
    axis = 0 if axis is None else axis % len(shape)
    n, m = shape[axis], np.shape(y)[axis] - shape[axis]
    came_from = np.insert(np.arange(n), obj, np.arange(n, n + m))
    place = np.argsort(came_from, kind="stable")
    g = np.take(dy, place[:n], axis=axis)
    inserted = np.take(dy, place[n:], axis=axis)
    given = (1,) * (len(shape) - np.ndim(values)) + np.shape(values)
    if np.ndim(obj) == 0 and not isinstance(obj, slice):
        # For a single place NumPy moves the first axis of the values to the axis of insertion.
        moved = (*given[1 : axis + 1], given[0], *given[axis + 1 :])
        inserted = np.moveaxis(unbroadcast(inserted, moved), axis, 0)
    else:
        inserted = unbroadcast(inserted, given)
    return np.reshape(g, np.shape(arr)), None, np.reshape(inserted, np.shape(values))


def delete_pullback(dy, y, arr, obj, axis=None):
    shape = np.shape(arr) if axis is not None else (np.size(arr),)
    axis = 0 if axis is None else axis % len(shape)
    kept = np.delete(np.arange(shape[axis]), obj)
    return np.reshape(scatter(dy, (slice(None),) * axis + (kept,), shape, True), np.shape(arr))


joint(np.append, append_pullback)
joint(np.insert, insert_pullback)
vjp(np.delete, delete_pullback)


# pad


def pad_pullback(dy, y, array, pad_width, mode="constant", **kwargs):
    shape = np.shape(array)
    widths = pad_widths(pad_width, len(shape))
    if mode in ("maximum", "minimum", "median", "mean"):
        return statistic_pad_pullback(dy, array, widths, mode, kwargs.get("stat_length"))
    g = dy
    for axis, (n, width) in enumerate(zip(shape, widths)):
        g = unpad(g, n, width, axis, mode, kwargs)
    return g


def pad_widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        found = {axis % rank: width for axis, width in pad_width.items()}
        return [(w, w) if np.ndim(w) == 0 else tuple(w) for w in (found.get(i, 0) for i in range(rank))]
    return [(int(a), int(b)) for a, b in np.broadcast_to(pad_width, (rank, 2))]


def unpad(g: Any, n: int, width: tuple[int, int], axis: int, mode: Any, kwargs: dict[str, Any]) -> Any:
    """The transpose of padding one axis of length ``n``; NumPy pads the axes one after the other."""
    before = (slice(None),) * axis
    if width == (0, 0):
        return g
    if mode in ("constant", "empty"):
        return g[(*before, slice(width[0], width[0] + n))]
    if mode in ("edge", "wrap") or (mode in ("reflect", "symmetric") and kwargs.get("reflect_type", "even") == "even"):
        came_from = np.pad(np.arange(n), width, mode=mode)
        shape = np.shape(g)
        return scatter(g, (*before, came_from), (*shape[:axis], n, *shape[axis + 1 :]))
    # Odd reflections and ramps mix elements: the columns of the map are the padded unit vectors.
    if "end_values" in kwargs:
        kwargs = {**kwargs, "end_values": 0}
    columns = np.pad(np.eye(n), (width, (0, 0)), mode=mode, **kwargs)
    return np.moveaxis(np.tensordot(columns, g, axes=(0, axis)), 0, axis)


def statistic_pad_pullback(dy: Any, array: Any, widths: Any, mode: str, stat_length: Any) -> Any:
    """Each axis is padded with a statistic of the lines along it, after the axes before it have been padded."""
    shape = np.shape(array)
    pullback = mean_pullback if mode == "mean" else median_pullback if mode == "median" else extremum_pullback
    statistic = getattr(np, {"maximum": "max", "minimum": "min"}.get(mode, mode))
    lengths = [(n, n) for n in shape] if stat_length is None else np.broadcast_to(stat_length, (len(shape), 2)).tolist()
    stages = [np.asarray(array)]
    for axis, width in enumerate(widths):
        only = [width if i == axis else (0, 0) for i in range(len(shape))]
        stages.append(np.pad(stages[-1], only, mode=mode, stat_length=stat_length))
    g = dy
    for axis in range(len(shape) - 1, -1, -1):
        x, n, width = stages[axis], shape[axis], widths[axis]
        before = (slice(None),) * axis
        total = g[(*before, slice(width[0], width[0] + n))]
        for side, length in enumerate(lengths[axis]):
            length = min(int(length), n)
            margin = slice(0, width[0]) if side == 0 else slice(width[0] + n, None)
            part = (*before, slice(0, length) if side == 0 else slice(n - length, n))
            d_statistic = np.sum(g[(*before, margin)], axis=axis)
            lines = x[part]
            g_lines = pullback(d_statistic, statistic(lines, axis=axis), lines, axis)
            total = total + scatter(g_lines, part, np.shape(x))
        g = total
    return g


vjp(np.pad, pad_pullback)


linear((np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block))
linear(np.append, (0, 1))
