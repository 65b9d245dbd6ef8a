"""Iterators as objects with a position, which branches and loops save and restore like other state.

``iter``, ``next``, ``zip``, ``enumerate``, ``map``, ``filter`` and the functions of ``itertools`` create iterators of
this module, and so do generators (``suspended``).  Each item is computed when it is taken, so that effects happen as
often and in the same order as in Python.  An iterator advanced under a traced condition has an unknown position: the
program forks there (``ways``), or taking the next item is refused.
"""

from __future__ import annotations

import gc
import operator
from collections import deque
from collections.abc import Iterator as AnyIterator
from typing import Any, NoReturn

import numpy as np

from ..errors import BadInput
from ..ir.derived import Derived
from ..values.array_classes import is_traced_array
from . import growing_lists
from .instances import special
from .range_in_python import Range
from .rows import rows_of
from .scopes import Choice, Conflict, Late
from .sequences import Sequence, sequence_of
from .traced import Array, NeedsConcrete, Scalar, current

VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_ADVANCED = "the position of an iterator that was advanced under a condition or in a loop"
_REMEDY = "make a list of its items first, and index an array of them"
POSITION = f"{_ADVANCED}; {_REMEDY}"
UNKNOWN = f"{_ADVANCED} is not known while compiling; {_REMEDY}"


class UnknownPosition(NeedsConcrete):
    """The next item of an iterator depends on a traced position."""


ENDLESS = 20_000
"""An iterator that gives one loop this many items while compiling is taken to be endless."""

LEFT = 300
"""The limit for a loop that each iteration may leave on a traced condition."""


GROWN = 300
"""A list that grows by this many items during a loop over it is taken to grow endlessly."""


def refuse_endless(iterator: Any, count: int, most: int | None = None) -> None:
    """Refuse a loop over an iterator that may have no end known while compiling."""
    grows = isinstance(iterator, Items) and count > GROWN + iterator.first
    if grows or count > (ENDLESS if most is None else most) and not isinstance(iterator, (Items, Entries, Walk)):
        raise BadInput(
            f"a loop over an iterator found no end within {count} items while compiling; use an iterator whose end is known while "
            "compiling (itertools.islice), or loop over range(n)"
        )


class Iterator:
    """An iterator: its attributes are its state, which only ``move`` changes."""

    __morula_trace__: Any = None
    """Marks it as an object that is not the user's: loops and branches keep it whole."""

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        return self.step(current())

    def step(self, trace: Any) -> Any:
        """Return the next item, or raise StopIteration."""
        raise NotImplementedError

    def move(self, trace: Any, **state: Any) -> None:
        trace.touch(self)
        self.__dict__.update(state)

    def lose(self, trace: Any) -> None:
        """Mark the position as unknown."""
        trace.touch(self)
        for name in self.__dict__.keys() & {"position", "count", "n", "state"}:
            self.__dict__[name] = Conflict(UNKNOWN)


def known(x: Any) -> Any:
    """Return a part of an iterator's state, which must be known while compiling."""
    if isinstance(x, Scalar):
        raise UnknownPosition(x.ir, POSITION)
    if isinstance(x, (Conflict, Late)) or type(x) is Choice:
        raise BadInput(UNKNOWN)
    return x


class Items(Iterator):
    """The items of a list, tuple, deque or string, which may grow and shrink meanwhile; no position: it has ended."""

    def __init__(self, source: Any, step: int = 1) -> None:
        self.source = source
        self.position: Any = 0 if step > 0 else len(source) - 1
        self.by = step
        self.first = len(source)
        self.length = len(source) if isinstance(source, deque) else None

    def step(self, trace: Any) -> Any:
        at, source = known(self.position), self.source
        if at is None:
            raise StopIteration
        rows = rows_of(source)
        if rows is not None:
            raise NeedsConcrete(trace.value(rows.length), "the number of iterations")
        if self.length is not None and len(source) != self.length:
            raise RuntimeError("deque mutated during iteration")
        if not 0 <= at < len(source):
            self.move(trace, position=None)
            raise StopIteration
        self.move(trace, position=at + self.by)
        found = source[at]
        return trace.outside.read(trace, source, at, found) if trace.outside.is_outside(source) else found


class Entries(Iterator):
    """The keys, values or items of a dict, or the elements of a set, which must not change size meanwhile."""

    def __init__(self, owner: Any, kind: str, keys: list[Any]) -> None:
        self.owner = owner
        self.kind = kind
        self.keys = keys
        self.size = len(owner)
        self.position: Any = 0

    def step(self, trace: Any) -> Any:
        at = known(self.position)
        if at is None:
            raise StopIteration
        if len(self.owner) != self.size:
            name = "Set" if isinstance(self.owner, (set, frozenset)) else "dictionary"
            name = "OrderedDict" if type(self.owner).__name__ == "OrderedDict" else name
            text = "mutated during iteration" if name == "OrderedDict" else "changed size during iteration"
            raise RuntimeError(f"{name} {text}")
        if at == len(self.keys):
            self.move(trace, position=None)
            raise StopIteration
        self.move(trace, position=at + 1)
        key = self.keys[at]
        if self.kind == "keys":
            return key
        if key not in self.owner:
            raise RuntimeError("dictionary keys changed during iteration")
        found = trace.expressions.settled(self.owner, key)
        if trace.outside.is_outside(self.owner):
            found = trace.outside.read(trace, self.owner, key, found)
        return found if self.kind == "values" else (key, found)


class Walk(Iterator):
    """The items of an indexable sequence; a loop over it from its start may become one operation."""

    def __init__(self, sequence: Sequence) -> None:
        self.sequence = sequence
        self.position: Any = 0

    def step(self, trace: Any) -> Any:
        at = known(self.position)
        if at is None:
            raise StopIteration
        n = self.sequence.length
        if not isinstance(n, (int, np.integer)):
            raise NeedsConcrete(trace.value(n), "the number of iterations")
        if at >= n:
            self.move(trace, position=None)
            raise StopIteration
        self.move(trace, position=at + 1)
        return self.sequence.item(at)


class Zip(Iterator):
    def __init__(self, parts: list[Any], strict: bool = False) -> None:
        self.parts = parts
        self.strict = strict

    def step(self, trace: Any) -> Any:
        if not self.parts:
            raise StopIteration
        items: list[Any] = []
        for part in self.parts:
            try:
                items.append(advance(trace, part))
            except StopIteration:
                if self.strict:
                    self.check_end(trace, len(items))
                raise
        return tuple(items)

    def check_end(self, trace: Any, ended: int) -> None:
        """With ``strict``, check that all parts end together."""
        if ended:
            raise ValueError(f"zip() argument {ended + 1} is shorter than argument{'s 1-' * (ended > 1) or ' '}{ended}")
        for i, part in enumerate(self.parts[1:], 2):
            try:
                advance(trace, part)
            except StopIteration:
                continue
            raise ValueError(f"zip() argument {i} is longer than argument{'s 1-' * (i > 2) or ' '}{i - 1}")


class Enumerate(Iterator):
    def __init__(self, part: Any, start: Any) -> None:
        self.part = part
        self.count = start

    def step(self, trace: Any) -> Any:
        item = advance(trace, self.part)
        count = self.count
        self.move(trace, count=trace.call(operator.add, count, 1))
        return count, item


class Map(Iterator):
    def __init__(self, function: Any, parts: list[Any]) -> None:
        self.function = function
        self.parts = parts

    def step(self, trace: Any) -> Any:
        return trace.call(self.function, *[advance(trace, part) for part in self.parts])


class Filter(Iterator):
    def __init__(self, function: Any, part: Any) -> None:
        self.function = function
        self.part = part

    def step(self, trace: Any) -> Any:
        while True:
            x = advance(trace, self.part)
            test = trace.expressions.truth(x if self.function is None else trace.call(self.function, x))
            if not isinstance(test, bool):
                condition = trace.value(test)
                test = trace.way_of(condition)
                if test is None:
                    raise NeedsConcrete(condition, "the condition of filter; use np.where or a mask")
            if test:
                return x


class Count(Iterator):
    """``itertools.count``; its number may be traced."""

    def __init__(self, start: Any, step: Any) -> None:
        self.n = start
        self.by = step

    @property
    def is_whole(self) -> bool:
        """Whether it counts by a known integer from an integer."""
        is_known = isinstance(self.by, int) and not isinstance(self.by, bool) and abs(self.by) < 1 << 20
        return (
            is_known
            and isinstance(self.n, (int, Scalar))
            and (isinstance(self.n, int) or self.n.type.dtype == np.int64)
        )

    def step(self, trace: Any) -> Any:
        n = self.n
        if isinstance(n, (Conflict, Late)):
            raise BadInput(UNKNOWN)
        self.move(trace, n=trace.call(operator.add, n, self.by))
        return n


class Drawn(Iterator):
    """The items of a C iterator, kept so that an earlier position can be restored."""

    def __init__(self, host: AnyIterator[Any]) -> None:
        self.host = host
        self.buffer: list[Any] = []
        self.position: Any = 0

    def step(self, trace: Any) -> Any:
        at = known(self.position)
        if at == len(self.buffer):
            self.buffer.append(next(self.host))
        self.move(trace, position=at + 1)
        return self.buffer[at]


def iterator_of(trace: Any, x: Any) -> Any:
    """``iter(x)``."""
    if type(x) is Choice:
        x.refuse()
    if isinstance(x, Iterator):
        return x
    trace.outside.read_whole(x)
    method = None if isinstance(x, Array) else special(x, "__iter__")
    if method is not None:
        return trace.call(method)
    if isinstance(x, Conflict):
        raise BadInput(x.text)
    if type(x) is Derived:
        if isinstance(x.plain, Scalar):
            raise TypeError(f"'{x.cls.__name__}' object is not iterable")
        x.refuse()
    if isinstance(x, Scalar):
        raise TypeError("'float' object is not iterable")
    if rows_of(x) is not None:
        return trace.new(Walk(growing_lists.sequence(trace, x)))
    if isinstance(x, (Array, Range, range)) or is_traced_array(x):
        sequence = sequence_of(trace, x)
        if sequence is None:
            raise TypeError("iteration over a 0-d array")
        return trace.new(Walk(sequence))
    if isinstance(x, (list, tuple, deque, str, bytes)):
        return trace.new(Items(x))
    if isinstance(x, VIEWS):
        (owner,) = gc.get_referents(x)  # a view refers only to its dict
        return entries(trace, owner, ("keys", "values", "items")[[isinstance(x, v) for v in VIEWS].index(True)])
    if isinstance(x, (dict, set, frozenset)):
        return entries(trace, x, "keys")
    if hasattr(type(x), "__next__") and id(x) not in trace.made:
        return x  # an iterator from outside
    return trace.new(Drawn(iter(x)))


def entries(trace: Any, owner: Any, kind: str) -> Entries:
    trace.refuse_unknown_entries(owner)
    return trace.new(Entries(owner, kind, list(owner)))


def advance(trace: Any, x: Any) -> Any:
    """``next(x)``; raises StopIteration at the end."""
    if isinstance(x, Iterator):
        return x.step(trace)
    if isinstance(x, Conflict):
        raise BadInput(x.text)
    method = special(x, "__next__")
    if method is not None:
        trace.stops.append(len(trace.changes))
        try:
            return trace.call(method)
        finally:
            trace.stops.pop()
    if not hasattr(type(x), "__next__"):
        raise TypeError(f"'{type(x).__name__}' object is not an iterator")
    if id(x) in trace.made:
        return next(x)
    refuse_next(x)


def refuse_next(x: Any) -> NoReturn:
    """Refuse to take an item of an iterator made outside."""
    raise BadInput(
        f"compiled code takes the next item of a {type(x).__name__} made outside of it, which would happen only once, while compiling; "
        "pass a list of its items"
    )


def walked(trace: Any, kind: Any, *arguments: Any) -> Walk | None:
    """``enumerate``, ``zip`` or ``reversed`` as an indexable sequence; None if an argument cannot be indexed."""
    iterables = arguments[:1] if kind is enumerate else arguments
    parts = [part for part in (remaining(trace, x) for x in iterables) if part is not None]
    if not parts or len(parts) < len(iterables):
        return None
    for x in iterables:
        if isinstance(x, Walk):
            x.lose(trace)
    call = trace.call
    first = parts[0]
    if kind is enumerate:
        start = arguments[1]
        return trace.new(Walk(Sequence(first.length, lambda i: (call(operator.add, i, start), first.item(i)))))
    if kind is reversed:
        last = call(operator.sub, first.length, 1)
        return trace.new(Walk(Sequence(first.length, lambda i: first.item(call(operator.sub, last, i)))))
    n = first.length
    for part in parts[1:]:
        n = call(min, n, part.length)
    return trace.new(Walk(Sequence(n, lambda i: tuple(part.item(i) for part in parts))))


def remaining(trace: Any, x: Any) -> Sequence | None:
    """Return x, or the remaining items of an iterator, as an indexable sequence; None if that is not possible."""
    if rows_of(x) is not None:
        return growing_lists.sequence(trace, x)
    if not isinstance(x, Walk):
        return sequence_of(trace, x)
    at = x.position
    if not isinstance(at, int):
        return None
    if at == 0:
        return x.sequence
    item = x.sequence.item
    return Sequence(trace.call(operator.sub, x.sequence.length, at), lambda i: item(trace.call(operator.add, i, at)))


def has_traced_length(trace: Any, x: Any) -> bool:
    """Whether x, or what is left of an iterator, is a sequence whose length is not known while compiling."""
    found = remaining(trace, x)
    return found is not None and not isinstance(found.length, (int, np.integer))
