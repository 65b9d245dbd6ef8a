"""The plan of a batch: its frames by kind, in groups that are computed at once, and which results each of them gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from ..eager.recorded.tape import Tape
from ..eager.structured.captured import made_on
from ..ir.typed import ArrayType
from ..specialise.parts import Recursive, Unsuited
from ..values.reachable import reached
from .frames import Form, Kind, Kinds, Nodes
from .opened_structures import Ragged

SIZES = (512, 128, 32, 8)
"""The numbers of frames for which programs are compiled. A batch is divided into these, and its rest filled up."""


MOST_LEVELS = 100_000


class DifferentForms(BaseException):
    """The results for the items of a list differ in form, so that lists of each length are frames of their own kind."""


@dataclass(eq=False)
class Parts:
    """The frames of one call of frames of a kind, or their rows: one for each frame, or one for each item of a list of it."""

    numbers: np.ndarray
    starts: np.ndarray | None = None  # where the items of each frame begin, and those of the last one end

    def of(self, first: int, last: int) -> np.ndarray:
        """Return those of some of the frames."""
        return self.numbers[first:last] if self.starts is None else self.numbers[self.starts[first] : self.starts[last]]

    def are_items(self, first: int, last: int) -> np.ndarray:
        """Return which items the lists of some frames have, by number."""
        assert self.starts is not None
        lengths = np.diff(self.starts[first : last + 1])
        return np.arange(lengths.max()) < lengths[:, None]

    def reduced(self, reduce: np.ufunc, values: np.ndarray) -> np.ndarray:
        """Return the values of the parts of each frame, reduced."""
        return values[self.numbers] if self.starts is None else reduce.reduceat(values[self.numbers], self.starts[:-1])

    def taken(self, order: np.ndarray, values: np.ndarray) -> Parts:
        """Return the values of the parts, for frames in another order."""
        if self.starts is None:
            return Parts(values[self.numbers[order]])
        lengths = np.diff(self.starts)[order]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[:-1][order] - starts[:-1], lengths)
        return Parts(values[self.numbers[places]], starts)


def _joined(given: Sequence[Parts]) -> Parts:
    numbers = np.concatenate([x.numbers for x in given])
    if given[0].starts is None:
        return Parts(numbers)
    return Parts(numbers, np.concatenate([[0], np.cumsum(np.concatenate([np.diff(x.starts) for x in given]))]))  # type: ignore[arg-type]


@dataclass(eq=False)
class Work:
    """Frames of one kind: all of a batch, those of less height first."""

    kind: Kind
    frames: np.ndarray
    found: list[list[Any]]  # what is at the places of each
    parts: list[Parts]  # for each call, the frames that it is; later the rows of their results
    leaves: list[list[Any]] = field(default_factory=list)
    """For each place, the numbers or arrays of all frames; for lists of any length those of ``Ragged.columns_of``."""
    variables: list[Any] = field(default_factory=list)
    """For each place, the numbers among the leaves of the samples, in the same form; None if it has no derivative."""

    def put_in_order(self, order: np.ndarray, row: np.ndarray) -> None:
        """Sort the frames, and note the rows of the results of their calls."""
        self.frames = self.frames[order]
        found = [self.found[i] for i in order.tolist()]
        self.parts = [x.taken(order, row) for x in self.parts]
        for i, kind in zip(self.kind.leaves, self.kind.types):
            given = [x[i] for x in found]
            self.leaves.append([kind.columns_of(x) for x in given] if isinstance(kind, Ragged) else given)
        self.found = []


@dataclass(eq=False)
class Group:
    """Frames of one kind, none of which is a part of another."""

    work: Work
    first: int  # among those of the work
    last: int
    row: int  # of the first one, among the results of the same form

    @property
    def kind(self) -> Kind:
        return self.work.kind

    @property
    def pieces(self) -> list[tuple[int, int, int]]:
        """The first and the last frame among those of the work, and the size of the program, for each run."""
        return [(self.first + a, self.first + b, size) for a, b, size in pieces(self.last - self.first)]

    def rows(self, first: int, last: int) -> slice:
        """Return where the results of some of its frames are."""
        return slice(self.row + first - self.first, self.row + last - self.first)


@dataclass(eq=False)
class Plan:
    """The frames of a batch in groups, each after those of its parts.

    The results of all frames whose results have one form are the rows of one array (for each number and array of the form); those
    of a group follow each other.
    """

    works: list[Work]
    groups: list[Group]
    roots: list[tuple[Kind, int]]  # the kind of the frame that a sample is, and its row
    forms: list[Form]
    counts: list[int]  # the number of frames, for each form

    def is_differentiated(self, tape: Tape) -> bool:
        """Whether numbers or arrays that frames read are inputs or results of a tape."""
        made = [x for x in made_on(tape) if x]
        given: set[int] = set()
        for work in self.works if made else ():
            for values, kind in zip(work.leaves, work.kind.types):
                if is_variable(kind):
                    reached(values, given)
        return not all(given.isdisjoint(x) for x in made)

    @property
    def is_numbered(self) -> bool:
        return any(work.variables for work in self.works)

    def number(self, leaves: Sequence[Any]) -> None:
        """Note for each number and array which of the leaves of the samples it is; each leaf is an object of its own."""
        of = {id(x): i for i, x in enumerate(leaves)}
        for work in self.works:
            work.variables = [
                [_numbers(of, x, t) for x in values] if is_variable(t) else None
                for values, t in zip(work.leaves, work.kind.types)
            ]

    def results(self) -> list[list[np.ndarray]]:
        """Return zeros for the results of all frames or their cotangents, for each form."""
        return [[np.zeros((n, *t.shape), t.dtype) for t in form.types] for form, n in zip(self.forms, self.counts)]

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def calls(self) -> int:
        return sum(len(g.pieces) for g in self.groups)


def planned(kinds: Kinds, shared: Sequence[Any], samples: Sequence[Sequence[Any]]) -> Plan:
    """Find the frames of all samples; traces what has not been met before.

    Raises:
        Unsuited, or another MorulaError: the function cannot be run like this.
    """
    while True:
        try:
            return _planned(kinds, list(shared), samples)
        except Recursive as found:
            kinds.functions.add(found.function)
            kinds.known.clear()
        except DifferentForms:
            kinds.of_each_item = False
            kinds.known.clear()


def _planned(kinds: Kinds, shared: list[Any], samples: Sequence[Sequence[Any]]) -> Plan:
    """Find the frames from the samples downwards: those of one distance from the samples at once."""
    count = len(samples)
    level = {kinds.nodes(kinds.function, kinds.arguments, len(samples[0])): ([*samples], [np.arange(count)])}
    found: list[Work] = []
    for _ in range(MOST_LEVELS):
        if not level:
            return _in_groups(_with_results(kinds, found, count, shared), _heights(found, count), len(samples))
        below: dict[Nodes, tuple[list[Any], list[np.ndarray]]] = {}
        for nodes, (objects, numbers) in level.items():
            for work in _recognised(kinds, nodes, objects, np.concatenate(numbers), shared):
                found.append(work)
                for made, (inner, places) in zip(work.kind.calls, kinds.parts(work.kind)):
                    given, starts = kinds.objects_of(work.kind, made, places, work.found)
                    parts = np.arange(count, count + len(given))
                    count += len(given)
                    work.parts.append(Parts(parts, starts))
                    before = below.setdefault(inner, ([], []))
                    before[0].extend(given)
                    before[1].append(parts)
        level = below
    raise Unsuited(f"the structure is nested more than {MOST_LEVELS} deep, or contains itself")


def _recognised(kinds: Kinds, nodes: Nodes, objects: list[Any], numbers: np.ndarray, shared: Any) -> Iterator[Work]:
    """Yield the frames by kind."""
    places: dict[int, tuple[Kind, list[int], list[Any]]] = {}
    for i, given in enumerate(objects):
        kind, found = nodes.recognised(given) or kinds.of(nodes, given, shared)
        place = places.get(id(kind))
        if place is None:
            place = places[id(kind)] = kind, [], []
        place[1].append(i)
        place[2].append(found)
    for kind, which, found in places.values():
        yield Work(kind, numbers[which], found, [])


def _heights(found: list[Work], count: int) -> np.ndarray:
    """Return for each frame the longest way to a frame without parts."""
    height = np.zeros(count, np.int64)
    for work in reversed(found):  # those of parts come after it
        for parts in work.parts:
            height[work.frames] = np.maximum(height[work.frames], 1 + parts.reduced(np.maximum, height))
    return height


def _with_results(kinds: Kinds, found: list[Work], count: int, shared: Any) -> list[Work]:
    """Return all frames by kind, after a look at the forms of the results of their parts."""
    form_of = np.zeros(count, np.int64)  # the number among ``kinds.forms``
    of_kind: dict[int, list[Work]] = {}
    for work in reversed(found):
        for part in work.parts:
            if part.starts is not None and np.any(
                part.reduced(np.minimum, form_of) != part.reduced(np.maximum, form_of)
            ):
                raise DifferentForms
        given = np.array([part.reduced(np.minimum, form_of) for part in work.parts], np.int64).T
        given = given.reshape(len(work.frames), len(work.parts))
        expected = [kinds.forms.index(form) for form in work.kind.results]
        alike = [work]
        if not np.all(given == expected):
            places: dict[tuple[int, ...], list[int]] = {}
            for i, forms in enumerate(given.tolist()):
                places.setdefault(tuple(forms), []).append(i)
            alike = []
            for forms, which in places.items():
                inside = [work.found[i] for i in which]
                kind = kinds.with_results(work.kind, inside[0], [kinds.forms[n] for n in forms], shared)
                every = np.arange(count)
                alike.append(
                    Work(kind, work.frames[which], inside, [p.taken(np.array(which), every) for p in work.parts])
                )
        for w in alike:
            assert w.kind.form is not None
            form_of[w.frames] = kinds.forms.index(w.kind.form)
            of_kind.setdefault(id(w.kind), []).append(w)
    return [
        Work(
            same[0].kind,
            np.concatenate([w.frames for w in same]),
            [*chain.from_iterable(w.found for w in same)],
            [_joined(parts) for parts in zip(*[w.parts for w in same])],
        )
        for same in of_kind.values()
    ]


def _in_groups(works: list[Work], height: np.ndarray, samples: int) -> Plan:
    """Put frames of one kind and one height together, and give each a row for its result."""
    forms: list[Form] = []
    places: list[tuple[int, int, Work, int, int]] = []
    orders = []
    for n, work in enumerate(works):
        assert work.kind.form is not None
        if work.kind.form not in forms:
            forms.append(work.kind.form)
        of_work = height[work.frames]
        order = np.argsort(of_work, kind="stable")
        orders.append(order)
        starts = np.flatnonzero(np.diff(of_work[order], prepend=-1)).tolist()
        places += [(int(of_work[order[a]]), n, work, a, b) for a, b in zip(starts, [*starts[1:], len(order)])]
    counts = [0] * len(forms)
    row = np.empty(len(height), np.int64)
    groups = []
    for _, n, work, a, b in sorted(places, key=lambda place: place[:2]):
        form = forms.index(work.kind.form)  # type: ignore[arg-type]
        groups.append(Group(work, a, b, counts[form]))
        row[work.frames[orders[n][a:b]]] = np.arange(counts[form], counts[form] + b - a)
        counts[form] += b - a
    kind_of: dict[int, Kind] = {}
    for work, order in zip(works, orders):
        kind_of |= dict.fromkeys(work.frames[work.frames < samples].tolist(), work.kind)
        work.put_in_order(order, row)
    return Plan(works, groups, [(kind_of[i], int(row[i])) for i in range(samples)], forms, counts)


def pieces(count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the first and the last number, and the size of the program, for each run of a group."""
    first = 0
    for size in SIZES:
        while count - first > size // 2 or size == SIZES[-1] and first < count:
            last = min(first + size, count)
            yield first, last, size
            first = last


def is_variable(kind: ArrayType | Ragged) -> bool:
    return any(t.is_inexact for t in (kind.columns if isinstance(kind, Ragged) else [kind]))


def _numbers(of: dict[int, int], x: Any, kind: ArrayType | Ragged) -> Any:
    """Return which of the leaves of the samples the numbers and arrays of a frame are; see ``Work.variables``."""
    if not isinstance(kind, Ragged):
        return of[id(x)]
    if kind.kind is np.ndarray:
        return of[id(x[1][0])]
    return [[of[id(e)] for e in column] if t.is_inexact else None for column, t in zip(x[1], kind.columns)]
