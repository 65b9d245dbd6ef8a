"""Copying, inlining and renaming of typed IR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..ir.builder import Builder
from ..ir.dynamic import Block, Function, Operation, Value, operands, walk
from ..ir.typed import ArrayType, Dim, lengths


class Copy:
    """Copies blocks; ``known`` maps values to their copies, and values not in it are used unchanged."""

    def __init__(self, known: dict[Value, Value] | None = None) -> None:
        self.known: dict[Value, Value] = {} if known is None else known

    def value(self, value: Value) -> Value:
        return self.known.get(value, value)

    def type(self, kind: Any) -> Any:
        """The type in the copy: lengths in a type are values, so they are mapped too."""
        if not isinstance(kind, ArrayType) or kind.is_static:
            return kind
        return replace(kind, shape=tuple(map(self.length, kind.shape)))

    def length(self, n: int | Dim) -> int | Dim:
        return replace(n, value=self.value(n.value)) if isinstance(n, Dim) else n

    def define(self, value: Value) -> Value:
        """Make the copy of a value that the copied code defines."""
        made = self.known[value] = Value(value.name, self.type(value.type))
        return made

    def operation(self, op: Operation) -> Operation:
        given = [self.value(v) for v in op.operands]
        blocks = [self.block(b) for b in op.blocks]
        results = [self.define(v) for v in op.results]
        return Operation(op.kind, op.callee, given, op.keywords, blocks, results, op.items, op.line, op.may_raise)

    def block(self, block: Block) -> Block:
        parameters = [self.define(v) for v in block.parameters]
        operations = [self.operation(op) for op in block.operations]
        return Block(parameters, operations, [self.value(v) for v in block.results])


def copy_function(function: Function) -> Function:
    """Copy a function with new values; the functions that it calls are shared, not copied."""
    copy = Copy()
    parameters = [copy.define(v) for v in function.parameters]
    return Function(function.name, parameters, copy.block(function.block), function.filename)


def inline(builder: Builder, function: Function, arguments: Sequence[Value]) -> list[Value]:
    """Write a copy of the function's body for arguments of its parameters' types, and return the results."""
    copy = Copy(dict(zip(function.parameters, arguments, strict=True)))
    builder.out += [copy.operation(op) for op in function.block.operations]
    return [copy.value(v) for v in function.block.results]


def rename(block: Block, known: dict[Value, Value]) -> None:
    """Replace values in a block, also in results and lengths in types; chains in ``known`` are followed."""
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
    """Follow a chain of replacements to its end."""
    while value in known:
        value = known[value]
    return value


def free_values(block: Block, parameters: set[Value]) -> list[Value]:
    """Return the values that a block reads from around it, in the order of their first use."""
    defined = set(parameters) | set(block.parameters)
    for op in walk(block):
        defined.update(op.results, *(b.parameters for b in op.blocks))
    used: dict[Value, None] = {}

    def use_lengths(values: Sequence[Value]) -> None:
        for v in values:
            if isinstance(v.type, ArrayType):
                used.update((n.value, None) for n in v.type.shape if isinstance(n, Dim))

    for op in walk(block):
        use_lengths(op.results)
        for b in op.blocks:
            use_lengths(b.parameters)
    for v in operands(block):
        used[v] = None
    found = [v for v in used if not v.is_constant and v not in defined]
    for v in list(found):  # their lengths are parameters too
        use_lengths([v])
    use_lengths(list(parameters))
    return [v for v in used if not v.is_constant and v not in defined]


def uses(operations: Iterable[Operation]) -> Iterator[Value]:
    """Every value that operations use: operands, lengths in types, and the same in nested blocks."""
    for op in operations:
        yield from op.operands
        for block in op.blocks:
            yield from uses(block.operations)
            yield from block.results
            for parameter in block.parameters:
                yield from lengths(parameter.type)
        for result in op.results:
            yield from lengths(result.type)
