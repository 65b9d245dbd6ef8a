"""Keys of dicts and elements of sets: they are hashed where Python hashes them, and only if the hash is known.

C code calls ``__hash__`` and ``__eq__`` of a key, and the compiler itself calls them more often than Python (to copy and
merge dicts).  So they must not store anything, with one exception: a ``__hash__`` may cache its result in the object.
It is called where the program uses the key, and calling it again must change nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from ..errors import BadInput
from ..ir.derived import Derived
from ..ir.traced_text import Text
from ..values.holders import blank
from ..values.items import entries_of, items_of
from .called_back import held_with, holds_the_same, stores_by_itself, storing
from .forms import of_entries, of_items
from .instances import held_by_instance, hold, is_instance
from .scopes import Choice, Conflict, Late
from .state import content, put
from .traced import Traced


def use_as_key(trace: Any, x: Any) -> None:
    """Hash a key as Python does.

    Raises:
        NeedsConcrete: the hash depends on a number that is not known while compiling.
        BadInput: it may be one of two objects, or its hash or comparison changes an object.
    """
    if isinstance(x, (str, Traced)):
        return
    if type(x) is Derived:
        x.refuse()
    if isinstance(x, Text):
        raise BadInput(
            "a string formatted from numbers that are not known while compiling cannot be a dict key or set element; use a key that "
            "is known, or the numbers"
        )
    if trace.candidates and (
        id(x) in trace.candidates or isinstance(x, tuple) and any(id(e) in trace.candidates for e in x)
    ):
        raise BadInput(
            "an object that was chosen by a condition not known while compiling cannot be a dict key or set element; keep a number in "
            "the objects, and use that"
        )
    for e in _objects_in(x):
        _refuse_unfit(trace, e)
        _hash_first(trace, e)
    if isinstance(x, (tuple, frozenset)):
        hash_of(trace, x)


def hash_of(trace: Any, x: Any) -> int:
    """``hash(x)`` by C code.

    Raises:
        NeedsConcrete: it depends on a number that is not known while compiling.
    """
    number = next((e for e in items_of(x) if isinstance(e, Traced)), None) if isinstance(x, frozenset) else None
    if number is not None:  # C code has hashed it already
        hash_of(trace, number)
    with hashing(trace):
        return hash(x)


@contextmanager
def hashing(trace: Any) -> Iterator[None]:
    """Let the hash of a number that is not known while compiling be an error."""
    before, trace.is_hashing = trace.is_hashing, True
    try:
        yield
    finally:
        trace.is_hashing = before


def _objects_in(x: Any) -> list[Any]:
    """Return the objects with a ``__hash__`` in Python whose hashes C code computes for that of x."""
    if isinstance(x, (tuple, frozenset)):
        return [e for part in items_of(x) for e in _objects_in(part)]
    is_hashed = not isinstance(x, Traced) and is_instance(x) and isinstance(type(x).__hash__, FunctionType)
    return [x] if is_hashed else []


def _refuse_unfit(trace: Any, x: Any) -> None:
    """Refuse a key whose comparison stores something, or that has attributes on some paths only."""
    names = storing(type(x)) & {"__hash__", "__eq__"}
    may_store = "__eq__" in names and stores_by_itself(type(x), "__eq__", "__hash__")
    if may_store and not _is_hashed_by_identity(trace, x, names):
        raise BadInput(_changes(x, "__eq__"))
    if any(isinstance(e, (Late, Conflict, Choice)) for e in held_by_instance(x).values()):
        raise BadInput(
            f"a {type(x).__name__} is a dict key or set element, but its attributes depend on a condition that is not known while "
            "compiling; use a key that is the same on both paths"
        )


def _is_hashed_by_identity(trace: Any, x: Any, storing: frozenset[str]) -> bool:
    """Whether the hash of an object from outside is its identity, so that it equals no other key's and nothing compares them."""
    return "__hash__" not in storing and id(x) not in trace.made and hash_of(trace, x) in (id(x), object.__hash__(x))


def _hash_first(trace: Any, x: Any) -> None:
    """Hash a key, and note what its ``__hash__`` stores in it as a change that the program makes here.

    An object from outside may keep the hash: Python would have cached the same.
    """
    if "__hash__" not in storing(type(x)):
        hash_of(trace, x)
        return
    holders = held_with(x)
    before = list(map(content, holders))
    hash_of(trace, x)
    once = list(map(content, holders))
    hash_of(trace, x)
    for holder, held, new in zip(holders, before, once):
        if not holds_the_same(content(holder), new):
            raise BadInput(_changes(x, "__hash__"))
        if not holds_the_same(held, new) and not trace.outside.is_outside(x):
            put(holder, held)
            trace.keys.pop(id(x), None)
            trace.touch(holder)
            put(holder, new)
    trace.keys[id(x)] = x


def refuse_change_of_key(trace: Any, x: Any) -> None:
    """Refuse a change of a key that caches its hash: the compiler may compute it again before Python does."""
    if id(x) in trace.keys:
        raise BadInput(
            f"a {type(x).__name__} caches its hash and is a dict key or set element, so compiled code cannot change it; make a new "
            "object instead"
        )


def fixed(trace: Any, x: Any) -> Any:
    """Return a key that stays as it is: a copy, if the program has made it and may change it or take back its changes."""
    return _fixed(trace, x, {}) if _objects_in(x) else x


def _fixed(trace: Any, x: Any, memo: dict[int, Any]) -> Any:
    if id(x) in memo:
        return memo[id(x)]
    if isinstance(x, tuple):
        return of_items(x, [_fixed(trace, e, memo) for e in items_of(x)])
    if id(x) not in trace.made:
        return x
    if is_instance(x) and isinstance(type(x).__hash__, FunctionType):
        memo[id(x)] = made = blank(type(x))
        hold(made, {k: _fixed(trace, e, memo) for k, e in held_by_instance(x).items()})
        return made
    if isinstance(x, (list, deque)):
        return of_items(x, [_fixed(trace, e, memo) for e in items_of(x)])
    if isinstance(x, dict):
        return of_entries(x, {k: _fixed(trace, e, memo) for k, e in entries_of(x)})
    return x


def _changes(x: Any, name: str) -> str:
    return (
        f"a {type(x).__name__} is a dict key or set element, but its {name} changes an object; compiled code calls "
        f"{name} at other times than Python. Move the change out of it"
    )
