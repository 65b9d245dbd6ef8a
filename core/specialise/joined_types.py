"""The types that hold the values of two paths."""

from __future__ import annotations

from ..ir.builder import Builder, result_dtype
from ..ir.dynamic import Value
from ..ir.typed import ArrayType


def join(a: ArrayType, b: ArrayType) -> ArrayType | None:
    """Return the type that both can be cast to, or None."""
    if a.shape != b.shape:
        return None
    if a == b:
        return a
    dtype = result_dtype(a, b)
    weak = all(t.weak or t.dtype.kind == "b" for t in (a, b)) and dtype.kind != "b"
    return ArrayType(dtype, a.shape, weak and not a.shape)


def convert(builder: Builder, x: Value, kind: ArrayType) -> Value:
    """Cast x to another type of the same shape."""
    if x.type == kind:
        return x
    x = builder.cast(x, kind.dtype)
    return Value(type=kind, constant=x.constant) if x.is_constant and kind.weak else x
