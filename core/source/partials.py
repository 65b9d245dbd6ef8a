"""Analyses the functions of a rule: their IR if they are one expression, and the arguments that they read."""

from __future__ import annotations

import dis
import operator
from functools import lru_cache
from types import FunctionType
from typing import Any

from ..ir.dynamic import Block, Function, Operation, Value
from ..ir.vocabulary import Unstructured
from .statements import lower


def fold(block: Block) -> None:
    """Fold constants, as ``2 - 1`` in the exponent of ``2 * x ** (2 - 1)``."""
    kept: list[Operation] = []
    known: dict[Value, Value] = {}
    for op in block.operations:
        op.operands = [known.get(v, v) for v in op.operands]
        plain = all(v.is_constant and isinstance(v.constant, (int, float)) for v in op.operands)
        if plain and op.callee in (operator.add, operator.sub, operator.mul, operator.eq):
            known[op.results[0]] = Value(constant=op.callee(*(v.constant for v in op.operands)))
        elif op.callee is operator.mul and op.operands[0].is_constant and op.operands[0].constant is False:
            known[op.results[0]] = Value(constant=0)  # a condition that does not hold, and another
        elif op.callee is operator.pow and op.operands[1].is_constant and op.operands[1].constant == 1:
            known[op.results[0]] = op.operands[0]
        else:
            kept.append(op)
    block.results = [known.get(v, v) for v in block.results]
    used = set(block.results)
    block.operations = []
    for op in reversed(kept):
        if not used.isdisjoint(op.results):
            used.update(op.operands)
            block.operations.insert(0, op)


@lru_cache(maxsize=1024)
def expression_of(partial: Any) -> Function | None:
    """Return the IR of a partial derivative that is one expression, else None."""
    if partial.__name__ != "<lambda>" or partial.__defaults__ or partial.__closure__:
        return None
    try:
        lowered, _ = lower(partial)
    except Unstructured:
        return None
    return lowered if all(op.kind == "call" for op in lowered.block.operations) else None


@lru_cache(maxsize=1024)
def used_parameters(function: Any) -> frozenset[int]:
    """Return the positions of the parameters that a function reads; the others need not be saved for it."""
    if not isinstance(function, FunctionType) or function.__code__.co_flags & 0x0C:
        return frozenset(range(64))
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    read = set()
    for instruction in dis.get_instructions(code):
        argument = instruction.argval
        read |= set(argument) if isinstance(argument, tuple) else {argument}
    read |= set(code.co_cellvars)
    return frozenset(i for i, name in enumerate(names) if name in read)
