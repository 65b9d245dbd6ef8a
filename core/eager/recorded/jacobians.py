"""Jacobians by pullbacks: row by row, or column by column where the argument has far fewer numbers than the result.

The pullback of a run is linear in its cotangent, dx = J' dy.  Its own pullback takes a dx to J dx, so the sweep that is recorded
once gives the columns of J, one more sweep each (Baydin et al. 2018, section 3.1; the trick is that of Townsend 2017).
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
"""A column costs about as much as so many rows."""

CLOSE = {"d": 1e-9, "f": 1e-3, "e": 1e-1, "g": 1e-9}
"""How far the columns, weighed, may be from the sweep that they were made of, as a part of the sum of sizes: by dtype."""


def of_run(back: Callable[[Any], Any], y: Any, x: Any) -> Any:
    """The Jacobian of a run with the pullback ``back``, the result ``y`` and the argument ``x``.

    Each leaf of y becomes the structure of x, whose leaves are arrays of the shape of the one, then that of the other.
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
    """Whether x is a real number or array, or built-in containers of nothing else."""
    if isinstance(x, (list, tuple)):
        return all(map(_holds_reals, x))
    if isinstance(x, dict):
        return all(map(_holds_reals, x.values()))
    return isinstance(x, (float, np.floating)) or isinstance(x, np.ndarray) and x.dtype.kind == "f"


def _check(y: Any, found: list[Any]) -> None:
    """Gather the leaves of a result, which must be real."""
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
    """The Jacobian of one leaf of the result, or of each in a structure."""
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
    """The same by columns; None where the pullback is not linear (a hook may change what passes) or has no derivative."""
    # No cotangent is zero: beside an infinite slope a zero says that the slope does not count.
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
        # Not a number fails too, as where an infinite slope meets a zero: the rows know what to do.
        with np.errstate(invalid="ignore"):
            is_close = np.all(np.abs(total - g) <= CLOSE[np.asarray(g).dtype.char] * size)
        if not is_close:
            return None
    found = [tree.with_leaves(x, [part[k] for part in parts]) for k in range(len(weights))]
    remaining = iter(found)
    return tree.map_leaves(lambda _: next(remaining), y)


def _of_leaf(forward: Callable[[Any], Any], x: Any, i: int) -> list[Any]:
    """For each leaf of the result its Jacobian with respect to the leaf ``i`` of x."""
    leaves = tree.leaves(x)
    shape = np.shape(leaves[i])
    columns = []
    for e in np.eye(int(np.prod(shape)), dtype=np.asarray(leaves[i]).dtype):
        unit = [np.reshape(e, shape)[()] if k == i else np.zeros_like(v)[()] for k, v in enumerate(leaves)]
        (column,) = forward(tree.with_leaves(x, unit))
        columns.append(tree.leaves(column))
    return [np.reshape(np.stack(parts, -1), (*np.shape(parts[0]), *shape)) for parts in zip(*columns)]


def _generic(y: Any) -> Any:
    """Weights of about one, none of them the same."""
    weights = np.reshape(1 + 0.25 * np.cos(np.arange(np.size(y))), np.shape(y))
    return weights.astype(y.dtype) if isinstance(y, (np.ndarray, np.generic)) else float(weights)
