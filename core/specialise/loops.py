"""Loops on traced conditions: an iteration's changes are carried, with one type from the start.

A loop is interpreted repeatedly, until nothing new is found: first with the variables that its body assigns carried,
then with the other changes of an iteration too.  A carried place (a variable, an array's elements, a container's entry)
is a *slot*:

    carried   it has a value of one form before the loop and after every iteration
    late      it has no value before, or one of another form: an iteration that reads it before assigning it is refused
              (a number that one path before the loop has assigned is carried, with a flag that tells whether it is absent)
    local     its values have different forms: it can be used only inside of an iteration
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.dynamic import Block, Operation, Value
from ..ir.typed import INT, ArrayType, Dim
from ..values.items import are_in_one_order
from .branches import Branches, Region
from .carried_lists import carries_rows, refuse_changed_items
from .choices import can_choose, chosen_after, chosen_before, note_bounds
from .exchanged import exchanged, parts
from .forms import containers, has_function, numbers_in, rebuilt, same_form
from .identity import exclude_each_other, forget, memory_of
from .instances import hold_part, is_instance
from .iterators import Iterator
from .joined_types import convert, join
from .merging import describe, remedy
from .numbers import Carried, arrays_in
from .scopes import UNBOUND, Choice, Conflict, Late, Unread
from .slots import Lessons, Slot, changed_slots, is_changed
from .state import RAW, content, put, value_after
from .surface.memory_order import refuse_other_order
from .surface.shared_memory import may_be_another
from .traced import Array, Scalar, Storage


class Retry(BaseException):
    """An iteration of a loop has shown that another place must be carried, or in another form."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop


MOST = 12
"""The most attempts at one loop.  Each finds a new place or widens a type, so few loops take more than three."""

RAISED = object()
"""The result of an iteration that has ended the program."""


class Loop:
    """One loop while it is interpreted; ``step(index)`` interprets an iteration and returns whether the loop goes on.

    ``trips``: start, stop and step of a counted loop, as int64 values; None for a ``while``, whose ``go`` holds an
    iteration's result (True, False or a traced bool).
    """

    def __init__(
        self,
        trace: Branches,
        step: Callable[[Any], Any],
        trips: tuple[Value, Value, int] | None,
        go: Any,
        predicted: list[Slot],
    ) -> None:
        self.trace = trace
        self.step = step
        self.trips = trips
        self.go = trace.new({"go": go})
        self.slots = list(predicted)
        self.carried = Carried(trace, trace.new({}))
        self.inside: dict[Any, Any] = {}  # what the last attempt has found about the loops inside
        self.names_read_after: frozenset[str] | None = None  # the variables that may be read after it, if that is known
        if trips is None:
            self.slots.append(Slot(self.go, "go", "carried"))

    def run(self) -> None:
        """Record the loop; afterwards every slot holds its value after the last iteration.

        Raises:
            NeedsConcrete: an iteration needs to know a number that is carried.
            BadInput: a value has no single form.
        """
        for slot in self.slots:
            self.begin(slot)
        around = self.trace.lessons
        for _ in range(MOST):
            lessons = self.trace.lessons = Lessons(self.inside)
            try:
                self.attempt()
                around.ties += lessons.ties  # the attempt at the loop around may be given up
                return
            except Retry as retry:
                for undo in reversed(lessons.ties):
                    undo()
                if retry.loop is not self:
                    raise
            finally:
                self.inside, self.trace.lessons = self.trace.lessons.found, around
        raise BadInput(
            "variables have another type or shape after each iteration of a loop; give them one type and shape before it: "
            + ", ".join(s.name for s in self.slots if s.name)
        )

    # Slots

    def begin(self, slot: Slot) -> None:
        slot.begin()
        if slot.flagged is not None and slot.first is UNBOUND and self.is_read_after(slot):
            slot.carry_flag(self.trace, slot.flagged)
        if slot.form == "carried" and type(slot.chosen) is Choice and not same_form(slot.first, slot.chosen):
            self.carry_choice(slot, slot.chosen)

    def set(self, slot: Slot, x: Any) -> None:
        trace, holder = self.trace, slot.holder
        trace.touch(holder)
        if slot.may_be_absent and isinstance(x, tuple):
            x = Late(*x)
        if isinstance(holder, Storage):
            holder.value = x.storage.value
        elif slot.key is None:
            put(holder, x)
        else:
            hold_part(holder, slot.key, x)

    def general(self, slot: Slot) -> Any:
        """Return a slot's object at the start of an iteration, made of new parameters."""
        found = numbers_in(slot.first)
        if slot.types is None:
            slot.first_types = [self.first_type(x) for x in found]
            slot.types = slot.expected(slot.first_types)
        slot.parameters = [Value(slot.name, kind) for kind in slot.types]
        new = [Array(Storage(p)) if isinstance(x, Array) else Scalar(p) for p, x in zip(slot.parameters, found)]
        slot.general = rebuilt(slot.first, iter(new), self.note)
        note_bounds(self.trace, slot.general)
        for x, first in zip(arrays_in(slot.general), arrays_in(slot.first)):
            forget(self.trace, x)
            self.trace.numbers.may_be(x, [first])
        slot.started = [content(x) for x in containers(slot.general, [])]
        return slot.general

    def note(self, x: Any) -> Any:
        if is_instance(x) or isinstance(x, (list, dict, deque)):
            self.trace.made[id(x)] = x, self.trace.region
            forget(self.trace, x)
        return x

    def first_type(self, x: Any) -> ArrayType:
        if isinstance(x, (Scalar, Array)):
            return x.type
        return self.trace.value(x).type

    def carry_choice(self, slot: Slot, last: Any) -> bool:
        """Carry a choice in a place whose value has another form after an iteration than before the loop, if possible."""
        is_possible = can_choose(slot.first, last) and self.trace.allows("may_choose")
        chosen = chosen_before(self.trace, slot.first, last) if is_possible else None
        if chosen is not None:
            slot.first, slot.types = chosen, None
        return chosen is not None

    # Iterations

    def attempt(self) -> None:
        trace = self.trace
        self.carried.first(self.slots)
        index = Value("i", INT)

        def run(region: Region) -> Any:
            if self.trips is not None:
                start, stop, step = self.trips
                if start.is_constant and stop.is_constant:
                    trace.unrollable.add(index)
                trace.builder.integers.index(index, start, stop, trace.builder.constant(step))
            for slot in self.slots:
                if slot.form == "carried":
                    self.set(slot, self.general(slot))
                else:
                    reason = f"{slot.name} is read in a loop before it is assigned; assign it before the loop"
                    self.set(slot, Conflict(slot.reason) if slot.reason else Unread(reason, slot))
            self.carried.general(self.slots)
            start = {key: content(holder) for key, (holder, _) in region.changes.before.items()}
            trace.iterations += 1
            trace.numbers.begin(region.changes)
            try:
                go = self.step(Scalar(index))
                if go is not RAISED:
                    self.carried.last(self.slots)
            finally:
                trace.iterations -= 1
                trace.numbers.end()
            if go is RAISED:  # changes before the error are never seen
                for key, (holder, before) in region.changes.before.items():
                    if trace.made_in(holder) is not region.changes:
                        put(holder, start.get(key, before))
                go = False
            if self.trips is None:
                trace.touch(self.go)
                self.go["go"] = go
            return start

        region = trace.run_region(run)
        if region.ended or region.raised is not None:
            raise BadInput(
                "compiled code cannot catch an exception raised here; test for its cause with an `if` before"
            )
        self.find_new(region)
        self.check_identity(region)
        refuse_changed_items(trace, self.slots, region)
        if any([self.close(slot, region) for slot in self.slots]):
            raise Retry(self)
        self.write(region.block, index)

    def find_new(self, region: Region) -> None:
        """Add slots for the places that the iteration changed; raise Retry if there are any."""
        known = {(id(s.holder), s.key) for s in self.slots}
        start = region.result
        new = changed_slots(self.trace, region, start, known)
        for key, (holder, after) in region.after.items():
            if isinstance(holder, (Storage, list, deque, set, Iterator, *RAW)) or (
                self.trace.made_in(holder) is region.changes
            ):
                continue
            before = start.get(key, region.changes.before[key][1])
            if not are_in_one_order([k for k in before if k in after], after):
                self.trace.disordered[id(holder)] = holder
        for slot in new:
            self.begin(slot)
            self.trace.outside.keep(slot.holder, slot.key)
        self.slots += new
        if new:
            raise Retry(self)

    def check_identity(self, region: Region) -> None:
        """Check slots that hold one object after an iteration: the loop would carry it as several.

        That is harmless if none of them is changed in an iteration; after the loop, changes of them are refused.
        """
        owner: dict[int, tuple[Slot, Any]] = {}
        changed = any(map(is_changed, self.slots))
        for slot in self.slots:
            if slot.form == "local" or isinstance(slot.holder, Storage):
                continue
            last = slot.held(region.after)
            for x, held, on in [(part, *one) for part in parts(last) for one in memory_of(self.trace, part)]:
                other, where = owner.setdefault(id(held), (slot, on))
                older = self.trace.is_older(held)
                if (other is slot or exclude_each_other(where, on)) and not older:
                    continue
                name = slot.name or "an object"
                beside = other.name if other is not slot else "an object from before the loop"
                written = id(held) in region.after or any(s.holder is held for s in self.slots)
                is_one_of_several = on is not None and not slot.form == other.form == "carried"
                if (changed or older and written) and not is_one_of_several:
                    raise BadInput(
                        f"{name} and {beside} are the same object after an iteration of a loop that changes it; copy one of them"
                    )
                slot.tied = other.tied = (
                    f"{name} and {beside} may be the same object after a loop; copy one of them before changing it"
                )
                if older:
                    self.tie(x, slot.tied)

    def tie(self, x: Any, text: str) -> None:
        ties, tied = self.trace.lessons.ties, self.trace.tied
        if isinstance(x, Array):
            ties.append(partial(setattr, x.storage, "tied", x.storage.tied))
            x.storage.tied = text
        else:
            before = tied.get(id(x))
            ties.append(partial(tied.pop, id(x)) if before is None else partial(tied.__setitem__, id(x), before))
            tied[id(x)] = x, text

    def name_of(self, holder: Any) -> str:
        """Return the variable that holds an object, for messages."""
        return next((k for k, x in self.trace.scope.vars.items() if x is holder), "a value")

    def close(self, slot: Slot, region: Region) -> bool:
        """Find a slot's results; True if its form or types must change, so that the iteration is interpreted again."""
        trace = self.trace
        slot.initial, slot.results = [], []
        last = slot.held(region.after)
        if slot.form == "local":
            return False
        if slot.form == "late":
            is_kept = isinstance(last, Late) and self.is_read_after(slot)  # by iterations that do not assign it
            last = last.x if isinstance(last, Late) else last
            if (slot.is_read_early or is_kept and slot.first is UNBOUND) and slot.carry_flag(trace, last):
                return True
            found = numbers_in(last)
            if (
                is_kept
                or isinstance(last, (Conflict, type(UNBOUND)))
                or has_function(last)
                or not self.can_leave(found, region)
            ):
                slot.form = "local"
                slot.reason = (
                    slot.reason
                    or f"{slot.name} is assigned inside a loop, but used after it or before its assignment; assign it before the loop"
                )
                return True
            slot.types = [self.first_type(x) for x in found]
            slot.last = last
            slot.parameters = [Value(slot.name, kind) for kind in slot.types]
            for x, kind in zip(found, slot.types):
                zero = Value(type=kind, constant=kind.dtype.type(0))
                slot.initial.append(trace.builder.zeros(kind.shape, kind.dtype) if kind.shape else zero)
                slot.results.append(self.read(x, region))
            return False
        if type(slot.first) is Choice:
            with trace.builder.writing(region.block.operations):
                found = chosen_after(trace, slot.general, last)
            last = last if found is None else found
        if not same_form(slot.first, last):
            if carries_rows(trace, slot, last, self.slots):
                raise Retry(self)
            if self.carry_choice(slot, last):
                return True
            self.make_late(slot, last)
            if slot.key is None:
                raise BadInput(slot.reason)
            return True
        assert slot.types is not None
        redo = False
        types = list(slot.types)
        for x, a in zip(arrays_in(slot.general), arrays_in(last)):
            trace.numbers.origins[id(x)][1].append(a)
        slot.last = last
        for x, a in zip(arrays_in(slot.general), arrays_in(last)):
            if x.storage.is_copied and x.type.ndim > 1:
                refuse_other_order(trace, slot.name or "an array", x, a)
        for position, (a, b) in enumerate(zip(numbers_in(slot.first), numbers_in(last))):
            value = self.read(b, region)
            kind = join(types[position], value.type)
            if kind is None:
                self.make_late(slot, last)
                return True
            redo |= kind != types[position]
            types[position] = kind
            with trace.builder.writing(region.block.operations):
                slot.results.append(convert(trace.builder, value, kind))
            slot.initial.append(convert(trace.builder, trace.value(a), kind))
        slot.types = types
        return redo

    def make_late(self, slot: Slot, last: Any) -> None:
        """Stop carrying a slot: its values before the loop and after an iteration have no common form."""
        first, last = (x[0] if slot.may_be_absent and isinstance(x, tuple) else x for x in (slot.first, last))
        slot.reason = (
            f"{slot.name or self.name_of(slot.holder)} is {describe(first)} before a loop and {describe(last)} after "
            f"an iteration{remedy(first, last, 'in both')}"
        )
        slot.form = "late" if not isinstance(slot.holder, (Storage, list, deque)) else "local"
        if slot.may_be_absent:
            slot.first, slot.may_be_absent = Late(*slot.first), False

    def is_read_after(self, slot: Slot) -> bool:
        known = None if slot.holder is not self.trace.scope.vars else self.names_read_after
        return known is None or slot.key in known

    def can_leave(self, found: list[Any], region: Region) -> bool:
        """Whether the arrays' shapes are known outside of the iteration."""
        return not any(isinstance(n, Dim) for x in found if isinstance(x, Array) for n in x.type.shape)

    def read(self, x: Any, region: Region) -> Value:
        """Return the value of a number or array as the iteration left it."""
        with self.trace.builder.writing(region.block.operations):
            return value_after(x, region.after) if isinstance(x, Array) else self.trace.value(x)

    # The operation

    def write(self, body: Block, index: Value) -> None:
        trace = self.trace
        slots = [s for s in self.slots if s.form != "local"]
        parameters = [p for s in slots for p in s.parameters]
        initial = [v for s in slots for v in s.initial]
        body.results = [v for s in slots for v in s.results]
        made = [Value(p.name, p.type) for p in parameters]
        self.append(body, index, parameters, initial, made)
        values = iter(made)
        outcome = []
        moved = exchanged(trace, self.slots)
        for slot in self.slots:
            if slot.form == "local":
                self.set(slot, Conflict(slot.reason))
                continue
            form = slot.first if slot.form == "carried" else slot.last
            new = [
                Array(Storage(next(values))) if isinstance(x, Array) else Scalar(next(values)) for x in numbers_in(form)
            ]
            after = rebuilt(form, iter(new), self.note)
            note_bounds(trace, after)
            last = arrays_in(slot.last)
            for i, x in enumerate(arrays_in(after)):
                forget(trace, x)
                first = arrays_in(slot.first)[i : i + 1] if slot.form == "carried" else []
                trace.numbers.may_be(x, [last[i], *first])
            outcome.append((slot, after))
            if slot.tied:
                for x in parts(after):
                    self.tie(x, slot.tied)
            named, outside = moved.get(slot, ([], []))
            # An array that a branch in the iteration has chosen may be what another name holds.
            for x in [*outside, *(x for x in last if may_be_another(trace, x))]:
                text = (
                    f"after a loop that assigns it, {slot.name or 'a variable'} may be the same object as another variable; copy it "
                    "before changing it"
                )
                for o in (x, *parts(after)):
                    self.tie(o, text)
            if slot.form == "carried":
                self.separate(slot, after, named)
            self.set(slot, after if slot.form == "carried" else self.late(slot, after))
        self.carried.after(self.slots, outcome)

    def append(
        self, body: Block, index: Value, parameters: list[Value], initial: list[Value], made: list[Value]
    ) -> None:
        """Append the loop's operation, whose results are ``made``."""
        trace, line = self.trace, self.trace.builder.line
        if self.trips is not None:
            start, stop, step = self.trips
            body.parameters = [index, *parameters]
            operands = [start, stop, trace.builder.constant(step, np.int64), *initial]
            trace.builder.append(
                Operation("range", trace.memory_policy, operands, blocks=[body], results=made, line=line)
            )
            return
        body.parameters = parameters
        test = Block([Value(p.name, p.type) for p in parameters])
        (go,) = next(s.parameters for s in self.slots if s.holder is self.go)
        test.results = [test.parameters[parameters.index(go)]]
        trace.builder.append(
            Operation("while", trace.memory_policy, initial, blocks=[test, body], results=made, line=line)
        )

    def separate(self, slot: Slot, after: Any, named: list[Any]) -> None:
        """Separate a slot's object before the loop from its object ``after`` it: they are now two.

        ``named`` are the parts of the former that have another name too.

        Raises:
            BadInput: an iteration has changed one of them.
        """
        name = slot.name or "a variable"
        changed = any(map(is_changed, self.slots))  # by any slot: names may be exchanged between iterations
        for x, y in zip(parts(slot.first), parts(after)):
            if not any(x is z for z in named):
                continue
            if changed:
                raise BadInput(
                    f"{name} is changed and reassigned in a loop, but its object has another name outside; copy it before the loop"
                )
            text = f"after a loop that assigns {name}, it may or may not be the object that is changed here; copy one of them first"
            for o in (x,) if self.is_skipped is False else (x, y):
                self.tie(o, text)

    @property
    def is_skipped(self) -> Any:
        """Whether the loop runs no iteration: a bool, or a traced one."""
        if self.trips is None:
            return self.trace.call(operator.not_, self.first_go)
        start, stop = (Scalar(x) if not x.is_constant else x.constant for x in self.trips[:2])
        found = self.trace.call(operator.ge if self.trips[2] > 0 else operator.le, start, stop)
        return bool(found) if isinstance(found, np.bool_) else found

    def late(self, slot: Slot, x: Any) -> Any:
        """Return the content of a variable that is assigned only if there was an iteration."""
        if isinstance(slot.holder, dict) and slot.holder.get("go") is not None and slot.key == "value":
            return x
        first = self.is_skipped
        if isinstance(first, bool):
            return x if not first else slot.first
        name = slot.name or self.name_of(slot.holder)
        other = slot.reason or f"{name} has another type or length before a loop than the loop assigns to it"
        return Late(x, first, before="" if slot.first is UNBOUND else other)

    @property
    def first_go(self) -> Any:
        return next(s.first for s in self.slots if s.holder is self.go)
