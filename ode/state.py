"""Conversion of a state between the user's structure and a vector.

The integrators work on a vector, which holds the numbers and arrays of a structure (``morula.tree``) leaf after leaf. A
layout is the user's structure with a ``Leaf`` in place of each number and array.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, stop_gradient, tree


@dataclass(frozen=True)
class Leaf:
    """The place of a leaf: elements start to stop of the vector, as an array of ``shape``; () means a number."""

    start: int
    stop: int
    shape: tuple[int, ...]


def layout(y0: Any) -> tuple[Any, int]:
    """Return the layout of ``y0`` and the length of its vector.

    >>> layout({"prey": 1.0, "predator": 2.0})[1]
    2
    """
    size = 0

    def place(path: tree.Path, x: Any) -> Leaf:
        nonlocal size
        if np.asarray(x).dtype.kind not in "iufc":
            raise BadInput(f"{tree.spelled(path, 'y0')} has dtype {np.asarray(x).dtype}; expected numbers")
        start, size = size, size + prod(np.shape(x))
        return Leaf(start, size, np.shape(x))

    def refuse(path: tree.Path, x: Any) -> Any:
        raise BadInput(
            f"{tree.spelled(path, 'y0')} is {type(x).__name__}; expected a number, an array, or a dict, list, tuple or object "
            "of them"
        )

    return tree.rebuild(y0, place, is_leaf=_is_number, constant=refuse, is_shared=False), size


def initial(y0: Any, name: str = "y0") -> tuple[NDArray[Any], Any, int]:
    """Return a state to start from as a vector of finite inexact numbers, its layout, and its length."""
    leaves, size = layout(stop_gradient(y0))
    y = pack(y0, leaves, name)
    if y.dtype.kind in "iu":
        y = y.astype(float)
    if not np.all(np.isfinite(y)):
        raise BadInput(f"{name} holds a value that is not finite: {y0!r}")
    return y, leaves, size


def pack(x: Any, leaves: Any, name: str) -> NDArray[Any]:
    """Return ``x`` as a vector; it must have the structure and shapes of ``leaves``, and errors call it ``name``."""
    values: list[Any] = []

    def take(path: tree.Path, leaf: Leaf, value: Any) -> None:
        if value is None:
            raise BadInput(f"{tree.spelled(path, name)} is missing or None; the state there has shape {leaf.shape}")
        array = value if type(value) is np.ndarray else np.array(value)
        if array.shape != leaf.shape or array.dtype.kind not in "iufc":
            raise BadInput(
                f"{tree.spelled(path, name)} has shape {array.shape} and dtype {array.dtype}; "
                f"the state there has shape {leaf.shape}, and the two must agree"
            )
        values.append(array)

    if isinstance(x, np.ndarray) and type(leaves) in (list, tuple):
        raise BadInput(f"{name} is an array, and y0 is a {type(leaves).__name__}; for a vector, give y0 as an array")
    tree.rebuild(leaves, take, x, is_leaf=_is_leaf, is_lenient=True, names=("y0", name))
    if not values:
        return np.zeros(0)
    return np.concatenate(values, axis=None) if len(values) > 1 else values[0].reshape(-1)


def unpack(vector: NDArray[Any], leaves: Any) -> Any:
    """Return the last axis of ``vector`` in the structure of ``leaves``; every leaf keeps a leading axis (time)."""

    def part(path: tree.Path, leaf: Leaf) -> Any:
        if not leaf.shape:
            return vector[leaf.start] if vector.ndim == 1 else vector[:, leaf.start]
        return vector[..., leaf.start : leaf.stop].reshape(vector.shape[:-1] + leaf.shape)

    return tree.rebuild(leaves, part, is_leaf=_is_leaf)


def _is_leaf(x: Any) -> bool:
    return isinstance(x, Leaf)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number, np.ndarray)) and not isinstance(x, bool)
