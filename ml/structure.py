"""Models as trees: the walk over numbers and arrays inside dicts, lists, tuples and objects, written once.

A leaf is a parameter: a float, a complex number or an array of them.  Everything else (integers, which are settings
such as a width, strings, functions, None) is part of the structure and is carried along unchanged.  An array or object
that stands in two places is one parameter: it is visited once and stands in both places of the result too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..core import BadInput

_CONSTANTS = (
    *(int, str, bytes, np.dtype, np.generic, np.ndarray, np.ufunc, np.random.Generator),
    *(type, ModuleType, FunctionType, BuiltinFunctionType, MethodType),
)


def is_parameter(value: Any) -> bool:
    """Whether ``value`` is a leaf: a float, a complex number, or an array of one of these.

    >>> is_parameter(1.0), is_parameter(np.zeros(2)), is_parameter(1), is_parameter(np.arange(2))
    (True, True, False, False)
    """
    return isinstance(value, (float, complex)) or (
        isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc"
    )


def map_leaves(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """``tree`` with every leaf x replaced by ``f(x, *ys)``, the ys being what ``others`` hold in its place.

    Args:
        f: takes a leaf of ``tree`` and one value for each of ``others``.
        tree: nested dicts, lists, tuples and objects; it is not changed.
        others: of the same structure; None, anywhere, stands for a whole subtree of None (as in a gradient).

    Returns:
        A new structure of the same types.  Objects are made without calling ``__init__``.

    Raises:
        BadInput: one of ``others`` has another structure.

    >>> map_leaves(lambda x, g: x - 0.5 * g, {"rate": 1.0, "name": "a"}, {"rate": 0.5, "name": None})
    {'rate': 0.75, 'name': 'a'}
    """
    return _map(f, tree, others, "tree", {})


def leaves(tree: Any, *others: Any) -> list[Any]:
    """The leaves of ``tree`` in order; with ``others``, tuples of a leaf and what these hold in its place.

    >>> leaves({"w": [1.0, 2.0], "n": 3})
    [1.0, 2.0]
    """
    found: list[Any] = []
    map_leaves(lambda x, *ys: found.append((x, *ys) if ys else x), tree, *others)
    return found


def with_leaves(tree: Any, values: Sequence[Any]) -> Any:
    """``tree`` with its leaves, in the order of ``leaves``, replaced by ``values``.

    >>> with_leaves({"w": [1.0, 2.0], "n": 3}, [5.0, 6.0])
    {'w': [5.0, 6.0], 'n': 3}
    """
    remaining = iter(values)
    return map_leaves(lambda _: next(remaining), tree)


def _map(f: Callable[..., Any], tree: Any, others: tuple[Any, ...], path: str, seen: dict[int, Any]) -> Any:
    if is_parameter(tree):
        if not isinstance(tree, np.ndarray):
            return f(tree, *others)
        if id(tree) not in seen:
            seen[id(tree)] = f(tree, *others)
        return seen[id(tree)]
    if isinstance(tree, _CONSTANTS) or not (isinstance(tree, (dict, list, tuple)) or _attributes(tree)):
        return tree
    if id(tree) in seen:
        return seen[id(tree)]
    for other in others:
        if other is not None and not isinstance(other, _kind(tree)):
            raise BadInput(f"{path} is a {type(tree).__name__}, but the other structure has {other!r} there")

    def child(value: Any, key: Any, place: str) -> Any:
        return _map(f, value, tuple(_child(other, key, place) for other in others), place, seen)

    if isinstance(tree, tuple):
        values = [child(value, i, f"{path}[{i}]") for i, value in enumerate(tree)]
        new: Any = type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)
        seen[id(tree)] = new
    elif isinstance(tree, list):
        new = seen[id(tree)] = type(tree)()
        new.extend(child(value, i, f"{path}[{i}]") for i, value in enumerate(tree))
    elif isinstance(tree, dict):
        # A copy first, so that a subclass (a defaultdict, a Counter) keeps what it knows beside its items.
        new = seen[id(tree)] = tree.copy()
        new.update({key: child(value, key, f"{path}[{key!r}]") for key, value in tree.items()})
    else:
        new = seen[id(tree)] = object.__new__(type(tree))
        for name, value in _attributes(tree).items():
            object.__setattr__(new, name, child(value, _Attribute(name), f"{path}.{name}"))
    return new


def _kind(tree: Any) -> type:
    return next((kind for kind in (dict, list, tuple) if isinstance(tree, kind)), type(tree))


class _Attribute(str):
    """The name of an attribute, as a key."""


def _child(tree: Any, key: Any, path: str) -> Any:
    if tree is None:
        return None
    try:
        return getattr(tree, key, None) if isinstance(key, _Attribute) else tree[key]
    except (KeyError, IndexError):
        raise BadInput(f"the other structure has nothing at {path}; the two must have the same shape") from None


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes that ``value`` holds itself, in ``__dict__`` or in slots."""
    if isinstance(value, _CONSTANTS):
        return {}
    return {**getattr(value, "__dict__", {}), **dict(_slots(value))}


def _slots(value: Any) -> Iterator[tuple[str, Any]]:
    for cls in type(value).__mro__:
        names = cls.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)
