"""The structure of Python objects: the numbers and arrays in them, and the containers around these."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.derived import Derived, derived_of, is_known
from ..ir.traced_text import Text
from ..values.attributes import dict_of, has_dict
from ..values.holders import blank
from ..values.items import are_in_one_order, count_of, entries_of, items_of
from .instances import held_by_instance, hold, is_instance
from .rows import Rows
from .scopes import Choice, Conflict, Late
from .traced import Array, Scalar, Trace, current
from .unopened import Part

NUMBERS = (bool, int, float, complex, np.bool_, np.integer, np.inexact)
CONSTANTS = (*NUMBERS, str, bytes, range, frozenset, np.dtype)


def numbers_in(x: Any, found: list[Any] | None = None) -> list[Any]:
    """Return the numbers and arrays in an object in order, appended to ``found``."""
    found = [] if found is None else found
    if is_known(x):
        return numbers_in(dict_of(x), found)
    if isinstance(x, (Scalar, Array, *NUMBERS)):
        found.append(x)
    elif type(x) is Choice:
        numbers_in((x.which, x.options), found)
    elif type(x) is Rows:
        found += x.columns if x.is_full else (x.length, *x.columns)
    elif type(x) is Text:
        found += x.values
    elif type(x) is Part:
        found += () if x.number is None else (x.number,)
    elif type(x) is Derived:
        numbers_in((x.plain, x.held), found)
    elif isinstance(x, (list, tuple, deque)):
        for e in items_of(x):
            numbers_in(e, found)
    elif isinstance(x, dict):
        for _, e in entries_of(x):
            numbers_in(e, found)
    elif is_instance(x) and not isinstance(x, (Conflict, Late)):
        numbers_in(held_by_instance(x), found)
    return found


def has_function(x: Any) -> bool:
    """Whether an object contains a function that the program made: it may refer to values of the scope that made it."""
    if isinstance(x, (list, tuple, dict, deque)):
        return any(has_function(e) for e in (items_of(x) if not isinstance(x, dict) else dict(entries_of(x)).values()))
    if type(x) is Choice:
        return any(map(has_function, x.options))
    if type(x) is Derived:
        return has_function(x.held)
    return hasattr(type(x), "__morula_trace__")


def containers(x: Any, found: list[Any]) -> list[Any]:
    """Return the mutable parts of an object, itself included: lists, dicts, objects with attributes."""
    if isinstance(x, (list, dict, deque)) or is_instance(x) and not isinstance(x, (Scalar, Array, Conflict, Late)):
        found.append(x)
        parts = x if isinstance(x, (list, deque)) else (x if isinstance(x, dict) else held_by_instance(x)).values()
    else:
        parts = (
            x.options if type(x) is Choice else (x.held,) if type(x) is Derived else x if isinstance(x, tuple) else ()
        )
    for e in parts:
        containers(e, found)
    return found


def rebuilt(x: Any, parts: Any, keep: Callable[[Any], Any]) -> Any:
    """Return an object of the form of x with other numbers and arrays; ``keep`` registers each new container."""
    if is_known(x):
        known = derived_of(x)
        return Derived(known.cls, known.plain, rebuilt(known.held, parts, keep)) if numbers_in(known.held) else x
    if isinstance(x, (Scalar, Array, *NUMBERS)):
        return next(parts)
    if type(x) is Choice:
        which = rebuilt(x.which, parts, keep)
        return Choice(which, [rebuilt(e, parts, keep) for e in x.options])
    if type(x) is Rows:
        return x.of(x.length if x.is_full else next(parts), [next(parts) for _ in x.columns])
    if type(x) is Part:
        return x if x.number is None else Part(x.path, x.place, next(parts))
    if type(x) is Text:
        return Text(x.template, [Scalar(current().value(next(parts))) for _ in x.values])
    if type(x) is Derived:
        return Derived(x.cls, rebuilt(x.plain, parts, keep), rebuilt(x.held, parts, keep))
    if isinstance(x, (list, tuple)):
        new = [rebuilt(e, parts, keep) for e in items_of(x)]
        return keep(of_items(x, new))
    if isinstance(x, deque):
        return keep(of_items(x, [rebuilt(e, parts, keep) for e in items_of(x)]))
    if isinstance(x, dict):
        return keep(of_entries(x, {k: rebuilt(e, parts, keep) for k, e in entries_of(x)}))
    if is_instance(x) and not isinstance(x, (Conflict, Late)):
        made = blank(type(x))
        hold(made, {k: rebuilt(e, parts, keep) for k, e in held_by_instance(x).items()})
        return keep(made)
    return x


def same_form(a: Any, b: Any) -> bool:
    """Whether two objects differ only in numbers and in array elements."""
    if is_known(a) and is_known(b):
        x, y = derived_of(a), derived_of(b)
        return x.cls is y.cls and same_constant(x.plain, y.plain) and same_form(x.held, y.held)
    if is_known(a) or is_known(b):
        return False
    number = (Scalar, *NUMBERS)
    if isinstance(a, number) and isinstance(b, number):
        return True
    if isinstance(a, Array) and isinstance(b, Array):
        return a.type.shape == b.type.shape
    if type(a) is not type(b):
        return False
    if type(a) is Choice:
        a, b = a.options, b.options
    if type(a) is Rows:
        return (a.capacity, a.is_full, a.kinds) == (b.capacity, b.is_full, b.kinds) and same_form(a.item, b.item)
    if type(a) is Text:
        return same_text(a, b)
    if type(a) is Part:
        return a is b or a.number is not None and a.path == b.path
    if type(a) is Derived:
        return a.cls is b.cls and same_form((a.plain, a.held), (b.plain, b.held))
    if isinstance(a, (list, tuple, deque)):
        return count_of(a) == count_of(b) and all(map(same_form, items_of(a), items_of(b)))
    if isinstance(a, dict):
        x, y = dict(entries_of(a)), dict(entries_of(b))
        return len(x) == len(y) and are_in_one_order(x, y) and all(same_form(x[k], y[k]) for k in x)
    if isinstance(a, (Conflict, Late)):
        return False
    if is_instance(a):
        x, y = held_by_instance(a), held_by_instance(b)
        return len(x) == len(y) and are_in_one_order(x, y) and all(same_form(x[k], y[k]) for k in x)
    return same_constant(a, b)


def same_text(a: Text, b: Text) -> bool:
    """Whether two texts differ only in numbers, of the same types: an int and a float have different texts."""
    kinds = [[current().value(x).type for x in text.values] for text in (a, b)]
    return repr(a.template) == repr(b.template) and kinds[0] == kinds[1]


def same_entries(a: Any, b: Any) -> bool:
    """Whether two lists or dicts hold the same, or interchangeable, objects."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_constant(x, b[k]) for k, x in a.items())
    return count_of(a) == count_of(b) and all(map(same_constant, items_of(a), items_of(b)))


def same_constant(a: Any, b: Any) -> bool:
    """Whether two objects are interchangeable: the same object, or equal immutable ones (zeros of one sign)."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return count_of(a) == count_of(b) and all(map(same_constant, items_of(a), items_of(b)))
    return isinstance(a, CONSTANTS) and bool(a == b) and repr(a) == repr(b)


def of_items(x: Any, items: Any) -> Any:
    """Return a list, tuple or deque like ``x`` with other items."""
    if isinstance(x, tuple):
        made: Any = tuple.__new__(type(x), items)
        vars(made).update(vars(x)) if has_dict(x) else None
        return made
    made = blank(type(x))
    deque.__init__(made, items, x.maxlen) if isinstance(x, deque) else list.extend(made, items)
    vars(made).update(vars(x)) if has_dict(x) else None
    return made


def of_entries(x: Any, entries: dict[Any, Any]) -> Any:
    """Return a dict like ``x`` with other entries."""
    made = (
        type(x)(x.default_factory)
        if isinstance(x, defaultdict)
        else type(x)()
        if type(x) is OrderedDict
        else blank(type(x))
    )
    (OrderedDict if isinstance(x, OrderedDict) else dict).update(made, entries)
    if not isinstance(x, OrderedDict):
        vars(made).update(vars(x)) if has_dict(x) else None
    if Trace.stack and id(x) in current().disordered:  # type: ignore[attr-defined]
        current().disordered[id(made)] = made  # type: ignore[attr-defined]
    return made
