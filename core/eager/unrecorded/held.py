"""Keeps the contents of arrays that a pullback reads and that code outside of it also holds.

A pullback may be called long after its run, and more than once.  The program or its caller may have written into a
shared array (a global, an attribute, a returned buffer) in between.  While the pullback works, such arrays hold again
what they held at the end of the run.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...exclusion import undo
from ...values.memory import owner
from ...values.numbers import NUMBERS, PASSIVE, call_on
from ..recorded.tape import Tape
from ..structured.functions import Compiled
from .opaque import Opaque


class Held:
    """Arrays with copies of their contents at the time of construction."""

    def __init__(self, parent: Tape | None, arrays: Iterable[np.ndarray]) -> None:
        plain = [a if type(a) is np.ndarray else a.view(np.ndarray) for a in arrays]
        self.arrays = [(a, call_on(parent, np.copy, a)) for a in plain]

    @contextmanager
    def restored(self, parent: Tape | None) -> Iterator[None]:
        """Restore the kept contents of the arrays for the duration of a ``with`` statement."""
        ending: list[Any] = []
        try:
            for a, was in self.arrays:
                if a.tobytes() != was.tobytes():
                    ending.append(functools.partial(call_on, parent, _write, a, call_on(parent, np.copy, a)))
                    call_on(parent, _write, a, was)
            yield
        finally:
            try:
                undo(ending)
            except BaseException:
                undo(ending)
                raise


def _write(a: np.ndarray, values: np.ndarray) -> None:
    a[...] = values


def globals_of(compiled: Compiled) -> Iterator[np.ndarray]:
    """Return the global arrays that a compiled function reads."""
    return (found for _, _, found in compiled.guards if isinstance(found, np.ndarray))


def exposed(tape: Tape, inputs: int) -> list[np.ndarray]:
    """Return the arrays on a tape that own their memory and are referenced from outside of the tape.

    ``inputs`` is the number of the engine's own references to each input.  Unknown references count as outside.
    """
    found: dict[int, list[Any]] = {}  # an array, and the number of known references to it
    always: dict[int, np.ndarray] = {}
    seen: set[int] = set()

    def visit(x: Any) -> None:
        kind = type(x)
        if kind is np.ndarray or isinstance(x, np.ndarray):
            entry = found.get(id(x))
            if entry is None:
                found[id(x)] = [x, 1]
                if isinstance(x.base, np.ndarray):
                    visit(x.base)
            else:
                entry[1] += 1
        elif kind in NUMBERS or kind in PASSIVE or id(x) in seen:
            return
        elif kind is tuple or kind is list or kind is dict:
            seen.add(id(x))
            for e in x.values() if kind is dict else x:
                visit(e)
        elif kind is Opaque:
            seen.add(id(x))
            visit(x.inputs)
        elif kind is Compiled:
            seen.add(id(x))
            always.update((id(a), a) for a in globals_of(x))

    e = None
    for record in tape.records:
        for e in record:
            kind = type(e)
            if kind is not float and kind is not np.float64:
                visit(e)
    del e
    for key in map(id, tape.inputs or ()):
        if key in found:
            found[key][1] += inputs
    # An array without other references says how many are those of this function: they differ between versions of Python.
    entries = [[np.empty(0), 0], *found.values()]
    ours, *others = [sys.getrefcount(x) - count for x, count in entries]
    for (x, _), n in zip(found.values(), others):
        if n > ours:
            holder = owner(x)
            if isinstance(holder, np.ndarray):
                always[id(holder)] = holder
    return [a for a in always.values() if a.flags.writeable and a.dtype.kind != "O"]
