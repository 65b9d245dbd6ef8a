"""Value-range analysis of a program's integers: affine forms and bounds, which prove that an index is within its array.

Every int is an *affine form*, a constant plus multiples of *atoms*: values that no rule decomposes (parameters, loop
indices, the smaller of two numbers, elements of arrays).  An atom has an interval, and bounds that are affine in other
atoms: the index of ``range(i)`` is at most i - 1.  A form is proved non-negative by substituting bounds for its atoms,
the last defined first.  A form is used only if no step of it can overflow; otherwise the result is a new atom.
Conditions add bounds while they hold: ``assume(c, True)``, undone by ``undo``.

``Builder.integers`` analyses a program while it is written, ``index_proofs`` a finished function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import typed
from .affine import Affine, Interval, is_bool, is_condition, is_int, limits
from .dynamic import Operation, Value
from .integer_rules import ALL, ANY, CONDITIONS, ENDS, LINEAR, NEGATIONS, PROOFS, RULES, SAME_ELEMENTS, facts
from .typed import ArrayType, Dim

_DEPTH = 7  # substitutions of one bound for an atom in a proof
_FORMS = 128  # forms that a proof looks at: each atom has several bounds, so their number could grow with a power of the depth
_LARGEST = 8  # bounds kept for an atom: proofs stay short


class Bounds:
    """Forms and bounds of the integers seen so far."""

    def __init__(self) -> None:
        self.forms: dict[Value, Affine] = {}
        self.intervals: dict[Value, Interval] = {}
        self.low: dict[Value, list[Affine]] = {}
        self.high: dict[Value, list[Affine]] = {}
        self.order: dict[Value, int] = {}
        self.conditions: dict[Value, Operation] = {}
        self.known: dict[Value, bool] = {}  # assumed conditions
        self.raw: dict[Value, Affine] = {}
        self.exact: dict[Any, bool] = {}  # (function, *operands) checked not to overflow
        self.dimensions: set[Value] = set()  # lengths known only at run time
        self.trail: list[tuple[Any, Any, Any]] = []

    # Questions

    def form(self, x: Value) -> Affine:
        """Return the affine form of a scalar int."""
        if x.is_constant:
            return Affine(int(x.constant))
        found = self.forms.get(x)
        if found is None:
            self.order.setdefault(x, len(self.order))
            found = self.forms[x] = Affine(0, frozenset([(x, 1)]))
        return found

    def unchecked(self, x: Value) -> Affine:
        """Return the affine form as if ints were unbounded, for uses that remain correct on overflow."""
        return self.raw.get(x) or self.form(x)

    def interval(self, x: Value) -> Interval:
        """Return the interval of an int, or of the elements of an int array."""
        if x.is_constant:
            if not np.size(x.constant):
                return 0, 0
            return int(np.min(x.constant)), int(np.max(x.constant))
        if x.type.shape:
            return self.intervals.get(x) or limits(x.type)
        form, (low, high) = self.form(x), limits(x.type)
        return max(self.lower(form), low), min(self.upper(form), high)

    def lower(self, form: Affine, enough: int | None = None) -> int:
        """Return a lower bound of the form: the best one found, or the first that reaches ``enough``.

        Few substitutions are tried first.
        """
        best, seen, level = self._least(form), {form}, [form]
        for _ in range(_DEPTH):
            following = []
            for here in level:
                if enough is not None and best >= enough:
                    return best
                for other in self._substituted(here):
                    if other not in seen:
                        seen.add(other)
                        following.append(other)
                        best = max(best, self._least(other))
                        if len(seen) == _FORMS:
                            return best
            level = following
        return best

    def _least(self, form: Affine) -> int:
        """Return the lower bound of a form that follows from the intervals of its atoms."""
        least = form.constant
        for atom, k in form.terms:
            low, high = self.intervals.get(atom) or limits(atom.type)
            least += k * (low if k > 0 else high)
        return least

    def _substituted(self, form: Affine) -> Iterator[Affine]:
        """Yield forms that are at most this one, which have a bound in place of an atom."""
        for atom, k in sorted(form.terms, key=lambda t: -self.order.get(t[0], 0))[:2]:
            rest = form.without(atom, k)
            for bound in (self.low if k > 0 else self.high).get(atom, ()):
                yield rest + bound * k

    def upper(self, form: Affine) -> int:
        return -self.lower(form * -1)

    def is_less(self, a: Affine, b: Affine) -> bool:
        """Whether a < b is proved."""
        return self._is_below(a, b, 1)

    def is_at_most(self, a: Affine, b: Affine) -> bool:
        return self._is_below(a, b, 0)

    def _is_below(self, a: Affine, b: Affine, gap: int) -> bool:
        if a.terms == b.terms:
            return b.constant - a.constant >= gap
        apart = b.constant - a.constant  # from the atoms' intervals only: fast, and usually sufficient
        for terms, sign in ((b.terms, 1), (a.terms, -1)):
            for atom, k in terms:
                apart += sign * k * self._numbers(atom)[0 if sign * k > 0 else 1]
        return apart >= gap or self.lower(b - a, gap) >= gap

    def _is_within(self, form: Affine, low: int, high: int) -> bool:
        return self.lower(form, low) >= low and self.lower(form * -1, -high) >= -high

    def _numbers(self, atom: Value) -> Interval:
        return self.intervals.get(atom) or limits(atom.type)

    def truth(self, condition: Value) -> bool | None:
        """Return True if a condition is proved always to hold, False if never; None if neither is proved."""
        return self._truth(condition, {})

    def _truth(self, condition: Value, seen: dict[Value, bool | None]) -> bool | None:
        """Return ``truth``; ``seen`` holds what was found so far: conditions of conditions may be used many times."""
        if condition not in seen:
            seen[condition] = self._decided(condition, seen)
        return seen[condition]

    def _decided(self, condition: Value, seen: dict[Value, bool | None]) -> bool | None:
        if condition.is_constant:
            return bool(np.all(condition.constant)) if np.ndim(condition.constant) == 0 else None
        if condition in self.known:
            return self.known[condition]
        op = self.conditions.get(condition)
        if op is None:
            return None
        if op.callee in NEGATIONS:
            inner = self._truth(op.operands[0], seen)
            return None if inner is None else not inner
        if op.callee is typed.overflows:
            return self._overflows(op)
        if op.callee in ALL or op.callee in ANY:
            found = [self._truth(v, seen) for v in op.operands]
            decisive = op.callee in ANY
            if decisive in found:
                return decisive
            return None if None in found else not decisive
        a, b = (self.form(v) for v in op.operands)
        holds, fails = PROOFS[op.callee]
        return True if holds(self, a, b) else False if fails(self, a, b) else None

    def _overflows(self, op: Operation) -> bool | None:
        function, operands = op.named["function"].constant, op.positional
        low, high = limits(operands[0].type)
        form = LINEAR[function](*map(self.form, operands)) if function in LINEAR else None
        if form is not None and self._is_within(form, low, high):
            return False
        least, most = ENDS[function](*map(self.interval, operands)) if function in ENDS else (low - 1, high + 1)
        return False if low <= least and most <= high else None

    def result_of(self, callee: Any, operands: Sequence[Value], kind: ArrayType) -> Affine | None:
        """Return the form of a sum, difference or multiple without overflow, or of a decided min or max; else None."""
        if callee in (np.minimum, np.maximum) and is_int(kind):
            a, b = map(self.form, operands)
            if self.is_at_most(a, b):
                return a if callee is np.minimum else b
            if self.is_at_most(b, a):
                return b if callee is np.minimum else a
            return None
        combine = LINEAR.get(callee)
        form = combine(*map(self.form, operands)) if combine is not None and is_int(kind) else None
        low, high = limits(kind)
        if form is None or self._is_within(form, low, high):
            return form
        return form if len(form.terms) <= _LARGEST and self.is_exact(callee, operands) else None

    def is_exact(self, callee: Any, operands: Sequence[Value]) -> bool:
        """Return whether a run-time check has excluded an overflow of this operation."""
        return (callee, *map(_identity, operands)) in self.exact

    def only_atom(self, x: Value, kind: ArrayType) -> Value | None:
        """Return the atom of this type that equals an int, else None."""
        form = self.form(x)
        if form.constant == 0 and len(form.terms) == 1:
            ((atom, k),) = form.terms
            return atom if k == 1 and atom.type == kind else None
        return None

    # Facts from operations

    def define(self, op: Operation) -> None:
        """Derive forms and bounds of an operation's results; operations come in program order."""
        has_integers = False
        for result in op.results:
            kind = result.type
            if isinstance(kind, ArrayType):
                self.lengths(kind)
                has_integers = has_integers or kind.dtype.kind in "iub"
        if not has_integers:
            return
        if op.kind == "if":
            for i, result in enumerate(op.results):
                if is_int(result.type):
                    self._either(result, [b.results[i] for b in op.blocks])
        elif op.kind == "call":
            result = op.results[0]
            if result.type.dtype.kind == "b":
                if op.callee in CONDITIONS and all(is_condition(v.type) for v in op.positional):
                    self.conditions[result] = op
                elif op.callee is typed.cast and op.operands[0] in self.conditions:
                    self.conditions[result] = self.conditions[op.operands[0]]
            elif not is_int(result.type):
                return
            elif result.type.shape:
                self._array(op, result)
            else:
                self._number(op, result)

    def index(self, i: Value, start: Value, stop: Value, step: Value) -> None:
        """Bound the index of a ``range``."""
        if not step.is_constant or not int(step.constant):
            return
        k, first, last = int(step.constant), self.form(start), self.form(stop)
        low, high = (first, last + Affine(-1)) if k > 0 else (last + Affine(1), first)
        self.atom(i, [low], [high])

    def length(self, n: int | Dim) -> Affine:
        """Return the form of a dimension's length."""
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
        self.dimensions.add(n.value)
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
        """Bound ``result``, which equals one of the values; they may belong to closed blocks."""
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
        """Bound the result of a call that returns an int."""
        rule = RULES.get(op.callee)
        operands = op.positional
        are_ints = all(is_int(v.type) or is_bool(v.type) for v in operands)
        form = self.result_of(op.callee, operands, result.type) if are_ints else None
        if are_ints and op.callee in LINEAR:
            raw = LINEAR[op.callee](*map(self.unchecked, operands))
            if raw is not None:
                self.raw[result] = raw
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
        """Bound the result of a call that returns an int array."""
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
        """Assume that a condition holds (or does not) until ``undo(mark)``; ``mark`` is ``len(trail)`` before."""
        if condition.is_constant or self.known.get(condition) is holds:
            return
        self.trail.append((self.known, condition, self.known.get(condition)))
        self.known[condition] = holds
        op = self.conditions.get(condition)
        if op is None:
            return
        if op.callee in NEGATIONS:
            self.assume(op.operands[0], not holds)
        elif op.callee is typed.overflows:
            if not holds:
                key = op.named["function"].constant, *map(_identity, op.positional)
                self.trail.append((self.exact, key, self.exact.get(key)))
                self.exact[key] = True
        elif op.callee in ALL or op.callee in ANY:
            if holds == (op.callee in ALL):
                for v in op.operands:
                    self.assume(v, holds)
        else:
            a, b = (self.form(v) for v in op.operands)
            for small, large, gap in facts(op.callee, holds, a, b):
                self._at_least(large - small, gap)

    def _at_least(self, form: Affine, gap: int) -> None:
        """Note that the form is at least ``gap``: a bound for each of its atoms with coefficient 1 or -1."""
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


def _identity(x: Value) -> Any:
    return int(x.constant) if x.is_constant else x
