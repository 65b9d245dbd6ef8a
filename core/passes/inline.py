"""Copies of typed IR: of functions and blocks, and of a function's body in place of a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..ir.builder import Builder
from ..ir.dynamic import Block, Function, Operation, Value
from ..ir.typed import ArrayType, Dim


class Copy:
    """Copies blocks: ``known`` says what stands for a value in the copy; values that are not in it stay themselves."""

    def __init__(self, known: dict[Value, Value] | None = None) -> None:
        self.known: dict[Value, Value] = {} if known is None else known

    def value(self, value: Value) -> Value:
        return self.known.get(value, value)

    def type(self, kind: Any) -> Any:
        """A type of the copy: its lengths are values too."""
        if not isinstance(kind, ArrayType) or kind.is_static:
            return kind
        lengths = (replace(n, value=self.value(n.value)) if isinstance(n, Dim) else n for n in kind.shape)
        return replace(kind, shape=tuple(lengths))

    def define(self, value: Value) -> Value:
        """A new value in the place of one that the copied code defines."""
        made = self.known[value] = Value(value.name, self.type(value.type))
        return made

    def operation(self, op: Operation) -> Operation:
        operands = [self.value(v) for v in op.operands]
        blocks = [self.block(b) for b in op.blocks]
        results = [self.define(v) for v in op.results]
        return Operation(op.kind, op.callee, operands, op.keywords, blocks, results, op.items, op.line, op.may_raise)

    def block(self, block: Block) -> Block:
        parameters = [self.define(v) for v in block.parameters]
        operations = [self.operation(op) for op in block.operations]
        return Block(parameters, operations, [self.value(v) for v in block.results])


def copy_function(function: Function) -> Function:
    """The same function with values of its own; a function that it calls is called still."""
    copy = Copy()
    parameters = [copy.define(v) for v in function.parameters]
    return Function(function.name, parameters, copy.block(function.block), function.filename)


def inline(builder: Builder, function: Function, arguments: Sequence[Value]) -> list[Value]:
    """Write a copy of the function's body; the values that it returns for these arguments, of its parameters' types."""
    copy = Copy(dict(zip(function.parameters, arguments, strict=True)))
    builder.out += [copy.operation(op) for op in function.block.operations]
    return [copy.value(v) for v in function.block.results]


def rename(block: Block, known: dict[Value, Value]) -> None:
    """Put the values that stand for others in their place, in types too; chains of them are followed."""
    _rename(block, Copy({v: last(known, v) for v in known}))


def _rename(block: Block, copy: Copy) -> None:
    for parameter in block.parameters:
        parameter.type = copy.type(parameter.type)
    for op in block.operations:
        op.operands = [copy.value(v) for v in op.operands]
        for inner in op.blocks:
            _rename(inner, copy)
        for result in op.results:
            result.type = copy.type(result.type)
    block.results = [copy.value(v) for v in block.results]


def last(known: dict[Value, Value], value: Value) -> Value:
    """What stands for a value at the end of a chain."""
    while value in known:
        value = known[value]
    return value
