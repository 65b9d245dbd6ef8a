"""Which loops may run their iterations in any order: what becomes of each value that a ``range`` carries.

    same        it is not changed
    last        no iteration reads what the one before has left: the last one counts
    counter     an int that grows by a constant in each iteration
    fold        a number that terms are added to (or multiplied with, ...), and that is not read otherwise
    shared      an array; no iteration writes to an element that another one reads or writes
    summed      an array that is only added to, at any place
    stack       a stack that grows, or shrinks, by the same number of bytes in each iteration

The *versions* of a carried value are the values of the body that follow from it by writes or additions, through branches and
inner loops. A loop is independent if its carried values are used in these ways alone. Two accesses of an array are compared by
the least and greatest index in each dimension, as affine forms in the loop's index: see ``_apart``. Additions commute, so
iterations that are near each other may add to the same element if they do not run at the same time; the ``gap`` is the number
of iterations within which they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir import typed
from ..ir.affine import Affine, limits
from ..ir.dynamic import Block, Operation, Value, walk
from ..ir.typed import STACK, ArrayType
from .index_proofs import Proofs, spans

MOST_GAP = 256
_FAR = 1 << 62
_FOLDS: dict[Any, Any] = {
    np.add: np.add,
    np.subtract: np.add,
    np.multiply: np.multiply,
    np.maximum: np.maximum,
    np.minimum: np.minimum,
    np.logical_or: np.logical_or,
    np.logical_and: np.logical_and,
}
"""For each function that adds a term, the function that adds partial results; ``_choice`` finds two more."""
_WRITES = (typed.setitem, typed.add_at)


class Dependent(Exception):
    """Why a loop's iterations depend on each other."""


@dataclass
class Carried:
    kind: str
    callee: Any = None  # of a fold
    step: int = 0  # of a counter
    versions: set[Value] = field(default_factory=set)
    stack: list[Any] = field(default_factory=list)
    """The pushes or pops of an iteration, in order; for an inner loop, a pair of the loop and its list."""


@dataclass
class Independent:
    """A loop whose iterations may run in any order."""

    carried: list[Carried]
    gap: int = 0


def independent(op: Operation, proofs: Proofs, made: dict[Value, Operation]) -> Independent:
    """Return how the carried values of a ``range`` are used; ``made`` maps values to the operations that make them.

    Raises:
        Dependent: the iterations are not proved to be independent; its text says what depends on what.
    """
    return _Loop(op, proofs, made).analysed()


def name_of(*values: Value) -> str:
    """Return the user's name of the first value that has one, else a description of the last value."""
    for value in values:
        name = re.sub(r"(\.\d+)+$", "", value.name)
        if name and name not in ("t", "stack"):
            return f"`{name}`"
    return f"an array {values[-1].type}" if values[-1].type.shape else f"a number ({values[-1].type})"


@dataclass
class _Access:
    op: Operation
    kind: str  # "read", "set" or "add"
    spans: list[tuple[Affine, Affine] | None]


class _Loop:
    def __init__(self, op: Operation, proofs: Proofs, made: dict[Value, Operation]) -> None:
        self.op, self.bounds, self.made = op, proofs.bounds, made
        self.body = op.blocks[0]
        self.index = self.body.parameters[0]
        self.inside: set[Value] = set()
        self.users: dict[Value, list[Operation]] = {}
        self.yields: dict[Value, list[tuple[Operation, Block, int]]] = {}
        self._note(op)
        for inner in walk(self.body):
            self._note(inner)
        self.gap = 0

    def _note(self, op: Operation) -> None:
        if op is not self.op:
            self.inside.update(op.results)
            for value in op.operands:
                self.users.setdefault(value, []).append(op)
        for block in op.blocks:
            self.inside.update(block.parameters)
            for k, value in enumerate(block.results):
                self.yields.setdefault(value, []).append((op, block, k))

    def analysed(self) -> Independent:
        step = self.op.operands[2]
        if not step.is_constant or not int(step.constant):
            raise Dependent("its step is not known while compiling")
        self.step = int(step.constant)
        for op in walk(self.body):
            if any(v.type is STACK and not v.is_constant and v not in self.inside for v in op.operands):
                raise Dependent("each iteration needs what is stored for the backward sweep outside of the loop")
        carried = [self._carried(k, *values) for k, values in enumerate(self.op.carried)]
        return Independent(carried, self.gap)

    def _carried(self, k: int, initial: Value, first: Value, last: Value, result: Value) -> Carried:
        if first.type is STACK:
            return Carried("stack", stack=self._stack(first, last))
        name = name_of(result, first, last)
        is_used = first in self.users or first in self.yields
        if last is first:
            return Carried("same", versions={first})
        if first.type.shape:
            if not is_used:
                raise Dependent(f"each iteration makes {name} anew, and the last one is used after the loop")
            return self._array(k, first, last, name)
        if not is_used:
            return Carried("last")
        counter = self._counter(first)
        if counter is not None:
            return counter
        return self._fold(k, first, last, name)

    def _counter(self, first: Value) -> Carried | None:
        form = self.bounds.forms.get(first)
        if form is None or self.step != 1 or first.type.dtype != np.int64:
            return None
        by = dict(form.terms).get(self.index, 0)
        if not by or any(atom in self.inside and atom is not self.index for atom, _ in form.terms):
            return None
        return Carried("counter", step=by)

    # Versions

    def _versions(self, k: int, first: Value, last: Value, name: str, use: Any) -> set[Value]:
        """Return the versions of a carried value; ``use(op, version)`` returns a version that an operation makes, or None."""
        found, waiting = {first}, [first]
        passed: list[tuple[Operation, int]] = []

        def add(*values: Value) -> None:
            waiting.extend(v for v in values if v not in found)
            found.update(values)

        while waiting:
            version = waiting.pop()
            for op in self.users.get(version, ()):
                if op.operands.count(version) > 1:
                    raise Dependent(f"{name} carries from iteration to iteration")
                if op.kind in ("range", "while"):
                    at = op.operands.index(version) - (3 if op.kind == "range" else 0)
                    if at < 0:
                        raise Dependent(f"{name}, which carries from iteration to iteration, bounds a loop")
                    passed.append((op, at))
                    add(op.results[at], *(b.parameters[len(b.parameters) - len(op.results) + at] for b in op.blocks))
                elif op.kind == "call":
                    made = use(op, version)
                    if made is not None:
                        add(made)
                else:
                    raise Dependent(f"{name}, which carries from iteration to iteration, decides a branch")
            for op, block, at in self.yields.get(version, ()):
                if op is self.op:
                    if at != k:
                        raise Dependent(f"{name} carries from iteration to iteration")
                elif op.kind == "while" and block is op.blocks[0]:
                    raise Dependent(f"{name}, which carries from iteration to iteration, decides when a loop ends")
                else:
                    passed.append((op, at))
                    add(op.results[at])
        for op, at in passed:
            ends = op.blocks if op.kind == "if" else op.blocks[-1:]
            if any(block.results[at] not in found for block in ends):
                raise Dependent(f"{name} is replaced in a branch or a loop of the body")
            if op.kind in ("range", "while") and op.initial[at] not in found:
                raise Dependent(f"{name} is replaced in a branch or a loop of the body")
        if last not in found:
            raise Dependent(f"{name} carries from iteration to iteration")
        return found

    def _fold(self, k: int, first: Value, last: Value, name: str) -> Carried:
        callees: set[Any] = set()

        def use(op: Operation, version: Value) -> Value | None:
            if (choice := self._choice(op, version)) is not None:
                callees.add(choice)
                return None if op.callee is choice else op.results[0]
            callee = _FOLDS.get(op.callee)
            is_ordered = callee not in (np.maximum, np.minimum) or first.type.dtype.kind != "c"
            if (
                callee is None
                or op.callee is np.subtract
                and op.operands[0] is not version
                or op.results[0].type.dtype != first.type.dtype
                or op.results[0].type.shape
                or first.type.dtype.kind == "b"
                and callee not in (np.logical_or, np.logical_and)
                or not is_ordered
            ):
                raise Dependent(f"{name} carries from iteration to iteration")
            callees.add(callee)
            return op.results[0]

        versions = self._versions(k, first, last, name, use)
        if len(callees) != 1:
            raise Dependent(f"{name} carries from iteration to iteration")
        return Carried("fold", callees.pop(), versions=versions)

    def _choice(self, op: Operation, version: Value) -> Any:
        """Return ``np.greater`` or ``np.less`` for ``x > version`` or ``where(x > version, x, version)``: Python's max and min."""
        test = self.made.get(op.operands[0]) if op.callee is np.where else op
        if test is None or test.callee not in (np.greater, np.less) or test.operands[1] is not version:
            return None
        chosen = [test.results[0], test.operands[0], version]
        uses = self.users.get(test.results[0], ())
        is_choice = all(user.callee is np.where and user.operands == chosen for user in uses)
        return test.callee if is_choice and test.results[0] not in self.yields and not version.type.shape else None

    # Arrays

    def _array(self, k: int, first: Value, last: Value, name: str) -> Carried:
        accesses: list[_Access] = []

        def use(op: Operation, version: Value) -> Value | None:
            if op.callee is np.add and op.results[0].type == first.type:
                accesses.append(_Access(op, "add", [None] * first.type.ndim))
                return op.results[0]
            if op.callee not in (typed.getitem, *_WRITES) or op.operands[0] is not version:
                raise Dependent(f"{name} carries from iteration to iteration")
            kind = {typed.getitem: "read", typed.setitem: "set", typed.add_at: "add"}[op.callee]
            accesses.append(_Access(op, kind, spans(self.bounds, op, self.made)))
            return None if kind == "read" else op.results[0]

        versions = self._versions(k, first, last, name, use)
        gap = 0
        for i, write in enumerate(accesses):
            if write.kind == "read":
                continue
            for other in (*accesses[:i], write, *accesses[i + 1 :]):
                distance = self._distance(write, other)
                if not distance:
                    continue
                if (write.kind, other.kind) == ("add", "add"):
                    gap = max(gap, distance)
                elif other.kind == "read":
                    raise Dependent(f"it reads elements of {name} that another iteration may write")
                else:
                    raise Dependent(f"two iterations may write to the same element of {name}")
        if gap <= MOST_GAP:
            self.gap = max(self.gap, gap)
            return Carried("shared", versions=versions)
        if all(access.kind == "add" for access in accesses) and first.type.dtype.kind in "iufc":
            return Carried("summed", versions=versions)
        raise Dependent(f"two iterations may add to the same element of {name}, which is also read or replaced")

    def _distance(self, a: _Access, b: _Access) -> int:
        """Return within how many iterations of each other two accesses may meet; 0 if never, beyond their own."""
        found = _FAR
        for span, other in zip(a.spans, b.spans):
            if span is None or other is None:
                continue
            for prefers_numbers in (True, False):
                found = min(
                    found, self._apart(self._outside(span, prefers_numbers), self._outside(other, prefers_numbers))
                )
        return found

    def _apart(self, a: Sequence[Affine | None], b: Sequence[Affine | None]) -> int:
        """Return within how many iterations windows of a dimension overlap.

        With ``c * i`` in all ends, windows at iterations i and i + t overlap only if c * step * t is within the interval from
        a's first minus b's last to a's last minus b's first, both at iteration i.
        """
        ends = [form for form in (*a, *b) if form is not None]
        factors = {dict(form.terms).get(self.index, 0) for form in ends}
        if len(ends) < 4 or len(factors) > 1:
            return _FAR
        (a_first, a_last, b_first, b_last), (factor,) = ends, factors
        low, high = self.bounds.lower(a_first - b_last), self.bounds.upper(a_last - b_first)
        if not factor:
            return 0 if low > 0 or high < 0 else _FAR
        by = factor * self.step
        if by < 0:
            low, high, by = -high, -low, -by
        least, most = -(-low // by), high // by
        return max(abs(least), abs(most)) if least <= most else 0

    def _outside(self, span: tuple[Affine, Affine], prefers_numbers: bool) -> tuple[Affine | None, Affine | None]:
        """Return bounds of a window in terms of the loop's index and of values from outside of the loop."""
        first = self._bound(span[0], -1, prefers_numbers)
        return first, self._bound(span[1], 1, prefers_numbers)

    def _bound(self, form: Affine, side: int, prefers_numbers: bool) -> Affine | None:
        """Return a form without values of the body that is at most this one (``side`` -1), or at least; None if unknown."""
        for _ in range(40):
            inner = [(a, k) for a, k in form.terms if a in self.inside and a is not self.index]
            if not inner:
                return form
            atom, k = max(inner, key=lambda term: self.bounds.order.get(term[0], 0))
            is_low = (k > 0) == (side < 0)
            table = self.bounds.low if is_low else self.bounds.high
            numbers = self.bounds.intervals.get(atom) or limits(atom.type)
            number = Affine(numbers[0 if is_low else 1])
            forms = [f for f in table.get(atom, ()) if atom not in dict(f.terms)]
            if forms and (not prefers_numbers or abs(number.constant) >= _FAR):
                number = forms[0]
            elif abs(number.constant) >= _FAR:
                return None
            form = form.without(atom, k) + number * k
        return None

    # Stacks

    def _stack(self, first: Value, last: Value) -> list[Any]:
        found = list(self._chain(first, last))
        if len({op.callee for op in _of_stack(found)}) > 1:
            raise Dependent("each iteration stores and takes back values for the backward sweep")
        return found

    def _chain(self, first: Value, last: Value) -> Iterator[Any]:
        unknown = Dependent("what an iteration stores for the backward sweep has no size that is known before the loop")
        while first is not last:
            uses = self.users.get(first, [])
            if len(uses) != 1 or first in self.yields:
                raise unknown
            (op,) = uses
            if op.callee is typed.stack_push and op.operands[0] is first and all(map(_has_size, op.positional[1:])):
                yield op
                first = op.results[0]
            elif op.callee is typed.stack_pop and all(map(_has_size, op.results[:-1])):
                yield op
                first = op.results[-1]
            elif op.kind == "range" and not self.inside.intersection(op.operands[:3]):
                k = op.initial.index(first)
                _, inner, inner_last, result = op.carried[k]
                yield op, list(self._chain(inner, inner_last))
                first = result
            else:
                raise unknown
        if len(self.yields.get(last, ())) != 1 or last in self.users:
            raise unknown


def _has_size(value: Value) -> bool:
    return value.type is STACK or isinstance(value.type, ArrayType) and value.type.is_static


def _of_stack(found: Sequence[Any]) -> Iterator[Operation]:
    for entry in found:
        if isinstance(entry, tuple):
            yield from _of_stack(entry[1])
        else:
            yield entry


def pushes_and_pops(carried: Carried) -> list[Operation]:
    """Return the operations on a carried stack."""
    return list(_of_stack(carried.stack))
