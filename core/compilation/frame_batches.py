"""Runs the frames of a batch: all frames of a kind whose parts have been computed at once, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..api import adjoint
from ..eager.recorded.call import call
from ..eager.recorded.tape import Tape
from ..eager.structured.captured import made_on, reached
from ..ir.typed import ArrayType
from ..specialise.parts import LooksInto, NeedsResult, Outdated, Recursive
from ..values import tree
from ..values.layout import Build
from .frames import Form, Kind, Kinds, objects_of
from .opened_structures import Ragged, ragged

SIZES = (512, 128, 32, 8)
"""The numbers of frames for which programs are compiled. A batch is divided into these, and its rest filled up."""


@dataclass(eq=False)
class Work:
    """All frames of one kind in a batch, those of less height first."""

    kind: Kind
    found: list[list[Any]] = field(default_factory=list)  # what is at the places of each
    parts: list[list[int]] = field(default_factory=list)  # the frames that the calls of each are
    frames: list[int] = field(default_factory=list)
    leaves: list[list[Any]] = field(default_factory=list)  # for each place, the numbers or arrays of all frames
    variables: list[Any] = field(default_factory=list)
    """For each place, the numbers among the leaves of the samples, or lists of these; None if it has no derivative."""

    def in_order(self, order: list[int]) -> None:
        found, self.parts = [self.found[i] for i in order], [self.parts[i] for i in order]
        self.frames = [self.frames[i] for i in order]
        self.leaves = [[x[i] for x in found] for i in self.kind.leaves]
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
    parts: dict[int, list[tuple[int, np.ndarray]]]
    """For the work with this id and each of its calls: the number of the form of its result, and the rows of all frames."""

    def __call__(self, shared: Any, leaves: Sequence[Any]) -> list[Any]:
        return execute(self, shared, leaves)

    def __morula_call__(self, tape: Tape, shared: Any, leaves: Sequence[Any]) -> Any:
        return call(tape, execute, self, shared, leaves)

    def is_differentiated(self, tape: Tape) -> bool:
        """Whether numbers or arrays that frames read are inputs or results of a tape."""
        made = [x for x in made_on(tape) if x]
        given: set[int] = set()
        for work in self.works if made else ():
            for values, kind in zip(work.leaves, work.kind.types):
                if _is_variable(kind):
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
                [[of[id(e)] for e in x] if _is_list(t) else of[id(x)] for x in values] if _is_variable(t) else None
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


def _planned(kinds: Kinds, shared: list[Any], samples: Sequence[Sequence[Any]]) -> Plan:
    heights: list[int] = []  # of each frame
    of_frame: list[Work] = []
    works: dict[int, Work] = {}
    first = kinds.nodes(kinds.function, kinds.arguments, len(samples[0]))
    roots = []
    of = kinds.of
    for sample in samples:
        # Depth first, without recursion: a kind, what is at its places, the frames of its calls, the forms of their results, the height
        kind, found = of(first, sample, shared)
        stack: list[list[Any]] = [[kind, found, [], [], 0]]
        while stack:
            entry = stack[-1]
            kind, found, parts, forms, height = entry
            if len(parts) < len(kind.calls):
                nodes, objects = (kind.parts or kinds.parts(kind))[len(parts)]
                kind, found = of(nodes, objects_of(objects, found), shared)
                if kind.calls:
                    stack.append([kind, found, [], [], 0])
                    continue
                parts, height = [], 0
            else:
                stack.pop()
                if kind.results != forms:
                    kind = kinds.with_results(kind, found, forms, shared)
                if not stack:
                    roots.append(len(of_frame))
                entry = stack[-1] if stack else None
            work = works.get(id(kind))
            if work is None:
                work = works[id(kind)] = Work(kind)
            number = len(of_frame)
            work.found.append(found)
            work.parts.append(parts)
            work.frames.append(number)
            of_frame.append(work)
            heights.append(height)
            if entry is not None:
                entry[2].append(number)
                entry[3].append(kind.form)
                if height >= entry[4]:
                    entry[4] = height + 1
    return _in_groups(list(works.values()), np.array(heights), of_frame, roots)


def _in_groups(works: list[Work], heights: np.ndarray, of_frame: list[Work], roots: list[int]) -> Plan:
    """Put frames of one kind and one height together, and give each a row for its result."""
    forms: list[Form] = []
    places: list[tuple[int, int, Work, int, int]] = []
    for n, work in enumerate(works):
        assert work.kind.form is not None
        if work.kind.form not in forms:
            forms.append(work.kind.form)
        of_work = heights[work.frames]
        order = np.argsort(of_work, kind="stable")
        work.in_order(order.tolist())
        starts = np.flatnonzero(np.diff(of_work[order], prepend=-1)).tolist()
        places += [(int(of_work[order[a]]), n, work, a, b) for a, b in zip(starts, [*starts[1:], len(order)])]
    counts = [0] * len(forms)
    row = np.empty(len(of_frame), np.int64)
    groups = []
    for _, _, work, a, b in sorted(places, key=lambda place: place[:2]):
        form = forms.index(work.kind.form)  # type: ignore[arg-type]
        groups.append(Group(work, a, b, counts[form]))
        row[work.frames[a:b]] = np.arange(counts[form], counts[form] + b - a)
        counts[form] += b - a
    parts = {}
    for work in works:
        given = np.array(work.parts, np.int64).reshape(len(work.frames), -1)
        parts[id(work)] = [
            (forms.index(form), np.ascontiguousarray(row[given[:, i]])) for i, form in enumerate(work.kind.results)
        ]
    return Plan(works, groups, [(of_frame[i].kind, int(row[i])) for i in roots], forms, counts, parts)


def pieces(count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the first and the last number, and the size of the program, for each run of a group."""
    first = 0
    for size in SIZES:
        while count - first > size // 2 or size == SIZES[-1] and first < count:
            last = min(first + size, count)
            yield first, last, size
            first = last


def _is_variable(kind: ArrayType | Ragged) -> bool:
    return (kind.item if isinstance(kind, Ragged) else kind).is_inexact


def _is_list(kind: ArrayType | Ragged) -> bool:
    return isinstance(kind, Ragged) and kind.kind is not np.ndarray


def _columns(work: Work, leaves: Sequence[Any]) -> list[Any]:
    """Return the numbers and arrays of all frames of a kind: an array for each place, and for one of any length a list."""
    made: list[Any] = []
    for i, kind in enumerate(work.kind.types):
        values: Any = work.leaves[i]
        variables = work.variables[i] if work.variables else None
        if variables is not None:
            values = [[leaves[v] for v in x] if _is_list(kind) else leaves[x] for x in variables]
        if not isinstance(kind, Ragged):
            values = np.array(values, kind.dtype)
        made.append(values)
    return made


def _own(columns: list[Any], kinds: Sequence[ArrayType | Ragged], first: int, last: int, size: int) -> list[np.ndarray]:
    """Return the numbers and arrays of frames, one array for each place, and one of zeros that tells their number."""
    found = [np.zeros(size)]
    for values, kind in zip(columns, kinds):
        found += (
            ragged(values[first:last], size, kind)
            if isinstance(kind, Ragged)
            else [_filled_up(values[first:last], size)]
        )
    return found


def _filled_up(x: np.ndarray, size: int) -> np.ndarray:
    """Return rows, the last one repeated up to ``size``."""
    return x if len(x) == size else np.concatenate([x, np.repeat(x[-1:], size - len(x), axis=0)])


def run(plan: Plan, shared: Any, leaves: Sequence[Any], keep: Callable[..., None] | None = None) -> list[Any]:
    """Compute the results of all frames; ``keep`` is called with the inputs of each program."""
    results = plan.results()
    columns = {id(work): _columns(work, leaves) for work in plan.works}
    for group in plan.groups:
        kind, parts = group.kind, plan.parts[id(group.work)]
        for first, last, size in group.pieces:
            own = _own(columns[id(group.work)], kind.types, first, last, size)
            inputs = [[x[rows] for x in results[form]] for form, rows in _rows(parts, first, last, size)]
            try:
                y = kind.program(shared, own, inputs)
            except (LooksInto, NeedsResult, Recursive):
                raise Outdated("the function looks into other parts than before") from None
            for x, value in zip(results[plan.forms.index(kind.form)], y):  # type: ignore[arg-type]
                x[group.rows(first, last)] = value[: last - first]
            if keep is not None:
                keep(own, inputs)
    return results


def _rows(parts: list[tuple[int, np.ndarray]], first: int, last: int, size: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield for each call the number of its form, and the rows of its results for some frames."""
    for form, rows in parts:
        yield form, _filled_up(rows[first:last], size)


def results_of(plan: Plan, results: list[Any]) -> list[Any]:
    """Return the results for the samples."""
    found = []
    for kind, row in plan.roots:
        form = kind.form
        assert form is not None
        leaves = [
            np.array(x[row]) if t.shape else x[row].item() if t.weak else x[row]
            for x, t in zip(results[plan.forms.index(form)], form.types)
        ]
        found.append(Build(leaves).build(form.layout))
    return found


def execute(plan: Plan, shared: Any, leaves: Sequence[Any]) -> list[Any]:
    """Return the results for all samples.

    ``shared`` are the arguments that are the same for all, ``leaves`` those numbers and arrays of the samples that the plan has numbered.
    """
    return results_of(plan, run(plan, shared, leaves))


@adjoint(execute)
def _(plan: Plan, shared: Any, leaves: Sequence[Any]) -> Any:
    kept: list[Any] = []
    results = run(plan, shared, leaves, lambda *inputs: kept.append(inputs))

    def back(dy: Any) -> Any:
        cotangents = plan.results()
        for (kind, row), given in zip(plan.roots, dy):
            _add(cotangents[plan.forms.index(kind.form)], row, given, kind)  # type: ignore[arg-type]
        total: Any = None
        of_leaves: list[Any] = [0.0 * x for x in leaves]
        steps = reversed(kept)
        for group in reversed(plan.groups):
            parts = plan.parts[id(group.work)]
            of_results = cotangents[plan.forms.index(group.kind.form)]  # type: ignore[arg-type]
            for first, last, size in reversed(group.pieces):
                seeds = []
                for x in of_results:
                    seed = np.zeros((size, *x.shape[1:]), x.dtype)
                    seed[: last - first] = x[group.rows(first, last)]
                    seeds.append(seed)
                own, inputs = next(steps)
                d_shared, d_own, d_results = group.kind.pull(seeds, shared, own, inputs)
                if plan.is_numbered:
                    _add_to_leaves(of_leaves, group, first, last, iter(d_own[1:]))
                total = d_shared if total is None else tree.map_leaves(np.add, total, d_shared)
                for (form, rows), found in zip(parts, d_results):
                    for x, d in zip(cotangents[form], found):
                        x[rows[first:last]] += d[: last - first]
        return None, tree.rebuild(total, _once(), is_shared=False), of_leaves

    return results_of(plan, results), back


def _once() -> Callable[[tree.Path, Any], Any]:
    """Return a function for ``tree.rebuild`` that leaves the cotangent of an array in its first place: an adjoint's are added."""
    seen: list[Any] = []

    def first(path: tree.Path, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            if any(x is e for e in seen):
                return None
            seen.append(x)
        return x

    return first


def _add(cotangents: list[np.ndarray], row: int, given: Any, kind: Kind) -> None:
    """Add the cotangent of a sample's result."""
    assert kind.form is not None
    leaves = iter(tree.leaves(given))
    for x, t in zip(cotangents, kind.form.types):
        if t.is_inexact:
            x[row] += next(leaves)


def _add_to_leaves(of_leaves: list[Any], group: Group, first: int, last: int, given: Iterator[Any]) -> None:
    """Add the cotangents of the numbers and arrays that frames have read."""
    for variables, kind in zip(group.work.variables, group.kind.types):
        d = next(given)
        if isinstance(kind, Ragged):
            next(given)  # that of the lengths
        if variables is None:
            continue
        for x, of_frame in zip(variables[first:last], d):
            if _is_list(kind):
                for v, e in zip(x, of_frame):
                    of_leaves[v] = of_leaves[v] + e
            else:
                part = of_frame[: len(of_leaves[x])] if isinstance(kind, Ragged) else of_frame
                of_leaves[x] = of_leaves[x] + part
