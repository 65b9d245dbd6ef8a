"""Folds: values that a loop carries and that affect nothing but themselves, such as sums.

What a fold depends on after the loop is what it depended on before it, and what each iteration adds: an iteration need not know what those before
it added.
"""

from __future__ import annotations

import numpy as np

from ...ir.dynamic import Block, Operation, Value
from ...ir.typed import cast
from .interpreter import LINEAR


def is_fold(body: Block, parameter: Value, result: Value, is_second: bool) -> bool:
    """Whether a parameter of a loop's body affects this result alone, in a linear way for second derivatives."""
    found = {parameter}
    if not _follow(body, found, is_second):
        return False
    return result in found and sum(r in found for r in body.results) == 1


def _follow(block: Block, found: set[Value], is_second: bool) -> bool:
    """Add the values of a block that are affected by those found; return False if that decides what runs, or is not linear."""
    for op in block.operations:
        if op.kind == "call":
            if not found.isdisjoint(op.operands):
                if is_second and not _is_linear(op, found):
                    return False
                found.update(op.results)
        elif op.kind == "if":
            if op.operands[0] in found or not all(_follow(b, found, is_second) for b in op.blocks):
                return False
            found.update(r for k, r in enumerate(op.results) if any(b.results[k] in found for b in op.blocks))
        elif not _follow_loop(op, found, is_second):
            return False
    return True


def _follow_loop(op: Operation, found: set[Value], is_second: bool) -> bool:
    if op.kind == "range" and not found.isdisjoint(op.operands[:3]):
        return False
    before = -1
    while before != len(found):
        before = len(found)
        for k, (initial, parameter, after, result) in enumerate(op.carried):
            if initial in found or after in found:
                found.update((parameter, result, *(b.parameters[k] for b in op.blocks[:-1])))
        if not all(_follow(b, found, is_second) for b in op.blocks):
            return False
    return op.kind == "range" or op.blocks[0].results[0] not in found


def _is_linear(op: Operation, found: set[Value]) -> bool:
    if op.callee in LINEAR or op.callee is cast:
        return True
    if op.callee is np.where:
        return op.operands[0] not in found
    return op.callee is np.multiply and any(v.is_constant for v in op.operands)
