"""Writes that add to a part of an array, found where they are spelled as a read, a sum and a write.

    setitem(x, i, getitem(x, i) + v)              ->  add_at(x, i, v)
    add_at(setitem(x, i, 0), i, getitem(x, i))    ->  x
    add_at(setitem(x, i, 0), i, getitem(x, i) + v) -> add_at(x, i, v)

The last two are the adjoints of the first; additions to other parts may stand between the two writes. Additions commute, so iterations that only add to an array may run in any order
(``independence``), while one that reads its elements needs those before it. The sums are the same but for the sign of zeros.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from ..ir import typed
from ..ir.dynamic import Block, Function, Operation, Value, operands, walk
from ..ir.typed import part
from .dead_code import remove_dead_code


def as_additions(function: Function, of_adjoints: bool = False) -> Function:
    """Return a function with such writes as additions; ``function`` is not changed.

    With ``of_adjoints``, only the last two forms are rewritten, in which parts are cleared and given back. Native code may
    contract an addition and a product, so that other sums could differ from Python's in the last digit.
    """
    if not any(op.callee is typed.setitem for op in walk(function.block)):
        return function
    found = _Rewriting(function, of_adjoints)
    return remove_dead_code(replace(function, block=found.block(function.block)))


class _Rewriting:
    def __init__(self, function: Function, of_adjoints: bool) -> None:
        self.of_adjoints = of_adjoints
        self.made = {result: op for op in walk(function.block) for result in op.results}
        self.uses = Counter(v for v in operands(function.block) if not v.is_constant)
        self.instead: dict[Value, Value] = {}
        self.cleared: dict[Operation, Operation] = {}  # for an addition: the write that has cleared the same part
        self.dropped: set[Operation] = set()
        self.find_cleared(function.block)

    def find_cleared(self, block: Block) -> None:
        user = {v: op for op in block.operations for v in op.operands}
        for op in block.operations:
            for inner in op.blocks:
                self.find_cleared(inner)
            if op.callee is typed.setitem and self.is_zero(op.positional[-1]) and "a" not in op.named["spec"].constant:
                after = self.following(op, user)
                while after is not None and part(after) != part(op):
                    after = self.following(after, user)
                if after is not None and self.is_replaced(after, op):
                    self.cleared[after] = op
                    self.dropped.add(op)

    def following(self, op: Operation, user: dict[Value, Operation]) -> Operation | None:
        """Return the addition to the array that a write gives, if that is its only use."""
        (result,) = op.results
        after = user.get(result)
        if after is None or self.uses[result] != 1 or after.callee is not typed.add_at:
            return None
        return after if after.positional[0] is result else None

    def is_replaced(self, op: Operation, cleared: Operation) -> bool:
        """Return whether an addition gives back the part that was cleared, perhaps with a term."""
        base = cleared.positional[0]
        return self.is_read(op.positional[-1], op, base) or self.term(op, base) is not None

    def block(self, block: Block) -> Block:
        found: list[Operation] = []
        for op in block.operations:
            now = self.instead.get
            operands_, blocks = [now(v, v) for v in op.operands], [self.block(b) for b in op.blocks]
            moved = replace(op, operands=operands_, blocks=blocks, results=list(op.results))
            if op in self.dropped:
                self.instead[op.results[0]] = moved.positional[0]
                continue
            if op.kind == "call" and op.callee is typed.setitem and not self.of_adjoints:
                found += self.added(moved, op, op.positional[0])
            elif op in self.cleared:
                found += self.replaced(moved, op, self.cleared[op].positional[0])
            else:
                found.append(moved)
        return Block(list(block.parameters), found, [self.instead.get(v, v) for v in block.results])

    def added(self, moved: Operation, op: Operation, base: Value) -> list[Operation]:
        """Return a write of an element and a number as an addition to ``base``, which may be an earlier version."""
        term = self.term(op, base)
        return [moved] if term is None else self.addition(moved, base, *term)

    def replaced(self, moved: Operation, op: Operation, base: Value) -> list[Operation]:
        """Return an addition to a part of ``base`` that has been cleared as one to the part before."""
        if self.is_read(op.positional[-1], op, base):
            self.instead[op.results[0]] = moved.positional[0]
            return []
        term = self.term(op, base)
        assert term is not None
        return self.addition(moved, op.positional[0], *term)

    def addition(self, moved: Operation, base: Value, term: Value, is_negative: bool) -> list[Operation]:
        found = []
        if is_negative:
            negative = Value("", term.type)
            found.append(Operation("call", np.negative, [term], results=[negative], line=moved.line))
            term = negative
        index = moved.positional[1:-1]
        operands_ = [self.instead.get(base, base), *index, term, *moved.named.values()]
        return [*found, replace(moved, callee=typed.add_at, operands=operands_)]

    def term(self, op: Operation, base: Value) -> tuple[Value, bool] | None:
        """Return what a write adds to the part of ``base`` that it overwrites, and whether it is subtracted; None for others."""
        total = op.positional[-1]
        sum_ = self.made.get(total)
        if "a" in op.named["spec"].constant or sum_ is None or self.uses[total] != 1:
            return None
        if sum_.callee not in (np.add, np.subtract):
            return None
        a, b = sum_.operands
        if self.is_read(a, op, base):
            term = b
        elif sum_.callee is np.add and self.is_read(b, op, base):
            term = a
        else:
            return None
        term = self.instead.get(term, term)
        return (term, sum_.callee is np.subtract) if term.type == total.type and base.type.is_inexact else None

    def is_read(self, value: Value, op: Operation, base: Value) -> bool:
        """Return whether a value is the part of ``base`` to which an operation writes."""
        read = self.made.get(value)
        if read is None or read.callee is not typed.getitem or value.type != op.positional[-1].type:
            return False
        return read.operands[0] is base and part(read) == part(op)

    def is_zero(self, value: Value) -> bool:
        full = self.made.get(value)
        if full is not None and full.callee is typed.full:
            value = full.operands[0]
        return value.is_constant and not np.any(value.constant)
