"""The state of a differential equation as one vector, whatever form the user gave it.

The integrators work on a vector.  A number, an array of any shape, or a dict, list or tuple of such (nested freely) is
laid out in it leaf after leaf.  A `Leaf` stands for one of them; a layout is the user's structure with such
leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput


@dataclass(frozen=True)
class Leaf:
    """Elements start to stop of the vector, as an array of `shape`; `shape` () is a number."""

    start: int
    stop: int
    shape: tuple[int, ...]


def layout(tree: Any, start: int = 0, path: str = "y0") -> tuple[Any, int]:
    """The layout of `tree` in a vector from `start` on, and where it ends.

    >>> layout({"prey": 1.0, "predator": 2.0})[1]
    2
    """
    if isinstance(tree, dict):
        leaves = {}
        for key, value in tree.items():
            leaves[key], start = layout(value, start, f"{path}[{key!r}]")
        return leaves, start
    if type(tree) in (list, tuple):
        parts = []
        for i, value in enumerate(tree):
            part, start = layout(value, start, f"{path}[{i}]")
            parts.append(part)
        return type(tree)(parts), start
    if isinstance(tree, bool) or not isinstance(tree, (int, float, complex, np.number, np.ndarray)):
        raise BadInput(
            f"{path} is {type(tree).__name__}; a state is a number, an array, or a dict, list or tuple of them"
        )
    if np.asarray(tree).dtype.kind not in "iufc":
        raise BadInput(f"{path} has dtype {np.asarray(tree).dtype}; a state is made of numbers")
    shape = np.shape(tree)
    return Leaf(start, start + prod(shape), shape), start + prod(shape)


def pack(tree: Any, leaves: Any, source: str) -> NDArray[Any]:
    """The vector of `tree`, whose structure and shapes must be those of `leaves`; `source` names it in errors."""
    values: list[Any] = []
    collect(tree, leaves, values, (source,))
    if not values:
        return np.zeros(0)
    return np.concatenate(values, axis=None) if len(values) > 1 else values[0].reshape(-1)


def collect(tree: Any, leaves: Any, values: list[Any], path: tuple[Any, ...]) -> None:
    """Append the numbers and arrays of `tree` to `values`, in the order of `leaves`; `path` leads to `tree`."""
    if isinstance(leaves, Leaf):
        if type(tree) is not np.ndarray:
            tree = np.array(tree)
        if tree.shape != leaves.shape or tree.dtype.kind not in "iufc":
            raise BadInput(
                f"{_name(path)} has shape {tree.shape} and dtype {tree.dtype}; "
                f"the state there has shape {leaves.shape}, and the two must agree"
            )
        values.append(tree)
    elif isinstance(leaves, dict):
        if not isinstance(tree, dict) or tree.keys() != leaves.keys():
            raise BadInput(f"{_name(path)} is {_describe(tree)}; the state there is {_describe(leaves)}")
        for key, leaf in leaves.items():
            collect(tree[key], leaf, values, (*path, key))
    else:
        if not isinstance(tree, (list, tuple)) or len(tree) != len(leaves):
            hint = " (for a vector, give y0 as an array)" if isinstance(tree, np.ndarray) else ""
            raise BadInput(f"{_name(path)} is {_describe(tree)}; the state there is {_describe(leaves)}{hint}")
        for i, leaf in enumerate(leaves):
            collect(tree[i], leaf, values, (*path, i))


def unpack(vector: NDArray[Any], leaves: Any) -> Any:
    """The structure `leaves` filled from the last axis of `vector`; earlier axes (time) are kept in front."""
    if isinstance(leaves, Leaf):
        if not leaves.shape:
            return vector[leaves.start] if vector.ndim == 1 else vector[:, leaves.start]
        return vector[..., leaves.start : leaves.stop].reshape(vector.shape[:-1] + leaves.shape)
    if isinstance(leaves, dict):
        return {key: unpack(vector, leaf) for key, leaf in leaves.items()}
    return type(leaves)([unpack(vector, leaf) for leaf in leaves])


def _name(path: tuple[Any, ...]) -> str:
    return path[0] + "".join(f"[{key!r}]" for key in path[1:])


def _describe(tree: Any) -> str:
    if isinstance(tree, dict):
        return f"a dict with the keys {list(tree)}"
    if isinstance(tree, (list, tuple)):
        return f"a {type(tree).__name__} of {len(tree)}"
    return f"an array of shape {tree.shape}" if isinstance(tree, np.ndarray) else type(tree).__name__
