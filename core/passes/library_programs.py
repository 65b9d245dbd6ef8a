"""Replaces calls of library functions by the NumPy programs of ``rules.library_programs``, which a back end has code for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import InvalidIR
from ..ir.builder import Builder
from ..ir.dynamic import Block, Function, Operation, Value, callee_name, walk
from ..ir.typed import ArrayType
from ..rules.connected import connected
from ..rules.library_programs import PROGRAMS, LibraryProgram
from .inline import Copy


def with_library_programs(function: Function, target: str) -> Function:
    """Return the function with the programs of the library functions that it calls, and with those of the functions these call."""
    return _Expansion(target, {}).function(function)


def _program(op: Operation, target: str) -> LibraryProgram | None:
    if op.kind != "call":
        return None
    try:
        programs = PROGRAMS.get(op.callee, ())
    except TypeError:  # an unhashable callable object
        return None
    programs = [program for program in programs if target in program.targets]
    types = [v.type for v in op.positional]
    if not programs or not all(isinstance(t, ArrayType) and t.is_static for t in types):
        return None
    constants = {name: v.constant for name, v in op.named.items()}
    return next((program for program in programs if program.fits(*types, **constants)), None)


class _Expansion(Copy):
    """A copy with programs in the place of calls; ``called`` maps the functions that are called to their copies."""

    def __init__(self, target: str, called: dict[Function, Function]) -> None:
        super().__init__()
        self.target, self.called = target, called

    def function(self, function: Function) -> Function:
        if not self._changes(function, set()):
            return function
        parameters = [self.define(v) for v in function.parameters]
        made = self.called[function] = Function(function.name, parameters, Block(), function.filename)
        made.block = self.block(function.block)
        return made

    def _changes(self, function: Function, seen: set[Function]) -> bool:
        seen.add(function)
        for op in walk(function.block):
            if _program(op, self.target) is not None:
                return True
            if isinstance(op.callee, Function) and op.callee not in seen and self._changes(op.callee, seen):
                return True
        return False

    def operation(self, op: Operation) -> Operation:
        made = super().operation(op)
        if isinstance(op.callee, Function):
            made.callee = self.called.get(op.callee) or _Expansion(self.target, self.called).function(op.callee)
        return made

    def block(self, block: Block) -> Block:
        parameters = [self.define(v) for v in block.parameters]
        return Block(parameters, self.operations(block.operations), [self.value(v) for v in block.results])

    def operations(self, given: Sequence[Operation]) -> list[Operation]:
        made = []
        for op in given:
            program = _program(op, self.target)
            made += [self.operation(op)] if program is None else self.expanded(op, program)
        return made

    def expanded(self, op: Operation, program: LibraryProgram) -> list[Operation]:
        """Return the operations of the program for a call, and note its results as those of the call."""
        builder = Builder()
        builder.line = op.line
        operands = [self.value(v) for v in op.positional]
        constants = {name: v.constant for name, v in op.named.items()}
        found = list(_values(connected.trace_program(builder, program.program, operands, constants, self.target)))
        for result, value in zip(op.results, found, strict=True):
            if value.type.dtype != result.type.dtype or value.type.shape != result.type.shape:
                raise InvalidIR(f"the program of {callee_name(op.callee)} returns {value.type}, not {result.type}")
        made = self.operations(builder.out)
        self.known.update((result, self.value(value)) for result, value in zip(op.results, found))
        return made


def _values(found: Any) -> Iterator[Value]:
    if isinstance(found, (tuple, list)):
        for part in found:
            yield from _values(part)
    else:
        yield found
