"""The tangents of a program's values while they are written; a missing tangent (None) means zero."""

from __future__ import annotations

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.typed import STACK, ArrayType
from ..reverse.cotangents import is_zero, zeros


class Tangents:
    """The tangents of the active values; a value is a key once its tangent is not zero."""

    def __init__(self, builder: Builder, active: set[Value]) -> None:
        self.builder = builder
        self.active = active
        self.of: dict[Value, Value] = {}

    def get(self, value: Value) -> Value | None:
        return self.of.get(value)

    def filled(self, value: Value) -> Value:
        """Return the tangent of a value, zeros instead of None."""
        return self.of.get(value) or zeros(self.builder, value)

    def any(self, values: list[Value]) -> bool:
        return any(v in self.of for v in values)

    def set(self, value: Value, t: Value | None) -> None:
        """Set the tangent, of any dtype and of any shape that broadcasts to the value's."""
        if t is None or value not in self.active:
            return
        t = conform(self.builder, t, value.type)
        if value.type is STACK or not is_zero(t):
            self.of[value] = t

    def add(self, value: Value, t: Value) -> None:
        """Add to the tangent."""
        t = conform(self.builder, t, value.type)
        present = self.of.get(value)
        self.set(value, t if present is None else self.builder.ufunc(np.add, present, t))


def conform(builder: Builder, t: Value, like: ArrayType) -> Value:
    """Return a tangent in the dtype and shape of its value: the real part for a real value."""
    return t if like is STACK else builder.broadcast_to(builder.cast(t, like.dtype), like.shape)
