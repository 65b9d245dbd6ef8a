"""Handlers for built-ins that iterate, test, compare or hash: ``map``, ``filter``, ``all``, ``set``, ``itertools``."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator
from typing import Any

from ...rules.registry import HANDLERS, handles
from ..unrecorded.opaque_calls import Recording as recording
from ..unrecorded.watched import call_unrecorded, calls_back
from .access import iterate, pairs
from .call import call_method
from .comparison import BISECTIONS, HEAPS, contains, equal, heap_operation, holds
from .containers import entries_of
from .operate import COMPARISONS
from .sizes import length_hint, listed
from .tape import Tape


@handles(map)
def map_(tape: Tape, function: Any, *iterables: Any) -> Iterator[Any]:
    return map(recording(tape, function), *(iterate(tape, i) for i in iterables))


@handles(filter)
def filter_(tape: Tape, function: Any, iterable: Any) -> Iterator[Any]:
    return filter(_test(tape, function), iterate(tape, iterable))


def _test(tape: Tape, function: Any) -> Any:
    """Return the recorded test for ``filter``; None tests the truth of an entry."""
    if function is None:
        return functools.partial(holds, tape)
    return functools.partial(_passes, tape, recording(tape, function))


def _passes(tape: Tape, test: Any, x: Any) -> bool:
    return holds(tape, test(x))


@handles(functools.reduce)
def reduce_(tape: Tape, function: Any, iterable: Any, *initial: Any) -> Any:
    return functools.reduce(recording(tape, function), iterate(tape, iterable), *initial)


@handles(itertools.accumulate)
def accumulate_(tape: Tape, iterable: Any, func: Any = None, *, initial: Any = None) -> Iterator[Any]:
    return itertools.accumulate(iterate(tape, iterable), recording(tape, func or operator.add), initial=initial)


def _calling_back(function: Any) -> Any:
    """Return a handler of an iterator whose first argument is a test."""
    return lambda tape, test, iterable: function(_test(tape, test), iterate(tape, iterable))


for _function in (itertools.takewhile, itertools.dropwhile, itertools.filterfalse):
    HANDLERS[_function] = _calling_back(_function)


@handles(itertools.starmap)
def starmap_(tape: Tape, function: Any, iterable: Any) -> Iterator[Any]:
    return itertools.starmap(recording(tape, function), iterate(tape, iterable))


@handles(itertools.chain.from_iterable)
def chain_of(tape: Tape, iterables: Any) -> Iterator[Any]:
    return itertools.chain.from_iterable(map(functools.partial(iterate, tape), iterate(tape, iterables)))


@handles(itertools.tee)
def tee_(tape: Tape, iterable: Any, *count: Any) -> tuple[Iterator[Any], ...]:
    return itertools.tee(iterate(tape, iterable), *count)


@handles(itertools.compress)
def compress_(tape: Tape, data: Any, selectors: Any) -> Iterator[Any]:
    return itertools.compress(iterate(tape, data), map(functools.partial(holds, tape), iterate(tape, selectors)))


@handles(itertools.count)
def count_(tape: Tape, start: Any = 0, step: Any = 1) -> Iterator[Any]:
    if type(start) is int and type(step) is int:
        return itertools.count(start, step)
    return itertools.accumulate(itertools.chain([start], itertools.repeat(step)), recording(tape, operator.add))


class _Key:
    """A key given to ``groupby``, compared on the tape."""

    __slots__ = ("tape", "x")

    def __init__(self, tape: Tape, x: Any) -> None:
        self.tape, self.x = tape, x

    def __eq__(self, other: Any) -> bool:
        return equal(self.tape, self.x, other.x)

    __hash__ = None  # type: ignore[assignment]


@handles(itertools.groupby)
def groupby_(tape: Tape, iterable: Any, key: Any = None) -> Any:
    recorded = None if key is None else recording(tape, key)
    groups = itertools.groupby(iterate(tape, iterable), lambda x: _Key(tape, x if recorded is None else recorded(x)))
    return ((key.x, group) for key, group in groups)


def _iterating(function: Any) -> Any:
    """Return a handler of an iterator over other iterables."""
    return lambda tape, *iterables, **kwargs: function(*(iterate(tape, i) for i in iterables), **kwargs)


@handles(dict)
def dict_(tape: Tape, *args: Any, **kwargs: Any) -> dict[Any, Any]:
    return call_unrecorded(tape, dict, *(entries_of(tape, pairs(tape, a)) for a in args), **kwargs)


for _function in (zip, enumerate):
    HANDLERS[_function] = _iterating(_function)


def _listing(function: Any) -> Any:
    return lambda tape, *iterable: function(*(listed(tape, x) for x in iterable))


for _function in (list, tuple):
    HANDLERS[_function] = _listing(_function)
HANDLERS[operator.length_hint] = length_hint


def _hashing(function: Any) -> Any:
    return lambda tape, *iterable: call_unrecorded(
        tape, function, *(entries_of(tape, iterate(tape, i)) for i in iterable)
    )


for _function in (set, frozenset):
    HANDLERS[_function] = _hashing(_function)


def _asking(function: Any) -> Any:
    """Return a handler of ``all`` or ``any``."""

    def handler(tape: Tape, iterable: Any) -> bool:
        entries = iterate(tape, iterable)
        if isinstance(entries, (list, tuple)) and not calls_back(entries):
            return function(entries)
        return function(map(functools.partial(holds, tape), entries))

    return handler


for _function in (all, any):
    HANDLERS[_function] = _asking(_function)


HANDLERS[operator.contains] = lambda tape, container, x: contains(tape, x, container)
for _name, _recorded in COMPARISONS.items():
    HANDLERS[getattr(operator, _name)] = _recorded
HANDLERS[operator.iconcat] = lambda tape, a, b: call_method(tape, a, "__iadd__", b)
for _function in (*HEAPS, *BISECTIONS):
    HANDLERS[_function] = heap_operation(_function)


@handles(operator.not_)
def not_(tape: Tape, x: Any) -> bool:
    return not holds(tape, x)


@handles(operator.truth)
def truth_(tape: Tape, x: Any) -> bool:
    return holds(tape, x)


@handles(operator.countOf)
def count_of(tape: Tape, a: Any, b: Any) -> int:
    return sum(equal(tape, e, b) for e in iterate(tape, a))


@handles(operator.indexOf)
def index_of(tape: Tape, a: Any, b: Any) -> int:
    for i, e in enumerate(iterate(tape, a)):
        if equal(tape, e, b):
            return i
    raise ValueError("sequence.index(x): x not in sequence")


@handles(functools.cmp_to_key)
def cmp_to_key_(tape: Tape, mycmp: Any) -> Any:
    return functools.cmp_to_key(recording(tape, mycmp))
