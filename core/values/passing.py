"""Cache eviction for temporary code: local classes, and functions made by ``exec`` or ``eval`` in their own namespace.

Cache entries for the code of a module are kept forever; those for temporary code would leak.  Entries of a class are
dropped when it is collected.  The caches themselves keep functions alive, so only the most recent functions of no
module are kept.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

Found = TypeVar("Found")

MOST_PASSING = 128
"""How many functions that belong to no module keep their cache entries."""

_UNKNOWN = object()
_passing: OrderedDict[tuple[CodeType, int], None] = OrderedDict()
_forgetting: list[Callable[[CodeType, int], None]] = []


def per_class(find: Callable[[type], Found]) -> Callable[[type], Found]:
    """Cache ``find`` per class; an entry lives as long as its class."""
    found: dict[int, Any] = {}
    references: dict[int, weakref.ref[type]] = {}

    def forget(key: int, _: Any) -> None:
        found.pop(key, None)
        references.pop(key, None)

    @functools.wraps(find)
    def look_up(kind: type) -> Found:
        key = id(kind)
        y = found.get(key, _UNKNOWN)
        if y is _UNKNOWN:
            y = find(kind)
            references[key] = weakref.ref(kind, functools.partial(forget, key))
            found[key] = y
        return y

    return look_up


def is_of_module(function: FunctionType) -> bool:
    """Return whether the globals of a function are those of a loaded module."""
    scope = function.__globals__
    return getattr(sys.modules.get(scope.get("__name__", "")), "__dict__", None) is scope


def is_class_of_module(cls: type) -> bool:
    """Return whether a class can be looked up by its qualified name in its loaded module."""
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is cls


def forgets(function: Callable[[CodeType, int], None]) -> Callable[[CodeType, int], None]:
    """Register ``function(code, id(globals))``, which drops a cache's entries for that code with those globals."""
    _forgetting.append(function)
    return function


def drop(cache: dict[Any, Any], code: CodeType, scope: int) -> None:
    """Drop the entries whose keys begin with ``code, scope``; other threads may change the cache meanwhile."""
    for key in list(cache):
        if key[:2] == (code, scope):
            cache.pop(key, None)


def pass_by(function: FunctionType) -> None:
    """Note that caches now hold entries for ``function``; evict those of the least recently noted."""
    if is_of_module(function):
        return
    key = function.__code__, id(function.__globals__)
    _passing.pop(key, None)  # so that it is entered at the end
    _passing[key] = None
    while len(_passing) > MOST_PASSING:
        oldest, _ = _passing.popitem(last=False)
        for forget in _forgetting:
            forget(*oldest)
