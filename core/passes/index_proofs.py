"""Proofs about a finished typed function: which indices are always in range, and which checks never fail.

    found = analyse(function)
    found.in_range       operations (getitem, setitem, add_at) whose index is in range for all inputs
    found.never          raise_if operations that never raise
    found.conditions     condition -> bool: conditions that always have this value
    found.intervals      int value -> (least, greatest), at its definition
    found.iterations     range -> the most iterations that it has
    found.bounds         the forms of ints and the bounds of their atoms that hold everywhere

``without_checks(function)`` removes the raise_if operations that never raise. The arithmetic is that of
``integer_bounds``; this pass adds the conditions of branches and loops, and induction over the ints that a loop
carries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..ir import typed
from ..ir.affine import Affine, Interval, is_condition, is_int, limits
from ..ir.dynamic import Block, Function, Operation, Value, walk
from ..ir.integer_bounds import Bounds
from ..ir.integer_rules import PROOFS
from ..ir.typed import ArrayType, Dim

_SLOW, _FAR = 8, 1 << 60
"""An int that changes by at most 8 per iteration cannot overflow: 2**57 iterations, to move by 2**60, take years."""


@dataclass
class Proofs:
    """Facts that hold for all inputs; the module's docstring describes the fields."""

    in_range: dict[Operation, bool] = field(default_factory=dict)
    never: dict[Operation, bool] = field(default_factory=dict)
    conditions: dict[Value, bool] = field(default_factory=dict)
    intervals: dict[Value, Interval] = field(default_factory=dict)
    iterations: dict[Operation, int] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=Bounds)
    log: list[tuple[dict[Any, Any], Any]] = field(default_factory=list)

    def note(self, table: dict[Any, Any], key: Any, proved: Any = True) -> None:
        table[key] = proved
        self.log.append((table, key))

    def forget(self, mark: int) -> None:
        """Retract the facts noted since the log had this length."""
        for table, key in self.log[mark:]:
            table.pop(key, None)
        del self.log[mark:]


def analyse(function: Function, given: Mapping[Value, Interval] | None = None) -> Proofs:
    """Prove what can be proved about the indices and checks of a typed function.

    ``given`` holds intervals of its parameters.
    """
    found = _Walk(function)
    for parameter, interval in (given or {}).items():
        found.bounds.atom(parameter, (), (), interval)
    for parameter in function.parameters:
        if isinstance(parameter.type, ArrayType):
            found.bounds.lengths(parameter.type)
    found.block(function.block)
    return found.proofs


def without_checks(function: Function) -> Function:
    """Return a function without checks that never fail; ``where`` of a decided condition becomes the chosen operand.

    The operations are new; the values are shared with ``function``.
    """
    found = analyse(function)
    instead: dict[Value, Value] = {}
    lengths = {
        n.value
        for op in walk(function.block)
        for result in op.results
        if isinstance(result.type, ArrayType)
        for n in result.type.shape
        if isinstance(n, Dim)
    }

    def changed(block: Block) -> Block:
        kept = []
        for op in block.operations:
            operands = [instead.get(v, v) for v in op.operands]
            if op.callee is np.where and op.operands[0] in found.conditions and op.results[0] not in lengths:
                chosen = operands[1 if found.conditions[op.operands[0]] else 2]
                if chosen.type == op.results[0].type:
                    instead[op.results[0]] = chosen
                    continue
            if op not in found.never:
                blocks = [changed(inner) for inner in op.blocks]
                fields = op.results, op.items, op.line, op.may_raise
                kept.append(Operation(op.kind, op.callee, operands, op.keywords, blocks, *fields))
        return Block(block.parameters, kept, [instead.get(v, v) for v in block.results])

    return replace(function, block=changed(function.block))


def in_range(bounds: Bounds, op: Operation, made: dict[Value, Operation]) -> bool:
    """Whether the index of a ``getitem``, ``setitem`` or ``add_at`` is proved to be in range.

    ``made`` maps each value to the operation that produces it.
    """
    shape = op.positional[0].type.shape
    for n, span in zip(shape, spans(bounds, op, made)):
        if span is not None and not (
            bounds.is_at_most(Affine(0), span[0]) and bounds.is_less(span[1], bounds.length(n))
        ):
            return False
    return True


def are_apart(bounds: Bounds, a: Operation, b: Operation, made: dict[Value, Operation]) -> bool:
    """Whether two accesses to arrays of one shape are proved to have no element in common."""
    for one, other in zip(spans(bounds, a, made), spans(bounds, b, made)):
        if one is not None and other is not None:
            if bounds.is_less(one[1], other[0]) or bounds.is_less(other[1], one[0]):
                return True
    return False


def spans(bounds: Bounds, op: Operation, made: dict[Value, Operation]) -> list[tuple[Affine, Affine] | None]:
    """Return the least and the greatest index that a ``getitem``, ``setitem`` or ``add_at`` uses in each dimension.

    None stands for a whole dimension, and for a slice that is always empty.
    """
    _, *index = op.positional
    part = op.results[0].type if op.callee is typed.getitem else index.pop().type
    spec = op.named["spec"].constant
    ndim = max((v.type.ndim for e, v in zip([e for e in spec if e != ":"], index) if e == "a"), default=0)
    places = typed.part_dimensions(spec, ndim)
    found: list[tuple[Affine, Affine] | None] = []
    for i, entry in enumerate(spec):
        if entry == ":":
            found.append(None)
            continue
        at = index.pop(0)
        if entry == "a":
            low, high = bounds.interval(at)
            found.append((Affine(low), Affine(high)))
        elif entry == "i":
            found.append((bounds.form(at), bounds.form(at)))
        else:
            length = _count(bounds, part.shape[places[i]], made)
            first = bounds.form(at)
            last = first + (length + Affine(-1)) * entry[1]
            is_empty = not length.terms and length.constant == 0
            found.append(None if is_empty else (first, last) if entry[1] > 0 else (last, first))
    return found


def _count(bounds: Bounds, n: int | Dim, made: dict[Value, Operation]) -> Affine:
    """The length of a slice that is not empty: for ``max(stop - start, 0)`` it is ``stop - start``."""
    op = made.get(n.value) if isinstance(n, Dim) else None
    if op is not None and op.callee is np.maximum:
        for zero, span in (op.operands, op.operands[::-1]):
            if zero.is_constant and int(zero.constant) == 0:
                return bounds.form(span)
    return bounds.length(n)


class _Walk:
    def __init__(self, function: Function) -> None:
        self.bounds = Bounds()
        self.proofs = Proofs(bounds=self.bounds)
        self.made = {result: op for op in walk(function.block) for result in op.results}
        self.refuted: set[Value] = (
            set()
        )  # carried ints whose guesses are wrong: loops inside of others are analysed several times

    def block(self, block: Block) -> None:
        for op in block.operations:
            for result in op.results:
                self.bounds.forms.pop(result, None)
            _KINDS.get(op.kind, _Walk.call)(self, op)
            for result in op.results:
                if is_int(result.type):
                    self.proofs.note(self.proofs.intervals, result, self.bounds.interval(result))

    def call(self, op: Operation) -> None:
        self.bounds.define(op)
        if op.callee is typed.raise_if:
            if self.bounds.truth(op.operands[0]) is False:
                self.proofs.note(self.proofs.never, op)
            self.bounds.assume(op.operands[0], False)
        elif op.callee in (typed.getitem, typed.setitem, typed.add_at) and in_range(self.bounds, op, self.made):
            self.proofs.note(self.proofs.in_range, op)
        elif op.results and op.results[0] in self.bounds.conditions:
            truth = self.bounds.truth(op.results[0])
            if truth is not None:
                self.proofs.note(self.proofs.conditions, op.results[0], truth)

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

    def loop(self, op: Operation) -> None:
        start, stop, step, *initial = op.operands
        (body,) = op.blocks
        index, *carried = body.parameters
        self.bounds.index(index, start, stop, step)
        most = self.most(start, stop, step)
        if most is not None:
            self.proofs.note(self.proofs.iterations, op, most)
        moves = self.guesses(carried, body.results)
        by_one = step.is_constant and int(step.constant) == 1
        for parameter, first in zip(carried, initial):
            least, most = moves.get(parameter, (None, None))
            if by_one and least is not None and least == most:
                moved = self.bounds.form(first) + (self.bounds.form(index) - self.bounds.form(start)) * least
                low, high = limits(parameter.type)
                if low <= self.bounds.lower(moved) and self.bounds.upper(moved) <= high:
                    self.bounds.forms[parameter] = moved
        self.inductively(carried, initial, body.results, moves, lambda: self.scoped(body))
        for result, first, parameter in zip(op.results, initial, carried):
            self.suppose(result, first, moves.get(parameter))

    def most(self, start: Value, stop: Value, step: Value) -> int | None:
        """Return the most iterations that a range can have, if a bound is known."""
        by = int(step.constant) if step.is_constant else 0
        if not by:
            return None
        span = (self.bounds.form(stop) - self.bounds.form(start)) * (1 if by > 0 else -1)
        longest = self.bounds.upper(span)
        return max(-(-longest // abs(by)), 0) if longest <= _FAR else None

    def repeat(self, op: Operation) -> None:
        test, body = op.blocks
        for outer, inner in zip(test.parameters, body.parameters):
            if is_int(outer.type) and not outer.type.shape:
                self.bounds.forms[inner] = self.bounds.form(outer)
        entered = self.entered(op)

        def once() -> None:
            mark = len(self.bounds.trail)
            self.block(test)
            self.bounds.assume(test.results[0], True)
            for condition in entered:
                self.bounds.conditions[condition.results[0]] = condition
                self.bounds.assume(condition.results[0], True)
            self.scoped(body)
            self.bounds.undo(mark)

        moves = self.guesses(body.parameters, body.results)
        pairs = zip(test.parameters, body.parameters)
        outside = {p: moves[q] for p, q in pairs if q in moves and p not in self.refuted}
        self.inductively(test.parameters, op.operands, body.results, outside, once)
        for result, parameter in zip(op.results, test.parameters):
            if is_int(result.type) and not result.type.shape:
                self.bounds.forms[result] = self.bounds.form(parameter)
        self.bounds.assume(test.results[0], False)

    def inductively(
        self,
        parameters: Sequence[Value],
        initial: Sequence[Value],
        results: Sequence[Value],
        moves: dict[Value, Interval],
        once: Callable[[], None],
    ) -> None:
        """Analyse a loop's body under the hypothesis that its ints move as guessed; drop refuted guesses and repeat."""
        settled = [p for p in parameters if p in self.bounds.forms and p not in _atoms(self.bounds.forms[p])]
        for parameter, first in zip(parameters, initial):
            if parameter not in settled:
                self.suppose(parameter, first, moves.get(parameter))
        marks = len(self.proofs.log)
        once()
        wrong = []
        for parameter, result in zip(parameters, results):
            if parameter in moves:
                step = self.bounds.form(result) - self.bounds.form(parameter)
                least, most = moves[parameter]
                if least >= 0 and self.bounds.lower(step, 0) < 0 or most <= 0 and self.bounds.upper(step) > 0:
                    wrong.append(parameter)
                elif _counts(moves[parameter]) and max(self.bounds.upper(step), -self.bounds.lower(step)) > _SLOW:
                    wrong.append(parameter)
        if wrong:
            self.proofs.forget(marks)
            for parameter in wrong:
                self.refuted.add(parameter)
                del moves[parameter]
                self.bounds.forms.pop(parameter, None)
            self.inductively(parameters, initial, results, moves, once)

    def guesses(self, parameters: Sequence[Value], results: Sequence[Value]) -> dict[Value, Interval]:
        """Guess the least and the greatest change per iteration of each int that a loop carries."""
        found = {}
        for parameter, result in zip(parameters, results):
            if is_int(parameter.type) and not parameter.type.shape and parameter not in self.refuted:
                steps = self.steps(result, parameter, 0, {})
                if steps is not None:
                    found[parameter] = steps
        return found

    def steps(self, x: Value, parameter: Value, depth: int, seen: dict[Value, Interval | None]) -> Interval | None:
        """The interval of x - parameter if x is the parameter plus constants on every path through branches.

        ``seen`` holds the intervals found so far: many paths may lead through one value.
        """
        if x is parameter:
            return 0, 0
        if x not in seen:
            seen[x] = self._steps(x, parameter, depth, seen)
        return seen[x]

    def _steps(self, x: Value, parameter: Value, depth: int, seen: dict[Value, Interval | None]) -> Interval | None:
        op = self.made.get(x)
        if op is None or depth > 20:
            return None
        if op.kind == "if":
            at = op.results.index(x)
            ways = [self.steps(b.results[at], parameter, depth + 1, seen) for b in op.blocks]
            if None in ways:
                return None
            return min(w[0] for w in ways if w), max(w[1] for w in ways if w)
        if op.callee in (np.add, np.subtract, typed.cast):
            a, b = (op.positional * 2)[:2]
            sign = 1 if op.callee is np.add else -1
            if op.callee is np.add and a.is_constant:
                a, b = b, a
            inner = self.steps(a, parameter, depth + 1, seen)
            if op.callee is typed.cast or inner is None:
                return inner
            if b.is_constant:
                return inner[0] + sign * int(b.constant), inner[1] + sign * int(b.constant)
        return None

    def entered(self, op: Operation) -> list[Operation]:
        """New conditions that hold at the start of each iteration of a ``while`` whose test is a carried flag.

        These are comparisons of carried variables that the flag implies at the end of the body and that are also proved
        for the initial values.
        """
        test, body = op.blocks
        go = test.results[0]
        if go not in test.parameters:
            return []
        place = test.parameters.index(go)
        inner = {v for o in walk(body) for v in (*o.results, *(p for b in o.blocks for p in b.parameters))}
        inner.update(body.parameters)
        found = []
        mark = len(self.bounds.trail)
        self.bounds.assume(op.operands[place], True)
        for condition in self.implied(body.results[place], 0):
            places = [body.results.index(v) if v in body.results else None for v in condition.operands]
            if any(p is None and v in inner for p, v in zip(places, condition.operands)):
                continue
            pairs = [v if p is None else test.parameters[p] for p, v in zip(places, condition.operands)]
            before = [self.bounds.form(v if p is None else op.operands[p]) for p, v in zip(places, condition.operands)]
            if PROOFS[condition.callee][0](self.bounds, *before):
                found.append(Operation("call", condition.callee, pairs, results=[Value("", go.type)]))
        self.bounds.undo(mark)
        return found

    def implied(self, condition: Value, depth: int) -> list[Operation]:
        """The comparisons that a condition implies."""
        op = self.made.get(condition)
        if op is None or depth > 20:
            return []
        if op.kind == "if":
            at = op.results.index(condition)
            ways = [b.results[at] for b in op.blocks]
            open_ = [w for w in ways if not (w.is_constant and not w.constant)]
            return self.implied(open_[0], depth + 1) if len(open_) == 1 else []
        if op.callee in (np.logical_and, np.bitwise_and):
            return [c for v in op.operands for c in self.implied(v, depth + 1)]
        if op.callee is typed.cast:
            return self.implied(op.operands[0], depth + 1)
        return [op] if op.callee in PROOFS and all(is_condition(v.type) for v in op.operands) else []

    def suppose(self, x: Value, first: Value, step: Interval | None) -> None:
        """Assume that a carried int starts as ``first`` and changes by ``step`` in each iteration."""
        if not is_int(x.type) or x.type.shape:
            return
        form = self.bounds.form(first)
        low, high = self.bounds.interval(first)
        numbers = None
        if step and _counts(step) and -_FAR <= low and high <= _FAR and x.type.dtype == np.int64:
            numbers = low - (_FAR if step[0] < 0 else 0), high + (_FAR if step[1] > 0 else 0)
        self.bounds.atom(x, [form] if step and step[0] >= 0 else [], [form] if step and step[1] <= 0 else [], numbers)


def _counts(step: Interval) -> bool:
    return max(abs(step[0]), abs(step[1])) <= _SLOW


def _atoms(form: Affine) -> set[Value]:
    return {atom for atom, _ in form.terms}


_KINDS = {"if": _Walk.branch, "range": _Walk.loop, "while": _Walk.repeat}
