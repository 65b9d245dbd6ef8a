"""Items of containers, read and changed by the methods of the built-in classes, which a class in Python may override."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any

_PLAIN = (list, tuple, OrderedDict, dict, deque, set, frozenset)


def base_of(x: Any) -> Any:
    """Return the built-in class of a container, of which its class may be derived."""
    return type(x) if type(x) in _PLAIN else next((kind for kind in _PLAIN if isinstance(x, kind)), type(x))


def items_of(x: Any) -> Iterable[Any]:
    """Return the items of a container; of a dict, its keys."""
    return x if type(x) in _PLAIN else list(base_of(x).__iter__(x))


def entries_of(x: Any) -> Iterable[tuple[Any, Any]]:
    """Return the keys and values of a dict."""
    return base_of(x).items(x)


def item_of(x: Any, key: Any) -> Any:
    """Return ``x[key]``."""
    return base_of(x).__getitem__(x, key)


def is_same_key(a: Any, b: Any) -> bool:
    """Whether two keys are one entry of a dict; like a dict, call ``==`` only if the hashes are equal."""
    return a is b or b in {a}


def are_in_one_order(a: Iterable[Any], b: Iterable[Any]) -> bool:
    """Whether the keys of the shorter dict are the first keys of the longer, in the same order."""
    return all(map(is_same_key, a, b))


def count_of(x: Any) -> int:
    """Return how many items a container has."""
    return base_of(x).__len__(x)
