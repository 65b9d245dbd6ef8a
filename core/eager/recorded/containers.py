"""Methods and displays of built-in containers, which hash, compare and iterate in C."""

from __future__ import annotations

from collections import deque
from types import GeneratorType, MappingProxyType
from typing import Any

from ...values.numbers import call_on
from ..unrecorded.opaque_calls import Recording
from ..unrecorded.unasking import PLAIN, is_plain_key, runs_no_python
from ..unrecorded.watched import HOLDING, call_unrecorded, calls_back, hashed, watched
from .access import iterate, pairs, place
from .comparison import search, sorting
from .sizes import listed
from .tape import Tape
from .text import format_method

ITERATING = {"extend", "update", "union", "intersection", "extendleft", "__init__", "fromkeys", "difference"}
ITERATING |= {"difference_update", "intersection_update", "symmetric_difference", "symmetric_difference_update"}
ITERATING |= {"isdisjoint", "issubset", "issuperset", "__iadd__"}
ENTERING = {"append", "appendleft"}
"""Methods of lists that call no method of their argument."""
KEYED = {"add", "discard", "get", "pop", "remove", "setdefault", "__contains__", "__getitem__", "__setitem__"}
"""Methods of sets and dicts that hash and compare their first argument, and call no method of another."""

MOVING = (
    *HOLDING,
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    type,
    type(None),
    GeneratorType,
    map,
    filter,
    zip,
    enumerate,
)
"""Classes whose methods call only methods of their entries and arguments, or code that records."""


def container_method(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of a built-in container or iterator, with iteration, comparison and hashing recorded."""
    container, name = getattr(function, "__self__", None), function.__name__
    if isinstance(container, str) and name in ("format", "format_map"):
        return format_method(tape, container, name, args, kwargs)
    if name == "sort" and isinstance(container, list):
        kwargs = {**kwargs, "key": sorting(tape, container, kwargs.get("key"))}
        return function(*args, **kwargs)
    if kwargs.get("key") is not None:
        kwargs = {**kwargs, "key": Recording(tape, kwargs["key"])}
    if name == "__setitem__" and isinstance(container, list) and len(args) == 2 and isinstance(args[0], slice):
        args = args[0], listed(tape, args[1])
    if args and isinstance(container, dict) and name in ("update", "__init__", "__ior__"):
        args = tuple(entries_of(tape, pairs(tape, a)) for a in args)
    elif args and name in ITERATING:
        read = listed if isinstance(container, list) else iterate
        args = tuple(read(tape, a) for a in args)
        if isinstance(container, (set, frozenset)) or name == "fromkeys":
            args = tuple(entries_of(tape, a) for a in args)
    elif name in ("index", "count", "remove") and isinstance(container, (list, tuple, deque)):
        if calls_back(container) or any(map(calls_back, args)):
            return search(tape, name, container, *args)
    if type(container) in (list, deque) and name in ENTERING:
        return call_on(tape.parent, function, *args, **kwargs)
    if type(container) in (set, dict) and name in KEYED and args and not kwargs:
        if is_plain_key(args[0]):
            return call_on(tape.parent, function, *args)
        return hashed(tape, function, args[0], *args)
    if not isinstance(container, MOVING) and (
        kwargs or not runs_no_python(function, args)
    ):  # an object in C, which may call functions that it was given earlier
        return watched(tape, function, *args, **kwargs)
    if isinstance(container, (list, tuple, str)) and name != "append":
        args = tuple(a if type(a) in PLAIN else place(tape, a) for a in args)
    return call_unrecorded(tape, function, *args, **kwargs)


def entries_of(tape: Tape, x: Any) -> Any:
    """Return an iterator's entries as a list, so that all exist before any is hashed; containers as they are."""
    return x if type(x) in PLAIN or isinstance(x, (*HOLDING, MappingProxyType)) else list(x)


def dict_of(tape: Tape, items: Any) -> dict[Any, Any]:
    """Make a dict for a display ``{key: value, **mapping}`` or a comprehension, from pairs and 1-tuples of mappings."""
    for key, *value in items:
        if not value or type(key) not in PLAIN:
            break
    else:
        return dict(items)
    made: dict[Any, Any] = {}
    for key, *value in items:
        if value:
            hashed(tape, made.__setitem__, key, key, *value)
        else:
            made.update(key)
    return made


def set_of(tape: Tape, entries: Any) -> set[Any]:
    """Make a set for a display ``{entry}`` or a comprehension."""
    return call_unrecorded(tape, set, list(entries))
