"""Calls of functions that have a rule for batches: the rule where their arguments vary, the function itself elsewhere."""

from __future__ import annotations

from typing import Any

from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.typed import with_rule
from ..inline import Copy
from .in_turn import in_turn
from .structural import batched


@batched(with_rule)
def _with_rule(sweep: Any, op: Operation) -> list[Value]:
    count = op.named["count"].constant
    if sweep.varying.any(op.positional[count:]):  # of what the function closes over, the rule knows nothing
        in_turn(sweep, [op], op.results)
        return [sweep.get(r) for r in op.results]
    vary = [v in sweep.varying for v in op.positional]
    found = op.named["written"].constant(sweep.builder, [sweep.valid(v) for v in op.positional], vary)
    return [sweep.builder.broadcast_to(y, sweep.type(r.type).shape) for y, r in zip(found, op.results)]


def without_rules(function: Function) -> Function:
    """Return a function with the functions themselves in the places of calls with rules."""
    if not any(op.callee is with_rule for op in walk(function.block)):
        return function
    copy = _Plain()
    parameters = [copy.define(v) for v in function.parameters]
    return Function(function.name, parameters, copy.block(function.block), function.filename)


class _Plain(Copy):
    def block(self, block: Block) -> Block:
        parameters = [self.define(v) for v in block.parameters]
        operations: list[Operation] = []
        for op in block.operations:
            if op.callee is not with_rule:
                operations.append(self.operation(op))
                continue
            body: Function = op.named["body"].constant
            inner = _Plain(dict(zip(body.parameters, map(self.value, op.positional))))
            written = inner.block(Block([], body.block.operations, body.block.results))
            operations += written.operations
            self.known.update(zip(op.results, written.results))
        return Block(parameters, operations, [self.value(v) for v in block.results])
