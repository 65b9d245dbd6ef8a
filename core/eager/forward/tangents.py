"""The tangents of one run in forward mode: of numbers by identity, of arrays by the memory that they own or view.

A tape of forward mode has a ``Stream`` in place of its list of records: it computes the tangent of each operation that is
appended, and keeps nothing. A number's identity is a key only while the number exists. As numbers cannot be referenced weakly,
the table holds them, and drops those to which nothing else refers whenever it has doubled in size. Tangents of an array live as
long as the owner of its memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from sys import getrefcount
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...values.cotangents import fit
from ...values.memory import blank_memory, corresponding, made_writeable, owner
from ...values.numbers import NUMBER_TYPES, PASSIVE, call_on
from ...values.reachable import reached
from ...values.silence import silently
from ..recorded.tape import Cotangents, Record, Tape, place_of

VARYING = float("nan")
"""Stands, among the inputs of an opaque call, for values computed with tangents while it ran."""

FEWEST = 2000
"""The size of a table of numbers below which it is not searched for dead ones."""


class _Key(weakref.ref):
    """A weak reference to the owner of memory, with its identity."""

    __slots__ = ("key",)

    key: int


class Tangents:
    """The table of tangents of a run; a value without an entry has the tangent zero."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.numbers: dict[int, tuple[Any, Any]] = {id(VARYING): (VARYING, float("nan"))}  # (the number, its tangent)
        self.arrays: dict[
            int, tuple[Any, np.ndarray]
        ] = {}  # (reference to the owner, memory of tangents), by the owner
        self.objects: dict[int, Any] = {}  # references to objects of C code, bytes, ... that hold numbers with tangents
        self.limit = FEWEST
        self.length = 0  # the number of records so far
        self.latest = 0  # the number of the last one with a tangent
        self.written: dict[
            int, tuple[int, Any]
        ] = {}  # last write into memory, by owner: (number of the record, reference)
        self.lost: Callable[[], NoDerivative] | None = None  # makes the error for a derivative that is not known
        self.around = [table for t in _enclosing(tape.parent) if t.tangents is not None for table in t.tangents.tables]
        for table in self.around:
            table.within.append(self)
        self.within: list[Tangents] = []  # tables of derivatives inside of this one
        self.beside: list[Tangents] = []  # the tables of the same tape in Taylor mode

    is_series = False
    """Whether it is the table of a tape of Taylor mode."""

    @property
    def tables(self) -> list[Tangents]:
        return [self]

    def end(self) -> None:
        """Drop all tangents, and the references in a cycle, which only the garbage collector would free."""
        for table in self.around:
            table.within.remove(self)
        self.numbers.clear()
        self.arrays.clear()
        self.tape.records, self.tape.tangents = [], None

    # Reading

    def get(self, x: Any) -> Any:
        """Return the tangent of a value, None for zero; of a list or tuple, a list."""
        kind = type(x)
        if kind is np.ndarray or isinstance(x, np.ndarray):
            if x.dtype.kind in "fc":
                base = x if x.base is None else owner(x)
                found = self.arrays.get(id(base))
                return None if found is None else corresponding(x, base, found[1])
            if x.dtype.kind == "O":
                parts = [self.get(e) for e in x.ravel().tolist()]
                filled = [0.0 if t is None else t for t in parts]
                return self.run(_shaped, filled, x.shape) if any(t is not None for t in parts) else None
            return self.unknown_integer(x)
        if kind is list or kind is tuple or isinstance(x, (list, tuple)):
            parts = [self.get(e) for e in x]
            return parts if any(t is not None for t in parts) else None
        found = self.numbers.get(id(x))
        if found is not None:
            return found[1]
        return self.unknown_integer(x) if isinstance(x, np.integer) else None

    def varies(self, x: Any) -> bool:
        return self.get(x) is not None

    def unknown_integer(self, x: Any) -> Any:
        """Return NaN for an integer of NumPy that was computed from a differentiated int, or shows the bits of a float."""
        found = None if self.tape.integers is None else self.tape.integers.get(place_of(x))
        if found is None or found[3] is not None and not self.depends(found[3]):
            return None
        table = Cotangents(None)
        table.tape = self.tape

        def error() -> NoDerivative:
            try:
                table.refuse_integer(x)
            except NoDerivative as found:
                return found
            raise AssertionError

        self.lost = self.lost or error
        return np.full(np.shape(x), np.nan)[()]

    def depends(self, opaque: Any) -> bool:
        """Whether an opaque call was given a value with a tangent."""
        taken: set[int] = set()
        reached((opaque.inputs, opaque.later), taken)
        tables = (self.numbers, self.arrays, self.objects)
        if any(key in table for key in taken for table in tables):
            return True
        return any(x is VARYING or isinstance(x, bytes) and id(x) in self.objects for x in opaque.inputs)

    # Writing

    def set(self, y: Any, t: Any) -> None:
        """Set the tangent of a result that is new: a number, an array or a list or tuple of these."""
        if t is None:
            return
        self.latest = self.length
        kind = type(y)
        if kind is np.ndarray or isinstance(y, np.ndarray):
            if y.dtype.kind == "O":
                for place, e in enumerate(y.ravel().tolist()):
                    self.set(e, self.run(_entry, t, place))
            if y.dtype.kind not in "fc":
                return
            t = self.run(fit, t, y)
            if y.base is None and type(t) is np.ndarray and t.base is None and _same_layout(t, y):
                self.keep(y, t)
            else:
                self.write(self.window(y), ..., t)
        elif isinstance(y, (list, tuple)):
            for e, te in zip(y, t):
                self.set(e, te)
        elif kind is dict:
            for name, te in t.items():
                self.set(y[name], te)
        elif kind not in PASSIVE:
            t = self.run(fit, t, y) if type(t) is not kind else t
            self.numbers[id(y)] = y, t
            if len(self.numbers) > self.limit:
                self.drop()

    def add(self, y: Any, t: Any) -> None:
        """Add to the tangent of a number."""
        before = self.get(y)
        self.set(y, t if before is None else self.run(_add, before, t))

    def lose(self, y: Any, error: Callable[[], NoDerivative]) -> None:
        """Note that a result depends on the arguments in a way that has no known derivative: its tangent is NaN."""
        self.lost = self.lost or error
        self.latest = self.length
        if isinstance(y, np.ndarray):
            if y.dtype.kind in "fc":
                self.write(self.window(y), ..., np.nan)
            elif y.dtype.kind == "V":
                for name in y.dtype.names or ():
                    self.lose(y[name], error)
            elif y.dtype.kind == "O":
                for e in y.ravel().tolist():
                    self.lose(e, error)
            elif not isinstance(owner(y), np.ndarray):
                self.note(owner(y))
        elif isinstance(y, (list, tuple)):
            for e in y:
                self.lose(e, error)
        elif type(y) is dict:
            for e in y.values():
                self.lose(e, error)
        elif type(y) in NUMBER_TYPES or isinstance(y, (float, complex)):
            if type(y) not in PASSIVE:
                self.numbers[id(y)] = y, float("nan")
        elif type(y) not in PASSIVE or isinstance(y, bytes):
            self.note(y)

    def note(self, x: Any) -> None:
        """Note an object that holds numbers with tangents where they cannot be followed."""
        self.objects[id(x)] = _reference(x, lambda r: self.objects.pop(r.key, None))

    def keep(self, y: np.ndarray, memory: np.ndarray) -> None:
        """Make an array the memory of the tangents of the owner ``y``."""
        self.arrays[id(y)] = _reference(y, self.free), memory

    def free(self, reference: _Key) -> None:
        self.arrays.pop(reference.key, None)

    def wrote(self, a: np.ndarray) -> None:
        """Note a write into an array by the record that was appended last."""
        holder = owner(a)
        self.written[id(holder)] = self.length, _reference(holder, lambda r: self.written.pop(r.key, None))

    def window(self, x: np.ndarray) -> np.ndarray:
        """Return the tangents of an array as a writeable array that views those of its memory."""
        base = x if x.base is None else owner(x)
        if id(base) not in self.arrays:
            self.keep(base, blank_memory(base))
        return corresponding(x, base, self.arrays[id(base)][1])

    def write(self, target: np.ndarray, index: Any, value: Any) -> None:
        if not target.flags.writeable:
            with made_writeable(target):
                self.write(target, index, value)
        elif self.tape.parent is None:
            target[index] = value
        else:
            self.run(_setitem, target, index, value)

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        return call_on(self.tape.parent, function, *args)

    def drop(self) -> None:
        """Drop numbers to which only tables of tangents refer."""
        tables = [*self.around, *self.within, *self.beside]
        for key, (x, _) in list(self.numbers.items()):
            if getrefcount(x) <= _OF_ONE_TABLE + sum(key in table.numbers for table in tables) and x is not VARYING:
                for table in (self, *tables):
                    table.numbers.pop(key, None)
        self.limit = max(FEWEST, 2 * len(self.numbers))

    def alive(self) -> Iterator[Any]:
        """Yield the numbers and the owners of arrays that have tangents."""
        yield from [x for x, _ in self.numbers.values()]
        for reference in [*(r for r, _ in self.arrays.values()), *self.objects.values()]:
            x = _referent(reference)
            if x is not None:
                yield x


def _reference(x: Any, callback: Callable[[_Key], Any] | None = None) -> Any:
    """Return a weak reference, or the object itself if its class has none."""
    try:
        reference = _Key(x, callback)
    except TypeError:
        return x
    reference.key = id(x)
    return reference


def _referent(reference: Any) -> Any:
    return reference() if type(reference) is _Key else reference


def _count_of_one_table() -> int:
    numbers = {0: (float("1.5"), 0.0)}
    for _, (x, _t) in list(numbers.items()):
        return getrefcount(x)
    raise AssertionError


_OF_ONE_TABLE = _count_of_one_table()
"""The reference count of a number that only one table holds, measured as in ``drop``."""


def _enclosing(tape: Tape | None) -> Iterator[Tape]:
    while tape is not None:
        yield tape
        tape = tape.parent


def _same_layout(t: np.ndarray, y: np.ndarray) -> bool:
    """Whether ``t``, which owns its memory, can be the memory of the tangents of ``y``: as ``blank_memory`` would be."""
    return t.shape == y.shape and t.dtype == y.dtype and t.flags.c_contiguous and y.flags.c_contiguous


class Stream:
    """Takes the records of a tape, computes the tangents of their results, and forgets them.

    Parts of the engine ask a tape what it has recorded since some point: the answer here is a summary.
    """

    def __init__(self, tangents: Tangents, pushes: dict[Any, Callable[[Tangents, Record], None]]) -> None:
        self.tangents = tangents
        self.pushes = pushes

    def append(self, record: Record) -> None:
        self.tangents.length += 1
        function = record[0]
        push = self.pushes.get(function)
        if push is None:
            push = getattr(function, "push", None)
            if push is not None:
                return push(self.tangents, record)
            push = self.pushes[None]
        silently(push, self.tangents, record)

    def __len__(self) -> int:
        return self.tangents.length

    def __iter__(self) -> Iterator[Record]:
        """Yield records that stand for those of all values with tangents."""
        return ((None, x) for x in self.tangents.alive())

    def __getitem__(self, part: slice) -> list[Record]:
        """Return records that stand for those from some point on: of a value with a tangent, and of arrays written to."""
        since, tangents = part.start or 0, self.tangents
        found: list[Record] = [(None, VARYING)] if tangents.latest > since else []
        written = [_referent(reference) for number, reference in tangents.written.values() if number > since]
        return [*found, *((None, a) for a in written if isinstance(a, np.ndarray))]

    def __delitem__(self, part: slice) -> None:
        """Forget nothing: what was computed since is not referred to any more."""


def forward_tape(parent: Tape | None, pushes: dict[Any, Callable[[Tangents, Record], None]]) -> Tape:
    """Return a tape that computes tangents."""
    tape = Tape(parent)
    tape.tangents = Tangents(tape)
    tape.records = Stream(tape.tangents, pushes)  # type: ignore[assignment]
    return tape


def _shaped(parts: list[Any], shape: tuple[int, ...]) -> Any:
    return np.reshape(np.array(parts), shape)


def _entry(t: Any, place: int) -> Any:
    return np.ravel(t)[place]


def _add(a: Any, b: Any) -> Any:
    return a + b


def _setitem(a: Any, i: Any, v: Any) -> None:
    a[i] = v
