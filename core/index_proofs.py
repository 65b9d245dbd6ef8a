"""Proofs about a finished typed function: which indices are always in range, which checks never fail.

    found = analyse(function)
    found.in_range       operations (getitem, setitem, add_at) whose index is within the array, whatever the inputs are
    found.never          raise_if operations that never raise
    found.intervals      value -> (least, greatest): ints, where they are defined

``without_checks(function)`` leaves out the raise_if operations that never raise.  The reasoning is that of
``integer_bounds``; here the conditions of branches and loops are known, and so is what a loop does to the ints it carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import typed
from .affine import Affine, Interval, is_int, limits
from .integer_bounds import Bounds
from .ir import Block, Function, Operation, Value, walk
from .typed import ArrayType, Dim


@dataclass
class Proofs:
    """What holds whatever the inputs are; see the top of this file."""

    in_range: set[Operation] = field(default_factory=set)
    never: set[Operation] = field(default_factory=set)
    conditions: dict[Value, bool] = field(default_factory=dict)
    intervals: dict[Value, Interval] = field(default_factory=dict)


def analyse(function: Function) -> Proofs:
    """Walk a typed function and prove what can be proved of its indices and checks."""
    found = _Walk()
    for parameter in function.parameters:
        if isinstance(parameter.type, ArrayType):
            found.bounds.lengths(parameter.type)
    found.block(function.block)
    return found.proofs


def without_checks(function: Function) -> Function:
    """The function, changed in place, without checks that never fail; ``where`` of a decided condition is what it chooses."""
    found, instead = analyse(function), {}
    lengths = {
        n.value
        for op in walk(function.block)
        for result in op.results
        if isinstance(result.type, ArrayType)
        for n in result.type.shape
        if isinstance(n, Dim)
    }

    def change(block: Block) -> None:
        kept = []
        for op in block.operations:
            op.operands = [instead.get(v, v) for v in op.operands]
            for inner in op.blocks:
                change(inner)
            if op.callee is np.where and op.operands[0] in found.conditions and op.results[0] not in lengths:
                chosen = op.operands[1 if found.conditions[op.operands[0]] else 2]
                if chosen.type == op.results[0].type:
                    instead[op.results[0]] = chosen
                    continue
            if op not in found.never:
                kept.append(op)
        block.operations = kept
        block.results = [instead.get(v, v) for v in block.results]

    change(function.block)
    return function


class _Walk:
    def __init__(self) -> None:
        self.bounds = Bounds()
        self.proofs = Proofs()

    def block(self, block: Block) -> None:
        for op in block.operations:
            for result in op.results:
                self.bounds.forms.pop(result, None)
            _KINDS.get(op.kind, _Walk.call)(self, op)
            for result in op.results:
                if is_int(result.type):
                    self.proofs.intervals[result] = self.bounds.interval(result)

    def call(self, op: Operation) -> None:
        self.bounds.define(op)
        if op.callee is typed.raise_if:
            if self.bounds.truth(op.operands[0]) is False:
                self.proofs.never.add(op)
            self.bounds.assume(op.operands[0], False)
        elif op.callee in (typed.getitem, typed.setitem, typed.add_at) and self.is_in_range(op):
            self.proofs.in_range.add(op)
        elif op.results and op.results[0] in self.bounds.conditions:
            truth = self.bounds.truth(op.results[0])
            if truth is not None:
                self.proofs.conditions[op.results[0]] = truth

    def is_in_range(self, op: Operation) -> bool:
        x, *index = op.positional
        part = op.results[0].type if op.callee is typed.getitem else index.pop().type
        spec = op.named["spec"].constant
        ndim = max((v.type.ndim for e, v in zip([e for e in spec if e != ":"], index) if e == "a"), default=0)
        places = typed.part_dimensions(spec, ndim)
        for i, entry in enumerate(spec):
            if entry == ":":
                continue
            at, n = index.pop(0), self.bounds.length(x.type.shape[i])
            if entry == "a":
                low, high = self.bounds.interval(at)
                first, last = Affine(low), Affine(high)
            elif entry == "i":
                first = last = self.bounds.form(at)
            else:
                length = self.bounds.length(part.shape[places[i]])
                first = self.bounds.form(at)
                last = first + (length + Affine(-1)) * entry[1]
                if not length.terms and length.constant == 0:
                    continue
                if entry[1] < 0:
                    first, last = last, first
            if not (self.bounds.is_at_most(Affine(0), first) and self.bounds.is_less(last, n)):
                return False
        return True

    def scoped(self, block: Block, condition: Value | None = None, holds: bool = True) -> None:
        mark = len(self.bounds.trail)
        if condition is not None:
            self.bounds.assume(condition, holds)
        self.block(block)
        self.bounds.undo(mark)

    def branch(self, op: Operation) -> None:
        self.scoped(op.blocks[0], op.operands[0], True)
        self.scoped(op.blocks[1], op.operands[0], False)
        self.bounds.define(op)

    def count(self, op: Operation) -> None:
        start, stop, step, *initial = op.operands
        (body,) = op.blocks
        index, *carried = body.parameters
        self.bounds.index(index, start, stop, step)
        changes = self.changes(carried, body, lambda: self.scoped(body))
        for parameter, first in zip(carried, initial):
            self.bounds.forms.pop(parameter, None)
            least, most = changes.get(parameter, (None, None))
            if least is not None and least == most and step.is_constant and int(step.constant) == 1:
                moved = self.bounds.form(first) + (self.bounds.form(index) - self.bounds.form(start)) * least
                low, high = limits(parameter.type)
                if low <= self.bounds.lower(moved) and self.bounds.upper(moved) <= high:
                    self.bounds.forms[parameter] = moved
                    continue
            self.inductive(parameter, first, least, most)
        self.scoped(body)
        for result, first, parameter in zip(op.results, initial, carried):
            self.inductive(result, first, *changes.get(parameter, (None, None)))

    def repeat(self, op: Operation) -> None:
        test, body = op.blocks

        def once() -> None:
            mark = len(self.bounds.trail)
            self.block(test)
            for outer, inner in zip(test.parameters, body.parameters):
                if is_int(outer.type) and not outer.type.shape:
                    self.bounds.forms[inner] = self.bounds.form(outer)
            self.scoped(body, test.results[0])
            self.bounds.undo(mark)

        changes = self.changes(test.parameters, body, once)
        for parameter, first in zip(test.parameters, op.operands):
            self.inductive(parameter, first, *changes.get(parameter, (None, None)))
        once()
        for result, parameter in zip(op.results, test.parameters):
            if is_int(result.type) and not result.type.shape:
                self.bounds.forms[result] = self.bounds.form(parameter)
        self.bounds.assume(test.results[0], False)

    def changes(self, parameters: Sequence[Value], body: Block, once: Any) -> dict[Value, tuple[int, int]]:
        """How much an int that a loop carries changes in one iteration, at least and at most."""
        ints = [i for i, p in enumerate(parameters) if is_int(p.type) and not p.type.shape]
        if not ints:
            return {}
        for i in ints:
            self.inductive(parameters[i], None, None, None)
        once()
        found = {}
        for i in ints:
            step = self.bounds.form(body.results[i]) - self.bounds.form(parameters[i])
            found[parameters[i]] = self.bounds.lower(step), self.bounds.upper(step)
        return found

    def inductive(self, x: Value, first: Value | None, least: int | None, most: int | None) -> None:
        """A carried int that starts as ``first`` and changes by ``least`` to ``most``."""
        if not is_int(x.type) or x.type.shape:
            return
        form = self.bounds.form(first) if first is not None else None
        low = [form] if form is not None and least is not None and least >= 0 else []
        high = [form] if form is not None and most is not None and most <= 0 else []
        self.bounds.atom(x, low, high)


_KINDS = {"if": _Walk.branch, "range": _Walk.count, "while": _Walk.repeat}
