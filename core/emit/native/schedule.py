"""Reordering of operations and writes so that fewer arrays are copied. The values do not change.

- A write to a part of x that follows another write to the same part of x is applied to the result of that one.
- A read of x that comes after a write to x, and does not depend on it, is moved before the write.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK, part

WRITES = (typed.setitem, typed.add_at)


def scheduled(function: Function) -> Function:
    """Return a function with the operations reordered for writes in place; ``function`` is not changed."""
    return Function(function.name, function.parameters, _block(function.block), function.filename)


def _block(block: Block) -> Block:
    operations = [replace(op, blocks=list(map(_block, op.blocks))) if op.blocks else op for op in block.operations]
    return Block(block.parameters, _reads_before_writes(_rebased(operations)), block.results)


def _rebased(operations: list[Operation]) -> list[Operation]:
    latest: dict[Any, Value] = {}  # the last result of writing a part of an array
    found = []
    for op in operations:
        if op.kind == "call" and op.callee in WRITES:
            key = (op.operands[0], part(op))
            if op.callee is typed.setitem and key in latest and _covers(op):
                op = replace(op, operands=[latest[key], *op.operands[1:]])
            latest[key] = op.results[0]
        found.append(op)
    return found


def _covers(op: Operation) -> bool:
    """Return whether a write overwrites everything that an earlier write to the same part has written."""
    return all(e != "a" for e in op.named["spec"].constant)


def _reads_before_writes(operations: list[Operation]) -> list[Operation]:
    position: dict[Operation, float] = {op: i for i, op in enumerate(operations)}
    maker = {r: op for op in operations for r in op.results}
    writer: dict[Value, Operation] = {}  # the first write to an array
    ahead: dict[Operation, list[Operation]] = {}  # the operations moved before an operation
    moved: set[Operation] = set()

    def needed(op: Operation, at: float, found: dict[Operation, None]) -> bool:
        """Collect the operations that must move with one, dependencies first; return whether all can move."""
        if op in found or position[op] < at:
            return True
        if op in moved or not _is_movable(op) or position[op] == at or len(found) > 50:
            return False
        for value in op.operands:
            if value in maker and not needed(maker[value], at, found):
                return False
        found[op] = None
        return True

    for op in operations:
        if op.kind == "call" and op.callee in WRITES:
            writer.setdefault(op.operands[0], op)
        if not _is_movable(op):
            continue
        writes = [writer[v] for v in op.operands if v in writer]
        if writes:
            first = min(writes, key=lambda w: position[w])
            with_it: dict[Operation, None] = {}
            if needed(op, position[first], with_it):
                ahead.setdefault(first, []).extend(with_it)
                moved.update(with_it)
                position.update(dict.fromkeys(with_it, position[first] - 0.5))
    if not moved:
        return operations
    return [each for op in operations if op not in moved for each in (*ahead.get(op, ()), op)]


def _is_movable(op: Operation) -> bool:
    """Return whether an operation is a call without effects that is not a write."""
    if op.kind != "call" or op.may_raise or op.callee in WRITES or isinstance(op.callee, Function):
        return False
    return not any(v.type is STACK for v in (*op.operands, *op.results))
