"""Finds whether looking up a key with ``__hash__`` in Python compares it with other entries of a dict or set.

A key of a class with ``__hash__`` and ``__eq__`` in Python is compared with an entry only if both have the same hash.
Where ``__hash__`` only reads an attribute or uses the identity, the hashes of all entries of a small container are
found without running it.  This relies on Python's rule that the hash of an entry does not change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ...source.bytecode import instructions
from ...source.effects import attribute
from ...values.attributes import MISSING, class_attribute
from ..recorded import known
from .unasking import PLAIN, is_hashed_in_c

MOST_ENTRIES = 8
"""Containers with more entries are not searched."""

Hash = Callable[[Any], int | None]


def meets_no_other(container: Any, key: Any) -> bool:
    """Whether looking up a key in a dict or set runs no Python code that matters, as no other entry has its hash."""
    if len(container) > MOST_ENTRIES:
        return False
    own = hash_of(key)
    if own is None:
        return False
    for entry in dict.__iter__(container) if isinstance(container, dict) else container:
        if entry is not key:
            other = hash_of(entry)
            if other is None or other == own:
                return False
    return True


def hash_of(x: Any) -> int | None:
    """Return the hash of an object if it can be found without running code of its class, else None."""
    kind = type(x)
    if kind in PLAIN:
        return hash(x)
    find = known.hashing.get(kind)
    if find is None:
        find = known.hashing[kind] = _how(kind)
    return find(x)


def _how(kind: type) -> Hash:
    if is_hashed_in_c(kind):
        return hash
    function = class_attribute(kind.__mro__, "__hash__")
    if type(function) is not FunctionType or class_attribute(kind.__mro__, "__getattribute__") is not LOADING:
        return _unknown
    code = [(i.opname, i.argval) for i in instructions(function.__code__) if i.opname not in SILENT]
    names, values = [name for name, _ in code], [value for _, value in code]
    if names == ["LOAD_FAST", "LOAD_ATTR", "RETURN_VALUE"] and values[0] == function.__code__.co_varnames[0]:
        name = values[1]
        raw = class_attribute(kind.__mro__, name)
        if raw is not MISSING and (hasattr(type(raw), "__set__") or hasattr(type(raw), "__delete__")):
            return _unknown
        return lambda x: _of_integer(attribute(x, name))
    asks = ["LOAD_GLOBAL", "LOAD_FAST", "CALL", "RETURN_VALUE"]
    if names == asks and values[0] == "id" and "id" not in function.__globals__:
        return lambda x: _of_integer(id(x))
    if names == ["LOAD_GLOBAL", "LOAD_GLOBAL", "LOAD_FAST", "CALL", "CALL", "RETURN_VALUE"]:
        if values[:2] == ["hash", "id"] and not {"hash", "id"} & function.__globals__.keys():
            return lambda x: hash(id(x))
    return _unknown


LOADING = vars(object)["__getattribute__"]
SILENT = {"RESUME", "PRECALL", "PUSH_NULL", "NOP", "CACHE"}


def _of_integer(x: Any) -> int | None:
    """Return the hash that Python derives from the result of ``__hash__``: the integer itself if it fits a word."""
    if type(x) is not int:
        return None
    return hash(x) if x == -1 or not -sys.maxsize - 1 <= x <= sys.maxsize else x


def _unknown(x: Any) -> None:
    """Return None: the hash can only be found by running code of the class."""
