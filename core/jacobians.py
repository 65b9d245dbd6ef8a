"""Jacobians from ``pullback``, eager and compiled: by rows, or by columns if the argument is much smaller.

A pullback maps a cotangent dy to J' dy, which is one row of J for a unit vector.  It is linear, so its own pullback
maps dx to J dx, one column of J: one sweep is differentiated, and each column costs one more (Baydin et al. 2018,
section 3.1; the trick is that of Townsend 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import BadInput, MorulaError
from .rules.connected import connected
from .source.requirements import kind_of
from .values import tree

Back = Callable[[Any], Any]

FEWER = 4
"""A column costs about as much as this many rows."""

CLOSE = {"d": 1e-9, "f": 1e-3, "e": 1e-1, "g": 1e-9}
"""The allowed relative difference between J' dy computed from the columns and by the pullback, by dtype."""


def of_run(back: Back, y: Any, x: Any, position: int, is_linear: bool | None = None) -> Any:
    """Return the Jacobian of a run with result ``y`` and argument ``x``.

    Args:
        back: maps a cotangent of y to that of x.
        y: real numbers and arrays in lists, tuples and dicts.
        x: a structure of real numbers and arrays.
        position: of x among the arguments, for messages.
        is_linear: whether ``back`` is known to be linear; None compares columns with the pullback itself, since a hook
            may change cotangents in any way.

    Returns:
        The structure of y with the structure of x in place of each leaf; its leaves have the shape of y's leaf
        followed by that of x's.
    """
    if any([np.iscomplexobj(leaf) for leaf in tree.leaves(x)]):
        raise BadInput(
            f"jacobian needs real numbers and arrays in argument {position}, not {kind_of(x)}; use morula.pullback, or split "
            "complex numbers into .real and .imag"
        )
    results: list[Any] = []
    _check(y, results)
    n = sum([np.size(leaf) for leaf in tree.leaves(x)])
    m = sum([np.size(leaf) for leaf in results])
    if is_linear is not False and 0 < FEWER * n < m and _holds_reals(x) and _are_floats(results):
        found = _columns(back, y, results, x, is_linear is None)
        if found is not None:
            return found
    return _rows(back, y, x)


def _holds_reals(x: Any) -> bool:
    """Whether x is a real number or array, or built-in containers of nothing else."""
    if isinstance(x, (list, tuple)):
        return all([_holds_reals(e) for e in x])
    if isinstance(x, dict):
        return all([_holds_reals(e) for e in x.values()])
    return isinstance(x, (float, np.floating)) or isinstance(x, np.ndarray) and x.dtype.kind == "f"


def _are_floats(leaves: list[Any]) -> bool:
    return all([np.asarray(leaf).dtype.kind == "f" for leaf in leaves])


def _check(y: Any, found: list[Any]) -> None:
    """Append the leaves of a result to ``found``; they must be real."""
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


def _rows(back: Back, y: Any, x: Any) -> Any:
    """Return the Jacobian of one leaf of the result, or of each leaf of a structure."""
    if isinstance(y, (list, tuple)):
        rows = [_rows(_inside_sequence(back, i, len(y)), e, x) for i, e in enumerate(y)]
        return rows if isinstance(y, list) else tuple(rows)
    if isinstance(y, dict):
        return {k: _rows(_inside_dict(back, k), e, x) for k, e in y.items()}
    if np.ndim(y) == 0:
        return back(1.0)
    shape, size, dtype = np.shape(y), np.size(y), np.asarray(y).dtype
    found = [np.zeros((size, *np.shape(leaf)), np.asarray(leaf).dtype) for leaf in tree.leaves(x)]
    for i in range(size):
        dy = np.zeros(size, dtype)
        dy[i] = 1
        for whole, row in zip(found, tree.leaves(back(np.reshape(dy, shape)))):
            whole[i] = row
    return tree.with_leaves(x, [np.reshape(whole, (*shape, *np.shape(whole)[1:])) for whole in found])


def _inside_sequence(back: Back, i: int, n: int) -> Back:
    """Return the pullback from entry ``i`` of a result that is a list or tuple of ``n``."""
    return lambda dy: back([dy if k == i else None for k in range(n)])


def _inside_dict(back: Back, key: Any) -> Back:
    return lambda dy: back({key: dy})


def _columns(back: Back, y: Any, results: list[Any], x: Any, is_checked: bool) -> Any:
    """Return the Jacobian computed by columns; None if ``back`` is not linear or has no derivative."""
    # A zero cotangent suppresses an infinite slope, so none of the weights is zero.
    weights = [_generic(leaf) for leaf in results]
    dy = _with_structure(y, list(weights))
    if is_checked:
        try:
            dx, forward = connected.pullback(back, dy)
            blocks = _blocks(forward, results, x)
        except MorulaError:
            return None
        if not _agree(tree.leaves(dx), weights, blocks):
            return None
    else:
        blocks = _blocks(connected.pullback(back, dy)[1], results, x)
    return _with_structure(y, [tree.with_leaves(x, [of[k] for of in blocks]) for k in range(len(results))])


def _with_structure(y: Any, found: list[Any]) -> Any:
    """Return ``y`` with its leaves, in order, replaced by ``found``."""
    if isinstance(y, (list, tuple)):
        entries = [_with_structure(e, found) for e in y]
        return entries if isinstance(y, list) else tuple(entries)
    if isinstance(y, dict):
        return {k: _with_structure(e, found) for k, e in y.items()}
    return found.pop(0)


def _blocks(forward: Callable[[Any], Any], results: list[Any], x: Any) -> list[list[Any]]:
    """Return, for each leaf of x, the Jacobians of the result's leaves with respect to it."""
    return [_of_leaf(forward, results, x, k) for k in range(len(tree.leaves(x)))]


def _of_leaf(forward: Callable[[Any], Any], results: list[Any], x: Any, k: int) -> list[Any]:
    leaves = tree.leaves(x)
    shape, size, dtype = np.shape(leaves[k]), np.size(leaves[k]), np.asarray(leaves[k]).dtype
    blocks = [np.zeros((*np.shape(r), size), np.asarray(r).dtype) for r in results]
    for i in range(size):
        unit = np.zeros(size, dtype)
        unit[i] = 1
        direction = [np.reshape(unit, shape)[()] if j == k else np.zeros_like(v)[()] for j, v in enumerate(leaves)]
        for block, column in zip(blocks, tree.leaves(forward(tree.with_leaves(x, direction))[0])):
            block[..., i] = column
    return [np.reshape(block, (*np.shape(r), *shape)) for block, r in zip(blocks, results)]


def _agree(dx: list[Any], dy: list[Any], blocks: list[list[Any]]) -> bool:
    """Whether J' dy computed from the blocks of J is the dx that the pullback gave."""
    for g, of in zip(dx, blocks):
        total, size = 0.0, 0.0
        for weight, block in zip(dy, of):
            axes = np.ndim(weight)
            total = total + np.tensordot(weight, block, axes)
            size = size + np.tensordot(np.abs(weight), np.abs(block), axes)
        # NaN, as from an infinite slope beside a zero, does not agree either: rows handle it.
        with np.errstate(invalid="ignore"):
            if not np.all(np.abs(total - g) <= CLOSE[np.asarray(g).dtype.char] * size):
                return False
    return True


def _generic(y: Any) -> Any:
    """Return different weights near one, in the shape and dtype of ``y``."""
    weights = np.reshape(1 + 0.25 * np.cos(np.arange(np.size(y))), np.shape(y))
    return weights.astype(y.dtype) if isinstance(y, (np.ndarray, np.generic)) else float(weights)
