"""Derivatives inside of compiled code: what ``grad(f)`` and its kin do on traced values.

``f`` is interpreted in a region of its own, which becomes a typed function of what is differentiated and of all else that it
reads; ``reverse_typed`` makes its two sweeps, and both are written where ``grad(f)`` was called.
"""

from __future__ import annotations

from .inline import Copy
from .ir import Block, Function, walk
from .typed import custom


def without_custom(function: Function) -> Function:
    """The function with the derivatives that were given by hand left out: what is not differentiated needs none."""
    if not any(op.callee is custom for op in walk(function.block)):
        return function
    copy = _WithoutCustom()
    parameters = [copy.define(v) for v in function.parameters]
    return Function(function.name, parameters, copy.block(function.block), function.filename)


class _WithoutCustom(Copy):
    def block(self, block: Block) -> Block:
        parameters = [self.define(v) for v in block.parameters]
        operations = []
        for op in block.operations:
            if op.callee is custom:
                self.known.update((r, self.value(y)) for r, y in zip(op.results, op.operands))
            else:
                operations.append(self.operation(op))
        return Block(parameters, operations, [self.value(v) for v in block.results])
