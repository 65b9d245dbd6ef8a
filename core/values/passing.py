"""Code that comes and goes: functions made by ``exec`` or ``eval`` in a namespace of their own, and classes made in functions.

What the engine keeps for the code of a module stays for good; what it keeps for these must not.  A class is forgotten when it
is gone.  A function whose global variables are those of no module is kept by the engine's own caches, so only the last few stay.
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
"""Functions of no module of which something is kept."""

_UNKNOWN = object()
_passing: OrderedDict[tuple[CodeType, int], None] = OrderedDict()
_forgetting: list[Callable[[CodeType, int], None]] = []


def per_class(find: Callable[[type], Found]) -> Callable[[type], Found]:
    """``find``, asked once for each class for as long as that lives."""
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
    """Whether the global variables of a function are those of a module that is loaded."""
    scope = function.__globals__
    return getattr(sys.modules.get(scope.get("__name__", "")), "__dict__", None) is scope


def is_class_of_module(cls: type) -> bool:
    """Whether a class is found under its name in a module that is loaded."""
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is cls


def forgets(function: Callable[[CodeType, int], None]) -> Callable[[CodeType, int], None]:
    """Register what drops all that a cache holds for some code with the globals of this identity."""
    _forgetting.append(function)
    return function


def pass_by(function: FunctionType) -> None:
    """Something is kept now for ``function``."""
    if is_of_module(function):
        return
    key = function.__code__, id(function.__globals__)
    _passing[key] = None
    _passing.move_to_end(key)
    while len(_passing) > MOST_PASSING:
        oldest, _ = _passing.popitem(last=False)
        for forget in _forgetting:
            forget(*oldest)
