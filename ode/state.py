"""The state of a differential equation as one vector, whatever form the user gave it.

The integrators work on a vector.  A number, an array of any shape, or a dict, list or tuple of such (nested freely) is
laid out in it leaf after leaf.  A `Leaf` stands for one of them; a layout is the user's structure with leaves for values.
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
    if isinstance(leaves, Leaf):
        vector = np.asarray(tree)
        if vector.shape != leaves.shape or vector.dtype.kind not in "iufc":
            raise BadInput(
                f"{source} has shape {vector.shape} and dtype {vector.dtype}; "
                f"the state there has shape {leaves.shape}, and the two must agree"
            )
        return vector.reshape(-1)
    if isinstance(leaves, dict):
        if not isinstance(tree, dict) or tree.keys() != leaves.keys():
            raise BadInput(f"{source} is {_describe(tree)}; the state there is {_describe(leaves)}")
        parts = [pack(tree[key], leaf, f"{source}[{key!r}]") for key, leaf in leaves.items()]
    else:
        if not isinstance(tree, (list, tuple)) or len(tree) != len(leaves):
            raise BadInput(f"{source} is {_describe(tree)}; the state there is {_describe(leaves)}")
        parts = [pack(tree[i], leaf, f"{source}[{i}]") for i, leaf in enumerate(leaves)]
    return np.concatenate(parts) if parts else np.zeros(0)


def unpack(vector: NDArray[Any], leaves: Any) -> Any:
    """The structure `leaves` filled from the last axis of `vector`; earlier axes (time) are kept in front."""
    if isinstance(leaves, Leaf):
        if not leaves.shape:
            return vector[leaves.start] if vector.ndim == 1 else vector[:, leaves.start]
        return vector[..., leaves.start : leaves.stop].reshape(vector.shape[:-1] + leaves.shape)
    if isinstance(leaves, dict):
        return {key: unpack(vector, leaf) for key, leaf in leaves.items()}
    return type(leaves)([unpack(vector, leaf) for leaf in leaves])


def _describe(tree: Any) -> str:
    if isinstance(tree, dict):
        return f"a dict with the keys {list(tree)}"
    if isinstance(tree, (list, tuple)):
        return f"a {type(tree).__name__} of {len(tree)}"
    return f"{type(tree).__name__}"
