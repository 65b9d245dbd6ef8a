"""Removal of unused operations, carried variables and results from typed IR; operations with effects stay.

Liveness is propagated backward from the results and the effects. A live value makes the operands of its operation live;
a live carried variable, its initial value and the body's result for it; a live operation in a block, the operation that
contains the block.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.dynamic import Block, Function, Operation, Value
from ..ir.typed import lengths


def remove_dead_code(function: Function) -> Function:
    """Remove dead code from a function in place, and return the function."""
    live = _Live(function)
    _sweep(function.block, live)
    return function


def live_values(function: Function) -> set[Value]:
    """Return the values on which results or effects of a function depend."""
    return _Live(function).values


class _Live:
    """The live values (``values``) and the operations that stay (``operations``)."""

    def __init__(self, function: Function) -> None:
        self.values: set[Value] = set()
        self.operations: set[Operation] = set()
        self.definer: dict[Value, tuple[Operation, int]] = {}  # number of the result or carried value
        self.holder: dict[Operation, Operation | None] = {}
        self.waiting: list[Value] = []
        effects = [*self.register(function.block, None)]
        self.need(function.block.results)
        for parameter in function.parameters:
            self.need(lengths(parameter.type))
        for op in effects:
            self.keep(op)
            self.need(op.operands)
            for result in op.results:
                self.need(lengths(result.type))
        while self.waiting:
            self.follow(self.waiting.pop())

    def register(self, block: Block, holder: Operation | None) -> Iterator[Operation]:
        for op in block.operations:
            self.holder[op] = holder
            for k, result in enumerate(op.results):
                self.definer[result] = op, k
            if op.kind == "call" and op.may_raise:
                yield op
            for inner in op.blocks:
                own = len(inner.parameters) - len(op.results)
                for k, parameter in enumerate(inner.parameters):
                    self.definer[parameter] = op, k - own
                yield from self.register(inner, op)

    def need(self, values: list[Value]) -> None:
        for value in values:
            if not value.is_constant and value not in self.values:
                self.values.add(value)
                self.waiting.append(value)

    def keep(self, op: Operation | None) -> None:
        """Keep an operation and those that contain it, with their conditions and loop bounds."""
        while op is not None and op not in self.operations:
            self.operations.add(op)
            if op.kind == "if":
                self.need(op.operands)
            elif op.kind == "range":
                self.need(op.operands[:3])
            elif op.kind == "while":
                self.need(op.blocks[0].results)
            op = self.holder[op]

    def follow(self, value: Value) -> None:
        self.need(lengths(value.type))
        if value not in self.definer:
            return
        op, k = self.definer[value]
        known = op in self.operations
        self.keep(op)
        if op.kind == "call":
            if not known:
                self.need(op.operands)
                for result in op.results:
                    self.need(lengths(result.type))
        elif k >= 0:
            self.need([b.results[k] for b in op.blocks if op.kind == "if" or b is op.blocks[-1]])
            if op.kind != "if":
                self.need([op.initial[k], *_parameters(op, k)])


def _parameters(op: Operation, k: int) -> list[Value]:
    """The parameters of a loop's blocks for carried variable ``k``."""
    return [b.parameters[len(b.parameters) - len(op.results) + k] for b in op.blocks]


def _sweep(block: Block, live: _Live) -> None:
    block.operations = [op for op in block.operations if op in live.operations]
    for op in block.operations:
        for inner in op.blocks:
            _sweep(inner, live)
        if op.kind == "call":
            continue
        dead = [
            k
            for k, result in enumerate(op.results)
            if result not in live.values and (op.kind == "if" or not any(p in live.values for p in _parameters(op, k)))
        ]
        skipped = {"range": 3, "while": 0}.get(op.kind)
        for k in reversed(dead):
            for inner in op.blocks:
                if op.kind != "if":
                    del inner.parameters[len(inner.parameters) - len(op.results) + k]
                if op.kind == "if" or inner is op.blocks[-1]:
                    del inner.results[k]
            if skipped is not None:
                del op.operands[skipped + k]
            del op.results[k]
