"""Functions of the order of the elements: sorting, partitioning, quantiles, distinct values.

Away from ties each result is an element, or a fixed mixture of two neighbours in the order, so cotangents go back to
the original places of the elements.  Ties are broken as by a stable sort.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .table import vjp, zero
from .transposes import along, scatter

# Sorting


def send_back(dy: Any, y: Any, a: Any, axis: int | None) -> Any:
    """The cotangent of ``a`` from that of ``y``, a rearrangement of ``a`` along ``axis``: k-th smallest to k-th smallest."""
    if axis is None:
        return np.reshape(send_back(dy, y, np.ravel(a), -1), np.shape(a))
    in_order = np.take_along_axis(dy, np.argsort(y, axis=axis, kind="stable"), axis=axis)
    return sort_pullback(in_order, y, a, axis)


def sort_pullback(dy, y, a, axis=-1, kind=None, order=None, **kwargs):
    if axis is None:
        return np.reshape(sort_pullback(dy, y, np.ravel(a)), np.shape(a))
    places = np.argsort(a, axis=axis, kind="stable")
    return scatter(dy, along(places, np.shape(a), axis), np.shape(a), True)


vjp(np.sort, sort_pullback)
vjp(np.sort_complex, sort_pullback)
vjp(np.partition, lambda dy, y, a, kth, axis=-1, kind="introselect", order=None: send_back(dy, y, a, axis))


# Quantiles


QUANTILE_POSITIONS = {
    # (alpha, beta) of Hyndman and Fan, Sample quantiles in statistical packages, Am. Stat. 50 (1996) 361-365: the
    # quantile q of n elements lies at n q + alpha + q (1 - alpha - beta) - 1, counted from zero.
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "midpoint": (1.0, 1.0),
}


def quantile_pullback(
    dy,
    y,
    a,
    q,
    axis=None,
    out=None,
    overwrite_input=False,
    method="linear",
    keepdims=False,
    *,
    weights=None,
    interpolation=None,
):
    lines = as_lines(a, axis)
    dy = results_along_last(dy, np.shape(a), q, axis, keepdims)
    if method in QUANTILE_POSITIONS:
        lower, upper, t, _ = neighbours(lines, q, method)
        order = np.argsort(lines, axis=-1, kind="stable")
        places = np.take_along_axis(order, np.concatenate((lower, upper), axis=-1), axis=-1)
        dy = np.concatenate((dy * (1 - t), dy * t), axis=-1)
    else:
        y = results_along_last(y, np.shape(a), q, axis, keepdims)
        places = np.argmax(np.expand_dims(lines, -2) == np.expand_dims(y, -1), axis=-1)
    return from_lines(scatter(dy, along(places, np.shape(lines), -1), np.shape(lines)), a, axis)


def quantile_position(
    dy,
    y,
    a,
    q,
    axis=None,
    out=None,
    overwrite_input=False,
    method="linear",
    keepdims=False,
    *,
    weights=None,
    interpolation=None,
):
    """The slope of the quantile in ``q``: the difference of the neighbours, times the slope of the position in ``q``."""
    if method not in QUANTILE_POSITIONS or method == "midpoint":
        return np.zeros(np.shape(q))
    lines = np.sort(as_lines(a, axis), axis=-1)
    dy = results_along_last(dy, np.shape(a), q, axis, keepdims)
    lower, upper, _, speed = neighbours(lines, q, method)
    rise = np.take_along_axis(lines, upper, axis=-1) - np.take_along_axis(lines, lower, axis=-1)
    return np.reshape(np.sum(dy * rise * speed, axis=tuple(range(np.ndim(rise) - 1))), np.shape(q))


def as_lines(a: Any, axis: Any) -> Any:
    """``a`` with the axes of ``axis`` merged into the last one."""
    a = np.asarray(a)
    axes = tuple(range(a.ndim)) if axis is None else tuple(i % a.ndim for i in np.ravel(axis).tolist())
    kept = tuple(i for i in range(a.ndim) if i not in axes)
    return np.reshape(np.transpose(a, kept + axes), (*(a.shape[i] for i in kept), merged_length(a, axes)))


def merged_length(a: Any, axes: tuple[int, ...]) -> int:
    n = 1
    for i in axes:
        n *= np.shape(a)[i]
    return n


def from_lines(g: Any, a: Any, axis: Any) -> Any:
    """The cotangent of ``a`` from that of its lines."""
    shape = np.shape(a)
    axes = tuple(range(len(shape))) if axis is None else tuple(i % len(shape) for i in np.ravel(axis).tolist())
    order = tuple(i for i in range(len(shape)) if i not in axes) + axes
    g = np.reshape(g, tuple(shape[i] for i in order))
    return np.transpose(g, [order.index(i) for i in range(len(shape))])


def results_along_last(r: Any, shape: tuple[int, ...], q: Any, axis: Any, keepdims: Any) -> Any:
    """Reshape results (q, kept axes), with ``keepdims`` or without, to (kept axes, number of q)."""
    axes = range(len(shape)) if axis is None else [i % len(shape) for i in np.ravel(axis).tolist()]
    kept = tuple(n for i, n in enumerate(shape) if i not in axes)
    return np.moveaxis(np.reshape(r, (np.size(q), *kept)), 0, -1)


def neighbours(lines: Any, q: Any, method: str) -> tuple[Any, Any, Any, Any]:
    """The places of the two elements that each quantile interpolates, the upper one's weight, and its slope in ``q``."""
    n = np.sum(~np.isnan(lines), axis=-1, keepdims=True)
    alpha, beta = QUANTILE_POSITIONS[method]
    q = np.reshape(q, -1)
    position = n * q + (alpha + q * (1 - alpha - beta)) - 1
    speed = np.where((position >= 0) & (position < n - 1), n + (1 - alpha - beta), 0)
    position = np.clip(position, 0, np.maximum(n - 1, 0))
    lower = np.floor(position).astype(int)
    upper = np.minimum(lower + 1, np.maximum(n - 1, 0))
    t = position - lower
    if method == "midpoint":
        t = np.where(t > 0, 0.5, 0.0)
    return lower, upper, t, speed


def percentile_pullback(dy, y, a, q, *args, **kwargs):
    return quantile_pullback(dy, y, a, np.true_divide(q, 100), *args, **kwargs)


def percentile_position(dy, y, a, q, *args, **kwargs):
    return quantile_position(dy, y, a, np.true_divide(q, 100), *args, **kwargs) / 100


def median_pullback(dy, y, a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return quantile_pullback(dy, y, a, 0.5, axis, keepdims=keepdims)


vjp((np.quantile, np.nanquantile), quantile_pullback, quantile_position)
vjp((np.percentile, np.nanpercentile), percentile_pullback, percentile_position)
vjp((np.median, np.nanmedian), median_pullback)


# Distinct values


def unique_pullback(
    dy,
    y,
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,
):
    """The cotangent of each value goes to the first place where it occurs."""
    if return_index or return_inverse or return_counts:
        dy, y = dy[0], y[0]
    if dy is None:
        return None
    if axis is not None:
        _, first = np.unique(ar, return_index=True, axis=axis, equal_nan=equal_nan)
        return scatter(dy, (slice(None),) * (axis % np.ndim(ar)) + (first,), np.shape(ar), True)
    _, first = np.unique(ar, return_index=True, equal_nan=equal_nan)
    in_order = np.argsort(y, kind="stable")
    return np.reshape(scatter(np.asarray(dy)[in_order], first, (np.size(ar),), True), np.shape(ar))


def unique_values_pullback(dy: Any, y: Any, x: Any) -> Any:
    """NumPy sorts the values of some dtypes only."""
    order = np.argsort(y)
    return unique_pullback(dy[order], y[order], x, equal_nan=False)


vjp(np.unique, unique_pullback)
vjp(np.unique_values, unique_values_pullback)
vjp(
    (np.unique_all, np.unique_counts, np.unique_inverse),
    lambda dy, y, x: unique_pullback(dy, y, x, True, equal_nan=False),
)

zero(np.argsort, np.argpartition, np.lexsort)
