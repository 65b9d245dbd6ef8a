"""What the transforms of both modes write: operations, and partial derivatives as operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.dynamic import Block, Function, Operation, Value
from ...source.partials import expression_of, fold, used_parameters
from .activity import active_values

NONE = Value(constant=None)


class Writer:
    """Appends operations to ``out``.

    ``compiled_callee(op, mask)`` returns the compiled form of a Python function that the operation calls, for the operands
    that vary.
    """

    def __init__(self, function: Function, parameters: Sequence[Value], compiled_callee: Any) -> None:
        self.function = function
        self.parameters = parameters
        self.compiled_callee = compiled_callee
        self.active = active_values(function, parameters)
        self.out: list[Operation] = []
        self.line = 0

    def emit(self, kind: str, callee: Any, values: Sequence[Value], results: int = 1, **more: Any) -> list[Value]:
        made = [Value() for _ in range(results)]
        self.out.append(Operation(kind, callee, list(values), results=made, line=self.line, **more))
        return made

    def call(self, callee: Any, *values: Value) -> Value:
        return self.emit("call", callee, values)[0]

    def inline(self, partial: Callable[..., Any], values: list[Value]) -> Value:
        """Insert the operations of a partial derivative if it is an expression, else a call of it."""
        used = used_parameters(partial)
        lowered = expression_of(partial)
        if lowered is not None:
            mapping = dict(zip(lowered.parameters, values))
            operations = []
            for op in lowered.block.operations:
                (old,) = op.results
                mapping[old] = Value()
                operands_ = [mapping.get(v, v) for v in op.operands]
                operations.append(
                    Operation("call", op.callee, operands_, op.keywords, results=[mapping[old]], line=self.line)
                )
            result = lowered.block.results[0]
            block = Block(operations=operations, results=[mapping.get(result, result)])
            fold(block)
            self.out += block.operations
            return block.results[0]
        return self.call(partial, *(v if i in used else NONE for i, v in enumerate(values)))

    def used_by(self, pullback: Callable[..., Any], op: Operation, dy: Value, y: Value) -> list[Value]:
        """Return the arguments for a call of a pullback, None for those that it does not read."""
        used = used_parameters(pullback)
        values = [dy, y, *op.operands]
        return [v if i in used or i >= len(op.positional) + 2 else NONE for i, v in enumerate(values)]
