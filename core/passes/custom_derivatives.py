"""Removes custom derivatives, which the user gave by hand, from programs that are not differentiated."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.dynamic import Block, Function, Operation, walk
from ..ir.typed import custom, inverts, refused, rerun_begins, rerun_ends
from .inline import Copy

MARKS = (rerun_begins, rerun_ends, inverts)
"""What only reverse mode reads."""


def _is_custom(op: Operation) -> bool:
    return op.callee is custom or op.callee is refused


def without_marks(function: Function) -> Function:
    """Return the function without marks, which reverse mode alone reads."""
    return without_custom(function, lambda op: False)


def without_custom(function: Function, which: Callable[[Operation], bool] = _is_custom) -> Function:
    """Return the function without its custom derivatives: code that is not differentiated needs none.

    Marks of checkpointed calls go with them.
    """
    called: dict[Function, Function | None] = {}
    _find(function, which, called)
    return _copied(function, which, called)


def _find(function: Function, which: Callable[[Operation], bool], called: dict[Function, Function | None]) -> None:
    """Note in ``called`` the functions that are called, at any depth: they may call themselves."""
    for op in walk(function.block):
        if isinstance(op.callee, Function) and op.callee not in called:
            called[op.callee] = None
            _find(op.callee, which, called)


def _copied(
    function: Function, which: Callable[[Operation], bool], called: dict[Function, Function | None]
) -> Function:
    marked = any(op.callee in MARKS for op in walk(function.block))
    if not marked and not any(map(which, walk(function.block))) and not called:
        return function
    copy = _WithoutCustom(which, called)
    parameters = [copy.define(v) for v in function.parameters]
    made = Function(function.name, parameters, Block(), function.filename)
    if function in called:
        called[function] = made
    made.block = copy.block(function.block)
    return made


class _WithoutCustom(Copy):
    def __init__(self, which: Callable[[Operation], bool], called: dict[Function, Function | None]) -> None:
        super().__init__()
        self.which, self.called = which, called

    def operation(self, op: Operation) -> Operation:
        made = super().operation(op)
        if isinstance(op.callee, Function):
            made.callee = self.called[op.callee] or _copied(op.callee, self.which, self.called)
        return made

    def block(self, block: Block) -> Block:
        parameters = [self.define(v) for v in block.parameters]
        operations = []
        for op in block.operations:
            if op.callee in MARKS:
                continue
            if self.which(op):
                self.known.update((r, self.value(y)) for r, y in zip(op.results, op.operands))
            else:
                operations.append(self.operation(op))
        return Block(parameters, operations, [self.value(v) for v in block.results])
