"""Rearranging, joining and splitting: linear maps that move elements, whose transposes move them back.

The pullback of a function that repeats elements (``broadcast_to``, ``tile``, ``repeat``, ``pad``) sums the copies; that
of a function that drops elements (``delete``, ``tril``) gives them zero.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import joining  # noqa: F401  its rules are registered with these
from .reductions import conjugate
from .table import for_ranks, joint, linear, takes_sequences, vjp, zero
from .transposes import scatter, unbroadcast, unstack, widen

# The same elements in the same order


def reshape_pullback(dy, y, a, shape=None, order="C", **kwargs):
    if order == "A":
        order = "F" if isinstance(a, np.ndarray) and a.flags.fnc else "C"
    return np.reshape(dy, np.shape(a), order=order)


def ravel_pullback(dy, y, a, order="C"):
    if order == "K" and isinstance(a, np.ndarray):
        axes = axes_in_memory(a)
        laid = np.reshape(dy, tuple(a.shape[i] for i in axes))
        return np.transpose(laid, [axes.index(i) for i in range(len(axes))])
    return reshape_pullback(dy, y, a, order="C" if order == "K" else order)


def axes_in_memory(a: Any) -> list[int]:
    """The axes of an array from outermost to innermost in memory (order "K"), whatever the signs of the strides.

    An axis that repeats one entry is ambiguous; NumPy leaves it in its place (``npyiter_find_best_axis_ordering``).
    """
    strides = [abs(s) if n > 1 else 0 for s, n in zip(a.strides, a.shape)]
    inward = list(range(a.ndim))[::-1]
    for i in range(1, a.ndim):
        axis, place = inward[i], i
        for j in range(i - 1, -1, -1):
            if strides[axis] and strides[inward[j]]:
                if strides[inward[j]] <= strides[axis]:
                    break
                place = j
        inward.insert(place, inward.pop(i))
    return inward[::-1]


def each_reshaped(dy, y, *arys):
    """The pullback of functions that return one result per argument; a single result is not in a tuple."""
    parts = (dy,) if len(arys) == 1 else dy
    return tuple(None if g is None else np.reshape(g, np.shape(x)) for g, x in zip(parts, arys))


vjp(np.reshape, reshape_pullback)
vjp(np.ravel, ravel_pullback)
vjp(np.squeeze, lambda dy, y, a, axis=None: np.reshape(dy, np.shape(a)))
vjp(np.expand_dims, lambda dy, y, a, axis: np.reshape(dy, np.shape(a)))
joint((np.atleast_1d, np.atleast_2d, np.atleast_3d), each_reshaped)


# The same elements in another order


def transpose_pullback(dy, y, a, axes=None):
    if axes is None:
        return np.transpose(dy)
    rank = np.ndim(a)
    axes = [operator.index(i) % rank for i in axes]
    return np.transpose(dy, [axes.index(i) for i in range(rank)])


def rollaxis_pullback(dy, y, a, axis, start=0):
    rank = np.ndim(a)
    axis, start = axis % rank, start + rank if start < 0 else start
    return np.moveaxis(dy, start - 1 if axis < start else start, axis)


vjp(np.transpose, transpose_pullback)
for_ranks(np.transpose, {(1,): (lambda dy, y, a: dy,), (2,): (lambda dy, y, a: dy.T,)})
vjp((np.matrix_transpose, np.linalg.matrix_transpose), lambda dy, y, x: np.swapaxes(dy, -1, -2))
vjp(np.swapaxes, lambda dy, y, a, axis1, axis2: np.swapaxes(dy, axis1, axis2))
vjp(np.moveaxis, lambda dy, y, a, source, destination: np.moveaxis(dy, destination, source))
vjp(np.rollaxis, rollaxis_pullback)
vjp(np.flip, lambda dy, y, m, axis=None: np.flip(dy, axis))
vjp(np.fliplr, lambda dy, y, m: np.fliplr(dy))
vjp(np.flipud, lambda dy, y, m: np.flipud(dy))
vjp(np.rot90, lambda dy, y, m, k=1, axes=(0, 1): np.rot90(dy, -k, axes))
vjp(np.roll, lambda dy, y, a, shift, axis=None: np.roll(dy, np.negative(shift), axis))


# Copies of the elements


def tile_pullback(dy, y, A, reps):
    reps = tuple(operator.index(r) for r in np.ravel(reps))
    rank = max(len(reps), np.ndim(A))
    reps = (1,) * (rank - len(reps)) + reps
    shape = (1,) * (rank - np.ndim(A)) + np.shape(A)
    split = np.reshape(dy, tuple(n for pair in zip(reps, shape) for n in pair))
    return np.reshape(np.sum(split, axis=tuple(range(0, 2 * rank, 2))), np.shape(A))


def repeat_pullback(dy, y, a, repeats, axis=None):
    shape = np.shape(a) if axis is not None and np.ndim(a) else (np.size(a),)
    axis = 0 if axis is None else axis % len(shape)
    n = shape[axis]
    if np.size(repeats) == 1:
        times = operator.index(np.ravel(repeats)[0])
        g = np.sum(np.reshape(dy, (*shape[: axis + 1], times, *shape[axis + 1 :])), axis=axis + 1)
    else:
        g = scatter(dy, (slice(None),) * axis + (np.repeat(np.arange(n), repeats),), shape)
    return np.reshape(g, np.shape(a))


def resize_pullback(dy, y, a, new_shape):
    """``np.resize`` repeats the elements of ``a`` in order until the new shape is full."""
    n, flat = np.size(a), np.ravel(dy)
    if n == 0 or np.size(flat) == 0:
        return np.zeros(np.shape(a))
    rounds = -(-np.size(flat) // n)
    full = flat if rounds * n == np.size(flat) else scatter(flat, slice(0, np.size(flat)), (rounds * n,))
    return np.reshape(np.sum(np.reshape(full, (rounds, n)), axis=0), np.shape(a))


def broadcast_arrays_pullback(dy, y, *args, **kwargs):
    return tuple(None if g is None else unbroadcast(g, np.shape(x)) for g, x in zip(dy, args))


def meshgrid_pullback(dy, y, *xi, copy=True, sparse=False, indexing="xy"):
    parts = []
    for i, (g, x) in enumerate(zip(dy, xi)):
        axis = 1 - i if indexing == "xy" and len(xi) > 1 and i < 2 else i
        if g is not None:
            g = np.reshape(np.sum(g, axis=tuple(j for j in range(len(xi)) if j != axis)), np.shape(x))
        parts.append(g)
    return tuple(parts)


vjp(np.broadcast_to, lambda dy, y, array, shape=None, subok=False: unbroadcast(dy, np.shape(array)))
vjp(np.tile, tile_pullback)
vjp(np.repeat, repeat_pullback)
vjp(np.resize, resize_pullback)
joint(np.broadcast_arrays, broadcast_arrays_pullback)
joint(np.meshgrid, meshgrid_pullback)


# New arrays from nested lists, or from one value


def array_pullback(dy, y, object, dtype=None, **kwargs):
    if y.dtype.kind not in "fc" and np.asarray(object).dtype.kind in "fc":
        return None  # NumPy truncates to integers
    return unstack(np.reshape(dy, np.shape(object)), object)


def asarray_pullback(dy, y, a, dtype=None, order=None, **kwargs):
    return array_pullback(dy, y, a)


def copy_pullback(dy, y, a, order="K", subok=False):
    return array_pullback(dy, y, a)


def full_pullback(dy, y, shape, fill_value, dtype=None, order="C", **kwargs):
    return unbroadcast(dy, np.shape(fill_value)) if y.dtype.kind in "fc" else None


def full_like_pullback(dy, y, a, fill_value, dtype=None, order="K", subok=True, shape=None, **kwargs):
    return unbroadcast(dy, np.shape(fill_value)) if y.dtype.kind in "fc" else None


vjp(np.array, array_pullback)
vjp((np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.asarray_chkfinite), asarray_pullback)
vjp(np.require, lambda dy, y, a, dtype=None, requirements=None, **kwargs: array_pullback(dy, y, a))
vjp(np.copy, copy_pullback)
takes_sequences(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.asarray_chkfinite)
takes_sequences(np.require, np.copy)
if hasattr(np, "astype"):  # NumPy 2.1
    vjp(np.astype, lambda dy, y, x, dtype=None, **kwargs: array_pullback(dy, y, x))
vjp(np.full, 0, full_pullback)
vjp(np.full_like, 0, full_like_pullback)


# Even and logarithmic scales


def linspace_pullback(dy, y, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, **kwargs):
    d_step = None
    if retstep:
        dy, d_step = dy
        y = y[0]
    intervals = num - 1 if endpoint else num
    g_start = g_stop = 0.0
    if dy is not None and y.dtype.kind in "fc":
        dy = np.moveaxis(dy, axis, -1)
        t = np.arange(num) / max(intervals, 1)
        g_start, g_stop = np.sum(dy * (1 - t), axis=-1), np.sum(dy * t, axis=-1)
    if d_step is not None and intervals > 0:
        g_start, g_stop = g_start - d_step / intervals, g_stop + d_step / intervals
    return unbroadcast(g_start, np.shape(start)), unbroadcast(g_stop, np.shape(stop))


def logspace_pullback(dy, y, start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """y = base ** linspace(start, stop)."""
    if y.dtype.kind not in "fc":
        return ()
    shape = np.broadcast_shapes(np.shape(start), np.shape(stop), np.shape(base))
    axis = axis % (len(shape) + 1)
    exponents = np.linspace(widen(start, shape), widen(stop, shape), num, endpoint, axis=axis)
    bases = np.expand_dims(widen(base, shape), axis)
    ga, gb = linspace_pullback(
        dy * conjugate(y * np.log(bases)), y, np.zeros(shape), np.zeros(shape), num, endpoint, axis=axis
    )
    g_base = np.sum(dy * conjugate(y * exponents / bases), axis=axis)
    return (
        unbroadcast(ga, np.shape(start)),
        unbroadcast(gb, np.shape(stop)),
        None,
        None,
        unbroadcast(g_base, np.shape(base)),
    )


def geomspace_pullback(dy, y, start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """y = start ** (1 - t) stop ** t."""
    if y.dtype.kind not in "fc":
        return ()
    rate, y = np.moveaxis(dy, axis, -1), np.moveaxis(y, axis, -1)
    t = np.arange(num) / max(num - 1 if endpoint else num, 1)
    rate = rate * conjugate(y)
    return (
        unbroadcast(np.sum(rate * (1 - t), axis=-1) / conjugate(np.asarray(start)), np.shape(start)),
        unbroadcast(np.sum(rate * t, axis=-1) / conjugate(np.asarray(stop)), np.shape(stop)),
    )


def arange_pullback(dy, y, *args, **kwargs):
    """start + step i, whose length does not change."""
    start = np.sum(dy)
    step = np.sum(dy * np.arange(np.size(y))) if len(args) > 2 else None
    return () if len(args) < 2 else (start, None, step)


def vander_pullback(dy, y, x, N=None, increasing=False):
    """Column j holds x**p, and its derivative p x**(p - 1) is p times the neighbouring column."""
    columns = np.shape(y)[1]
    powers = np.arange(columns) if increasing else np.arange(columns)[::-1]
    slopes = powers * np.expand_dims(x, -1) ** np.maximum(powers - 1, 0)
    return np.sum(dy * conjugate(slopes), axis=-1)


joint(np.linspace, linspace_pullback)
joint(np.logspace, logspace_pullback)
joint(np.geomspace, geomspace_pullback)
joint(np.arange, arange_pullback)
vjp(np.vander, vander_pullback)


# Triangles and diagonals


def place_diagonal(dy: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    """Zeros of ``shape`` with ``dy`` on the diagonals that ``np.diagonal`` reads."""
    n = np.shape(dy)[-1]
    rows, columns = np.arange(n) + max(-offset, 0), np.arange(n) + max(offset, 0)
    rank = len(shape)
    axis1, axis2 = axis1 % rank, axis2 % rank
    kept = tuple(m for i, m in enumerate(shape) if i not in (axis1, axis2))
    g = scatter(dy, (..., rows, columns), (*kept, shape[axis1], shape[axis2]), True)
    return np.moveaxis(g, (-2, -1), (axis1, axis2))


def diagonal_pullback(dy, y, a, offset=0, axis1=0, axis2=1):
    return place_diagonal(dy, np.shape(a), offset, axis1, axis2)


def diag_pullback(dy, y, v, k=0):
    return np.diagonal(dy, k) if np.ndim(v) == 1 else place_diagonal(dy, np.shape(v), k, 0, 1)


vjp(np.tril, lambda dy, y, m, k=0: np.tril(dy, k))
vjp(np.triu, lambda dy, y, m, k=0: np.triu(dy, k))
vjp(np.diagonal, diagonal_pullback)
vjp(np.diag, diag_pullback)
vjp(np.diagflat, lambda dy, y, v, k=0: np.reshape(np.diagonal(dy, k), np.shape(v)))


zero(np.zeros, np.ones, np.empty, np.zeros_like, np.ones_like, np.empty_like, np.eye, np.identity, np.tri)
zero(np.bartlett, np.blackman, np.hamming, np.hanning)
zero(np.shape, np.size, np.ndim, np.isscalar, np.iscomplexobj, np.isrealobj, np.result_type, np.broadcast_shapes)


linear(
    (np.reshape, np.ravel, np.squeeze, np.expand_dims, np.transpose, np.matrix_transpose, np.linalg.matrix_transpose)
)
linear((np.swapaxes, np.moveaxis, np.rollaxis, np.flip, np.fliplr, np.flipud, np.rot90, np.roll))
linear((np.broadcast_to, np.tile, np.repeat, np.resize, np.array, np.asarray, np.asanyarray, np.copy))
linear((np.tril, np.triu, np.diagonal, np.diag, np.diagflat))
linear(np.linspace, (0, 1))
linear((np.broadcast_arrays, np.atleast_1d, np.atleast_2d, np.atleast_3d), tuple(range(32)))
linear((np.full, np.full_like), 1)
