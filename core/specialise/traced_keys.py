"""Dicts at keys that are traced numbers: a bool is one of two keys, another number one of the dict's own or missing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from .forms import NUMBERS
from .items import would_be_known
from .scopes import Late
from .traced import NeedsConcrete, Scalar

_MISSING = "compiled code inserts no key into a dict that is a number not known while compiling; use an array, or insert all keys before"


def at_key(trace: Any, x: Any, key: Scalar, what: str, run: Callable[[Any], Any], missing: Callable[[], Any]) -> Any:
    """Return ``run(key)`` for the key of the dict x that equals ``key`` at run time, or ``missing()`` if none does.

    Raises:
        NeedsConcrete: the key may still become known, e.g. if a loop is unrolled; ``what`` says what it is needed for.
    """
    value = trace.value(key)
    if would_be_known(trace, value) or not trace.allows("may_grow"):
        way = trace.way_of(value) if value.type.dtype.kind == "b" else None
        if way is not None:
            return run(way)
        raise NeedsConcrete(value, what)
    if value.type.dtype.kind == "b":
        return trace.branch(value, lambda: run(True), lambda: run(False))
    trace.outside.read_whole(x)
    keys = [k for k in dict.__iter__(x) if isinstance(k, NUMBERS)]

    def among(keys: list[Any]) -> Any:
        if not keys:
            return missing()
        test = trace.value(trace.call(operator.eq, key, keys[0]))
        return trace.branch(test, lambda: run(keys[0]), lambda: among(keys[1:]))

    return among(keys)


def item_at_key(trace: Any, x: Any, key: Scalar) -> Any:
    """``x[key]``."""
    what = "an index into a dict"

    def missing() -> Any:
        if hasattr(type(x), "__missing__"):
            raise NeedsConcrete(trace.value(key), what)
        raise KeyError(key)

    return at_key(trace, x, key, what, lambda k: trace.call(operator.getitem, x, k), missing)


def put_at_key(trace: Any, x: Any, key: Scalar, new: Any) -> None:
    """``x[key] = new``, where a number other than a bool must be a key of x already."""
    what = "the index or key of a write to a dict; use an array instead"

    keys = [k for k in dict.__iter__(x) if isinstance(k, NUMBERS)]
    if not keys and trace.value(key).type.dtype.kind != "b":
        raise NeedsConcrete(trace.value(key), what)

    def missing() -> Any:
        unknown = trace.value(trace.call(operator.not_, has_key(trace, x, key)))
        trace.builder.end_if(unknown, BadInput, _MISSING)

    at_key(trace, x, key, what, lambda k: trace.call(operator.setitem, x, k, new), missing)


def has_key(trace: Any, x: Any, key: Scalar) -> Any:
    """``key in x``."""
    trace.outside.read_whole(x)
    found: Any = False
    for k in dict.__iter__(x):
        if isinstance(k, NUMBERS):
            held = dict.__getitem__(x, k)
            is_it = trace.expressions.alike(k, key)
            if isinstance(held, Late):
                is_it = trace.expressions.both(is_it, trace.call(operator.not_, held.absent))
            found = trace.expressions.either(found, is_it)
    return found


def get_at_key(trace: Any, x: Any, name: str, key: Scalar, rest: tuple[Any, ...]) -> Any:
    """``x.get(key, default)``; ``pop`` and ``setdefault`` at a bool."""
    what = f"the argument of dict.{name}"

    def missing() -> Any:
        if name != "get":
            raise NeedsConcrete(trace.value(key), what)
        return rest[0] if rest else None

    return at_key(trace, x, key, what, lambda k: trace.call(getattr(x, name), k, *rest), missing)
