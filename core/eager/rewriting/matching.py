"""Match the patterns of a ``match`` statement with reads of entries and attributes recorded on the tape.

CPython reads them in C, so the computation of a property or a ``__getitem__`` would go unrecorded.  Here a pattern is a
function ``(tape, x)`` that returns the values of the names that it binds, in their order in the pattern, or None.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from ...values.attributes import IS_ITS_OWN, IS_MAPPING, IS_SEQUENCE
from ..recorded.access import get_attribute, iterate
from ..recorded.operate import COMPARISONS
from ..recorded.tape import Tape

Pattern = Callable[[Tape, Any], "list[Any] | None"]
MISSING = object()


def capture(tape: Tape, x: Any) -> list[Any]:
    return [x]


def anything(tape: Tape, x: Any) -> list[Any]:
    return []


def value(tape: Tape, expected: Any) -> Pattern:
    return lambda tape, x: [] if COMPARISONS["eq"](tape, x, expected) else None


def singleton(tape: Tape, expected: Any) -> Pattern:
    return lambda tape, x: [] if x is expected else None


def named(tape: Tape, pattern: Pattern) -> Pattern:
    def match(tape: Tape, x: Any) -> list[Any] | None:
        found = pattern(tape, x)
        return None if found is None else [*found, x]

    return match


def either(tape: Tape, orders: Any, *patterns: Pattern) -> Pattern:
    """Match alternatives.  They bind the same names, each in its own order; ``orders`` maps that to the first one's."""

    def match(tape: Tape, x: Any) -> list[Any] | None:
        for order, pattern in zip(orders, patterns):
            found = pattern(tape, x)
            if found is not None:
                return [found[i] for i in order]
        return None

    return match


def sequence(tape: Tape, star: int | None, *patterns: Pattern) -> Pattern:
    """Match a sequence; ``star`` is the index of the pattern that takes the remaining entries, or None."""

    def match(tape: Tape, x: Any) -> list[Any] | None:
        if not type(x).__flags__ & IS_SEQUENCE:
            return None
        given = tape.call(len, x)
        if given != len(patterns) if star is None else given < len(patterns) - 1:
            return None
        entries = list(islice(iterate(tape, x), given + 1))
        if len(entries) > given:
            raise ValueError(f"too many values to unpack (expected {given})")
        if star is not None:
            end = given - (len(patterns) - 1 - star)
            entries = [*entries[:star], entries[star:end], *entries[end:]]
        return _all(tape, patterns, entries)

    return match


def mapping_of(tape: Tape, keys: tuple[Any, ...], rest: bool, *patterns: Pattern) -> Pattern:
    def match(tape: Tape, x: Any) -> list[Any] | None:
        if not type(x).__flags__ & IS_MAPPING:
            return None
        entries = [tape.call(type(x).get, x, key, MISSING) for key in keys]
        if any(e is MISSING for e in entries):
            return None
        found = _all(tape, patterns, entries)
        if found is None or not rest:
            return found
        others = tape.call(dict, x)
        for key in keys:
            del others[key]
        return [*found, others]

    return match


def instance(tape: Tape, cls: Any, positional: int, names: tuple[str, ...], *patterns: Pattern) -> Pattern:
    def match(tape: Tape, x: Any) -> list[Any] | None:
        if not isinstance(x, cls):
            return None
        own = bool(cls.__flags__ & IS_ITS_OWN)
        given = ("",) if own else getattr(cls, "__match_args__", ())
        if positional > len(given):
            allowed = f"{cls.__name__}() accepts {len(given)} positional sub-pattern{'s' * (len(given) != 1)}"
            raise TypeError(f"{allowed} ({positional} given)")
        attributes = (*given[:positional], *names)
        for name in attributes:
            if attributes.count(name) > 1:
                raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
        entries: list[Any] = []
        try:
            for name in attributes:
                entries.append(x if name == "" else get_attribute(tape, x, name))
        except AttributeError:
            return None
        return _all(tape, patterns, entries)

    return match


def _all(tape: Tape, patterns: tuple[Pattern, ...], entries: list[Any]) -> list[Any] | None:
    bound: list[Any] = []
    for pattern, entry in zip(patterns, entries):
        found = pattern(tape, entry)
        if found is None:
            return None
        bound += found
    return bound


def match(tape: Tape, pattern: Pattern, x: Any) -> list[Any] | None:
    """Return the values that a pattern's names are bound to, or None if it does not match."""
    return pattern(tape, x)


PATTERNS = {f.__name__: f for f in (value, singleton, named, either, sequence, mapping_of, instance, capture, anything)}
"""The constructors of patterns by name; the last two are patterns themselves."""
