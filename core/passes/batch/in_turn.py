"""Operations for the samples of a batch in turn: a loop over samples, which writes the results of each into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.dynamic import Block, Operation, Value, walk
from ...ir.typed import STACK
from ..inline import Copy, free_values
from .structural import is_own, refused
from .varying import OF_LANES, refuse_own_lengths, touches


def in_turn(sweep: Any, operations: Sequence[Operation], results: Sequence[Value]) -> None:
    """Write operations as a loop over the samples, or over those of the mask; ``results`` are their results that are used."""
    b = sweep.builder
    for op in walk(Block([], list(operations), [])):
        if op.callee in OF_LANES and is_own(sweep, op):
            raise refused(sweep, op)
    if any(r.type is STACK for r in results):
        raise BadInput(
            "vmap: samples take different ways in a derivative, in a function that combines samples, which native code does not do; use "
            "jit(target='xla')"
        )
    read = free_values(Block([], list(operations), list(results)), set())
    zero, one = (b.constant(n, np.int64) for n in (0, 1))
    outer = [b.zeros(sweep.type(r.type).shape, r.type.dtype) for r in results]

    def of_one(i: Value, arrays: Sequence[Value]) -> list[Value]:
        copy = Copy({v: sweep.of_lane(v, i) for v in read})
        for op in operations:
            b.line = op.line
            b.append(copy.operation(op))
        return [b.setitem(x, [i], copy.value(r), ("i", *[":"] * r.type.ndim)) for x, r in zip(arrays, results)]

    def turn(i: Value, *arrays: Value) -> list[Value]:
        if sweep.mask is None:
            return of_one(i, arrays)
        takes_part = b.getitem(sweep.mask, [i], ("i",), [])
        return b.if_(takes_part, lambda: of_one(i, arrays), lambda: arrays)

    found = b.range_(zero, b.length(sweep.lanes), one, turn, outer)
    sweep.copy.known.update(zip(results, found))


def run_in_turn(sweep: Any, block: Block) -> None:
    """Write a whole program as a loop over the samples; what is the same for all of them is computed once, before it."""
    others = separated(sweep, block)
    refuse_own_lengths(block.results, sweep.varying)
    in_turn(sweep, others, list(dict.fromkeys(v for v in block.results if v in sweep.varying)))


def separated(sweep: Any, block: Block) -> list[Operation]:
    """Write the operations that are the same for all samples; return the others."""
    others = []
    for op in block.operations:
        if touches(op, sweep.varying):
            others.append(op)
            sweep.varying.values.update(op.results)
        else:
            sweep.operation(op)
    return others
