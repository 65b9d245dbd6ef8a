"""Removes custom derivatives, which the user gave by hand, from programs that are not differentiated."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.dynamic import Block, Function, Operation, walk
from ..ir.typed import custom
from .inline import Copy


def _is_custom(op: Operation) -> bool:
    return op.callee is custom


def without_custom(function: Function, which: Callable[[Operation], bool] = _is_custom) -> Function:
    """Return the function without its custom derivatives: code that is not differentiated needs none."""
    if not any(map(which, walk(function.block))):
        return function
    copy = _WithoutCustom(which)
    parameters = [copy.define(v) for v in function.parameters]
    return Function(function.name, parameters, copy.block(function.block), function.filename)


class _WithoutCustom(Copy):
    def __init__(self, which: Callable[[Operation], bool]) -> None:
        super().__init__()
        self.which = which

    def block(self, block: Block) -> Block:
        parameters = [self.define(v) for v in block.parameters]
        operations = []
        for op in block.operations:
            if self.which(op):
                self.known.update((r, self.value(y)) for r, y in zip(op.results, op.operands))
            else:
                operations.append(self.operation(op))
        return Block(parameters, operations, [self.value(v) for v in block.results])
