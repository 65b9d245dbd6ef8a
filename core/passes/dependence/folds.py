"""Folds: values that a loop carries and that affect nothing but themselves, element by element, such as sums.

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
    follow = _Follow(parameter, is_second)
    return follow.block(body) and result in follow.found and sum(r in follow.found for r in body.results) == 1


class _Follow:
    """The values of a block that a parameter affects; methods return False where that is not as in a fold."""

    def __init__(self, parameter: Value, is_second: bool) -> None:
        self.found = {parameter}
        self.shape, self.is_second = parameter.type.shape, is_second

    def block(self, block: Block) -> bool:
        for op in block.operations:
            if op.kind == "call":
                if not self.found.isdisjoint(op.operands):
                    if not self.is_by_element(op) or self.is_second and not self.is_linear(op):
                        return False
                    self.found.update(op.results)
            elif op.kind == "if":
                if op.operands[0] in self.found or not all(map(self.block, op.blocks)):
                    return False
                self.found.update(
                    r for k, r in enumerate(op.results) if any(b.results[k] in self.found for b in op.blocks)
                )
            elif not self.loop(op):
                return False
        return True

    def loop(self, op: Operation) -> bool:
        if op.kind == "range" and not self.found.isdisjoint(op.operands[:3]):
            return False
        before = -1
        while before != len(self.found):
            before = len(self.found)
            for k, (initial, parameter, after, result) in enumerate(op.carried):
                if initial in self.found or after in self.found:
                    self.found.update((parameter, result, *(b.parameters[k] for b in op.blocks[:-1])))
            if not all(map(self.block, op.blocks)):
                return False
        return op.kind == "range" or op.blocks[0].results[0] not in self.found

    def is_by_element(self, op: Operation) -> bool:
        """Whether each element of the results is affected by the same element of the parameter alone, or there is one only."""
        if not self.shape:
            return True
        values = [*(v for v in op.operands if v in self.found), *op.results]
        by_element = isinstance(op.callee, np.ufunc) or op.callee in (np.where, cast)
        return by_element and all(v.type.shape == self.shape for v in values)

    def is_linear(self, op: Operation) -> bool:
        if op.callee in LINEAR or op.callee is cast:
            return True
        if op.callee is np.where:
            return op.operands[0] not in self.found
        return op.callee is np.multiply and any(v.is_constant for v in op.operands)
