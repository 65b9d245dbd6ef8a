"""Guards for outside containers that a program reads as a whole: length, order and items may change between calls.

An item read at a known key has a guard of its own (``outside.Source``), so that the other items may change.
"""

from __future__ import annotations

import copy
import gc
import operator
from array import array
from collections import deque
from typing import Any

import numpy as np

from ..values.attributes import bound_to
from ..values.items import are_in_one_order, entries_of, items_of
from .instances import held_by_instance, is_instance, is_of_python
from .traced import Traced

CONTAINERS = (list, tuple, dict, set, frozenset, deque, bytearray, array)
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
NUMBERS = (bool, int, float, complex, np.generic)


def is_unchanged(now: Any, found: Any) -> bool:
    """Whether a value is unchanged: the same object, or an equal number or string."""
    if now is found:
        return True
    return isinstance(now, (*NUMBERS, str)) and type(now) is type(found) and (now == found or now != now != found)


class Contents:
    """The guard of a container: its items and order are unchanged; ``is_deep``: also those of containers in it."""

    def __init__(self, holder: Any, is_deep: bool, seen: frozenset[int] = frozenset(), found: Any = None) -> None:
        self.holder = holder
        self.is_deep = is_deep
        self.found = _items(holder if found is None else found)
        seen |= {id(holder)}
        inner = [e for e in self.found if is_deep and isinstance(e, CONTAINERS) and id(e) not in seen]
        self.inner = [Contents(e, True, seen) for e in inner]
        self.kinds = list(map(type, self.found))
        self.is_plain = all(kind in (bool, int, float, str) for kind in self.kinds)

    def holds(self) -> bool:
        now = _items(self.holder)
        if self.is_plain and now == self.found and list(map(type, now)) == self.kinds:
            return True
        return (
            len(now) == len(self.found)
            and all(map(is_unchanged, now, self.found))
            and all(inner.holds() for inner in self.inner)
        )


def is_equal_in_form(now: Any, found: Any, seen: set[tuple[int, int]]) -> bool:
    """Whether two objects hold the same, at any depth: of their classes' ``__eq__`` nothing is called."""
    if is_unchanged(now, found) or (id(now), id(found)) in seen:
        return True
    if type(now) is not type(found):
        return False
    seen.add((id(now), id(found)))
    if isinstance(now, dict):
        a, b = dict(entries_of(now)), dict(entries_of(found))
        return (
            len(a) == len(b)
            and are_in_one_order(a, b)
            and all(is_equal_in_form(x, y, seen) for x, y in zip(a.values(), b.values()))
        )
    if isinstance(now, (list, tuple, deque)):
        a, b = list(items_of(now)), list(items_of(found))
        return len(a) == len(b) and all(is_equal_in_form(x, y, seen) for x, y in zip(a, b))
    return is_instance(now) and is_equal_in_form(held_by_instance(now), held_by_instance(found), seen)


class Absent:
    """The guard of a dict, or of an object's slots, that has no such key."""

    found = None

    def __init__(self, holder: Any, key: Any) -> None:
        self.holder = holder
        self.key = key

    def holds(self) -> bool:
        return (
            self.key not in self.holder
            if not isinstance(self.holder, dict)
            else not dict.__contains__(self.holder, self.key)
        )


def _items(x: Any) -> list[Any]:
    return [e for entry in entries_of(x) for e in entry] if isinstance(x, dict) else list(items_of(x))


def opened(trace: Any, x: Any) -> Any:
    """Return a copy of an outside container (or of one that contains such) in which arrays are inputs of the program.

    Return the container itself if there is no array in it.
    """
    if isinstance(x, dict):
        from .forms import of_entries

        entries = {k: _inside(trace, x, k, e) for k, e in entries_of(x)}
        changed = any(entries[k] is not e for k, e in entries_of(x))
        return trace.new(of_entries(x, entries)) if changed else x
    if not isinstance(x, (list, tuple, deque)):
        return x
    items = [_inside(trace, x, i, e) for i, e in enumerate(items_of(x))]
    if all(a is b for a, b in zip(items, items_of(x))):
        return x
    if isinstance(x, tuple):
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    from .forms import of_items

    return trace.new(of_items(x, items))


def _inside(trace: Any, holder: Any, key: Any, x: Any) -> Any:
    if isinstance(x, CONTAINERS):
        if trace.outside.is_outside(holder):
            trace.outside.objects[id(x)] = x
        return opened(trace, x)
    if type(x) is np.ndarray and trace.outside.is_outside(holder):
        return trace.outside.read(trace, holder, key, x)
    return x


def bound_by(trace: Any, holder: Any, key: Any, x: Any) -> Any:
    """Return an argument bound by a partial; containers and arrays that the program did not make are outside."""
    is_outside = isinstance(x, (*CONTAINERS, np.ndarray)) and id(x) not in trace.made
    return trace.outside.read(trace, holder, key, x) if is_outside else x


ENTRIES = frozenset(("get", "__getitem__", "__contains__", "pop", "setdefault"))
"""Methods of a dict that read one entry."""
CHANGING = frozenset(
    "append extend insert remove pop clear sort reverse update setdefault popitem add discard appendleft popleft extendleft rotate move_to_end "
    "__setitem__ __delitem__ __iadd__ __ior__".split()
)
_OF_ITEMS = (operator.getitem, operator.setitem, operator.delitem, operator.is_, operator.is_not, id)


_OF_ALL = (str, repr, copy.copy, copy.deepcopy, np.array, np.asarray, np.asanyarray)
"""Functions that read containers at any depth."""


def read_by(trace: Any, function: Any, args: Any, kwargs: Any, is_of_c: bool) -> Any:
    """Return an uninterpreted call, with guards or inputs for what it reads from outside containers.

    ``is_of_c``: the interpreter does not iterate over the items itself.
    """
    name, owner = getattr(function, "__name__", ""), bound_to(function)
    if function in _OF_ITEMS or name in ENTRIES and isinstance(owner, dict):
        if args and isinstance(args[0], Traced):  # an array reads all of an index and of a written value
            for x in args[1:]:
                _note(trace, x, True)
        return function, args, kwargs
    is_deep = is_of_c or function in _OF_ALL
    for x in (owner, *args, *kwargs.values()):
        _note(trace, x, is_deep)
    if not is_deep or name in CHANGING:
        return function, args, kwargs
    if isinstance(owner, CONTAINERS):
        inside = opened(trace, owner)
        if inside is not owner:
            # Of the classes in C: a class in Python may override the method, and have called this one by ``super()``.
            bases = [vars(cls) for cls in type(owner).__mro__ if not is_of_python(cls)]
            function = next(base[name] for base in bases if name in base).__get__(inside)
    return function, tuple(opened(trace, x) for x in args), {k: opened(trace, x) for k, x in kwargs.items()}


def _note(trace: Any, x: Any, is_deep: bool) -> None:
    """Guard a container that is read; a container made by the program may contain outside ones."""
    if isinstance(x, _VIEWS):
        (x,) = gc.get_referents(x)
    if trace.outside.is_outside(x):
        trace.outside.read_whole(x, is_deep)
    elif is_deep and isinstance(x, (list, tuple, dict, deque)):
        for e in dict.values(x) if isinstance(x, dict) else items_of(x):
            _note(trace, e, is_deep)
