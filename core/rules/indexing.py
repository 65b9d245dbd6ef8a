"""Reading parts of arrays: the transpose of reading is adding to zeros, ``scatter``.

Also selection between arrays (``where``, ``select``, ``choose``): entries not selected get an exact zero.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import order  # noqa: F401  its rules are registered with these
from .table import joint, linear, takes_sequences, vjp, zero
from .transposes import along, scatter, unbroadcast


def getitem_pullback(dy, y, a, b):
    return scatter(dy, b, np.shape(a))


vjp(operator.getitem, getitem_pullback)


def take_pullback(dy, y, a, indices, axis=None, out=None, mode="raise"):
    shape = np.shape(a)
    n = np.size(a) if axis is None else shape[axis]
    if mode == "wrap":
        indices = np.mod(indices, n)
    elif mode == "clip":
        indices = np.clip(indices, 0, n - 1)
    elif not isinstance(indices, (int, np.integer)):
        indices = np.asarray(indices)
    if axis is None:
        return np.reshape(scatter(dy, indices, (n,)), shape)
    axis = axis % len(shape)
    return scatter(dy, indices if axis == 0 else (slice(None),) * axis + (indices,), shape)


vjp(np.take, take_pullback)


def take_along_axis_pullback(dy, y, arr, indices, axis=-1):
    shape = np.shape(arr)
    if axis is None:
        return np.reshape(scatter(dy, np.asarray(indices), (np.size(arr),)), shape)
    return scatter(dy, along(indices, shape, axis), shape)


vjp(np.take_along_axis, take_along_axis_pullback)


def compress_pullback(dy, y, condition, a, axis=None, out=None):
    return take_pullback(dy, y, a, np.flatnonzero(condition), axis)


vjp(np.compress, 0, compress_pullback)
vjp(np.extract, 0, lambda dy, y, condition, arr: take_pullback(dy, y, arr, np.flatnonzero(condition)))


# Choosing


vjp(
    np.where,
    0,
    lambda dy, y, condition, x, y_: unbroadcast(np.where(condition, dy, 0), np.shape(x)),
    lambda dy, y, condition, x, y_: unbroadcast(np.where(condition, 0, dy), np.shape(y_)),
)


def select_pullback(dy, y, condlist, choicelist, default=0):
    left = np.ones((), bool)
    parts = []
    for condition, choice in zip(condlist, choicelist):
        parts.append(unbroadcast(np.where(left & condition, dy, 0), np.shape(choice)))
        left = left & ~np.asarray(condition)
    if isinstance(choicelist, np.ndarray):
        parts = np.stack(parts)
    return None, parts, unbroadcast(np.where(left, dy, 0), np.shape(default))


joint(np.select, select_pullback)
takes_sequences(np.select, np.choose)


def choose_pullback(dy, y, a, choices, out=None, mode="raise"):
    n = len(choices)
    if mode == "wrap":
        a = np.mod(a, n)
    elif mode == "clip":
        a = np.clip(a, 0, n - 1)
    parts = [unbroadcast(np.where(np.equal(a, k), dy, 0), np.shape(choice)) for k, choice in enumerate(choices)]
    return np.stack(parts) if isinstance(choices, np.ndarray) else parts


vjp(np.choose, 0, choose_pullback)


# Tables: interpolation and weighted counts


def interp_pullback(dy, y, x, xp, fp, left=None, right=None, period=None):
    """On the segment that holds x, with its ends (x0, f0) and (x1, f1), slope s and t = (x - x0) / (x1 - x0):

    dy/dx = s,  dy/df0 = 1 - t,  dy/df1 = t,  dy/dx0 = -s (1 - t),  dy/dx1 = -s t.  A knot belongs to the segment that
    begins there, the last knot to the last segment.
    """
    if period is not None:
        return periodic_interp_pullback(dy, y, x, xp, fp, period)
    x, xp, fp = np.asarray(x), np.asarray(xp), np.asarray(fp)
    n = len(xp)
    j = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, max(n - 2, 0))
    k = np.minimum(j + 1, n - 1)
    below, above = x < xp[0], x > xp[n - 1]
    inside = ~(below | above)
    width = np.where(j == k, 1, xp[k] - xp[j])
    slope = (fp[k] - fp[j]) / width
    t = np.where(inside, (x - xp[j]) / width, 0)
    within = np.where(inside, dy, 0)
    to_first = within * (1 - t) + (np.where(below, dy, 0) if left is None else 0) * (j == 0)
    to_last = within * t
    to_end = np.sum(np.where(above, dy, 0)) if right is None else 0.0
    gfp = scatter(to_first, j, (n,)) + scatter(to_last, k, (n,)) + scatter(to_end, n - 1, (n,))
    rise = np.real(within * np.conj(slope))
    gxp = -scatter(rise * (1 - t), j, (n,)) - scatter(rise * t, k, (n,))
    return (
        rise,
        gxp,
        gfp,
        None if left is None else np.sum(np.where(below, dy, 0)),
        None if right is None else np.sum(np.where(above, dy, 0)),
    )


def periodic_interp_pullback(dy, y, x, xp, fp, period):
    """``interp`` reduces x and xp by the period, sorts the knots, prepends the last one and appends the first one."""
    p = abs(period)
    turns, turns_xp = np.floor_divide(x, p), np.floor_divide(xp, p)
    knots = np.asarray(xp) - turns_xp * p
    by_size = np.argsort(knots)
    knots, values = knots[by_size], np.asarray(fp)[by_size]
    knots = np.concatenate((knots[-1:] - p, knots, knots[:1] + p))
    values = np.concatenate((values[-1:], values, values[:1]))
    gx, gk, gv, *_ = interp_pullback(dy, y, np.asarray(x) - turns * p, knots, values)
    n = len(by_size)
    back = np.argsort(by_size)
    gxp = folded(gk, n)[back]
    gp = gk[n + 1] - gk[0] - np.sum(gx * turns) - np.sum(gxp * turns_xp)
    return gx, gxp, folded(gv, n)[back], None, None, np.sign(period) * gp


def folded(g: Any, n: int) -> Any:
    """The cotangent of ``n`` knots, from that of the knots with the last one prepended and the first one appended."""
    return g[1 : n + 1] + scatter(g[n + 1], 0, (n,)) + scatter(g[0], n - 1, (n,))


joint(np.interp, interp_pullback)

vjp(np.bincount, None, lambda dy, y, x, weights=None, minlength=0: dy[np.asarray(x)])


def histogram_pullback(dy, y, a, bins=10, range=None, density=None, weights=None):
    """The counts are locally constant in ``a``; edges computed from its least and greatest element depend on it.

    With ``density`` the result is counts / (width total), so it changes with the edges as well.
    """
    d_counts, d_edges = dy
    counts, edges = y
    if density and d_counts is not None:
        inside = (edges[0] <= np.asarray(a)) & (np.asarray(a) <= edges[-1])
        total = np.sum(inside if weights is None else np.where(inside, weights, 0))
        width = np.diff(edges)
        through_width = -d_counts * counts / width
        moved = np.concatenate((-through_width[:1], through_width[:-1] - through_width[1:], through_width[-1:]))
        d_edges = moved if d_edges is None else d_edges + moved
        d_counts = (d_counts / width - np.sum(d_counts * counts)) / total
    ga = gw = None
    if d_edges is not None and range is None and np.ndim(bins) == 0 and np.size(a) > 0:
        t = np.linspace(0, 1, len(edges))
        ga = np.sum(d_edges * (1 - t)) * shares(a, np.min(a)) + np.sum(d_edges * t) * shares(a, np.max(a))
    if weights is not None and d_counts is not None:
        place = np.searchsorted(edges[1:-1], a, side="right")
        gw = np.where((edges[0] <= np.asarray(a)) & (np.asarray(a) <= edges[-1]), d_counts[place], 0)
    return ga, d_edges if np.ndim(bins) == 1 else None, None, None, gw


def shares(a: Any, extremum: Any) -> Any:
    """Equal weights of sum one for the elements of ``a`` that equal its extremum."""
    equal = np.equal(a, extremum)
    return equal / np.sum(equal)


joint(np.histogram, histogram_pullback)


# Convolutions


def convolve_pullback(dy, y, a, v, mode="full"):
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    full = embedded(dy, kept_of_full(len(a), len(v), mode), len(a) + len(v) - 1)
    # np.correlate conjugates its second argument, as the transpose requires.
    return np.correlate(full, v, "valid"), np.correlate(full, a, "valid")


def correlate_pullback(dy, y, a, v, mode="valid"):
    """``correlate(a, v)`` is ``convolve(a, conj(v[::-1]))``, except that "same" may lean to the other side."""
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    start = kept_of_full(len(a), len(v), mode)
    if mode in ("same", 1) and len(v) > len(a):
        start = len(a) - 1 - start
    full = embedded(dy, start, len(a) + len(v) - 1)
    return np.convolve(full, v, "valid"), np.conj(np.flip(np.correlate(full, a, "valid")))


def kept_of_full(n: int, m: int, mode: Any) -> int:
    """The place in the full convolution of lengths ``n`` and ``m`` where the result of ``mode`` begins."""
    short = min(n, m)
    if mode in ("full", "f", 2):
        return 0
    return short - 1 if mode in ("valid", "v", 0) else short - 1 - short // 2


def embedded(dy: Any, start: int, length: int) -> Any:
    return dy if len(dy) == length else scatter(dy, slice(start, start + len(dy)), (length,))


joint(np.convolve, convolve_pullback)
joint(np.correlate, correlate_pullback)


zero(np.nonzero, np.flatnonzero, np.argwhere, np.searchsorted, np.digitize, np.ix_, np.indices)
zero(np.isin, np.unravel_index, np.ravel_multi_index, np.diag_indices, np.diag_indices_from, np.mask_indices)
zero(np.tril_indices, np.tril_indices_from, np.triu_indices, np.triu_indices_from)
zero(np.shares_memory, np.may_share_memory)


linear((operator.getitem, np.take, np.take_along_axis))
linear((np.compress, np.extract, np.bincount), 1)
linear((np.convolve, np.correlate), 0, 1)
linear(np.where, (1, 2))
