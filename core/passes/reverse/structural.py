"""Adjoints of typed IR's own operations: these are linear, and each adjoint is the transpose of its operation.

``ADJOINTS[callee](builder, op, cotangents, dys)`` adds an operation's contributions to its operands' cotangents, given
the cotangents ``dys`` of its results (None: zero). The adjoint of a read adds to the part that was read; the adjoint of
a write reads the part's cotangent and clears it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...ir import typed
from ...ir.builder import Builder, Shape
from ...ir.dynamic import Operation, Value
from ...ir.typed import INT64, ArrayType, Spec, part_dimensions
from .cotangents import Cotangents, is_zero, zeros

Adjoint = Callable[[Builder, Operation, Cotangents, Sequence[Any]], None]
ADJOINTS: dict[Any, Adjoint] = {}


def adjoint_of(*callees: Any) -> Callable[[Any], Any]:
    def register(body: Any) -> Any:
        ADJOINTS.update(dict.fromkeys(callees, body))
        return body

    return register


# Moving elements


@adjoint_of(typed.apart, typed.cast, typed.full, typed.broadcast_to)
def _widen(b, op, cotangents, dys):
    cotangents.add(op.operands[0], dys[0])


@adjoint_of(typed.refused)
def _refused(b, op, cotangents, dys):
    y, *others = op.positional
    if not cotangents.active.isdisjoint(others):
        raise NoDerivative(op.named["reason"].constant)
    cotangents.add(y, dys[0])


@adjoint_of(typed.complex_of)
def _complex_of(b, op, cotangents, dys):
    real, imaginary = op.operands
    cotangents.add(real, dys[0])
    if imaginary in cotangents.active:
        cotangents.add(imaginary, b.call(np.imag, [dys[0]], [ArrayType(imaginary.type.dtype, dys[0].type.shape)])[0])


@adjoint_of(typed.reshape)
def _reshape(b, op, cotangents, dys):
    cotangents.add(op.operands[0], b.reshape(dys[0], op.operands[0].type.shape))


@adjoint_of(typed.transpose)
def _transpose(b, op, cotangents, dys):
    axes = op.named["axes"].constant
    cotangents.add(op.operands[0], b.transpose(dys[0], sorted(range(len(axes)), key=axes.__getitem__)))


@adjoint_of(typed.concatenate)
def _concatenate(b, op, cotangents, dys):
    axis = op.named["axis"].constant
    start = b.constant(0, np.int64)
    for part in op.positional:
        length = part.type.shape[axis]
        if part in cotangents.active:
            cotangents.add(part, along(b, dys[0], axis, start, 1, length))
        start = b.ufunc(np.add, start, b.length(length))


def along(b: Builder, x: Value, axis: int, start: Value, step: int, length: Any) -> Value:
    """A slice of x along one axis."""
    spec = tuple(("s", step) if i == axis else ":" for i in range(x.type.ndim))
    return b.getitem(x, [start], spec, [length])


# Samples of a batch


@adjoint_of(typed.lane_sum)
def _lane_sum(b, op, cotangents, dys):
    cotangents.add(op.operands[0], summed(b, op, dys[0]))


@adjoint_of(typed.lanes_joined)
def _lanes_joined(b, op, cotangents, dys):
    total = summed(b, op, dys[0])
    own = b.call(typed.lane_index, [], [INT64], axis=op.named["axis"].constant)[0]
    cotangents.add(op.operands[0], b.getitem(total, [own], ("i", *[":"] * (total.type.ndim - 1)), []))


def summed(b: Builder, op: Operation, dy: Value) -> Value:
    """The sum of all samples' cotangents."""
    return b.call(typed.lane_sum, [dy], [ArrayType(dy.type.dtype, dy.type.shape)], axis=op.named["axis"].constant)[0]


# Parts of arrays


def read(b: Builder, x: Value, index: Sequence[Value], spec: Spec, shape: Shape) -> Value:
    """Read the part of x at an index; ``shape`` is the part's shape."""
    arrays = [v.type.ndim for e, v in zip([e for e in spec if e != ":"], index) if e == "a"]
    places = part_dimensions(spec, max(arrays, default=0))
    lengths = [shape[places[i]] for i, e in enumerate(spec) if isinstance(e, tuple)]
    return b.getitem(x, index, spec, lengths)


@adjoint_of(typed.getitem)
def _getitem(b, op, cotangents, dys):
    x, *index = op.positional
    cotangents.add_part(x, index, dys[0], op.named["spec"].constant)


@adjoint_of(typed.setitem)
def _setitem(b, op, cotangents, dys):
    x, *index, v = op.positional
    spec, dy = op.named["spec"].constant, dys[0]
    if v in cotangents.active:
        g = read(b, dy, index, spec, v.type.shape)
        if "a" in spec:
            g = b.where(_kept(b, x, index, v, spec), g, b.constant(0, g.type.dtype))
        cotangents.add(v, g)
    if x in cotangents.active:
        cotangents.add(x, b.setitem(dy, index, zeros(b, v), spec))


def _kept(b: Builder, x: Value, index: Sequence[Value], v: Value, spec: Spec) -> Value:
    """Return a mask of the elements of v that a write with index arrays leaves in x: the last one for each place."""
    numbers = _numbered(b, v.type.shape)
    written = b.setitem(b.zeros(x.type.shape, np.int64), index, numbers, spec)
    return b.ufunc(np.equal, read(b, written, index, spec, v.type.shape), numbers)


def _numbered(b: Builder, shape: Shape) -> Value:
    """An array of this shape whose elements are their own positions in C order."""
    total = b.constant(0, np.int64)
    for i, n in enumerate(shape):
        total = b.ufunc(np.multiply, total, b.length(n))
        total = b.ufunc(np.add, total, on_axis(b, b.iota(n), i, len(shape)))
    return b.broadcast_to(total, shape)


def on_axis(b: Builder, x: Value, axis: int, ndim: int) -> Value:
    """A vector as an array of ``ndim`` dimensions, of which only ``axis`` has more than one element."""
    return b.reshape(x, tuple(x.type.shape[0] if i == axis else 1 for i in range(ndim)))


@adjoint_of(typed.add_at)
def _add_at(b, op, cotangents, dys):
    x, *index, v = op.positional
    if v in cotangents.active:
        cotangents.add(v, read(b, dys[0], index, op.named["spec"].constant, v.type.shape))
    cotangents.add(x, dys[0])


# Selections, sums and matrix products: equal to their rules, which would take longer to trace


@adjoint_of(np.where)
def _where(b, op, cotangents, dys):
    condition, x, y = op.operands
    zero = b.constant(0, dys[0].type.dtype)
    if x in cotangents.active:
        cotangents.add(x, b.where(condition, dys[0], zero))
    if y in cotangents.active:
        cotangents.add(y, b.where(condition, zero, dys[0]))


@adjoint_of(np.sum)
def _sum(b, op, cotangents, dys):
    x = op.operands[0]
    cotangents.add(x, b.broadcast_to(kept_axes(b, dys[0], x, op.named["axis"].constant), x.type.shape))


def kept_axes(b: Builder, y: Value, x: Value, axes: Sequence[int]) -> Value:
    """A reduction's result with the reduced axes of x restored as dimensions of length 1."""
    return b.reshape(y, tuple(1 if i in axes else n for i, n in enumerate(x.type.shape)))


@adjoint_of(np.matmul)
def _matmul(b, op, cotangents, dys):
    x, y = op.operands
    (dy,) = dys
    for value, other, first in ((x, y, True), (y, x, False)):
        if value not in cotangents.active:
            continue
        if other.type.dtype.kind == "c":
            other = b.ufunc(np.conjugate, other)
        if value.type.ndim == 1:
            cotangents.add(value, b.ufunc(np.multiply, dy, other))
        elif first:
            cotangents.add(value, b.matmul(dy, adjoint_axes(b, other)))
        else:
            cotangents.add(value, b.matmul(adjoint_axes(b, other), dy))


def adjoint_axes(b: Builder, x: Value) -> Value:
    """Swap the last two dimensions."""
    n = x.type.ndim
    return b.transpose(x, [*range(n - 2), n - 1, n - 2])


# Stacks: the cotangent of a stack is the stack of the cotangents of its inexact values


@adjoint_of(typed.stack_new)
def _stack_new(b, op, cotangents, dys):
    pass


@adjoint_of(typed.stack_push)
def _stack_push(b, op, cotangents, dys):
    stack, *values = op.operands
    if dys[0] is None:  # nothing is popped afterwards
        return
    inexact = [v for v in values if v.type.is_inexact]
    if not inexact:
        cotangents.add(stack, dys[0])
        return
    *gs, rest = b.pop(dys[0], [ArrayType(v.type.dtype, v.type.shape) for v in inexact])
    for value, g in zip(inexact, gs):
        cotangents.add(value, g)
    cotangents.add(stack, rest)


@adjoint_of(typed.stack_pop)
def _stack_pop(b, op, cotangents, dys):
    *values, rest = op.results
    *gs, after = dys
    after = zeros(b, rest) if after is None else after
    inexact = [(v, g) for v, g in zip(values, gs) if v.type.is_inexact]
    filled = [zeros(b, v) if g is None or is_zero(g) else b.cast(g, v.type.dtype) for v, g in inexact]
    cotangents.add(op.operands[0], b.push(after, filled) if filled else after)
