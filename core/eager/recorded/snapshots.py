"""Snapshots of results: a pullback takes the cotangent of a result as it was, whatever the caller has changed since.

A snapshot holds the numbers and arrays of the result themselves, in new containers: tuples, lists and dicts as such, a
namespace for an object, a list for anything else that holds values (a deque, a partial, a view of a dict), and
``WithAttributes`` for a container of a derived class that has attributes.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ...values.attributes import WithAttributes, attributes
from ...values.holders import Attribute, Objects, Recursion, kind_of, unrolled
from ...values.items import entries_of, items_of
from ...values.numbers import NUMBERS, PASSIVE


def as_it_is(x: Any, with_attributes: bool = False) -> Any:
    """Return a snapshot of the structure of ``x``; without ``with_attributes`` those of derived containers are left out."""
    kind = type(x)
    if kind in NUMBERS or kind in PASSIVE or kind_of(kind) is None:
        return x
    return unrolled(_snapshot(x, {}, with_attributes))


def _snapshot(x: Any, done: dict[int, Any], with_attributes: bool) -> Recursion:
    kind = kind_of(type(x))
    if kind is None:
        return x
    if id(x) in done:
        return done[id(x)]
    if isinstance(x, tuple) and not (with_attributes and attributes(x)):
        parts = []
        for e in x:
            parts.append((yield _snapshot(e, done, with_attributes)))
        return tuple(parts)
    held: Any = SimpleNamespace() if isinstance(kind, Objects) else {} if isinstance(x, dict) else []
    is_derived = isinstance(x, (tuple, list, dict)) and type(x) not in (list, dict)
    named = attributes(x) if with_attributes and is_derived else ()
    made = done[id(x)] = WithAttributes(held, {}) if named else held
    if isinstance(x, dict) or isinstance(kind, Objects):
        into = held if isinstance(x, dict) else vars(held)
        for key, e in list(entries_of(x)) if isinstance(x, dict) else attributes(x):
            into[key] = yield _snapshot(e, done, with_attributes)
    else:
        for e in held_in_order(x) or ():
            held.append((yield _snapshot(e, done, with_attributes)))
    for name, e in named:
        made.attributes[name] = yield _snapshot(e, done, with_attributes)
    return made


def held_in_order(x: Any) -> list[Any] | None:
    """Return what a sequence, a partial, a bound method or a view of a dict holds, in order; None for all else."""
    if isinstance(x, (tuple, list)):
        return list(items_of(x))
    kind = kind_of(type(x))
    if kind is None or isinstance(kind, Objects) or isinstance(x, dict):
        return None
    return [value for key, value in kind.entries(x) if type(key) is not Attribute]
