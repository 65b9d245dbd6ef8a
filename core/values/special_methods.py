"""Look up special methods as Python does: in the class, not in the instance."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any

from .attributes import MISSING, class_attribute
from .numbers import Int
from .versions import HEAP_TYPE

ANSWERS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "__bool__": (bool, bool),
    "__len__": (int, len),
    "__length_hint__": (int, operator.length_hint),
    "__index__": (int, operator.index),
    "__int__": (int, int),
    "__hash__": (int, hash),
    "__float__": (float, float),
    "__complex__": (complex, complex),
    "__str__": (str, str),
    "__repr__": (str, repr),
    "__format__": (str, format),
    "__bytes__": (bytes, bytes),
    "__iter__": (Iterator, iter),
}
"""Special method -> the type that it must return, and the built-in function that calls it."""

COUNTS = {"__len__", "__length_hint__"}
"""Special methods that must return a non-negative int of at most ``sys.maxsize``."""


def answer(tape: Any, own: Any, method: str, x: Any, *args: Any) -> Any:
    """Return ``own(x, *args)``, the special method ``method`` of ``x``; raise if Python would reject the result."""
    return accepted(method, x, tape.call(own, x, *args))


def accepted(method: str, x: Any, y: Any) -> Any:
    """Return ``y`` if it is a valid result of this special method of ``x``; else raise what Python raises."""
    kind, ask = ANSWERS[method]
    if not isinstance(y, kind) or method in COUNTS and not 0 <= y <= sys.maxsize:
        ask(type(type(x).__name__, (), {method: lambda *_: y})())
    return y


class Special:
    """A special method that is not a plain function (staticmethod, any descriptor); takes the object first."""

    __slots__ = ("kind", "raw")

    def __init__(self, kind: type, raw: Any) -> None:
        self.kind, self.raw = kind, raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Special) and other.raw is self.raw

    def __hash__(self) -> int:
        return hash(id(self.raw))

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return _bound(self.raw, x, self.kind)(*args, **kwargs)

    def __morula_call__(self, tape: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        return tape.call(tape.call(_bound, self.raw, x, self.kind), *args, **kwargs)


def _bound(raw: Any, x: Any, kind: type) -> Any:
    """Return ``raw``, found in a class, bound to ``x`` as Python binds a special method."""
    return raw.__get__(x, kind) if hasattr(type(raw), "__get__") else raw


WRITTEN_IN_C = (WrapperDescriptorType, MethodDescriptorType, BuiltinFunctionType, ClassMethodDescriptorType)


def special(kind: type, name: str) -> Any:
    """Return the special method ``name`` of a class, which takes the object first; None if missing or in C."""
    of_kind = _of_classes_in_c.get(kind)
    if of_kind is not None:
        found = of_kind.get(name, MISSING)
        if found is MISSING:
            found = of_kind[name] = _looked_up(kind, name)
        return found
    if not kind.__flags__ & HEAP_TYPE:
        _of_classes_in_c[kind] = {}
    return _looked_up(kind, name)


_of_classes_in_c: dict[type, dict[str, Any]] = {}
"""Immutable classes -> their special methods found so far."""


def _looked_up(kind: type, name: str) -> Any:
    raw = kind.__dict__.get(name, MISSING)
    if raw is MISSING:
        raw = class_attribute(kind.__mro__, name)
    if type(raw) is FunctionType:
        return None if kind is Int else raw
    return None if raw is MISSING or raw is None or isinstance(raw, WRITTEN_IN_C) else Special(kind, raw)
