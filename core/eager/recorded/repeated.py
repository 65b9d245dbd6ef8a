"""Runs that the backward sweep makes again: they are dropped from the tape, and their start is kept.

The second run must see the same state as the first, so for its duration the containers, objects and variables that the
function can reach are restored, and arrays that it writes into hold what they held before it. A run that cannot be
repeated is kept on the tape like any other: if a value that it computed is held elsewhere (in a list, an attribute,
a variable, a generator), if it reads an iterator, which cannot be rewound, or if it writes into an array from before it
and is itself part of an outer derivative.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...exclusion import undo
from ...rules.registry import CALLERS
from ...source.definitions import describe
from ...values.memory import identity, owner
from ...values.numbers import NUMBER_TYPES
from ...values.spilled import Spill, Spilled
from .call import call
from .offloaded import give_back, loaded
from .outliving import ALONE, escapes, is_shared, values_in
from .pullback import seed
from .restored import State
from .stores import shape_back
from .tape import Cotangents, Record, Tape, redo, snapshot, sweep, valued

Contents = list[tuple[np.ndarray, np.ndarray]]
"""Arrays that a run writes into, each with a copy of what it held before."""


def run_to_repeat(tape: Tape, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function, and keep its arguments alone if the call can be made again."""
    repeat = Repeat(tape, f, args, kwargs)
    y = repeat.step(lambda: call(tape, f, *args, **kwargs))
    if repeat.is_possible:
        tape.records.append(repeat.record(y))
    return y


class Repeat:
    """A stretch of a run that may be made again: its first step has begun at the end of the tape."""

    def __init__(
        self, tape: Tape, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], roots: tuple[Any, ...] = ()
    ) -> None:
        """``roots`` are what ``f`` reads besides its arguments, if it is the engine's own."""
        self.tape, self.f, self.args, self.kwargs = tape, f, args, kwargs
        self.state = State(f, args, kwargs, *roots)
        self.contents: Contents = []
        self.spill: Spill | None = None  # where the contents are held, if not in memory
        self.bytes = 0.0  # what the records of the last step held
        self.is_possible = self.state.is_whole

    def step(self, run: Callable[[], Any], before: tuple[Any, ...] = ()) -> Any:
        """Run a step, and drop its records if it can be made again; ``is_possible`` tells whether.

        ``before`` is what the step before it has returned.
        """
        tape = self.tape
        first, written = len(tape.records), set(tape.written)
        y = run()
        made = tape.records[first:]
        self.is_possible = self.is_possible and _is_numeric(y)
        overwritten = self.overwritten(made, written) if self.is_possible else None
        if overwritten is None or escapes(made, y, self.state.outside, before):
            self.is_possible = False
            return y
        new = [a for a in overwritten if not any(a is b for b, _ in self.contents)]
        if new:
            before_them = _before(made, new)
            self.contents += zip(new, before_them if self.spill is None else map(self.spill.copy, before_them))
        self.bytes = _bytes_held(made, self.state.outside)
        del tape.records[first:]
        tape.written = written | {id(a) for a in overwritten}
        return y

    def overwritten(self, made: list[Record], before: set[int]) -> list[np.ndarray] | None:
        """Return the arrays from before the stretch that a step has written into; None if it cannot be undone."""
        outside, written = self.state.outside, self.tape.written
        found: dict[int, Any] = {}
        explained: set[int] = set()
        for record in made:
            arrays = [a for a, _ in record[6]] if record[0] is _run_again else [record[1]]
            for a in arrays:
                if isinstance(a, np.ndarray):
                    holder = owner(a)
                    explained.add(id(holder))
                    if id(holder) in outside and (id(holder) in written or a.dtype.kind == "O"):
                        found[id(holder)] = holder
                    if record[0] is shape_back and id(holder) in outside:
                        return None
        plain = all(isinstance(a, np.ndarray) and a.dtype.kind in "biufc" for a in found.values())
        if not written - before <= explained or found and (not plain or self.tape.parent is not None):
            return None
        return [*found.values()]

    def record(self, y: Any) -> Record:
        return _run_again, snapshot(y), self.f, self.args, self.kwargs, self.state, self.contents

    def must_end(self, state: tuple[Any, ...]) -> bool:
        """Whether a leg must end here: what stands elsewhere too must be what the tape knows as the leg's result."""
        self.f.is_shared = is_shared(state, self.state.outside)
        return self.f.is_shared

    def end(self, stop: int, state: tuple[Any, ...], place: int | None = None) -> None:
        """End a leg before iteration ``stop``: put its record at a place of the tape, or at its end."""
        if stop > self.f.start:
            self.f.stop = stop
            place = len(self.tape.records) if place is None else place
            self.tape.records.insert(place, self.record(state))


class Legs:
    """Some iterations of a loop as a function of the state before them; see ``recomputed_loops``."""

    def __init__(self, loop: Any, start: int, stop: int, snapshots: int) -> None:
        self.loop, self.start, self.stop, self.snapshots = loop, start, stop, snapshots
        self.prepared: list[Record] | None = None  # legs that have been run, for one sweep
        self.is_shared = False  # whether the state after it stands elsewhere too
        self.__name__, self.__code__ = f"a loop of {loop.body.__name__}", loop.body.__code__

    def run(self, tape: Tape, *state: Any) -> tuple[Any, ...]:
        return self.loop.run(tape, self.start, self.stop, self.snapshots, state)


CALLERS[Legs] = lambda tape, legs, *state: legs.run(tape, *state)


def is_leg(record: Record) -> bool:
    return record[0] is _run_again and type(record[2]) is Legs


def may_merge(legs: list[Record], state: tuple[Any, ...]) -> bool:
    """Whether records are legs of which the states between them stand nowhere else; ``state`` is that after them.

    A later leg may have put a state elsewhere, as into a list, so the references to each are counted.
    """
    if not all(map(is_leg, legs)) or any(leg[2].is_shared for leg in legs[:-1]):
        return False
    held = {id(t): t for leg in legs for t in (leg[1], leg[3], leg[5].values)}
    held[id(state)] = state
    counts = Counter(id(x) for values in held.values() for x in values)
    counts.update(id(a) for leg in legs for a, _ in leg[6])
    outside, final = legs[0][5].outside, {id(x) for x in state}
    for leg in legs[:-1]:
        for x in leg[1]:
            if (type(x) in NUMBER_TYPES or isinstance(x, np.ndarray)) and identity(x) not in outside:
                views = sum(y.base is x for y in leg[1] if isinstance(y, np.ndarray))
                if id(x) not in final and sys.getrefcount(x) > ALONE + counts[id(x)] + views:
                    return False
    return True


def merged(first: Record, second: Record) -> Record:
    """Return the record of two legs as one."""
    state, own = first[5], {id(a) for a, _ in first[6]}
    contents = [*first[6], *((a, x) for a, x in second[6] if id(a) not in own and id(a) in state.outside)]
    legs = Legs(first[2].loop, first[2].start, second[2].stop, 1)
    return _run_again, second[1], legs, first[3], first[4], state, contents


def join(tape: Tape, first: int, state: tuple[Any, ...]) -> None:
    """Make the legs at the end of a tape one record, which a sweep takes apart: it drops each leg when it has been reversed."""
    legs = tape.records[first:]
    if legs and may_merge(legs, state):
        whole = functools.reduce(merged, legs)
        whole[2].snapshots = legs[0][2].snapshots
        if len(legs) > 1:
            whole[2].prepared = legs
        tape.records[first:] = [whole]


def _bytes_held(made: list[Record], outside: set[int]) -> float:
    """The bytes of the arrays and numbers that records hold, without those that were there before."""
    found: dict[int, float] = {}
    for x in values_in(made):
        key = identity(x)
        if key not in outside:
            found[key] = float(owner(x).nbytes if isinstance(x, np.ndarray) else 100)
    return sum(found.values()) + 200.0 * len(made)


def _before(made: list[Record], arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Return copies of what arrays held before some records."""
    undone, found = Tape(), []
    undone.records = made
    sweep(undone, Cotangents(None), lambda table: found.extend(np.copy(a, "K") for a in arrays))
    return found


def _is_numeric(y: Any) -> bool:
    if isinstance(y, (tuple, list)):
        return all(map(_is_numeric, y))
    return isinstance(y, (np.ndarray, float, complex, int, np.number, np.bool_, str, bytes, type(None)))


def _run_again(table: Cotangents, record: Record) -> None:
    _, y, f, args, kwargs, state, contents = record
    del record  # with what the run returned, which is of no use once its cotangent is known
    dy = table.take(y)
    for key in set(map(identity, values_in([y]))) - table.arrays.keys() - table.numbers.keys():
        table.alive.pop(key, None)  # it need not be kept for a cotangent, and this run may hold many such states
    # A view has no cotangent of its own: what it shows keeps its identity until nothing refers to it.
    shown = {id(owner(x)): owner(x) for x in values_in([y]) if isinstance(x, np.ndarray) and table.reached(x)}
    if dy is not None or any(table.reached(a) for a, _ in contents):
        again = Tape(table.parent)
        again.integers = None if table.tape is None else table.tape.integers
        if type(f) is Legs:
            f.loop.is_recorded = table.is_strong or table.evaluate is not None
        args, pairs = loaded(args)
        known = state.outside.union(id(x) for _, x in pairs.values()) if pairs else state.outside
        if type(f) is Legs and f.prepared is not None:
            again.records, f.prepared = f.prepared, None
            seed(table, y, dy)
            y = dy = None
            sweep_and_drop(again, table, state.outside)
        else:
            with state.restored():
                _make_again(again, table, y, dy, f, args, kwargs, contents)
                y = dy = None
                sweep_and_drop(again, table, known)
        give_back(table, pairs)
    y = None
    _release(table, shown)
    later = set()  # arrays of which what a later stretch left will be written back
    for a, index, _ in reversed(table.redo):
        if index is not ...:
            break
        later.add(id(a))
    for a, before in contents:
        if id(a) not in later:
            table.redo.append((a, ..., np.copy(a)))
        table.write(a, ..., before)


def _make_again(
    again: Tape, table: Cotangents, y: Any, dy: Any, f: Any, args: Any, kwargs: Any, contents: Contents
) -> None:
    """Make a run again on a tape, check that it returns the same, and enter the cotangent of its result."""
    after = [np.copy(a) for a, _ in contents]
    try:
        for a, before in contents:
            table.write(a, ..., before)
        found = call(again, f, *args, **kwargs)
        if type(f) is Legs and not f.loop.is_recorded and not _same(found, y):
            f.loop.is_recorded = True  # the typed form of an iteration differs from it, in some number or on some path
            again.records.clear()
            found = call(again, f, *args, **kwargs)
        same = all(np.array_equal(a, b, a.dtype.kind in "fc") for (a, _), b in zip(contents, after))
    except Exception as error:
        for (a, _), b in zip(contents, after):
            table.write(a, ..., b)
        raise _differs(f) from error
    if not same or not _same(found, y):
        raise _differs(f)
    seed(table, found, dy)
    again.records.append((nothing, found))  # its values may have cotangents after the sweep


def nothing(table: Cotangents, record: Record) -> None:
    """Pull back a record that only holds a value."""


def sweep_and_drop(again: Tape, table: Cotangents, outside: set[int]) -> None:
    """Sweep a tape whose values, except those ``outside``, are of no use afterwards.

    Legs of a loop come first on it. What stands behind them is swept and dropped before they are made again.
    """
    records = again.records
    legs = next((k for k, record in enumerate(records) if not is_leg(record)), len(records))
    known = outside if not legs else outside.union(map(identity, values_in([records[legs - 1][1]])))
    (redone, table.redo), (enclosing, table.tape) = (table.redo, []), (table.tape, again)
    try:
        for record in reversed(records[legs:]):
            record[0](table, record)
        record = None
        _drop(table, records, legs, known)
        while records:
            _run_again(table, records.pop())
    finally:
        ending = [functools.partial(redo, table)]
        try:
            undo(ending)
        finally:
            table.redo, table.tape = redone, enclosing
    for key in [k for k in table.alive if k not in table.arrays and k not in table.numbers]:
        del table.alive[key]


def _drop(table: Cotangents, records: list[Record], first: int, known: set[int]) -> None:
    """Drop the records from ``first`` on, and the cotangents and writes of the values that nothing else refers to.

    A number is one of them if a record made it; an array, if it is gone without the records. Others are kept alive.
    """
    numbers = {id(x) for x in values_in([record[1] for record in records[first:]]) if not isinstance(x, np.ndarray)}
    local: dict[int, Any] = {}
    for x in valued(records[first:], table):
        if id(x) in known or not isinstance(x, np.ndarray) and id(x) not in numbers:
            table.alive[id(x)] = x
        elif isinstance(x, np.ndarray):
            local[id(x)] = x
        else:
            table.drop(x)
    x = None
    del records[first:]
    _release(table, local)


def _release(table: Cotangents, local: dict[int, Any]) -> None:
    """Drop the cotangents and undone writes of arrays that nothing but ``local`` refers to; keep the other arrays alive."""
    entries, table.redo = table.redo, []
    for key in local:
        table.windows.pop(key, None)
    dead = set()
    while local:
        key, x = local.popitem()
        written = [entry[0] for entry in entries if identity(entry[0]) == key]
        views = {id(a) for a in written if a is not x}
        if sys.getrefcount(x) <= ALONE + 2 * sum(a is x for a in written) + len(views):
            dead.add(key)
            table.drop(x)
        else:
            table.alive[key] = x
        del written
    table.redo = [entry for entry in entries if identity(entry[0]) not in dead]


def _differs(f: Any) -> NoDerivative:
    return NoDerivative(
        f"{describe(f)} returned a different result when checkpoint recomputed it for the backward pass: a value that it "
        "reads has changed since, or it draws random numbers. Pass such values as arguments, or call it without checkpoint"
    )


def _same(x: Any, y: Any) -> bool:
    """Whether two runs gave the same numbers; NaNs count as equal."""
    if x is y:
        return True
    if type(y) is Spilled:
        return y.equals(x)
    if isinstance(x, (tuple, list)):
        return isinstance(y, (tuple, list)) and len(x) == len(y) and all(map(_same, x, y))
    if isinstance(x, (str, bytes, type(None))):
        return x == y
    return np.array_equal(x, y, equal_nan=not isinstance(x, int))
