"""What is known of a program's integers: affine forms and bounds, which prove that an index is within its array.

Every int is an *affine form*, a constant plus multiples of *atoms*: values that no rule takes apart (parameters, loop
indices, the smaller of two numbers, elements of arrays).  An atom has an interval of numbers, and bounds that are affine in
other atoms: the index of ``range(i)`` is at most i - 1.  A form is proved not to be negative by putting bounds in the
place of its atoms, the one defined last first.  A form holds only where no step of it can overflow; else the result is an
atom.  Conditions add bounds while they hold: ``assume(c, True)``, undone by ``undo``.

While a program is written, ``Builder.integers`` is such an object, told of every operation.  For a finished function,

    found = analyse(function)
    found.in_range       operations (getitem, setitem, add_at) whose index is within the array, whatever the inputs are
    found.never          raise_if operations that never raise
    found.intervals      value -> (least, greatest): ints, and all elements of arrays of ints, where they are defined

``without_checks(function)`` leaves out the raise_if operations that never raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import typed
from .affine import Affine, Interval, is_bool, is_condition, is_int, limits
from .integer_rules import ALL, ANY, CONDITIONS, ENDS, LINEAR, NEGATIONS, PROOFS, RULES, SAME_ELEMENTS, facts
from .ir import Block, Function, Operation, Value
from .typed import ArrayType, Dim

_DEPTH = 7  # substitutions of one bound for an atom in a proof
_LARGEST = 8  # bounds kept for an atom: proofs stay short


class Bounds:
    """What is known of the integers seen so far."""

    def __init__(self) -> None:
        self.forms: dict[Value, Affine] = {}
        self.intervals: dict[Value, Interval] = {}
        self.low: dict[Value, list[Affine]] = {}
        self.high: dict[Value, list[Affine]] = {}
        self.order: dict[Value, int] = {}
        self.conditions: dict[Value, Operation] = {}
        self.trail: list[tuple[Any, Value, Any]] = []

    # Questions

    def form(self, x: Value) -> Affine:
        """The affine form of an int of no dimensions."""
        if x.is_constant:
            return Affine(int(x.constant))
        found = self.forms.get(x)
        if found is None:
            self.order.setdefault(x, len(self.order))
            found = self.forms[x] = Affine(0, frozenset([(x, 1)]))
        return found

    def interval(self, x: Value) -> Interval:
        """Numbers between which an int, or every element of an array of ints, lies."""
        if x.is_constant:
            if not np.size(x.constant):
                return 0, 0
            return int(np.min(x.constant)), int(np.max(x.constant))
        if x.type.shape:
            return self.intervals.get(x) or limits(x.type)
        form, (low, high) = self.form(x), limits(x.type)
        return max(self.lower(form), low), min(self.upper(form), high)

    def lower(self, form: Affine, enough: int | None = None) -> int:
        """A number that the form is never less than: the best that is found, or the first that is ``enough``."""
        return self._lower(form, enough, _DEPTH)

    def upper(self, form: Affine) -> int:
        return -self.lower(form * -1)

    def is_less(self, a: Affine, b: Affine) -> bool:
        """Whether a < b is proved."""
        return self.lower(b - a, 1) >= 1

    def is_at_most(self, a: Affine, b: Affine) -> bool:
        return self.lower(b - a, 0) >= 0

    def _lower(self, form: Affine, enough: int | None, depth: int) -> int:
        best = form.constant
        for atom, k in form.terms:
            best += k * self._numbers(atom)[0 if k > 0 else 1]
        if not depth or len(form.terms) == 0 or enough is not None and best >= enough:
            return best
        for atom, k in sorted(form.terms, key=lambda t: -self.order.get(t[0], 0))[:2]:
            rest = form - Affine(0, frozenset([(atom, k)]))
            for bound in (self.low if k > 0 else self.high).get(atom, ()):
                best = max(best, self._lower(rest + bound * k, enough, depth - 1))
                if enough is not None and best >= enough:
                    return best
        return best

    def _numbers(self, atom: Value) -> Interval:
        return self.intervals.get(atom) or limits(atom.type)

    def truth(self, condition: Value) -> bool | None:
        """Whether a condition always or never holds; None if neither is proved."""
        if condition.is_constant:
            return bool(np.all(condition.constant)) if np.ndim(condition.constant) == 0 else None
        op = self.conditions.get(condition)
        if op is None:
            return None
        if op.callee in NEGATIONS:
            inner = self.truth(op.operands[0])
            return None if inner is None else not inner
        if op.callee in ALL or op.callee in ANY:
            found = [self.truth(v) for v in op.operands]
            decisive = op.callee in ANY
            if decisive in found:
                return decisive
            return None if None in found else not decisive
        a, b = (self.form(v) for v in op.operands)
        holds, fails = PROOFS[op.callee]
        return True if holds(self, a, b) else False if fails(self, a, b) else None

    def result_of(self, callee: Any, operands: Sequence[Value], kind: ArrayType) -> Affine | None:
        """The form of a sum, difference or multiple of ints that cannot overflow."""
        combine = LINEAR.get(callee)
        form = combine(*map(self.form, operands)) if combine is not None and is_int(kind) else None
        low, high = limits(kind)
        return form if form is not None and low <= self.lower(form) and self.upper(form) <= high else None

    # What operations tell

    def define(self, op: Operation) -> None:
        """Take note of an operation, when all before it have been."""
        for result in op.results:
            if isinstance(result.type, ArrayType):
                self.lengths(result.type)
        if not op.results or not any(isinstance(r.type, ArrayType) and r.type.dtype.kind in "iub" for r in op.results):
            return
        if op.kind == "if":
            for i, result in enumerate(op.results):
                if is_int(result.type):
                    self._either(result, [b.results[i] for b in op.blocks])
        elif op.kind == "call":
            result = op.results[0]
            if result.type.dtype.kind == "b":
                if op.callee in CONDITIONS and all(is_condition(v.type) for v in op.operands):
                    self.conditions[result] = op
            elif not is_int(result.type):
                return
            elif result.type.shape:
                self._array(op, result)
            else:
                self._number(op, result)

    def index(self, i: Value, start: Value, stop: Value, step: Value) -> None:
        """The index of a ``range``."""
        if not step.is_constant or not int(step.constant):
            return
        k, first, last = int(step.constant), self.form(start), self.form(stop)
        low, high = (first, last + Affine(-1)) if k > 0 else (last + Affine(1), first)
        self.atom(i, [low], [high])

    def length(self, n: int | Dim) -> Affine:
        """The form of the length of a dimension."""
        if not isinstance(n, Dim):
            return Affine(n)
        self._dim(n)
        return self.form(n.value)

    def lengths(self, kind: ArrayType) -> None:
        for n in kind.shape:
            if isinstance(n, Dim):
                self._dim(n)

    def _dim(self, n: Dim) -> None:
        if n.value.is_constant:
            return
        for atom, k in self.form(n.value).terms:
            if k == 1 and len(self.form(n.value).terms) == 1:
                low, high = self._numbers(atom)
                offset = self.form(n.value).constant
                self.intervals[atom] = max(low, -offset), min(high, n.bound - offset)

    def atom(self, x: Value, low: Sequence[Affine], high: Sequence[Affine], numbers: Interval | None = None) -> None:
        lowest, highest = numbers or limits(x.type)
        for form in low:
            lowest = max(lowest, self.lower(form))
        for form in high:
            highest = min(highest, self.upper(form))
        self.forms.pop(x, None)
        self.intervals[x] = lowest, highest
        self.low[x] = [f for f in low if f.terms]
        self.high[x] = [f for f in high if f.terms]
        self.form(x)

    def _either(self, result: Value, values: Sequence[Value]) -> None:
        """``result`` is one of the values, which may be of blocks that have ended."""
        if result.type.shape:
            found = [self.interval(v) for v in values]
            self.intervals[result] = min(a for a, _ in found), max(b for _, b in found)
            return
        forms = [self.form(v) for v in values]
        if forms[0] == forms[1]:
            self.forms[result] = forms[0]
            return
        least = self.lower(forms[1] - forms[0])
        most = self.upper(forms[1] - forms[0])
        numbers = min(map(self.lower, forms)), max(map(self.upper, forms))
        self.atom(result, [forms[0] + Affine(min(least, 0))], [forms[0] + Affine(max(most, 0))], numbers)

    def _number(self, op: Operation, result: Value) -> None:
        """A call that gives an int."""
        rule = RULES.get(op.callee)
        operands = op.positional
        are_ints = all(is_int(v.type) or is_bool(v.type) for v in operands)
        form = self.result_of(op.callee, operands, result.type) if are_ints else None
        if form is not None:
            self.forms[result] = form
        elif rule is not None and are_ints:
            rule(self, result, operands)
        elif op.callee is np.where:
            self._where(result, op.operands)
        elif op.callee is typed.getitem and is_int(operands[0].type):
            self.atom(result, (), (), self.interval(operands[0]))
        elif op.callee in (np.min, np.max) and is_int(operands[0].type):
            self.atom(result, (), (), self.interval(operands[0]))
        elif op.callee in (np.argmax, np.argmin):
            axis = op.named.get("axis")
            n = operands[0].type.bounds[axis.constant] if axis is not None and axis.constant is not None else None
            self.atom(result, (), (), (0, (n or int(np.prod(operands[0].type.bounds))) - 1))
        elif op.callee is np.searchsorted:
            self.atom(result, (), (), (0, operands[0].type.bounds[0]))

    def _where(self, result: Value, operands: Sequence[Value]) -> None:
        condition, x, y = operands
        found: list[tuple[Affine, int, int]] = []
        for value, holds in ((x, True), (y, False)):
            mark = len(self.trail)
            self.assume(condition, holds)
            form = self.form(value)
            found.append((form, self.lower(form), self.upper(form)))
            self.undo(mark)
        (form, low, high), (other, low_, high_) = found
        if form == other:
            self.forms[result] = form
        else:
            self.atom(result, (), (), (min(low, low_), max(high, high_)))

    def _array(self, op: Operation, result: Value) -> None:
        """A call that gives an array of ints."""
        operands = op.positional
        if op.callee is typed.iota:
            self.intervals[result] = 0, max(result.type.bounds[0] - 1, 0)
        elif op.callee in (np.argmax, np.argmin, np.argsort):
            axis = op.named["axis"].constant
            self.intervals[result] = 0, max(operands[0].type.bounds[axis] - 1, 0)
        elif op.callee is np.searchsorted:
            self.intervals[result] = 0, operands[0].type.bounds[0]
        elif op.callee in SAME_ELEMENTS and is_int(operands[0].type):
            xs = operands if op.callee is typed.concatenate else operands[:1]
            xs = [operands[0], operands[-1]] if op.callee is typed.setitem else xs
            found = [self.interval(x) for x in xs]
            self.intervals[result] = min(a for a, _ in found), max(b for _, b in found)
        elif op.callee is np.where:
            found = [self.interval(x) for x in operands[1:]]
            self.intervals[result] = min(a for a, _ in found), max(b for _, b in found)
        elif op.callee in ENDS and all(is_int(v.type) for v in operands):
            low, high = limits(result.type)
            least, most = ENDS[op.callee](*(self.interval(v) for v in operands))
            if low <= least and most <= high:
                self.intervals[result] = least, most

    # Conditions

    def assume(self, condition: Value, holds: bool) -> None:
        """A condition that holds (or does not), until ``undo(mark)``; ``mark = len(trail)`` before."""
        op = self.conditions.get(condition)
        if op is None:
            return
        if op.callee in NEGATIONS:
            self.assume(op.operands[0], not holds)
        elif op.callee in ALL or op.callee in ANY:
            if holds == (op.callee in ALL):
                for v in op.operands:
                    self.assume(v, holds)
        else:
            a, b = (self.form(v) for v in op.operands)
            for small, large, gap in facts(op.callee, holds, a, b):
                self._at_least(large - small, gap)

    def _at_least(self, form: Affine, gap: int) -> None:
        """The form is ``gap`` or more: a bound for each of its atoms with coefficient 1 or -1."""
        for atom, k in form.terms:
            if abs(k) != 1:
                continue
            rest = (form - Affine(0, frozenset([(atom, k)])) - Affine(gap)) * -k
            table = self.low if k > 0 else self.high  # k = 1: atom >= rest; k = -1: atom <= rest
            self.trail.append((self.intervals, atom, self.intervals.get(atom)))
            low, high = self._numbers(atom)
            if k > 0:
                self.intervals[atom] = max(low, self.lower(rest)), high
            else:
                self.intervals[atom] = low, min(high, self.upper(rest))
            if rest.terms:
                self.trail.append((table, atom, table.get(atom)))
                table[atom] = [rest, *table.get(atom, ())][:_LARGEST]

    def undo(self, mark: int) -> None:
        """Forget the conditions assumed since ``mark``."""
        while len(self.trail) > mark:
            table, atom, before = self.trail.pop()
            if before is None:
                table.pop(atom, None)
            else:
                table[atom] = before

    @contextmanager
    def assuming(self, condition: Value, holds: bool) -> Iterator[None]:
        mark = len(self.trail)
        self.assume(condition, holds)
        try:
            yield
        finally:
            self.undo(mark)


# A finished function


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

    def change(block: Block) -> None:
        kept = []
        for op in block.operations:
            op.operands = [instead.get(v, v) for v in op.operands]
            for inner in op.blocks:
                change(inner)
            if op.callee is np.where and op.operands[0] in found.conditions:
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
