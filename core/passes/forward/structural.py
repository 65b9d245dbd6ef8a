"""Tangents of typed IR's own operations and of linear and bilinear functions of NumPy.

``TANGENTS[callee](builder, op, tangents)`` sets the tangents of an operation's results; the tangent of a linear operation is
that operation of the tangents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Operation, Value
from ...ir.typed import STACK
from ..reverse.cotangents import strong
from .tangents import Tangents

Tangent = Callable[[Builder, Operation, Tangents], None]
TANGENTS: dict[Any, Tangent] = {}


def tangent_of(*callees: Any) -> Callable[[Any], Any]:
    def register(body: Any) -> Any:
        TANGENTS.update(dict.fromkeys(callees, body))
        return body

    return register


def again(b: Builder, op: Operation, operands: list[Value]) -> Value:
    """Write an operation with one result again, of other operands."""
    constants = {name: v.constant for name, v in op.named.items()}
    return b.call(op.callee, operands, [strong(op.results[0].type)], **constants)[0]


@tangent_of(typed.cast)
def _cast(b, op, tangents):
    tangents.set(op.results[0], tangents.get(op.operands[0]))


@tangent_of(typed.refused)
def _refused(b, op, tangents):
    y, *others = op.positional
    if tangents.any(others):
        raise NoDerivative(op.named["reason"].constant)
    tangents.set(op.results[0], tangents.get(y))


@tangent_of(
    typed.apart,
    typed.full,
    typed.broadcast_to,
    typed.reshape,
    typed.transpose,
    typed.getitem,
    typed.lane_sum,
    typed.lanes_joined,
    np.sum,
    np.imag,
)
def _first(b, op, tangents):
    x, *others = op.positional
    tangents.set(op.results[0], again(b, op, [tangents.filled(x), *others]))


@tangent_of(typed.concatenate, typed.complex_of)
def _each(b, op, tangents):
    tangents.set(op.results[0], again(b, op, [tangents.filled(x) for x in op.positional]))


@tangent_of(typed.setitem, typed.add_at)
def _write(b, op, tangents):
    x, *index, v = op.positional
    tangents.set(op.results[0], again(b, op, [tangents.filled(x), *index, tangents.filled(v)]))


@tangent_of(np.where)
def _where(b, op, tangents):
    condition, x, y = op.operands
    zero = b.constant(0, op.results[0].type.dtype)
    tangents.set(op.results[0], b.where(condition, tangents.get(x) or zero, tangents.get(y) or zero))


@tangent_of(np.matmul)
def _matmul(b, op, tangents):
    x, y = op.operands
    if x in tangents.of:
        tangents.add(op.results[0], again(b, op, [tangents.filled(x), y]))
    if y in tangents.of:
        tangents.add(op.results[0], again(b, op, [x, tangents.filled(y)]))


@tangent_of(typed.stack_new)
def _stack_new(b, op, tangents):
    tangents.set(op.results[0], b.call(typed.stack_new, [], [STACK])[0])


@tangent_of(typed.stack_push)
def _stack_push(b, op, tangents):
    stack, *values = op.operands
    pushed = [tangents.filled(v) for v in values if v.type.is_inexact]
    before = tangents.filled(stack)
    tangents.set(op.results[0], b.push(before, pushed) if pushed else before)


@tangent_of(typed.stack_pop)
def _stack_pop(b, op, tangents):
    *values, rest = op.results
    inexact = [v for v in values if v.type.is_inexact]
    found = [tangents.filled(op.operands[0])]
    if inexact:
        found = b.pop(found[0], [strong(v.type) for v in inexact])
    for value, t in zip([*inexact, rest], found):
        tangents.set(value, t)
