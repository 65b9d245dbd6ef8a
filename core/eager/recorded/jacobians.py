"""Jacobians by pullbacks: row by row, or column by column where the argument has far fewer numbers than the result.

The pullback of a run is linear in its cotangent: dx = J' dy.  The pullback of this pullback maps dx to J dx.  So one
recorded backward sweep gives each column of J by one more sweep (Baydin et al. 2018, section 3.1; the trick is due to
Townsend 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import BadInput, MorulaError
from ...rules.connected import connected
from ...source.requirements import kind_of
from ...values import tree

FEWER = 4
"""The cost of a column relative to that of a row."""

CLOSE = {"d": 1e-9, "f": 1e-3, "e": 1e-1, "g": 1e-9}
"""By dtype: the tolerance between the weighted columns and the backward sweep, relative to the sum of magnitudes."""


def of_run(back: Callable[[Any], Any], y: Any, x: Any) -> Any:
    """Return the Jacobian of a run with the pullback ``back``, the result ``y`` and the argument ``x``.

    It has the structure of y, with the structure of x in place of each leaf.  Each array in it has the shape of the
    leaf of y followed by that of the leaf of x.
    """
    results: list[Any] = []
    _check(y, results)
    n = sum(np.size(leaf) for leaf in tree.leaves(x))
    m = sum(np.size(leaf) for leaf in results)
    if 0 < FEWER * n < m and _holds_reals(x) and all(np.asarray(leaf).dtype.kind == "f" for leaf in results):
        found = _columns(back, y, x)
        if found is not None:
            return found
    return _rows(back, y, y, x)


def _holds_reals(x: Any) -> bool:
    """Whether x is a real number or array, or a built-in container of only these."""
    if isinstance(x, (list, tuple)):
        return all(map(_holds_reals, x))
    if isinstance(x, dict):
        return all(map(_holds_reals, x.values()))
    return isinstance(x, (float, np.floating)) or isinstance(x, np.ndarray) and x.dtype.kind == "f"


def _check(y: Any, found: list[Any]) -> None:
    """Append the leaves of a result to ``found``; refuse leaves that are not real."""
    if isinstance(y, (list, tuple)):
        for e in y:
            _check(e, found)
    elif isinstance(y, dict):
        for e in y.values():
            _check(e, found)
    elif not isinstance(y, (int, float, complex, np.number, np.ndarray)) or np.asarray(y).dtype.kind not in "iufc":
        raise BadInput(f"jacobian needs a result of numbers or arrays, not {kind_of(y)}")
    elif np.iscomplexobj(y):
        raise BadInput("jacobian needs a real output; split it into .real and .imag, or use morula.pullback")
    else:
        found.append(y)


def _rows(back: Callable[[Any], Any], part: Any, whole: Any, x: Any) -> Any:
    """Return the Jacobian of a part of the result, one row at a time."""
    if isinstance(part, (list, tuple)):
        rows = [_rows(_Inside(back, i, part), e, e, x) for i, e in enumerate(part)]
        return rows if isinstance(part, list) else tuple(rows)
    if isinstance(part, dict):
        return {k: _rows(_Inside(back, k, part), e, e, x) for k, e in part.items()}
    if np.ndim(part) == 0:
        return back(1.0)
    part = np.asarray(part)
    basis = np.eye(part.size, dtype=part.dtype).reshape((part.size, *part.shape))
    rows = [back(e) for e in basis]
    if not rows:
        return tree.map_leaves(lambda e: np.zeros((*part.shape, *np.shape(e))), x)
    return tree.map_leaves(lambda *es: np.reshape(np.stack(es), (*part.shape, *np.shape(es[0]))), *rows)


class _Inside:
    """A pullback from one entry of a structured result."""

    def __init__(self, back: Callable[[Any], Any], key: Any, whole: Any) -> None:
        self.back, self.key, self.whole = back, key, whole

    def __call__(self, dy: Any) -> Any:
        if isinstance(self.whole, dict):
            return self.back({self.key: dy})
        return self.back([dy if i == self.key else None for i in range(len(self.whole))])


def _columns(back: Callable[[Any], Any], y: Any, x: Any) -> Any:
    """Return the Jacobian by columns; None if the pullback is not linear (because of a hook) or has no derivative."""
    # The cotangents must not be zero: a zero cotangent cancels an infinite slope.
    dy = tree.map_leaves(_generic, y)
    try:
        dx, forward = connected.pullback(back, dy)
        parts = [_of_leaf(forward, x, i) for i in range(len(tree.leaves(x)))]
    except MorulaError:
        return None
    weights = tree.leaves(dy)
    for g, part in zip(tree.leaves(dx), parts):
        total, size = 0.0, 0.0
        for weight, block in zip(weights, part):
            axes = np.ndim(weight)
            total = total + np.tensordot(weight, block, axes)
            size = size + np.tensordot(np.abs(weight), np.abs(block), axes)
        # NaN fails this test too, as where an infinite slope meets a zero: rows treat that case.
        with np.errstate(invalid="ignore"):
            is_close = np.all(np.abs(total - g) <= CLOSE[np.asarray(g).dtype.char] * size)
        if not is_close:
            return None
    found = [tree.with_leaves(x, [part[k] for part in parts]) for k in range(len(weights))]
    remaining = iter(found)
    return tree.map_leaves(lambda _: next(remaining), y)


def _of_leaf(forward: Callable[[Any], Any], x: Any, i: int) -> list[Any]:
    """Return, for each leaf of the result, its Jacobian with respect to leaf ``i`` of x."""
    leaves = tree.leaves(x)
    shape = np.shape(leaves[i])
    columns = []
    for e in np.eye(int(np.prod(shape)), dtype=np.asarray(leaves[i]).dtype):
        unit = [np.reshape(e, shape)[()] if k == i else np.zeros_like(v)[()] for k, v in enumerate(leaves)]
        (column,) = forward(tree.with_leaves(x, unit))
        columns.append(tree.leaves(column))
    return [np.reshape(np.stack(parts, -1), (*np.shape(parts[0]), *shape)) for parts in zip(*columns)]


def _generic(y: Any) -> Any:
    """Return distinct weights near 1 in the shape of ``y``."""
    weights = np.reshape(1 + 0.25 * np.cos(np.arange(np.size(y))), np.shape(y))
    return weights.astype(y.dtype) if isinstance(y, (np.ndarray, np.generic)) else float(weights)
