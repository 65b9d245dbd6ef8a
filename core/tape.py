"""The tape of a recorded run, and the table of cotangents that its backward sweep fills.

A value is known by its identity.  A number is the object that holds it: every operation makes a new one, and moving it
through variables, containers, iterators, closures or exceptions keeps it, so none of these needs a rule.  An array is
known by its memory: a view has no cotangent of its own, its entries are those of the array it looks into.

The backward sweep walks the tape from its end.  An in-place write is undone as it is passed, so that each pullback sees
the arrays as they were when its operation ran; at the end all writes are done again, and the world is as it was.

A tape may have a parent: the tape of an enclosing derivative.  Every computation of a run and of its backward sweep is
then itself recorded there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib._stride_tricks_impl import DummyArray

from .cotangents import conform, is_fancy
from .errors import NoDerivative

SEQUENCES = (tuple, list)
SHAPE = object()
"""In place of an index, among the writes of a run: the array was given another shape."""


class Int(int):
    """An integer that is differentiated; CPython shares its small ones, which would mix up their cotangents."""

    __slots__ = ()


class Tape:
    """The operations of one recorded run, in the order in which they ran."""

    __slots__ = ("inputs", "memory", "over", "parent", "records", "written")

    def __init__(self, parent: Tape | None = None) -> None:
        self.records: list[tuple[Any, ...]] = []  # (pullback, result, *what the pullback needs)
        self.parent = parent
        self.inputs: list[Any] | None = None  # the numbers and arrays that are differentiated; None: not known
        self.written: set[int] = set()
        self.memory: dict[Any, Any] = {}
        self.over = False  # whether the run has ended: what calls back after that is not part of it

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """``function(*args, **kwargs)``, recorded here; the module ``call`` says how."""
        raise NotImplementedError


Evaluate = Callable[..., Any]


class Cotangents:
    """Cotangents of numbers by identity, and of arrays by the memory that they own or look into."""

    def __init__(self, evaluate: Evaluate | None) -> None:
        self.numbers: dict[int, Any] = {}
        self.arrays: dict[int, np.ndarray] = {}  # by the identity of the array that owns the memory
        self.exclusive: set[int] = set()  # owners whose cotangent array nobody else holds
        self.windows: dict[int, dict[int, np.ndarray]] = {}  # by owner: cotangents of its views, as views
        self.redo: list[tuple[Any, Any, Any]] = []
        self.tape: Tape | None = None  # that is being swept
        self.unknown: set[Any] = set()  # functions met whose derivative in some argument nobody knows: NaN marks it
        self.evaluate = evaluate  # how to compute: on the parent's tape, or None to just do it

    def take(self, y: Any) -> Any:
        """The cotangent of a result, removed from the table; None if nothing has reached it."""
        kind = type(y)
        if kind is np.ndarray or isinstance(y, np.ndarray):
            if y.base is None:
                key = id(y)
                self.windows.pop(key, None)
                self.exclusive.discard(key)
                return self.arrays.pop(key, None)
            if id(owner(y)) not in self.arrays:
                return None
            window = self.window(y)
            g = self.run(np.copy, window)
            self.write(window, ..., 0)
            # Where entries share one place in memory, that place's cotangent counts once.
            return self.run(np.where, _first_occurrences(y), g, 0.0) if _overlaps_itself(y) else g
        if isinstance(y, SEQUENCES):
            parts = [self.take(e) for e in y]
            return parts if any(p is not None for p in parts) else None
        if kind is dict:
            found = {k: self.take(v) for k, v in y.items()}
            return found if any(p is not None for p in found.values()) else None
        return self.numbers.pop(id(y), None)

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
        elif isinstance(x, SEQUENCES):
            for e, h in zip(x, g):
                self.add(e, h)
        elif isinstance(x, dict):
            for k, h in g.items():
                self.add(x[k], h)
        elif isinstance(x, (np.inexact, float, complex)):
            present = self.numbers.get(id(x))
            self.numbers[id(x)] = g if present is None else self.run(_add, present, g)
        elif isinstance(x, np.ndarray):
            if x.dtype.kind in "fc":
                self.add_array(x, g)
        elif not isinstance(x, (int, str, bytes, type(None))):
            for name, value in attributes(x):
                h = g.get(name) if isinstance(g, dict) else getattr(g, name, None)
                self.add(value, h)

    def add_array(self, x: np.ndarray, g: Any) -> None:
        base = x if x.base is None else owner(x)
        key = id(base)
        if x is base:
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
        window = self.window(x)
        if _overlaps_itself(x):
            self.run(np.add.at, self.flat(base), _positions(x, base), g)
        elif self.evaluate is None:
            window += g
        else:
            self.write(window, ..., self.run(_add, window, g))

    def add_objects(self, x: np.ndarray, g: Any) -> None:
        """An array of objects has no cotangent of its own: its numbers have theirs."""
        for place, e in enumerate(x.ravel().tolist()):
            if isinstance(e, (float, complex, Int, np.inexact)):
                self.add(e, self.run(conform, self.run(_getitem, self.run(np.ravel, g), place), e))

    def add_at(self, x: np.ndarray, index: Any, g: Any) -> None:
        """Add ``g`` to the cotangent of ``x[index]``."""
        window = self.window(x)
        if is_fancy(index):
            self.run(np.add.at, window, index, g)
        elif self.evaluate is None:
            window[index] += g
        else:
            self.write(window, index, self.run(_add, self.run(_getitem, window, index), g))

    def check(self, g: Any) -> None:
        """Refuse a gradient that is made of a derivative that nobody knows."""
        if self.unknown and bool(np.isnan(g).any()):
            names = ", ".join(sorted(getattr(f, "__name__", str(f)) for f in self.unknown))
            raise NoDerivative(
                f"no derivative is known of {names} in an argument that depends on what is differentiated; "
                "write one with @mo.adjoint, or hold that argument by mo.stop_gradient"
            )

    def reached(self, x: np.ndarray) -> bool:
        """Whether anything has been added to the memory that ``x`` looks into."""
        return (id(x) if x.base is None else id(owner(x))) in self.arrays

    def window(self, x: np.ndarray) -> np.ndarray:
        """The cotangent of ``x`` as an array that may be written to; views of one array share its memory."""
        if x.base is None and id(x) in self.exclusive:
            return self.arrays[id(x)]
        base = owner(x)
        key = id(base)
        windows = self.windows.setdefault(key, {})
        window = windows.get(id(x))
        if window is not None:
            return window
        if key not in self.exclusive:
            present = self.arrays.get(key)
            flat = np.zeros(base.size, base.dtype)
            self.arrays[key] = np.ndarray(base.shape, base.dtype, flat, 0, base.strides)
            self.exclusive.add(key)
            if present is not None:
                self.write(self.arrays[key], ..., present)
        total = self.arrays[key]
        if x is base:
            window = total
        elif x.size == 0:
            window = np.zeros(x.shape, x.dtype)
        else:
            offset = _address(x) - _address(base)
            window = np.ndarray(x.shape, x.dtype, self.flat(base), offset, x.strides)
        windows[id(x)] = window
        return window

    def reshape(self, x: np.ndarray, shape: tuple[int, ...]) -> None:
        """Give ``x`` another shape in place, and with it its cotangent."""
        x.shape = shape
        self.windows.get(id(owner(x)), {}).pop(id(x), None)
        present = self.arrays.get(id(x))
        if present is not None and id(x) in self.exclusive:
            self.arrays[id(x)] = np.ndarray(shape, x.dtype, self.flat(x), 0, x.strides)
        elif present is not None:
            self.arrays[id(x)] = self.run(np.reshape, present, shape)

    def flat(self, base: np.ndarray) -> np.ndarray:
        total = self.arrays[id(base)]
        return total if total.base is None else total.base  # type: ignore[return-value]

    def write(self, target: np.ndarray, index: Any, value: Any) -> None:
        if self.evaluate is None:
            target[index] = value
        else:
            self.evaluate(_setitem, target, index, value)

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args) if self.evaluate is None else self.evaluate(function, *args)


def sweep(tape: Tape, table: Cotangents) -> None:
    """Walk ``tape`` backward, filling ``table``; arrays that the run wrote to end as the run left them."""
    enclosing, table.tape = table.tape, tape
    try:
        for back, *saved in reversed(tape.records):
            back(table, *saved)
    finally:
        table.tape = enclosing
        for target, index, value in reversed(table.redo):
            if index is SHAPE:
                table.reshape(target, value)
            else:
                table.write(target, index, value)


def snapshot(x: Any) -> Any:
    """A sequence as it is now: lists may change before the backward sweep, and arrays are restored by it."""
    if isinstance(x, (tuple, list)):
        parts = [snapshot(e) if isinstance(e, (tuple, list)) else e for e in x]
        return tuple(parts) if isinstance(x, tuple) and not hasattr(x, "_fields") else parts
    return x


def owner(x: np.ndarray) -> np.ndarray:
    """The array that owns the memory of ``x``."""
    base = x.base
    while base is not None:
        if isinstance(base, np.ndarray):
            x, base = base, base.base
        elif isinstance(base, DummyArray):  # what as_strided puts between a view and its array
            base = base.base
        elif isinstance(base, memoryview):
            base = base.obj
        else:
            break
    return x


def attributes(x: Any) -> list[tuple[str, Any]]:
    """The instance attributes of an object, from its ``__dict__`` and its slots."""
    found = list(getattr(x, "__dict__", {}).items())
    for cls in type(x).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            mangled = f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and name[-2:] != "__" else name
            if name not in ("__dict__", "__weakref__") and hasattr(x, mangled):
                found.append((mangled, getattr(x, mangled)))
    return found


def _add(a: Any, b: Any) -> Any:
    return a + b


def _getitem(a: Any, i: Any) -> Any:
    return a[i]


def _setitem(a: Any, i: Any, v: Any) -> None:
    a[i] = v


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def _overlaps_itself(x: np.ndarray) -> bool:
    """Whether two entries of a view are one place in memory (broadcast views, sliding windows)."""
    reach = x.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(x.strides, x.shape) if n > 1):
        if stride < reach:
            return True
        reach = stride * (n - 1) + reach
    return False


def _first_occurrences(y: np.ndarray) -> np.ndarray:
    places = _positions(y, owner(y)).reshape(-1)
    first = np.zeros(places.size, dtype=bool)
    first[np.unique(places, return_index=True)[1]] = True
    return first.reshape(y.shape)


def _positions(x: np.ndarray, base: np.ndarray) -> np.ndarray:
    """The place in the flat memory of ``base`` of each entry of ``x``, a view of the same dtype."""
    places = np.arange(base.size)
    size = base.itemsize
    offset = (_address(x) - _address(base)) // size * places.itemsize
    strides = tuple(s // size * places.itemsize for s in x.strides)
    return np.ndarray(x.shape, places.dtype, places, offset, strides)
