"""The transposes of the linear maps that NumPy has no name for: of reading, of broadcasting, of joining.

A pullback is the transpose of a linear map.  NumPy has most transposes (that of ``reshape`` is ``reshape``, that of
``matmul`` is ``matmul``); the four below are missing from it.  Each is linear, and its rule is the map that it
transposes, so adjoints that use them can be differentiated to any order.

    reading  ``x[index]``        <->  ``scatter``
    broadcasting                 <->  ``unbroadcast``
    summing over axes            <->  ``spread``
    joining nested lists         <->  ``unstack``
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..values.strong_zero import like
from .table import linear, vjp


def scatter(dy: Any, index: Any, shape: tuple[int, ...], unique: bool = False) -> Any:
    """Zeros of ``shape`` with ``dy`` added at ``index``, the transpose of ``x[index]``.

    ``unique`` asserts that no element occurs twice in ``index``; for slices, integers and masks this is detected here.

    >>> scatter(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0]), (3,)).tolist()
    [4.0, 0.0, 2.0]
    """
    x = np.zeros(shape, np.result_type(dy))
    if unique or _names_each_once(index):
        x[index] = dy
    elif isinstance(index, np.ndarray) and x.ndim > 1 and index.dtype.kind in "iu":
        # Rows that may repeat: NumPy adds single elements much faster than slices.
        width = x.size // shape[0]
        places = (index % shape[0])[..., None] * width + np.arange(width)
        np.add.at(x.reshape(-1), places.reshape(-1), np.broadcast_to(dy, (*index.shape, *shape[1:])).reshape(-1))
    else:
        np.add.at(x, index, dy)
    return like(x, dy)


def _names_each_once(index: Any) -> bool:
    """Whether ``index`` cannot name an element twice: slices, single integers and masks cannot."""
    for i in index if isinstance(index, tuple) else (index,):
        if isinstance(i, (np.ndarray, Sequence)):
            i = np.asarray(i)
            if i.dtype.kind != "b" and i.size > 1:
                return False
    return True


vjp(scatter, lambda dx, x, dy, index, shape, unique=False: widen(dx[index], np.shape(dy)))


def along(indices: Any, shape: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    """The index tuple that ``take_along_axis`` reads an array of ``shape`` with."""
    axis = axis % len(shape)
    positions = [
        np.arange(n).reshape((n,) + (1,) * (len(shape) - 1 - i)) if i != axis else np.asarray(indices)
        for i, n in enumerate(shape)
    ]
    return tuple(positions)


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """``g`` summed over the axes along which ``shape`` was broadcast to its shape, the transpose of ``broadcast_to``.

    >>> unbroadcast(np.ones((2, 3)), (3,)).tolist()
    [2.0, 2.0, 2.0]
    """
    given = np.shape(g)
    if given == shape:
        return g
    extra = len(given) - len(shape)
    if extra > 0:
        g = np.sum(g, axis=tuple(range(extra)))
        given = given[extra:]
    axes = tuple(i for i, (n, m) in enumerate(zip(given, shape)) if m == 1 and n != 1)
    return np.sum(g, axis=axes, keepdims=True) if axes else g


def widen(x: Any, shape: tuple[int, ...]) -> Any:
    """A new array of ``shape`` with ``x`` broadcast to it; for small arrays faster than the view ``np.broadcast_to``.

    >>> widen(2.0, (3,)).tolist()
    [2.0, 2.0, 2.0]
    """
    wide = np.empty(shape, x.dtype if isinstance(x, (np.ndarray, np.generic)) else np.result_type(x))
    wide[...] = x
    return like(wide, x)


vjp(unbroadcast, lambda dx, x, g, shape: widen(dx, np.shape(g)))
vjp(widen, lambda dx, wide, x, shape: unbroadcast(dx, np.shape(x)))


def spread(dy: Any, shape: tuple[int, ...], axis: Any = None, keepdims: Any = False) -> Any:
    """``dy``, of a reduction over ``axis``, repeated along the axes that were reduced: the transpose of ``sum``.

    >>> spread(np.array([1.0, 2.0]), (2, 3), axis=1).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    return widen(dy if axis is None and not keepdims else restore(dy, shape, axis, keepdims), shape)


def restore(dy: Any, shape: tuple[int, ...], axis: Any, keepdims: Any) -> Any:
    """``dy``, of a reduction of an array of ``shape`` over ``axis``, with the reduced axes back, of length one."""
    if axis is None or not shape:
        return np.reshape(dy, (1,) * len(shape))
    return dy if keepdims is True or keepdims == 1 else np.expand_dims(dy, axis)


vjp(spread, lambda dx, x, dy, shape, axis=None, keepdims=False: np.reshape(np.sum(dx, axis=axis), np.shape(dy)))


def unstack(dy: Any, x: Any) -> Any:
    """``dy`` taken apart in the structure of the nested lists ``x``, the transpose of ``np.array``.

    >>> unstack(np.array([[1.0, 2.0], [3.0, 4.0]]), [[0.0, 0.0], np.zeros(2)])
    [[1.0, 2.0], array([3., 4.])]
    """
    if not isinstance(x, (list, tuple)):
        return dy
    if np.ndim(dy) == 1:
        plain = all(type(entry) in (float, complex, int) for entry in x)
        return np.asarray(dy).tolist() if plain else list(dy)
    return [unstack(dy_i, x_i) for dy_i, x_i in zip(dy, x)]


def assemble(parts: Any, shape: tuple[int, ...]) -> Any:
    """The array of ``shape`` whose nested parts are given, those that are None being zero.

    >>> assemble([1.0, None], (2,)).tolist()
    [1.0, 0.0]
    """
    if parts is None:
        return np.zeros(shape)
    if isinstance(parts, (list, tuple)):
        if len(shape) == 1:
            return np.array([0.0 if part is None else part for part in parts])
        return np.reshape(np.array([assemble(part, shape[1:]) for part in parts]), shape)
    return widen(parts, shape)


vjp(unstack, lambda dx, x, dy, like: assemble(dx, np.shape(dy)))


linear((scatter, unbroadcast, widen, spread))
