"""Types and arrays that hold the values of two paths."""

from __future__ import annotations

import numpy as np

from ..ir.builder import Builder, Shape
from ..ir.dynamic import Block, Value
from ..ir.promotion import result_dtype
from ..ir.typed import ArrayType, Dim


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


def padded(builder: Builder, x: Value, bounds: tuple[int, ...]) -> Value:
    """Return an array with zeros appended in each dimension up to a known length."""
    if x.type.shape == bounds:
        return x
    zero = builder.constant(0, np.int64)
    spec = tuple(("s", 1) for _ in bounds)
    return builder.setitem(builder.zeros(bounds, x.type.dtype), [zero] * len(spec), x, spec)


def leading(builder: Builder, x: Value, shape: Shape) -> Value:
    """Return the first elements of an array in each dimension."""
    zero = builder.constant(0, np.int64)
    spec = tuple(("s", 1) for _ in shape)
    return builder.getitem(x, [zero] * len(spec), spec, list(shape))


def length_of(builder: Builder, n: int | Dim) -> Value:
    """Return a length as an int64."""
    return builder.cast(n.value, np.int64) if isinstance(n, Dim) else builder.constant(n, np.int64)


def known_outside(block: Block, shape: Shape) -> tuple[int | Dim, ...]:
    """Return a shape with zero in place of the lengths that a block computes."""
    if all(isinstance(n, int) for n in shape):
        return tuple(shape)
    computed = {r for op in block.operations for r in op.results}
    return tuple(0 if isinstance(n, Dim) and n.value in computed else n for n in shape)
