"""Samples in groups, of which native code computes one after the other.

Where samples are a few floats, a group fills the registers of a processor: one instruction acts on several samples, also within loops,
under masks where they take different ways. Where they are arrays, the arrays of a group fit into a core's cache. The last group ends
with the last sample: samples that stand in two groups are computed twice.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.typed import STACK, ArrayType, Dim
from ..inline import free_values, inline
from .in_turn import separated
from .varying import Varying, touches

WIDTH = 8
"""The number of samples in a group."""
LARGEST = 16
"""The most elements of an array of one sample."""
IN_CACHE = 1 << 14
"""The elements of an array of a group whose samples are arrays: a few such arrays fit into a core's cache."""

_FUNCTIONS = {
    getattr(np, name)
    for name in (
        "add subtract multiply divide negative absolute square sqrt reciprocal sign minimum maximum fmin fmax copysign exp exp2 expm1 log "
        "log2 log1p sin cos tan tanh sinh cosh arctan hypot power less less_equal greater greater_equal equal not_equal logical_and "
        "logical_or logical_not logical_xor isnan isinf isfinite where sum"
    ).split()
}
_MOVES = {
    typed.cast,
    typed.full,
    typed.broadcast_to,
    typed.reshape,
    typed.getitem,
    typed.setitem,
    typed.add_at,
    typed.raise_if,
}
_STACKS = {typed.stack_new, typed.stack_push, typed.stack_pop}


def in_vectors(function: Function, varying: Varying, lanes: int | Dim) -> bool:
    """Whether groups of samples are computed at once: samples are floats in loops or branches, and their indices are the same.

    The last parameter is the number of the sample.
    """
    if isinstance(lanes, Dim) or lanes < WIDTH or not all(v in varying for v in function.block.results):
        return False
    operations = [*walk(function.block)]
    if not any(op.kind != "call" and touches(op, varying) for op in operations):
        return False
    values = [*function.parameters[:-1], *(r for op in operations for r in op.results)]
    has_stack = any(v.type is STACK for v in values)
    if has_stack and varying.diverging:
        return False
    return all(_is_of_floats(v) for v in values if v in varying) and all(_fits(op, varying) for op in operations)


def _is_of_floats(value: Value) -> bool:
    kind = value.type
    return kind is STACK or kind.is_static and kind.dtype.kind in "fb" and prod(kind.shape) <= LARGEST


def _fits(op: Operation, varying: Varying) -> bool:
    if op.kind != "call":
        return op.kind != "range" or not varying.any(op.operands[:3])
    if op.callee in (typed.debug_print, typed.callback) or isinstance(op.callee, Function):
        return False
    if not varying.any(op.positional) and not varying.any(op.results):
        return True
    if op.callee in (typed.getitem, typed.setitem, typed.add_at):
        index = op.positional[1:] if op.callee is typed.getitem else op.positional[1:-1]
        return not varying.any(index)
    return op.callee in _FUNCTIONS or op.callee in _MOVES or op.callee in _STACKS


def run_in_groups(
    sweep: Any, function: Function, size: int, of_group: Callable[[Function, list[bool]], Function]
) -> list[Value]:
    """Write a loop over groups of ``size`` samples, and return the results of all samples.

    What is the same for all samples is computed once, before the loop; ``of_group`` makes the function of a group from the
    function of one sample that is the rest, and which of its parameters vary.
    """
    b, varying, lanes = sweep.builder, sweep.varying, sweep.lanes
    rest = Block([], separated(sweep, function.block), function.block.results)
    read = free_values(rest, set())
    group = of_group(Function(function.name, read, rest, function.filename), [v in varying for v in read])
    zero, one, width = (b.constant(n, np.int64) for n in (0, 1, size))
    last = b.constant(lanes - size, np.int64)
    outer = [b.zeros((lanes, *v.type.shape[1:]), v.type.dtype) for v in group.block.results]

    def turn(k: Value, *arrays: Value) -> list[Value]:
        start = b.ufunc(np.minimum, b.ufunc(np.multiply, k, width), last)
        given = [sweep.get(v) for v in read]
        given = [b.getitem(x, [start], _rows(x.type), [size]) if v in varying else x for v, x in zip(read, given)]
        found = inline(b, group, given)
        return [b.setitem(x, [start], y, _rows(x.type)) for x, y in zip(arrays, found)]

    return b.range_(zero, b.constant(-(-lanes // size), np.int64), one, turn, outer)


def in_cache(function: Function, varying: Varying, lanes: int | Dim) -> int | Dim:
    """The number of samples that are computed at once so that their arrays stay in a core's cache."""
    if isinstance(lanes, Dim) or not all(v in varying for v in function.block.results):
        return lanes
    made = [v.type for op in walk(function.block) for v in op.results if v in varying and v.type is not STACK]
    largest = max((prod(kind.shape) for kind in made if kind.is_static), default=1)
    return min(lanes, max(1, IN_CACHE // max(1, largest)))


def _rows(kind: ArrayType) -> tuple[Any, ...]:
    return (("s", 1), *[":"] * (kind.ndim - 1))
