"""Observing a run: a tape that stands around it, as that of an enclosing derivative would, and keeps nothing.

Within an enclosing derivative every operation of a run and of its backward sweep is recorded one by one on the outer tape,
none is fused, and no function runs in its compiled form.  The outer tape of an observed run hands each record to an
``Observer``.  The tapes inside of it note the line of each record, so that an operation of the backward sweep is told with
the line of the operation whose cotangent it computes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from ...rules.table import Rule
from ...source.definitions import is_of_library, program_frame
from ..recorded import known
from ..recorded.tape import OBSERVED, Record, Tape


class Place(NamedTuple):
    """A line of the user's program, and the line of a library that it led to, if it called one."""

    file: str
    line: int
    within: tuple[str, int, str] | None = None  # file, line, name of the function

    def __str__(self) -> str:
        text = f"{self.file}:{self.line}"
        return text if self.within is None else f"{text} (in {self.within[2]}, {self.within[0]}:{self.within[1]})"


def place_now() -> Place:
    """Return the line that is running."""
    innermost = frame = program_frame(sys._getframe(1)) or sys._getframe(1)
    while frame is not None and is_of_library(frame.f_code.co_filename):
        frame = program_frame(frame.f_back)
    inside = innermost.f_code.co_filename, innermost.f_lineno, innermost.f_code.co_qualname
    if frame is None:
        return Place(*inside[:2])
    return Place(frame.f_code.co_filename, frame.f_lineno, None if frame is innermost else inside)


class Observer:
    """Sees the records of a run: a subclass defines ``seen``."""

    def __init__(self) -> None:
        self.pulled: Place | None = None  # the line of the record that the backward sweep is at
        self.record: Record | None = None  # that record
        self.tape = Tape()
        self.tape.observer = self
        self.tape.is_between = True
        self.tape.records = _Seen(self)  # type: ignore[assignment]

    def seen(self, record: Record) -> None:
        raise NotImplementedError

    def ended(self, results: Any) -> None:
        """Look at what a run or a backward sweep returns."""

    def compared(self, tape: Tape, name: str, a: Any, b: Any) -> None:
        """See a comparison."""

    def asked(self, tape: Tape, x: Any) -> None:
        """See a test of a value's truth."""

    def rounded(self, tape: Tape, function: Any, args: Any, y: Any) -> None:
        """See a call of a function whose derivative is zero."""

    def told(self, tape: Tape, kind: str, name: str, values: Any) -> None:
        """See values that are made text or bytes, or sorted."""

    def place(self) -> Place:
        return place_now() if self.pulled is None else self.pulled

    def records_of(self, tape: Tape) -> list[Record]:
        """Return the list for the records of a tape inside of the observed run."""
        return Lines(self)

    @contextmanager
    def observing(self) -> Iterator[None]:
        """Observe the runs that this thread begins."""
        thread = get_ident()
        before = OBSERVED.get(thread)
        OBSERVED[thread] = self.tape
        try:
            yield
        finally:
            if before is None:
                OBSERVED.pop(thread, None)
            else:
                OBSERVED[thread] = before
            known.forget_all()  # functions were noted as having no compiled form


class _Seen:
    """Stands for the list of records of the observing tape, which is never swept."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer

    def append(self, record: Record) -> None:
        self.observer.seen(record)

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Record]:
        return iter(())

    def __getitem__(self, part: Any) -> list[Record]:
        return []

    def __setitem__(self, part: Any, records: Any) -> None:
        pass

    def __delitem__(self, part: Any) -> None:
        pass


class Lines(list[Record]):
    """The records of a tape, and the line of each."""

    def __init__(self, observer: Observer) -> None:
        super().__init__()
        self.observer = observer
        self.places: list[Place] = []

    def append(self, record: Record) -> None:
        super().append(record)
        self.places.append(self.observer.place())

    def __setitem__(self, part: Any, value: Any) -> None:
        super().__setitem__(part, value)
        if isinstance(part, slice):
            self.places[part] = [self.observer.place() for _ in value]

    def __delitem__(self, part: Any) -> None:
        super().__delitem__(part)
        del self.places[part]

    def __reversed__(self) -> Iterator[Record]:
        observer = self.observer
        before = observer.pulled, observer.record
        try:
            for i in range(len(self) - 1, -1, -1):
                observer.pulled, observer.record = self.places[i], self[i]
                yield self[i]
        finally:
            observer.pulled, observer.record = before


def rule_of(record: Record) -> tuple[Rule, Any, tuple[Any, ...], dict[str, Any]] | None:
    """Return the rule, result and operands of a call of a function that has a rule; None for other records."""
    if len(record) < 4 or not isinstance(record[2], Rule):
        return None
    _, y, rule, *rest = record
    if isinstance(rest[0], tuple):
        return rule, y, rest[0], rest[1] if len(rest) > 1 and isinstance(rest[1], dict) else {}
    return rule, y, tuple(rest), {}


def values_in(x: Any, depth: int = 4) -> Iterator[Any]:
    """Yield the numbers and arrays in a record's residuals."""
    if isinstance(x, (np.ndarray, float, complex, np.inexact)):
        yield x
    elif isinstance(x, (tuple, list)) and depth:
        for e in x:
            yield from values_in(e, depth - 1)
    elif isinstance(x, dict) and depth:
        for e in x.values():
            yield from values_in(e, depth - 1)
    elif depth:
        yield from values_in(getattr(x, "operands", ()), depth - 1)
