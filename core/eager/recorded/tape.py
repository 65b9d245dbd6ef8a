"""The tape of a recorded run, and the table of cotangents that its backward sweep fills.

A number is identified by its object: every operation makes a new one, and moving it through variables, containers,
iterators, closures or exceptions keeps it, so none of these needs a rule.  An array is identified by its memory: a view
has no cotangent of its own; its entries share the cotangent of the array that owns the memory.

The backward sweep walks the tape from its end.  It undoes each in-place write as it passes it, so that each pullback
sees the arrays as they were when its operation ran.  At the end it redoes all writes, which restores the final state.

A tape may have a parent: the tape of an enclosing derivative.  Every computation of a run and of its backward sweep is
then itself recorded there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import get_ident
from types import MethodType
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...exclusion import undo
from ...rules.connected import connected
from ...source.definitions import describe, example
from ...values.attributes import attributes
from ...values.cotangents import conform, is_fancy
from ...values.memory import blank_memory, corresponding, distinct_entries, made_writeable, overlaps_itself, owner
from ...values.numbers import Int
from . import known

SEQUENCES = (tuple, list)
SHAPE = object()
"""Stands for an index among the writes to be redone: the array was given another shape."""


Record = tuple[Any, ...]
"""``(pullback, result, *residuals)``; the pullback is called with a table of cotangents and the record.

The operands are among the residuals, also in containers, or in the attribute ``operands`` of one.
"""


def place_of(x: Any) -> int:
    """Return the key under which a tape lists a NumPy integer or an array of integers.

    An array of integers in the memory of a float array has another key than the owner of that memory.
    """
    if not isinstance(x, np.ndarray):
        return id(x)
    holder = owner(x)
    return -id(holder) if isinstance(holder, np.ndarray) and holder.dtype.kind in "fc" else id(holder)


class Tape:
    """The operations of one recorded run, in the order in which they ran."""

    __slots__ = (
        *("inputs", "integers", "is_between", "lent", "level", "memory"),
        *("observer", "over", "parent", "places", "records", "tangents", "written"),
    )

    def __init__(self, parent: Tape | None = None) -> None:
        self.observer: Any = None if parent is None else parent.observer  # sees the operations of an observed run
        self.records: list[Record] = [] if self.observer is None else self.observer.records_of(self)
        self.parent = parent
        self.inputs: list[Any] | None = None  # the numbers and arrays that are differentiated; None: not known
        self.integers: dict[int, tuple[Any, Any, Any, Any]] | None = (
            None  # integers computed from an Int or showing bits: see the module integers
        )
        self.written: set[int] = set()
        self.memory: dict[Any, Any] = {}
        self.places: dict[int, tuple[str, int]] = {}  # by result: the line of a call whose derivative may be unknown
        self.lent: list[Any] = []  # recording callbacks, and objects that hold such, to be reset when the run ends
        self.level: Tape | None = None  # the extra tape between this tape and its parent: see repeated_values
        self.is_between = False  # whether this is such an extra tape, which belongs to no derivative of the program
        self.tangents: Any = None  # the table of a tape of forward mode
        self.over = False  # whether the run has ended: later callbacks are not part of it

    @property
    def is_outermost(self) -> bool:
        """Whether no other derivative stands around that of this tape."""
        return is_alone(self.parent)

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call ``function(*args, **kwargs)``, recorded on this tape; the module ``call`` selects how."""
        kind = type(function)
        if kind in known.HASHABLE or isinstance(function, type) and kind.__hash__ is type.__hash__:
            return known.functions[function](self, *args, **kwargs)
        if kind is MethodType:
            return self.call(function.__func__, function.__self__, *args, **kwargs)
        return connected.call_other(self, function, args, kwargs)


OBSERVED: dict[int, Tape] = {}
"""By thread: the tape that observes the runs that the thread begins."""


def around(parent: Tape | None) -> Tape | None:
    """Return the tape around a run that begins: that of the enclosing derivative, or the one that observes this thread."""
    return parent if parent is not None or not OBSERVED else OBSERVED.get(get_ident())


def is_alone(parent: Tape | None) -> bool:
    """Whether the tape around a run belongs to no derivative: there is none, or it only observes."""
    return parent is None or parent.observer is not None and parent.observer.tape is parent


Evaluate = Callable[..., Any]
Window = tuple[np.ndarray, np.ndarray, bool]


def enclosing_tapes(tape: Tape | None) -> Iterator[Tape]:
    """Yield a tape and the tapes of the runs around it, from the inside out."""
    while tape is not None:
        yield tape
        tape = tape.parent


class NotANumber(Exception):
    """Raised when a gradient is NaN: the backward sweep must be repeated with strong products."""


class Cotangents:
    """The cotangents of numbers, by identity, and of arrays, by the memory that they own or view."""

    def __init__(self, evaluate: Evaluate | None, parent: Tape | None = None, is_strong: bool = False) -> None:
        self.numbers: dict[int, Any] = {}
        self.arrays: dict[int, np.ndarray] = {}  # by the identity of the array that owns the memory
        self.exclusive: set[int] = set()  # owners whose cotangent array has no other reference
        # By owner and view: (the view, its cotangent as a view of the owner's, whether the view overlaps itself).
        self.windows: dict[int, dict[int, Window]] = {}
        self.redo: list[tuple[Any, Any, Any]] = []  # undone writes: (array, index, value)
        self.tape: Tape | None = None  # the tape that is being swept
        self.alive: dict[int, Any] = {}  # values of inner tapes, kept alive while their identities are keys
        # Functions whose derivative in some argument is unknown (marked by NaN), with the line of the call.
        self.unknown: dict[Any, tuple[str, int] | None] = {}
        self.evaluate = evaluate  # calls a function recorded on the parent's tape; None: call it directly
        self.parent = parent
        self.is_strong = is_strong  # whether products follow ``strong_zero``; ``evaluate`` is then given

    def take(self, y: Any) -> Any:
        """Remove and return the cotangent of a result; None if nothing has reached it."""
        kind = type(y)
        if kind is np.ndarray or isinstance(y, np.ndarray):
            if y.base is None:
                key = id(y)
                self.windows.pop(key, None)
                self.exclusive.discard(key)
                return self.arrays.pop(key, None)
            if id(owner(y)) not in self.arrays:
                return None
            _, window, overlaps = self.entry(y)
            if self.evaluate is None:
                g = window.copy()
                window[...] = 0
            else:
                g = self.run(np.copy, window)
                self.write(window, ..., 0)
            if overlaps:  # entries that share one place in memory share its cotangent: count it once
                first = np.zeros(y.shape, bool)
                first[distinct_entries(y)[0]] = True
                return self.run(np.where, first, g, 0.0)
            return g
        if isinstance(y, SEQUENCES):
            parts = [self.take(e) for e in y]
            return parts if any(p is not None for p in parts) else None
        if kind is dict:
            found = {k: self.take(v) for k, v in y.items()}
            return found if any(p is not None for p in found.values()) else None
        key = id(y)
        if key in self.numbers:
            return self.numbers.pop(key)
        if key in self.arrays:  # an object on whose buffer arrays were made
            self.windows.pop(key, None)
            self.exclusive.discard(key)
            return self.arrays.pop(key)
        return None

    def add(self, x: Any, g: Any) -> None:
        """Add ``g``, already in the form of ``x``, to the cotangent of ``x``."""
        if g is None:
            return
        kind = type(x)
        if kind is float or kind is np.float64 or kind is complex or kind is Int or kind is np.complex128:
            key = id(x)
            present = self.numbers.get(key)
            if present is None:
                self.numbers[key] = g
            else:
                self.numbers[key] = present + g if self.evaluate is None else self.run(_add, present, g)
        elif kind is np.ndarray:
            if x.dtype.kind in "fc":
                self.add_array(x, g)
            elif x.dtype.kind == "O":
                self.add_objects(x, g)
            elif self.carries(x) and np.any(g != 0):
                self.refuse_integer(x)
        elif isinstance(x, SEQUENCES):
            for e, h in zip(x, g):
                self.add(e, h)
        elif isinstance(x, dict):
            for k, h in g.items():
                self.add(x[k], h)
        elif isinstance(x, (np.inexact, float, complex)) or isinstance(x, np.integer) and self.carries(x):
            present = self.numbers.get(id(x))
            self.numbers[id(x)] = g if present is None else self.run(_add, present, g)
        elif isinstance(x, np.ndarray):
            if x.dtype.kind in "fc":
                self.add_array(x, g)
        elif not isinstance(x, (int, str, bytes, type(None))):
            for name, value in attributes(x):
                h = g.get(name) if isinstance(g, dict) else getattr(g, name, None)
                self.add(value, h)

    def carries(self, x: Any) -> bool:
        """Whether a NumPy integer or an array of integers was computed from a differentiated int or shows bits."""
        integers = None if self.tape is None else self.tape.integers
        return integers is not None and place_of(x) in integers

    def refuse_integer(self, x: Any) -> None:
        assert self.tape is not None and self.tape.integers is not None
        _, function, (file, line), opaque = self.tape.integers[place_of(x)]
        if opaque is not None:
            return connected.refuse_bits(self.tape, opaque)
        raise NoDerivative(
            f"{describe(function)}, called at {file}:{line} with a Python int that is differentiated, returns NumPy "
            "integers, which carry no derivative; pass a float for that argument, or wrap it in morula.stop_gradient"
        )

    def add_array(self, x: np.ndarray, g: Any) -> None:
        if x.base is None:
            key = id(x)
            present = self.arrays.get(key)
            if present is not None and key in self.exclusive:
                if self.evaluate is None:
                    present += g
                else:
                    self.write(present, ..., self.run(_add, present, g))
            elif present is None:
                if type(g) is not np.ndarray or g.shape != x.shape or g.dtype != x.dtype:
                    g = self.run(conform, self.run(np.asarray, g), x)
                self.arrays[key] = g
            else:
                total = self.arrays[key] = self.run(_add, present, g)
                if type(total) is np.ndarray and total.flags.c_contiguous and x.flags.c_contiguous:
                    self.exclusive.add(key)
            return
        _, window, overlaps = self.entry(x)
        if overlaps:
            first, places = distinct_entries(x)
            g = self.run(_gathered, g, places, first[0].size)
            self.write(window, first, self.run(_add, self.run(_getitem, window, first), g))
        elif self.evaluate is None:
            window += g
        else:
            self.write(window, ..., self.run(_add, window, g))

    def add_objects(self, x: np.ndarray, g: Any) -> None:
        """Add ``g`` to the cotangents of the numbers in an array of objects, which has none of its own."""
        for place, e in enumerate(x.ravel().tolist()):
            if isinstance(e, (float, complex, Int, np.inexact)):
                self.add(e, self.run(conform, self.run(_getitem, self.run(np.ravel, g), place), e))

    def add_at(self, x: np.ndarray, index: Any, g: Any) -> None:
        """Add ``g`` to the cotangent of ``x[index]``."""
        _, window, overlaps = self.entry(x)
        if overlaps or type(index) is not int and is_fancy(index):
            self.run(np.add.at, window, index, g)
        elif self.evaluate is None:
            window[index] += g
        else:
            self.write(window, index, self.run(_add, self.run(_getitem, window, index), g))

    def drop(self, x: Any) -> None:
        """Forget the cotangent of a number, or of an array that owns its memory."""
        key = id(x)
        self.numbers.pop(key, None)
        self.arrays.pop(key, None)
        self.windows.pop(key, None)
        self.exclusive.discard(key)

    def check(self, g: Any) -> None:
        """Raise the error that explains a NaN gradient; return if the NaN is a proper result.

        Raises:
            NotANumber: the sweep used ordinary products, so a zero cotangent may have met an infinite slope.
            NoDerivative: a function with an unknown derivative was involved.
        """
        if not self.is_strong:
            raise NotANumber
        if self.unknown:
            raise unknown_derivative(*next(iter(self.unknown.items())))

    def reached(self, x: np.ndarray) -> bool:
        """Whether the memory that ``x`` owns or views has a cotangent."""
        return (id(x) if x.base is None else id(owner(x))) in self.arrays

    def window(self, x: np.ndarray) -> np.ndarray:
        """Return the cotangent of ``x`` as a writeable array; the cotangents of views share the owner's memory."""
        return self.entry(x)[1]

    def entry(self, x: np.ndarray) -> Window:
        """Return ``x``, its cotangent as a writeable array, and whether ``x`` overlaps itself."""
        base = x if x.base is None else owner(x)
        key = id(base)
        windows = self.windows.get(key)
        if windows is None:
            windows = self.windows[key] = {}
        found = windows.get(id(x))
        if found is not None:
            return found
        if key not in self.exclusive:
            present = self.arrays.get(key)
            self.arrays[key] = blank_memory(base)
            self.exclusive.add(key)
            if present is not None:
                self.write(self.arrays[key], ..., present)
        total = self.arrays[key]
        found = (x, total, False) if x is base else (x, corresponding(x, base, total), overlaps_itself(x))
        windows[id(x)] = found
        return found

    def reshape(self, x: np.ndarray, shape: tuple[int, ...]) -> None:
        """Give ``x`` and its cotangent another shape in place."""
        self.run(setattr, x, "shape", shape)
        self.windows.get(id(owner(x)), {}).pop(id(x), None)
        present = self.arrays.get(id(x))
        if present is not None and id(x) in self.exclusive:
            flat = present if present.base is None else present.base
            self.arrays[id(x)] = np.ndarray(shape, x.dtype, flat, 0, x.strides)  # type: ignore[arg-type]
        elif present is not None:
            self.arrays[id(x)] = self.run(np.reshape, present, shape)

    def write(self, target: np.ndarray, index: Any, value: Any) -> None:
        if not target.flags.writeable:  # the program has made it read-only after its write
            with made_writeable(target):
                self.write(target, index, value)
        elif self.evaluate is None:
            target[index] = value
        else:
            self.evaluate(_setitem, target, index, value)

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args) if self.evaluate is None else self.evaluate(function, *args)


def unknown_derivative(function: Any, place: tuple[str, int] | None) -> NoDerivative:
    """Return the error for a derivative in an argument for which a rule gives none; ``place``: the line of the call."""
    name = getattr(function, "__name__", "f")
    called = "" if place is None else f", called at {place[0]}:{place[1]},"
    return NoDerivative(
        f"{describe(function)}{called} has no known derivative with respect to an argument that depends on the "
        f"differentiated arguments. Give it one:\n{example(name)}"
        "or wrap that argument in morula.stop_gradient"
    )


def sweep(tape: Tape, table: Cotangents, last: Callable[[Cotangents], None] | None = None) -> None:
    """Walk ``tape`` backward and fill ``table``; afterwards, arrays hold again what the run left in them.

    ``last`` is called at the beginning of the tape, while arrays have their contents from before the run.
    """
    enclosing, table.tape = table.tape, tape
    try:
        for record in reversed(tape.records):
            record[0](table, record)
        if last is not None:
            last(table)
    finally:
        table.tape = enclosing
        if table.redo:
            ending = [lambda: redo(table)]
            try:
                undo(ending)
            except BaseException:
                undo(ending)
                raise


def redo(table: Cotangents) -> None:
    """Redo the undone writes.  After an interrupt one may be redone twice, with the same value."""
    waiting = table.redo
    while waiting:
        target, index, value = waiting[-1]
        if index is SHAPE:
            table.reshape(target, value)
        else:
            table.write(target, index, value)
        waiting.pop()


def pass_on(table: Cotangents, record: Record) -> None:
    """Pull back an operation whose result is an equal number as a new object."""
    _, y, x = record
    table.add(x, table.take(y))


def pull_again(table: Cotangents, run: Callable[[Tape], Any], dy: Any) -> None:
    """Pull back a fused operation by running it again on a new tape, operation by operation."""
    again = Tape(table.parent)
    y = run(again)
    table.add(y, dy)
    sweep_within(again, table, y)


def sweep_within(again: Tape, table: Cotangents, y: Any) -> None:
    """Sweep a tape with the result ``y`` that was recorded in the backward sweep and is dropped before ``table``.

    Values with a cotangent in the table are kept alive, because their identities are its keys.
    """
    written, table.redo = table.redo, []
    try:
        sweep(again, table)
    finally:
        table.redo = written
    for x in valued([y, *again.records], table):
        table.alive[id(x)] = x


def valued(x: Any, table: Cotangents) -> Iterator[Any]:
    """Yield the numbers and the arrays' owners with a cotangent, in nested tuples, lists and dicts."""
    if type(x) in (tuple, list):
        for e in x:
            yield from valued(e, table)
    elif type(x) is dict:
        yield from valued([*x.values()], table)
    elif isinstance(x, np.ndarray):
        if id(owner(x)) in table.arrays:
            yield owner(x)
    elif id(x) in table.numbers:
        yield x


def snapshot(x: Any) -> Any:
    """Copy nested lists and tuples: lists may change before the backward sweep, while it restores arrays itself."""
    if isinstance(x, (tuple, list)):
        parts = [snapshot(e) if isinstance(e, (tuple, list)) else e for e in x]
        return tuple(parts) if isinstance(x, tuple) else parts
    return x


def _add(a: Any, b: Any) -> Any:
    return a + b


def _getitem(a: Any, i: Any) -> Any:
    return a[i]


def _setitem(a: Any, i: Any, v: Any) -> None:
    a[i] = v


def _gathered(g: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    """Return, for each of ``n`` places, the sum of the entries of ``g`` that belong to it."""
    total = np.zeros(n, g.dtype)
    np.add.at(total, places, np.reshape(g, -1))
    return total
