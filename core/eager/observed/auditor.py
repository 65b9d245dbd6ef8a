"""Observes one run, for ``audit``: what happens to values that depend on the arguments and is not on the tape.

Comparisons, conversions to int and to text, and roundings leave no record, as no derivative passes through them; rewritten
code even makes most of them as plain Python does, after a test of the operands' classes.  ``auditing`` empties the set of
classes for which that test holds, so that all of them go through the engine, which tells the observer.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...exclusion import one_at_a_time
from ...values.numbers import NUMBERS
from ...values.silence import silently
from ..recorded import known
from ..recorded.tape import Cotangents, Record, Tape
from .observer import Lines, Observer, Place, rule_of, values_in

EQUAL = {"eq", "ne", "equal", "not_equal", "truth", "isclose", "allclose", "array_equal", "array_equiv"}
ORDERED = {"lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal"}
EXACT = frozenset(
    "sign signbit isfinite isnan isinf copysign shape size ndim len bool zeros_like ones_like empty_like full_like iscomplexobj "
    "isrealobj result_type argmax argmin argsort lexsort nonzero flatnonzero count_nonzero argwhere where any all searchsorted "
    "digitize".split()
)
"""Functions with derivative zero that round nothing."""


_CLASSES = frozenset(known.COMPARED)
_auditing: list[Any] = []
"""The auditors of the runs of all threads."""


@dataclass
class Event:
    """What happened to some values at a place."""

    kind: str  # compared, rounded, text, bytes, sorted
    name: str
    values: tuple[Any, ...]
    place: Place
    holds: bool = False  # of a comparison: whether it compared equal numbers


class Auditor(Observer):
    """Notes the events of a run, and where its backward sweep met a zero cotangent and an infinite slope."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.masked: list[Event] = []
        self.run: Tape | None = None  # the tape of the observed run itself, not of one that the engine makes

    def seen(self, record: Record) -> None:
        pass

    def records_of(self, tape: Tape) -> list[Record]:
        if self.run is None:
            self.run = tape
        return Lines(self)

    @contextmanager
    def auditing(self) -> Iterator[None]:
        """Observe the runs that this thread begins, with all comparisons made by the engine."""
        with one_at_a_time:
            _auditing.append(self)
            known.COMPARED.clear()  # for all threads: their comparisons only take longer
        try:
            with self.observing():
                yield
        finally:
            with one_at_a_time:
                _auditing.remove(self)
                if not _auditing:
                    known.COMPARED.update(_CLASSES)

    def note(self, tape: Tape, kind: str, name: str, values: Any, holds: bool = False) -> None:
        if tape is self.run and self.pulled is None:
            found = tuple(values_in(values))
            if found:
                self.events.append(Event(kind, name, found, self.place(), holds))

    def compared(self, tape: Tape, name: str, a: Any, b: Any) -> None:
        if a is not b and type(a) in NUMBERS and type(b) in NUMBERS:  # others may have a method
            self.note(tape, "compared", name, (a, b), _holds(operator.eq, a, b))

    def asked(self, tape: Tape, x: Any) -> None:
        if isinstance(x, (float, complex, np.inexact)) or isinstance(x, np.ndarray) and x.dtype.kind in "fc":
            self.note(tape, "compared", "truth", (x,), _holds(operator.eq, x, 0))

    def rounded(self, tape: Tape, function: Any, args: Any, y: Any) -> None:
        name = getattr(function, "__name__", "").strip("_")
        if name in EQUAL or name in ORDERED:
            same = len(args) > 1 and all(type(x) in NUMBERS for x in args[:2]) and _holds(operator.eq, *args[:2])
            self.note(tape, "compared", name, args[:2], same)
        elif name not in EXACT:
            self.note(tape, "rounded", name, args)

    def told(self, tape: Tape, kind: str, name: str, values: Any) -> None:
        self.note(tape, kind, name, values)


def _holds(compare: Any, a: Any, b: Any) -> bool:
    try:
        return bool(np.any(silently(compare, a, b)))
    except ValueError:  # shapes that do not broadcast
        return False


class Watched(Cotangents):
    """A table of cotangents that notes where one that is zero meets a factor that is not finite."""

    auditor: Auditor

    def take(self, y: Any) -> Any:
        dy = super().take(y)
        record, auditor = self.auditor.record, self.auditor
        if dy is not None and record is not None and record[1] is y and self.tape is auditor.run:
            name = silently(_infinite_factor, record, dy)
            if name is not None and auditor.pulled is not None:
                auditor.masked.append(Event("masked", name, (), auditor.pulled))
        return dy


def _infinite_factor(record: Record, dy: Any) -> str | None:
    """Return the name of a function with a rule whose slope, or operand, is not finite where its cotangent is zero."""
    found = rule_of(record)
    if found is None or not isinstance(dy, (np.ndarray, float, complex, np.inexact)):
        return None
    rule, y, args, _ = found
    factors: list[Any] = [x for x in values_in(args)]
    if rule.partials:
        factors = []
        for p, _ in zip(rule.partials, args):
            try:
                factors.append(p(y, *args) if callable(p) else 0.0)
            except (ArithmeticError, ValueError):
                factors.append(math.inf)
    for factor in factors:
        infinite = ~np.isfinite(factor) if np.asarray(factor).dtype.kind in "fc" else np.False_
        if rule.partials:
            if np.any(infinite & (np.asarray(dy) == 0)):
                return rule.function.__name__
        elif np.any(infinite) and np.any(np.asarray(dy) == 0):
            return rule.function.__name__
    return None
