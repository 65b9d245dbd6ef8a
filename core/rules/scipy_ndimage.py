"""NumPy programs that model the compiled functions of ``scipy.ndimage``.

A filter works on the array extended by its boundary mode, with one shifted view for each element of the filter.  An
interpolation is a sum of B-splines (Unser, IEEE Signal Processing Magazine 16(6), 1999), with the coefficients that the
spline filter computes.
"""

from __future__ import annotations

import itertools
from math import comb, factorial
from typing import Any

import numpy as np
from scipy.ndimage import _nd_image  # pyright: ignore[reportAttributeAccessIssue]

from ..errors import NoDerivative
from .table import compiled, joint, model, runs_compiled, vjp

NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
PADDING = {NEAREST: "edge", WRAP: "wrap", REFLECT: "symmetric", MIRROR: "reflect"}


# Filters


def extended(x: Any, axis: int, before: int, after: int, mode: int, cval: Any) -> Any:
    """``x`` extended along ``axis`` by ``before`` and ``after`` entries, by the boundary mode."""
    n = np.shape(x)[axis]
    places = np.arange(-before, n + after)
    outside = (places < 0) | (places >= n)
    if mode != CONSTANT:
        return np.take(x, np.pad(np.arange(n), (before, after), mode=PADDING[mode]), axis=axis)
    shape = [1] * np.ndim(x)
    shape[axis] = len(places)
    return np.where(np.reshape(outside, shape), cval, np.take(x, np.clip(places, 0, n - 1), axis=axis))


def windows(x: Any, chosen: Any, mode: int, cval: Any, origins: Any) -> list[Any]:
    """For each chosen entry of a filter, in order: the shifted view of ``x`` that it multiplies."""
    n = np.shape(x)
    size = np.shape(chosen)
    for axis in range(len(n)):
        before = size[axis] // 2 + int(origins[axis])
        x = extended(x, axis, before, size[axis] - 1 - before, mode, cval)
    return [x[tuple(slice(k, k + m) for k, m in zip(place, n))] for place in zip(*np.nonzero(chosen))]


def correlate_valid(x: Any, weights: Any, axis: int) -> Any:
    """The correlation of ``x`` with ``weights`` along ``axis``, at the places where they lie within it."""
    half, size = len(weights) // 2, len(weights)
    y = np.empty(np.shape(x), np.result_type(x, weights, float))
    _nd_image.correlate1d(np.asarray(x, y.dtype), np.ascontiguousarray(weights, y.dtype), axis, y, CONSTANT, 0.0, 0)
    return y[(slice(None),) * axis + (slice(half, np.shape(x)[axis] - size + 1 + half),)]


def correlate_valid_pullback(dy, y, x, weights, axis):
    size, n = len(weights), np.shape(y)[axis]
    padding = [(0, 0)] * np.ndim(x)
    padding[axis] = (size - 1, size - 1)
    at = (slice(None),) * axis
    dw = np.stack([np.sum(dy * x[(*at, slice(k, k + n))]) for k in range(size)])
    return correlate_valid(np.pad(dy, padding), weights[::-1], axis), dw


joint(correlate_valid, correlate_valid_pullback)
runs_compiled(correlate_valid)


def correlate1d(input, weights, axis, output, mode, cval, origin):
    axis = axis % np.ndim(input)
    size = len(weights)
    before = size // 2 + origin
    x = extended(input, axis, before, size - 1 - before, mode, cval)
    if np.iscomplexobj(x) or np.iscomplexobj(weights):
        n, at = np.shape(input)[axis], (slice(None),) * axis
        return sum([weights[k] * x[(*at, slice(k, k + n))] for k in range(size)])
    return correlate_valid(x, weights, axis)


def correlate(input, weights, output, mode, cval, origins):
    total = 0.0
    for w, x in zip(np.ravel(weights), windows(input, np.ones(np.shape(weights)), mode, cval, origins)):
        total = total + w * x
    return total


def uniform_filter1d(input, filter_size, axis, output, mode, cval, origin):
    return correlate1d(input, np.full(filter_size, 1 / filter_size), axis, output, mode, cval, origin)


def min_or_max_filter1d(input, filter_size, axis, output, mode, cval, origin, minimum):
    shape, origins = [1] * np.ndim(input), [0] * np.ndim(input)
    shape[axis], origins[axis] = filter_size, origin
    return min_or_max_filter(input, np.ones(shape), None, output, mode, cval, origins, minimum)


def min_or_max_filter(input, footprint, structure, output, mode, cval, origins, minimum):
    found = windows(input, footprint, mode, cval, origins)
    if structure is not None:
        heights = structure[np.nonzero(footprint)]
        found = [x - h if minimum else x + h for x, h in zip(found, heights)]
    return np.min(np.stack(found), axis=0) if minimum else np.max(np.stack(found), axis=0)


def rank_filter(input, rank, footprint, output, mode, cval, origins):
    return np.sort(np.stack(windows(input, footprint, mode, cval, origins)), axis=0)[rank]


def rank_filter_1d(input, rank, filter_size, output, mode, cval, origin):
    return rank_filter(input, rank, np.ones(filter_size), output, mode, cval, [origin])


def generic_filter(input, function, footprint, output, mode, cval, origins, arguments=(), keywords=None):
    found = np.stack(windows(input, footprint, mode, cval, origins), axis=-1)
    lines = np.reshape(found, (-1, found.shape[-1]))
    values = [function(lines[i], *arguments, **(keywords or {})) for i in range(len(lines))]
    return np.reshape(np.array(values), np.shape(output))


model(_nd_image.correlate1d, correlate1d, into=3)
model(_nd_image.correlate, correlate, into=2)
model(_nd_image.uniform_filter1d, uniform_filter1d, into=3)
model(_nd_image.min_or_max_filter1d, min_or_max_filter1d, into=3)
model(_nd_image.min_or_max_filter, min_or_max_filter, into=3)
model(_nd_image.rank_filter, rank_filter, into=3)
model(compiled("scipy.ndimage", "_rank_filter_1d.rank_filter"), rank_filter_1d, into=3)
model(_nd_image.generic_filter, generic_filter, into=3)


# Interpolation


def spline_coefficients(x: Any, order: int, axis: int, mode: int) -> Any:
    """The coefficients of the spline that goes through ``x`` along ``axis``."""
    y = np.empty(np.shape(x))
    _nd_image.spline_filter1d(np.asarray(x, float), order, axis, y, mode)
    return y


def spline_coefficients_pullback(dy, y, x, order, axis, mode):
    """The filter's matrix is symmetric; with mirrored boundaries, after the ends are weighted by one half.

    On a short axis the pullback forms the matrix: there SciPy starts its recursion with an approximation.
    """
    n = np.shape(x)[axis]
    if n <= 64:
        matrix = spline_coefficients(np.eye(n), order, 0, mode)
        return np.moveaxis(np.tensordot(matrix, dy, (0, axis)), 0, axis)
    if mode in (REFLECT, NEAREST, GRID_WRAP):
        return spline_coefficients(dy, order, axis, mode)
    shape = [1] * np.ndim(x)
    shape[axis] = n
    weight = np.ones(n)
    weight[0] = weight[-1] = 0.5
    weight = np.reshape(weight, shape)
    return weight * spline_coefficients(dy / weight, order, axis, mode)


vjp(spline_coefficients, spline_coefficients_pullback)
runs_compiled(spline_coefficients)
model(_nd_image.spline_filter1d, lambda input, order, axis, output, mode: (
    spline_coefficients(input, order, axis, mode)
), into=3)  # fmt: skip


def b_spline(x: Any, order: int) -> Any:
    """The centred B-spline of unit knots, as a sum of truncated powers."""
    total = 0.0
    for k in range(order + 2):
        reach = np.maximum(x + (order + 1) / 2 - k, 0)
        total = total + (-1) ** k * comb(order + 1, k) / factorial(order) * reach**order
    return total


def folded(x: Any, n: int, mode: int) -> Any:
    """Map coordinates outside of the array into it, by the boundary mode; -1 where the value outside is constant."""
    if mode == GRID_CONSTANT:
        return x
    if mode == NEAREST:
        return np.clip(x, 0, n - 1)
    if mode == CONSTANT:
        return np.where((x < 0) | (x > n - 1), -1.0, x)
    if n == 1:
        return 0.0 * x
    below, above = x < 0, x > n - 1
    if mode == MIRROR:
        u = np.abs(x)
        u = u - (2 * n - 2) * np.floor(u / (2 * n - 2))
        return np.where(u > n - 1, 2 * n - 2 - u, u)
    if mode == REFLECT:
        u = x - 2 * n * np.floor(x / (2 * n))
        return np.where(below | above, np.where(u >= n, 2 * n - 1 - u, u), x)
    period = n - 1 if mode == WRAP else n
    return np.where(below | above, x - period * np.floor(x / period), x)


def sampled(x: Any, coordinates: Any, order: int, mode: int, cval: Any) -> Any:
    """The spline of coefficients ``x`` at the coordinates, given by axis, in arrays that broadcast."""
    weights, places, inside = [], [], True
    spline_mode = MIRROR if mode in (CONSTANT, WRAP) else mode
    for c, n in zip(coordinates, np.shape(x)):
        c = folded(c, n, mode)
        inside = inside & ((c > -1) | (mode == GRID_CONSTANT))
        start = (np.floor(c) if order % 2 else np.floor(c + 0.5)) - order // 2
        reached = [start + k for k in range(order + 1)]
        weights.append([b_spline(c - r, order) if order else 1.0 for r in reached])
        places.append([folded(r, n, spline_mode).astype(np.intp) for r in reached])
    total = 0.0
    for choice in itertools.product(range(order + 1), repeat=len(places)):
        at = tuple(p[k] for p, k in zip(places, choice))
        here = [(p >= 0) & (p < n) for p, n in zip(at, np.shape(x))]
        entry = x[tuple(np.clip(p, 0, n - 1) for p, n in zip(at, np.shape(x)))]
        entry = np.where(np.all(np.stack(np.broadcast_arrays(*here)), axis=0), entry, cval)
        for w, k in zip(weights, choice):
            entry = entry * w[k]
        total = total + entry
    return np.where(inside, total, cval)


def geometric_transform(
    input, mapping, coordinates, matrix, offset, output, order, mode, cval, npad, arguments=None, keywords=None
):
    shape = np.shape(output)
    if coordinates is None:
        grid = np.indices(shape)
        if mapping is not None:
            found = [mapping(place, *(arguments or ()), **(keywords or {})) for place in np.ndindex(shape)]
            coordinates = [np.reshape(np.array([f[j] for f in found]), shape) for j in range(np.ndim(input))]
        else:
            coordinates = np.tensordot(matrix, grid, axes=1)
            coordinates = coordinates + np.reshape(offset, (-1,) + (1,) * len(shape))
    return sampled(input, [c + npad for c in coordinates], order, mode, cval)


def zoom_shift(input, zoom, shift, output, order, mode, cval, npad, grid_mode):
    shape = np.shape(output)
    coordinates = []
    for j, n in enumerate(shape):
        c = np.reshape(np.arange(n), (n,) + (1,) * (len(shape) - 1 - j))
        if shift is not None:
            c = c + shift[j]
        if zoom is not None:
            c = (c + 0.5) * zoom[j] - 0.5 if grid_mode else c * zoom[j]
        coordinates.append(c + npad)
    return sampled(input, coordinates, order, mode, cval)


model(_nd_image.geometric_transform, geometric_transform, into=5)
model(_nd_image.zoom_shift, zoom_shift, into=3)


# Filters of Fourier transforms


def frequencies(shape: tuple[int, ...], n: int, axis: int) -> list[Any]:
    """The frequency of each entry of a transform by axis; ``n`` is the length before a real transform, or -1."""
    found = []
    for j, m in enumerate(shape):
        f = np.arange(m) / n if n > 0 and j == axis % len(shape) else np.fft.fftfreq(m)
        found.append(np.reshape(f, (m,) + (1,) * (len(shape) - 1 - j)))
    return found


def fourier_filter(input, sizes, n, axis, output, kind):
    if kind == 2:
        raise NoDerivative("scipy.ndimage.fourier_ellipsoid has no derivative rule; use fourier_gaussian")
    for j, f in enumerate(frequencies(np.shape(input), n, axis)):
        input = input * (np.exp(-2 * (np.pi * f * sizes[j]) ** 2) if kind == 0 else np.sinc(f * sizes[j]))
    return input


def fourier_shift(input, shifts, n, axis, output):
    phase = 0.0
    for j, f in enumerate(frequencies(np.shape(input), n, axis)):
        phase = phase + f * shifts[j]
    return input * np.exp(-2j * np.pi * phase)


model(_nd_image.fourier_filter, fourier_filter, into=4)
model(_nd_image.fourier_shift, fourier_shift, into=4)
