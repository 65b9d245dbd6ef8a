"""Which values of a program differ between the samples of a batch, and where its samples take different ways.

A value varies if it is computed from one that does, or if a condition that varies decides which value it is.  A branch
*diverges* if its condition varies, a loop if the number of its iterations does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...errors import BadInput
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK, ArrayType, lane_sum, lanes_joined, lengths

OF_LANES = (lane_sum, lanes_joined)
"""Operations on all samples of a batch."""


class Varying:
    """The values of a function that differ between samples, given the parameters that do.

    ``axis`` is the name of the batch: the same for all samples is what is computed from all of them.
    """

    def __init__(self, function: Function, parameters: Sequence[bool], axis: Any = None) -> None:
        self.axis = axis
        self.values: set[Value] = {p for p, on in zip(function.parameters, parameters, strict=True) if on}
        self.diverging: set[Operation] = set()
        before = -1
        while before != len(self.values) + len(self.diverging):
            before = len(self.values) + len(self.diverging)
            self.spread(function.block)

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def any(self, values: Sequence[Value]) -> bool:
        return any(v in self.values for v in values)

    def mark(self, values: Sequence[Value], sources: Sequence[Value]) -> None:
        self.values.update(value for value, source in zip(values, sources) if source in self.values)

    def spread(self, block: Block) -> None:
        for op in block.operations:
            if op.kind == "call":
                self.spread_call(op)
            elif op.kind == "if":
                self.spread_if(op)
            else:
                self.spread_loop(op)
            self.values.update(r for r in op.results if has_own_length(r, self))

    def spread_call(self, op: Operation) -> None:
        if op.callee in OF_LANES and op.named["axis"].constant == self.axis:
            return
        if self.any(op.positional) or any(r.type is STACK for r in op.results):
            # What lies on a stack is kept for each sample: which values those are is not followed.
            self.values.update(op.results)

    def spread_if(self, op: Operation) -> None:
        for inner in op.blocks:
            self.spread(inner)
            self.mark(op.results, inner.results)
        if op.operands[0] in self.values:
            self.diverging.add(op)
            then, other = (block.results for block in op.blocks)
            self.values.update(r for r, a, b in zip(op.results, then, other) if a is not b)

    def spread_loop(self, op: Operation) -> None:
        for initial, parameter, after, result in op.carried:
            for block in op.blocks:
                own = block.parameters[len(block.parameters) - len(op.results) :]
                self.mark([own[op.results.index(result)]] * 2, [initial, after])
            self.mark([result], [parameter])
        if op.kind == "range":
            start, _, step = op.operands[:3]
            self.mark([op.blocks[0].parameters[0]] * 2, [start, step])
        for block in op.blocks:
            self.spread(block)
        if self.any(op.blocks[0].results if op.kind == "while" else op.operands[:3]):
            self.diverging.add(op)
            self.values.update(result for _, parameter, after, result in op.carried if after is not parameter)


def has_own_length(value: Value, varying: Varying) -> bool:
    """Whether the length of an array differs between samples."""
    return isinstance(value.type, ArrayType) and varying.any([*lengths(value.type)])


def refuse_own_lengths(values: Iterable[Value], varying: Varying) -> None:
    """Raise BadInput at an array whose length differs between samples."""
    for v in values:
        if has_own_length(v, varying):
            raise BadInput(
                f"vmap: an array of type {v.type} has another length in each sample; use a mask (np.where), or call the function for one "
                "sample after the other"
            )


def ragged(block: Block, varying: Varying) -> Iterator[Value]:
    """Yield the values of a block whose lengths differ between samples."""
    for op in block.operations:
        yield from (v for v in op.results if has_own_length(v, varying))
        for inner in op.blocks:
            yield from ragged(inner, varying)


def touches(op: Operation, varying: Varying) -> bool:
    """Whether an operation, or one in its blocks, uses or makes a value that varies, or has an effect."""
    if op.may_raise or varying.any(op.operands) or varying.any(op.results):
        return True
    return any(touches(inner, varying) for block in op.blocks for inner in block.operations)
