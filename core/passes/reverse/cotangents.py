"""The cotangents of a program's values while its backward sweep is written, and arithmetic on them.

A missing cotangent (None) means zero.  Additions to parts of an array are deferred until the array's cotangent is read,
and then applied to the total so far; so an array of zeros is made only if there is no other contribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.typed import STACK, ArrayType, Spec, stack_new

Part = tuple[Sequence[Value], Value, Spec]


def strong(kind: Any) -> Any:
    """The type of the cotangents of values of this type; it is never weak."""
    return ArrayType(kind.dtype, kind.shape) if isinstance(kind, ArrayType) else kind


def as_type(builder: Builder, g: Value, kind: Any) -> Value:
    """Cast a cotangent to exactly this type, which may be weak."""
    if kind is STACK or not kind.weak:
        return g
    return builder.call(typed.cast, [g], [kind], dtype=kind.dtype)[0]


def zeros(builder: Builder, like: Value) -> Value:
    """A zero cotangent for a value; for a stack, an empty stack."""
    if like.type is STACK:
        return builder.call(stack_new, [], [STACK])[0]
    return builder.zeros(like.type.shape, like.type.dtype)


def is_zero(g: Value) -> bool:
    return g.is_constant and not np.any(g.constant)


def conform(builder: Builder, g: Value, like: ArrayType) -> Value:
    """Sum g over the dimensions along which the value was broadcast, and cast it to the value's dtype."""
    if g.type.dtype.kind == "c" and like.dtype.kind != "c":
        g = builder.cast(g, g.type.dtype.type(0).real.dtype)
    g = unbroadcast(builder, g, like.shape)
    return builder.cast(g, like.dtype)


def unbroadcast(builder: Builder, g: Value, shape: Sequence[object]) -> Value:
    """Bring g to a shape: sum dimensions along which the shape was broadcast; broadcast those where g is smaller."""
    shape = tuple(shape)
    if g.type.shape == shape:
        return g
    extra = g.type.ndim - len(shape)
    if extra < 0 or any(n == 1 and m != 1 for n, m in zip(g.type.shape[extra:], shape)):
        g = builder.broadcast_to(g, builder.broadcast_shape([g.type.shape, shape]))  # type: ignore[list-item]
        extra = g.type.ndim - len(shape)
    axes = [i for i, n in enumerate(g.type.shape) if i < extra or shape[i - extra] == 1 and n != 1]
    return builder.reshape(builder.reduce(np.sum, g, axes), shape) if axes else g  # type: ignore[arg-type]


class Cotangents:
    """The cotangents of a block's values; ``outer``, if given, has those of the enclosing block."""

    def __init__(self, builder: Builder, active: set[Value], outer: Cotangents | None = None) -> None:
        self.builder = builder
        self.active = active
        self.outer = outer
        self.total: dict[Value, Value | None] = {}
        self.parts: dict[Value, list[Part]] = {}

    def set(self, value: Value, g: Value | None) -> None:
        self.total[value] = g
        self.parts.pop(value, None)

    def get(self, value: Value) -> Value | None:
        """The cotangent so far; None: zero."""
        if value in self.total:
            total = self.total[value]
        else:
            total = self.outer.get(value) if self.outer is not None else None
        waiting = self.parts.pop(value, None)
        if waiting:
            total = zeros(self.builder, value) if total is None else total
            for index, g, spec in waiting:
                total = self.builder.add_at(total, index, g, spec)
            self.total[value] = total
        return total

    def take(self, value: Value) -> Value | None:
        """Return the final cotangent of a value, and clear it."""
        found = self.get(value)
        self.total[value] = None
        return found

    def filled(self, value: Value) -> Value:
        """Like ``take``, but return zeros instead of None."""
        found = self.take(value)
        return zeros(self.builder, value) if found is None else found

    def add(self, value: Value, g: Value | None) -> None:
        """Add a cotangent of any dtype, and of any shape to which the value broadcasts."""
        if g is None or value not in self.active:
            return
        if value.type is STACK:
            self.total[value] = g
            return
        g = conform(self.builder, g, value.type)
        if is_zero(g):
            return
        total = self.total.get(value) if value in self.total or self.outer is None else self.outer.get(value)
        self.total[value] = g if total is None else self.builder.ufunc(np.add, total, g)

    def add_part(self, value: Value, index: Sequence[Value], g: Value, spec: Spec) -> None:
        """Add to a part of an array's cotangent; the addition is deferred until the cotangent is read."""
        if value in self.active and not is_zero(g):
            self.parts.setdefault(value, []).append((index, self.builder.cast(g, value.type.dtype), spec))
