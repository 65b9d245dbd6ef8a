"""Derivatives of the vector and matrix norms of ``numpy.linalg``.

At the kinks a subgradient is chosen: a norm has gradient zero at zero, and so has |x_i| at x_i = 0; entries, columns,
rows and singular values that tie for a maximum (or minimum) share its gradient equally.  The gradient of the
nuclear norm is U V^H over the singular values that are not zero to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .matrix_factorisations import resolution, safe_reciprocal
from .products import hermitian as dagger
from .table import reduces, vjp
from .transposes import restore


def phase(x: Any) -> Any:
    """x / |x|, the sign of a real ``x``; zero where ``x`` is zero."""
    zero = x == 0
    nonzero = np.where(zero, 1.0, x)
    return np.where(zero, 0.0, nonzero / np.abs(nonzero))


def share(attained: Any, axis: Any) -> Any:
    """Equal weights for the entries that are True; they sum to one over ``axis``."""
    weight = np.where(attained, 1.0, 0.0)
    return weight / np.sum(weight, axis=axis, keepdims=True)


def extremes(x: Any, largest: bool, axis: Any) -> Any:
    """Equal weights for the entries of ``x`` that attain its maximum (or minimum) over ``axis``."""
    return share(x == (np.max(x, axis=axis, keepdims=True) if largest else np.min(x, axis=axis, keepdims=True)), axis)


def vector_norm_cotangent(dy: Any, y: Any, x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    """The cotangent of ``x`` from that of its vector norm over ``axes``, which ``dy`` and ``y`` keep with length one."""
    if ord is None or ord == 2:
        return x * (dy * safe_reciprocal(y))
    if ord == 0:
        return np.zeros_like(x)
    if ord == 1:
        return dy * phase(x)
    if ord in (np.inf, -np.inf):
        return dy * phase(x) * extremes(np.abs(x), ord > 0, axes)
    flat = (x == 0) | (y == 0)
    r = np.abs(np.where(flat, 1.0, x)) / np.where(y == 0, 1.0, y)
    return np.where(flat, 0.0, dy * phase(x) * r ** (ord - 1))


def matrix_norm_cotangent(dy: Any, y: Any, x: Any, ord: Any) -> Any:
    """The cotangent of ``x`` (..., m, n) from that of its matrix norm, ``dy`` and ``y`` of shape (..., 1, 1)."""
    if ord in (None, "f", "fro"):
        return x * (dy * safe_reciprocal(y))
    if ord in (1, -1):
        return dy * phase(x) * extremes(np.sum(np.abs(x), axis=-2, keepdims=True), ord > 0, -1)
    if ord in (np.inf, -np.inf):
        return dy * phase(x) * extremes(np.sum(np.abs(x), axis=-1, keepdims=True), ord > 0, -2)
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u * values_norm_cotangent(dy[..., 0], s, ord)[..., None, :]) @ vh


def values_norm_cotangent(dy: Any, s: Any, ord: Any) -> Any:
    """The cotangent of the singular values ``s`` from that of the norm of order 2, -2 or "nuc", ``dy`` of shape (..., 1)."""
    tolerance = resolution(s)
    weight = np.where(s > tolerance, 1.0, 0.0)
    if ord == 2:
        weight = weight * share(s >= np.max(s, axis=-1, keepdims=True) - tolerance, -1)
    if ord == -2:
        weight = weight * share(s <= np.min(s, axis=-1, keepdims=True) + tolerance, -1)
    return weight * dy


def norm_cotangent(dy: Any, y: Any, x: Any, ord: Any, axes: tuple[int, ...], as_vector: bool) -> Any:
    """The cotangent of ``x`` from that of its norm over ``axes``, as one vector or as a matrix."""
    axes = tuple(axis % x.ndim for axis in axes)
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    dy, y = np.reshape(dy, kept), np.reshape(y, kept)
    if as_vector:
        return vector_norm_cotangent(dy, y, x, ord, axes)
    last = (-2, -1)
    dy, y = np.moveaxis(dy, axes, last), np.moveaxis(y, axes, last)
    return np.moveaxis(matrix_norm_cotangent(dy, y, np.moveaxis(x, axes, last), ord), last, axes)


def norm_pullback(dy: Any, y: Any, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = np.asarray(x)
    axes = tuple(range(x.ndim)) if axis is None else (tuple(axis) if isinstance(axis, (tuple, list)) else (axis,))
    return norm_cotangent(dy, y, x, ord, axes, len(axes) == 1 or (axis is None and ord is None))


def order_pullback(dy: Any, y: Any, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The slope of (sum |x|^p)^(1/p) in p: y (sum w log|x| - log y) / p with the weights w = |x|^p / sum |x|^p.

    An integer ``ord`` selects a norm and has no derivative; matrix norms exist for a few orders only.
    """
    x = np.abs(np.asarray(x))
    of_vectors = x.ndim == 1 if axis is None else np.size(axis) == 1
    if not (isinstance(ord, float) and np.isfinite(ord) and ord != 0 and of_vectors):
        return None
    nonzero = np.where(x == 0, 1.0, x)
    y, dy = (restore(v, x.shape, axis, keepdims) for v in (y, dy))
    size = np.where(y == 0, 1.0, y)
    relative = nonzero / size
    return np.sum(dy * y * np.where(x == 0, 0.0, relative**ord * np.log(relative))) / ord


def vector_norm_pullback(dy: Any, y: Any, x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = np.asarray(x)
    axes = tuple(range(x.ndim)) if axis is None else (tuple(axis) if isinstance(axis, (tuple, list)) else (axis,))
    return norm_cotangent(dy, y, x, ord, axes, True)


def matrix_norm_pullback(dy: Any, y: Any, x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm_cotangent(dy, y, np.asarray(x), ord, (-2, -1), False)


vjp(np.linalg.norm, norm_pullback, order_pullback)
vjp(np.linalg.vector_norm, vector_norm_pullback)
reduces(np.linalg.norm, np.linalg.vector_norm)
vjp(np.linalg.matrix_norm, matrix_norm_pullback)


def cond_pullback(dy: Any, y: Any, x: Any, p: Any = None) -> Any:
    x = np.asarray(x)
    dy = np.asanyarray(dy)
    if p is None or p in (2, -2):
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        first = np.arange(s.shape[-1]) == 0
        last = np.arange(s.shape[-1]) == s.shape[-1] - 1
        s_1, s_n = s[..., :1], s[..., -1:]
        ds_1, ds_n = (1 / s_n, -s_1 / s_n**2) if p != -2 else (-s_n / s_1**2, 1 / s_1)
        ds = np.where(first, ds_1, 0.0) + np.where(last, ds_n, 0.0)
        return (u * (ds * dy[..., None])[..., None, :]) @ vh
    inverse = np.linalg.inv(x)
    size = np.linalg.norm(x, p, axis=(-2, -1), keepdims=True)
    size_of_inverse = np.linalg.norm(inverse, p, axis=(-2, -1), keepdims=True)
    dy = dy[..., None, None]
    g = matrix_norm_cotangent(dy * size_of_inverse, size, x, p)
    g_of_inverse = matrix_norm_cotangent(dy * size, size_of_inverse, inverse, p)
    return g - dagger(inverse) @ g_of_inverse @ dagger(inverse)


vjp(np.linalg.cond, cond_pullback)
