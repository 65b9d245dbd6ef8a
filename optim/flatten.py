"""A structure of numbers and arrays as one vector of reals, and back.

The methods of this package work on a vector; their user works on whatever holds his unknowns: a number, an array, or
dicts, lists, tuples and objects of them.  Integers are promoted to floats, a complex number counts as two unknowns, its
real and its imaginary part, and what is no number (strings, bools, None, functions) is carried along unchanged.

>>> layout = Layout({"rate": 2, "state": np.array([1.0, 1j])})
>>> layout.vector(layout.start).tolist()
[2.0, 1.0, 0.0, 0.0, 1.0]
>>> layout.structure(np.arange(5.0))
{'rate': 0.0, 'state': array([1.+2.j, 3.+4.j])}
"""

from __future__ import annotations

from numbers import Number
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput

Vector = NDArray[np.float64]

_CONSTANTS = (str, bytes, bool, np.bool_, type, FunctionType, BuiltinFunctionType, MethodType, ModuleType, np.dtype)


class Layout:
    """Where each number of a structure stands in the vector.

    ``start`` is the structure it was made from with integers promoted, ``size`` the length of the vector, ``eps`` the
    relative rounding error of its least precise number.
    """

    def __init__(self, structure: Any, name: str = "x0") -> None:
        self.name = name
        self.start = _promote(structure, name, {}, ())
        leaves = _leaves(self.start, self.start, name)
        self.size = sum(_reals(leaf) for leaf, _, _ in leaves)
        if self.size == 0:
            raise BadInput(
                f"{name} holds no number to vary: expected a float, an array of floats, or a structure of them"
            )
        self.eps = max(float(np.finfo(np.asarray(leaf).dtype).eps) for leaf, _, _ in leaves)
        if not np.all(np.isfinite(self.vector(self.start))):
            raise BadInput(f"{name} holds NaN or Inf: expected finite numbers to start from")

    def vector(self, structure: Any, name: str | None = None) -> Vector:
        """The numbers of ``structure`` in order; None anywhere in it stands for zeros."""
        if type(self.start) is np.ndarray and type(structure) is np.ndarray:
            return _real_parts(self.start, structure, name or self.name)
        parts = [_real_parts(*leaf) for leaf in _leaves(self.start, structure, name or self.name)]
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    def structure(self, vector: Vector) -> Any:
        """The structure that holds the numbers of ``vector``, in the types of ``start``."""
        return _fill(self.start, vector, 0)[0]


def _is_node(tree: Any) -> bool:
    return isinstance(tree, (dict, list, tuple)) or (
        (hasattr(tree, "__dict__") or hasattr(tree, "__slots__"))
        and not isinstance(tree, (*_CONSTANTS, np.ndarray, np.generic, Number))
    )


def _is_leaf(tree: Any) -> bool:
    if isinstance(tree, (np.ndarray, np.generic)):
        return tree.dtype.kind in "iufc"
    return isinstance(tree, (int, float, complex)) and not isinstance(tree, bool)


def _children(tree: Any) -> list[tuple[Any, str, Any]]:
    """(key, how the key is written, child) for each child of a node."""
    if isinstance(tree, dict):
        return [(k, f"[{k!r}]", v) for k, v in tree.items()]
    if isinstance(tree, (list, tuple)):
        return [(i, f"[{i}]", v) for i, v in enumerate(tree)]
    return [(k, f".{k}", getattr(tree, k)) for k in _attributes(tree)]


def _attributes(tree: Any) -> list[str]:
    """The names of an object's own attributes, from its ``__dict__`` and its slots."""
    names: list[str] = list(getattr(tree, "__dict__", ()))
    for cls in type(tree).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names += [n for n in ((slots,) if isinstance(slots, str) else slots) if n[:2] != "__" and hasattr(tree, n)]
    return names


def _rebuild(tree: Any, children: list[Any]) -> Any:
    if isinstance(tree, dict):
        return dict(zip(tree, children, strict=True))
    if isinstance(tree, list):
        return children
    if isinstance(tree, tuple):
        return type(tree)(*children) if hasattr(tree, "_fields") else tuple(children)
    twin = object.__new__(type(tree))
    for name, child in zip(_attributes(tree), children, strict=True):
        object.__setattr__(twin, name, child)  # past a frozen dataclass's own
    return twin


def _promote(tree: Any, name: str, seen: dict[int, str], above: tuple[int, ...]) -> Any:
    """``tree`` with integers made floats; refuses numbers that are met twice, and a structure that holds itself."""
    if id(tree) in above:
        raise BadInput(f"{name} is {seen[id(tree)]} itself, which holds it: expected a structure without loops")
    if _is_node(tree) or (isinstance(tree, np.ndarray) and _is_leaf(tree)):
        if id(tree) in seen and _leaves(tree, tree, name):
            raise BadInput(
                f"{name} is the same object as {seen[id(tree)]}: two unknowns that are one cannot be laid out;"
                " give it once and refer to it from the function"
            )
        seen[id(tree)] = name
    if _is_node(tree):
        above = (*above, id(tree))
        children = _children(tree)
        promoted = [_promote(child, name + how, seen, above) for _, how, child in children]
        kept = all(new is child for new, (_, _, child) in zip(promoted, children, strict=True))
        return tree if kept else _rebuild(tree, promoted)
    if isinstance(tree, np.ndarray):
        if tree.dtype.kind == "O":
            raise BadInput(f"{name} is an array of Python objects: expected an array of floats")
        return tree.astype(np.float64) if tree.dtype.kind in "iu" else tree
    if isinstance(tree, np.generic):
        return np.float64(tree) if tree.dtype.kind in "iu" else tree  # type: ignore[arg-type]
    if isinstance(tree, Number) and not isinstance(tree, (bool, int, float, complex)):
        raise BadInput(f"{name} is a {type(tree).__name__}: expected a float, int or complex")
    return float(tree) if _is_leaf(tree) and isinstance(tree, int) else tree


def _leaves(like: Any, tree: Any, name: str) -> list[tuple[Any, Any, str]]:
    """(leaf of ``like``, what ``tree`` has there, its name), in order."""
    if _is_leaf(like):
        return [(like, tree, name)]
    if not _is_node(like):
        return []
    if tree is None:
        children: dict[Any, Any] = {}
    elif not _is_node(tree) or isinstance(tree, dict) != isinstance(like, dict):
        raise BadInput(f"{name} is a {type(tree).__name__}: expected the structure of x0, a {type(like).__name__}")
    else:
        children = {key: child for key, _, child in _children(tree)}
        if isinstance(like, (list, tuple)) and len(tree) != len(like):
            raise BadInput(f"{name} has {len(tree)} entries: expected {len(like)}, like x0")
    return [leaf for key, how, child in _children(like) for leaf in _leaves(child, children.get(key), name + how)]


def _reals(leaf: Any) -> int:
    return int(np.size(leaf)) * (2 if np.iscomplexobj(leaf) else 1)


def _real_parts(like: Any, value: Any, name: str) -> Vector:
    if value is None:
        return np.zeros(_reals(like))
    value = np.asarray(value)
    if value.shape != np.shape(like):
        raise BadInput(f"{name} has shape {value.shape}: expected {np.shape(like)}, like x0")
    if not np.iscomplexobj(like):
        if value.dtype.kind not in "iuf":
            raise BadInput(f"{name} is of dtype {value.dtype}: expected real numbers, like x0")
        return value.astype(np.float64).reshape(-1)
    return np.stack([value.real, value.imag], axis=-1).astype(np.float64).reshape(-1)


def _fill(like: Any, vector: Vector, at: int) -> tuple[Any, int]:
    """``like`` with the numbers of ``vector`` from ``at`` on, and where the next ones start."""
    if _is_leaf(like):
        end = at + _reals(like)
        part: Any = vector[at:end]
        if np.iscomplexobj(like):
            part = part[0::2] + 1j * part[1::2]
        if isinstance(like, np.ndarray):
            return part.astype(like.dtype).reshape(like.shape), end
        return type(like)(part[0]), end
    if not _is_node(like):
        return like, at
    children, end = [], at
    for _, _, child in _children(like):
        child, end = _fill(child, vector, end)
        children.append(child)
    return (_rebuild(like, children) if end > at else like), end
