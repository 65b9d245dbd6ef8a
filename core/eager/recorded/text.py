"""Conversion to text by ``str``, ``repr``, ``format``, f-strings and ``%``, with a class's own methods recorded.

The C code that formats a text gets stand-ins, whose methods call the tape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...values.numbers import is_exact
from ...values.special_methods import answer, special
from ..unrecorded.unasking import PLAIN
from ..unrecorded.watched import HOLDING, calls_back, watched
from .tape import Tape


def shown_by(tape: Tape, function: Any, x: Any, *args: Any) -> Any:
    """Call ``function(x, *args)``, which makes a text in C; watch it if it may call methods of what ``x`` holds."""
    kind = type(x)
    if kind in PLAIN or (kind is np.ndarray or kind in HOLDING) and not calls_back(x):
        return function(x, *args)
    if not isinstance(x, type) and kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__:
        return function(x, *args)
    return watched(tape, function, x, *args)


def text(tape: Tape, *x: Any, **kwargs: Any) -> str:
    """Return ``str(x)``, recorded."""
    if len(x) != 1 or kwargs:
        return str(*x, **kwargs)
    if tape.observer is not None:
        tape.observer.told(tape, "text", "str", x)
    kind = type(x[0])
    if kind in PLAIN:
        return str(x[0])
    own = special(kind, "__str__")
    if own is not None:
        return str(answer(tape, own, "__str__", x[0]))
    return represented(tape, x[0]) if kind.__str__ is object.__str__ else shown_by(tape, str, x[0])


def represented(tape: Tape, x: Any) -> str:
    """Return ``repr(x)``, recorded."""
    if tape.observer is not None:
        tape.observer.told(tape, "text", "repr", x)
    own = None if type(x) in PLAIN else special(type(x), "__repr__")
    return shown_by(tape, repr, x) if own is None else answer(tape, own, "__repr__", x)


def as_ascii(tape: Tape, x: Any) -> str:
    """Return ``ascii(x)``, recorded."""
    return ascii(Shown(tape, x)) if special(type(x), "__repr__") is not None else shown_by(tape, ascii, x)


def formatted(tape: Tape, x: Any, spec: str = "") -> str:
    """Return ``format(x, spec)``, recorded."""
    if tape.observer is not None:
        tape.observer.told(tape, "text", "format", x)
    kind = type(x)
    if kind in PLAIN:
        return format(x, spec)
    own = special(kind, "__format__")
    if own is not None:
        return answer(tape, own, "__format__", x, spec)
    if kind.__format__ is object.__format__ and not spec:
        return text(tape, x)
    return shown_by(tape, format, x, spec)


class Shown:
    """A stand-in for an object that C code converts to text."""

    __slots__ = ("_tape", "_x")

    def __init__(self, tape: Tape, x: Any) -> None:
        self._tape, self._x = tape, x

    def __str__(self) -> str:
        return text(self._tape, self._x)

    def __repr__(self) -> str:
        return represented(self._tape, self._x)

    def __format__(self, spec: str) -> str:
        return formatted(self._tape, self._x, spec)

    def __int__(self) -> int:
        return self._tape.call(int, self._x)

    def __index__(self) -> int:
        return self._tape.call(int, self._x)

    def __float__(self) -> float:
        return self._tape.call(float, self._x)

    def __getattr__(self, name: str) -> Any:
        return shown(self._tape, self._tape.call(getattr, self._x, name))

    def __getitem__(self, i: Any) -> Any:
        from .access import getitem

        return shown(self._tape, getitem(self._tape, self._x, i))


def shown(tape: Tape, x: Any) -> Any:
    """Return ``x`` or its stand-in, for C code that converts it to text."""
    if tape.observer is not None:
        tape.observer.told(tape, "text", "format", x)
    return x if type(x) in PLAIN or is_exact(type(x)) else Shown(tape, x)


def percent(tape: Tape, pattern: Any, values: Any) -> Any:
    """Return ``pattern % values`` for a text pattern, recorded."""
    if isinstance(values, tuple):
        return pattern % tuple(shown(tape, x) for x in tuple.__iter__(values))
    if type(values) is dict:
        return pattern % {name: shown(tape, x) for name, x in values.items()}
    return pattern % shown(tape, values)


def format_method(tape: Tape, pattern: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``pattern.format(*args, **kwargs)`` or ``pattern.format_map(mapping)``, recorded."""
    if name == "format_map":
        names = args[0] if type(args[0]) is not dict else {k: shown(tape, x) for k, x in args[0].items()}
        return pattern.format_map(names) if type(names) is dict else watched(tape, pattern.format_map, names)
    return pattern.format(*(shown(tape, x) for x in args), **{k: shown(tape, x) for k, x in kwargs.items()})
