"""Special methods of a class as Python looks them up: in the class, past the instance."""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any

from .known import MISSING, class_attribute
from .tape import Int, Tape


class Special:
    """A special method that is no plain function (static, of a class, cached, any descriptor), called object first."""

    __slots__ = ("kind", "raw")

    def __init__(self, kind: type, raw: Any) -> None:
        self.kind, self.raw = kind, raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Special) and other.raw is self.raw

    def __hash__(self) -> int:
        return hash(id(self.raw))

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return _bound(self.raw, x, self.kind)(*args, **kwargs)

    def __morula_call__(self, tape: Tape, x: Any, *args: Any, **kwargs: Any) -> Any:
        return tape.call(tape.call(_bound, self.raw, x, self.kind), *args, **kwargs)


def _bound(raw: Any, x: Any, kind: type) -> Any:
    """What Python calls for a special method: looked up in the class, then bound like any attribute."""
    return raw.__get__(x, kind) if hasattr(type(raw), "__get__") else raw


WRITTEN_IN_C = (WrapperDescriptorType, MethodDescriptorType, BuiltinFunctionType, ClassMethodDescriptorType)


def special(kind: type, name: str) -> Any:
    """The special method ``name`` of a class, to be called with the object first; None if it is missing or in C."""
    raw = kind.__dict__.get(name, MISSING)
    if raw is MISSING:
        raw = class_attribute(kind.__mro__, name)
    if type(raw) is FunctionType:
        return None if kind is Int else raw
    return None if raw is MISSING or raw is None or isinstance(raw, WRITTEN_IN_C) else Special(kind, raw)
