"""What is known of a value: its number, if that does not depend on the inputs, and the inputs that its elements may depend on.

A value has *lanes*: one for each iteration of the loops around it, so that all iterations are interpreted at once. A value with one lane is
the same in all. Rows of patterns and entries of known arrays are those of the first lane, then those of the second, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ir.dynamic import Operation, Value
from ...ir.typed import ArrayType, Dim
from .patterns import MOST_ENTRIES, NotSparse, Pattern, empty, gather, grouped, stacked, union

Patterns = tuple["Pattern | None", ...]
"""One pattern for each kind of input: the tangent, and for Hessians the argument."""


class Lanes:
    """The lanes of a part of the program: ``parents`` gives for each the lane around it."""

    def __init__(self, around: Lanes | None, parents: np.ndarray, maybe: bool = False) -> None:
        self.around, self.parents = around, parents
        self.maybe = maybe or around is not None and around.maybe
        """Whether it may not run."""

    @property
    def count(self) -> int:
        return len(self.parents)

    def within(self, outer: Lanes) -> np.ndarray:
        """Return the lane of an outer part for each lane of this one."""
        found, at = np.arange(self.count), self
        while at is not outer:
            assert at.around is not None
            found, at = at.parents[found], at.around
        return found


@dataclass(eq=False)
class Abstract:
    """``known`` has the shape (lanes, size); patterns have lanes * size rows, or are None where nothing is depended on."""

    size: int
    known: np.ndarray | None = None
    patterns: Patterns = (None,)
    sources: frozenset[int] = frozenset()
    """The parameters of which ``known`` was computed."""

    @property
    def lanes(self) -> int:
        for p in self.patterns:
            if p is not None:
                return p.shape[0] // self.size if self.size else 1
        return 1 if self.known is None else len(self.known)

    @property
    def depends(self) -> bool:
        return any(p is not None for p in self.patterns)

    def rows(self, rows: np.ndarray) -> Patterns:
        return tuple(None if p is None else gather(p, rows) for p in self.patterns)

    def in_lanes(self, lanes: np.ndarray) -> Abstract:
        """Return the value for lanes that are given by their numbers here."""
        known = self.known
        if known is not None and len(known) > 1:
            known = known[lanes]
        if self.depends and self.lanes > 1:
            return Abstract(self.size, known, self.rows(_elements(lanes, self.size)), self.sources)
        return Abstract(self.size, known, self.patterns, self.sources)

    def filled(self, lanes: int) -> Patterns:
        """Return the patterns with a row for each of so many lanes."""
        if not self.depends or self.lanes == lanes:
            return self.patterns
        return self.rows(_elements(np.zeros(lanes, np.int64), self.size))

    def of_all_lanes(self) -> Abstract:
        """Return the union over lanes, in one lane."""
        lanes = self.lanes
        if lanes == 1:
            return Abstract(
                self.size, self.known if self.known is not None and len(self.known) == 1 else None, self.patterns
            )
        groups = np.tile(np.arange(self.size), lanes)
        return Abstract(
            self.size, None, tuple(None if p is None else grouped(p, groups, self.size) for p in self.patterns)
        )


def _elements(lanes: np.ndarray, size: int) -> np.ndarray:
    """Return the rows of all elements of these lanes."""
    if size == 1:
        return lanes
    check_rows(len(lanes) * size)
    return (lanes[:, None] * size + np.arange(size)).ravel()


def check_rows(count: int) -> None:
    if count > 4 * MOST_ENTRIES:
        raise NotSparse("an array has too many elements, over all iterations of the loops around it")


@dataclass(eq=False)
class Shared:
    """An array that a loop carries and writes to, of which only the union over all iterations is known.

    All versions of the array are this one object. ``written`` are the patterns of what is written, ``certain`` the elements that an
    iteration surely writes in the version that it leaves: after the loop, these do not depend on what was there before. ``writes`` are the
    operations that make this version.
    """

    size: int
    lanes: Lanes  # those around the loop
    initial: Patterns
    written: list[Pattern | None]
    certain: np.ndarray
    writes: set[Operation]
    reads: int = 0
    version: int = 0
    """The numbers of times that it was read and that it changed."""
    union: Patterns = field(init=False)

    def __post_init__(self) -> None:
        self.union = tuple(union(pair) for pair in zip(self.initial, self.written))

    @classmethod
    def of(cls, x: Abstract, lanes: Lanes, writes: set[Operation]) -> Shared:
        initial = x.filled(lanes.count)
        return cls(x.size, lanes, initial, [None for _ in initial], np.zeros(lanes.count * x.size, bool), writes)

    def write(self, patterns: Sequence[Pattern | None]) -> None:
        """Add the patterns of written elements, in the form of the whole array."""
        for k, p in enumerate(patterns):
            if p is None:
                continue
            before = self.written[k]
            self.written[k] = now = union((before, p))
            if before is None or now is None or now.nnz != before.nnz:
                self.version += 1
                self.union = tuple(union(pair) for pair in zip(self.initial, self.written))

    def snapshot(self) -> Abstract:
        self.reads += 1
        return Abstract(self.size, None, self.union)

    def state(self) -> tuple[Any, ...]:
        return list(self.written), self.certain.copy(), self.union

    def restore(self, state: tuple[Any, ...]) -> None:
        written, certain, self.union = state
        self.written, self.certain = list(written), certain.copy()

    def after(self) -> Abstract:
        """Return the array after the loop."""
        kept = np.where(self.certain, -1, np.arange(len(self.certain)))
        initial = tuple(None if p is None else gather(p, kept) for p in self.initial)
        return Abstract(self.size, None, tuple(union(pair) for pair in zip(initial, self.written)))


def shape_of(kind: ArrayType, lengths: Any) -> tuple[tuple[int, ...], bool]:
    """Return a shape, with the greatest length where one differs between lanes or is not known, and whether there is none such.

    ``lengths`` returns the lengths that a value has, or None.
    """
    shape, is_exact = [], True
    for n in kind.shape:
        if isinstance(n, Dim):
            found = lengths(n.value)
            is_exact = is_exact and found is not None and len(found) == 1
            n = n.bound if found is None else int(found.max(initial=0))
        shape.append(n)
    return tuple(shape), is_exact


def joined(values: Sequence[Abstract], lanes: int) -> Abstract:
    """Return the union of values of one size, for this number of lanes; it is known where all are equal."""
    first = values[0]
    known = first.known
    for other in values[1:]:
        if known is None or other.known is None or not _same(known, other.known):
            known = None
    most = max(v.lanes for v in values if v.depends) if any(v.depends for v in values) else 1
    patterns = [v.filled(most) for v in values]
    sources = frozenset().union(*(v.sources for v in values)) if known is not None else frozenset()
    return Abstract(first.size, known, tuple(union(each) for each in zip(*patterns)), sources)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and bool(np.all(a == b))


def merged(values: Sequence[Abstract], lanes: Sequence[np.ndarray], count: int) -> Abstract:
    """Return the value whose lanes ``lanes[k]`` are those of ``values[k]``."""
    size = values[0].size
    known = None
    sources: frozenset[int] = frozenset()
    if all(v.known is not None for v in values):
        known = np.empty((count, size), values[0].known.dtype)  # type: ignore[union-attr]
        for v, at in zip(values, lanes):
            known[at] = v.known
            sources |= v.sources
    if not any(v.depends for v in values):
        return Abstract(size, known, values[0].patterns, sources)
    found: list[Pattern | None] = []
    filled = [v.filled(len(at)) for v, at in zip(values, lanes)]
    order = np.empty((count, size), np.int64)
    start = 0
    for at in lanes:
        order[at] = start + np.arange(len(at) * size).reshape(len(at), size)
        start += len(at) * size
    for each in zip(*filled):
        given = [p for p in each if p is not None]
        if not given:
            found.append(None)
            continue
        width = given[0].shape[1]
        parts = [empty(len(at) * size, width) if p is None else p for p, at in zip(each, lanes)]
        found.append(gather(stacked(parts), order.ravel()))
    return Abstract(size, known, tuple(found), sources)


Defined = dict[Value, tuple[Any, Lanes]]
