"""Arithmetic on cotangents: zero, sum, and conversion to the shape and dtype of the primal value.

A cotangent of ``None`` stands for zero, so that values which no cotangent reaches cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def scale(dy: Any, partial: Any) -> Any:
    """Return ``dy`` times the conjugate of ``partial``: an element-wise pullback."""
    if isinstance(partial, (complex, np.complexfloating)) or (
        type(partial) is np.ndarray and partial.dtype.kind == "c"
    ):
        return dy * partial.conjugate()
    return dy * partial


def scale_masked(dy: Any, partial: Any) -> Any:
    """Return ``scale(dy, partial)``; for NumPy values zero where ``dy`` is zero and ``partial`` is not finite.

    >>> scale_masked(np.array([0.0, 1.0]), np.array([np.inf, 2.0])).tolist()
    [0.0, 2.0]
    """
    g = scale(dy, partial)
    if isinstance(g, (np.ndarray, np.generic)) and not np.isfinite(g).all():
        # The result depends on dy also where dy is zero: 0 * dy keeps it for a second derivative.
        g = np.where((dy == 0) & np.isnan(g), 0 * dy, g)
    return g


def fit(t: Any, y: Any) -> Any:
    """Convert a tangent to the form of its value ``y``: shape by broadcasting, real for a real ``y``, the dtype of ``y``.

    >>> fit(1 + 2j, np.zeros(2)).tolist()
    [1.0, 1.0]
    """
    if isinstance(y, np.ndarray):
        t = np.asarray(t)
        if t.dtype.kind == "c" and y.dtype.kind != "c":
            t = t.real
        t = t if t.shape == y.shape else np.broadcast_to(t, y.shape)
        return t if t.dtype == y.dtype else t.astype(y.dtype)
    if isinstance(y, (tuple, list)):
        return [None if ti is None else fit(ti, yi) for ti, yi in zip(t, y)]
    if isinstance(t, np.ndarray):
        t = t[()]
    if isinstance(t, (complex, np.complexfloating)) and not isinstance(y, (complex, np.complexfloating)):
        t = t.real
    if isinstance(y, np.inexact) and not isinstance(y, (float, complex)):
        return y.dtype.type(t)
    return t


def conform(g: Any, x: Any) -> Any:
    """Convert a cotangent ``g`` to the form of ``x``: sum over broadcast axes, real for a real ``x``, x's dtype.

    >>> conform(np.ones((2, 3)), np.zeros((3,))).tolist()
    [2.0, 2.0, 2.0]
    >>> conform(1 + 2j, 3.0)
    1.0
    """
    if type(x) is np.ndarray:
        if type(g) is np.ndarray and g.shape == x.shape and g.dtype == x.dtype:
            return g
        return None if g is None else _conform_array(g, x.shape, x.dtype)
    if g is None:
        return None
    if isinstance(x, np.ndarray):  # of a subclass
        return _conform_array(g, x.shape, x.dtype)
    if isinstance(x, (tuple, list)):
        return [conform(gi, xi) for gi, xi in zip(g, x)]
    if isinstance(x, np.generic) and not isinstance(x, (float, complex)):
        return _conform_array(g, (), x.dtype)[()]
    if isinstance(g, np.ndarray):
        g = g.sum() if g.ndim else g[()]
    if isinstance(g, (complex, np.complexfloating)) and not isinstance(x, (complex, np.complexfloating)):
        g = g.real
    return g


def _conform_array(g: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    g = np.asarray(g)
    if g.dtype.kind == "c" and dtype.kind not in "cO":
        g = g.real
    extra = g.ndim - len(shape)
    if extra > 0:
        g = g.sum(axis=tuple(range(extra)))
    axes = tuple(i for i, (n, m) in enumerate(zip(g.shape, shape[len(shape) - g.ndim :])) if m == 1 and n != 1)
    if axes:
        g = g.sum(axis=axes, keepdims=True)
    if g.shape != shape:
        g = np.broadcast_to(g, shape)
    if dtype.kind in "fc" and g.dtype != dtype:
        g = g.astype(dtype)
    return g


_ONCE = (int, slice, type(None), type(...), np.integer, np.bool_)
"""Kinds of index that select each entry at most once."""


def is_fancy(index: Any) -> bool:
    """Return whether an index may select an entry twice; NumPy reads any sequence, also a nested tuple, as an array."""
    if isinstance(index, _ONCE):
        return False
    if isinstance(index, tuple):
        return any(not isinstance(i, _ONCE) and (isinstance(i, tuple) or is_fancy(i)) for i in index)
    if isinstance(index, np.ndarray):
        return index.dtype.kind != "b" and index.ndim > 0
    return not hasattr(type(index), "__index__")


def add_at(buffer: Any, index: Any, g: Any) -> None:
    """Add to entries of a cotangent in place; repeated indices accumulate."""
    if is_fancy(index):
        np.add.at(buffer, index, g)
    else:
        buffer[index] += g


def accumulate(total: Any, g: Any) -> Any:
    """Return ``total + g``, computed in place; nothing else may refer to ``total``."""
    total += g
    return total


def buffer_like(x: Any, g: Any = 0) -> Any:
    """Return a new cotangent of ``x``, equal to ``g``, that may be added to in place."""
    total = np.zeros_like(x, dtype=None if np.asarray(x).dtype.kind in "fc" else float)
    total += g
    return total


def as_array(g: Any, shape: tuple[int, ...]) -> Any:
    """Return ``g`` as an array of ``shape``; it may be one number that stands for all entries."""
    return g if isinstance(g, np.ndarray) and g.shape == shape else np.full(shape, g, dtype=float)


def filled(g: Any, x: Any) -> Any:
    """Return ``g`` in the shape of the array ``x``; an empty sum is still the number zero."""
    return g if isinstance(g, np.ndarray) and g.shape == np.shape(x) else buffer_like(x, g)


def zeros_for_none(dy: Any, y: tuple[Any, ...]) -> Any:
    """Return the cotangent of a tuple with ``None`` replaced by zeros."""
    return [(np.zeros_like(e) if isinstance(e, np.ndarray) else 0) if d is None else d for d, e in zip(dy, y)]
