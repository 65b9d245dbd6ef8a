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
class Group:
    """Frames of one kind, none of which is a part of another."""

    kind: Kind
    frames: list[int] = field(default_factory=list)
    leaves: list[list[Any]] = field(default_factory=list)  # for each place, the numbers or arrays of all frames
    variables: list[Any] = field(default_factory=list)
    """For each place, the numbers among the leaves of the samples, or lists of these; None if it has no derivative."""
    parts: list[list[int]] = field(default_factory=list)  # for each call, the frames that it is


@dataclass(eq=False)
class Plan:
    """The frames of a batch in groups, each after those of its parts."""

    groups: list[Group]
    roots: list[int]
    kinds: list[Kind]  # of each frame
    count: int

    def __call__(self, shared: Any, leaves: Sequence[Any]) -> list[Any]:
        return execute(self, shared, leaves)

    def __morula_call__(self, tape: Tape, shared: Any, leaves: Sequence[Any]) -> Any:
        return call(tape, execute, self, shared, leaves)

    def is_differentiated(self, tape: Tape) -> bool:
        """Whether numbers or arrays that frames read are inputs or results of a tape."""
        given: set[int] = set()
        for g in self.groups:
            for values, kind in zip(g.leaves, g.kind.types):
                if _is_variable(kind):
                    reached(values, given)
        return bool(given) and not all(given.isdisjoint(made) for made in made_on(tape))

    @property
    def is_numbered(self) -> bool:
        return any(g.variables for g in self.groups)

    def number(self, leaves: Sequence[Any]) -> None:
        """Note for each number and array which of the leaves of the samples it is; each leaf is an object of its own."""
        of = {id(x): i for i, x in enumerate(leaves)}
        for g in self.groups:
            g.variables = [
                [[of[id(e)] for e in x] if _is_list(t) else of[id(x)] for x in values] if _is_variable(t) else None
                for values, t in zip(g.leaves, g.kind.types)
            ]

    @property
    def calls(self) -> int:
        return sum(1 for g in self.groups for _ in pieces(len(g.frames)))


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
    of_frame: list[Kind] = []
    heights: list[int] = []
    places: dict[tuple[int, int], Group] = {}
    roots = []
    first = kinds.nodes(kinds.function, kinds.arguments, len(samples[0]))
    for sample in samples:
        # Depth first, without recursion: [kind, what is at its places, the numbers of the frames of its calls]
        stack: list[Any] = [(*kinds.of(first, sample, shared), [])]
        while True:
            kind, found, parts = stack[-1]
            if len(parts) < len(kind.calls):
                nodes, objects = (kind.parts or kinds.parts(kind))[len(parts)]
                stack.append((*kinds.of(nodes, objects_of(objects, found), shared), []))
                continue
            kind = kinds.with_results(kind, found, [of_frame[part].form for part in parts], shared)
            height = 1 + max([heights[part] for part in parts], default=-1)
            group = places.get((height, id(kind)))
            if group is None:
                group = places[height, id(kind)] = Group(
                    kind, leaves=[[] for _ in kind.leaves], parts=[[] for _ in kind.calls]
                )
            for of_place, i in zip(group.leaves, kind.leaves):
                of_place.append(found[i])
            for of_call, part in zip(group.parts, parts):
                of_call.append(part)
            group.frames.append(len(of_frame))
            of_frame.append(kind)
            heights.append(height)
            stack.pop()
            if not stack:
                break
            stack[-1][2].append(len(of_frame) - 1)
        roots.append(len(of_frame) - 1)
    groups = [places[key] for key in sorted(places, key=lambda key: key[0])]
    return Plan(groups, roots, of_frame, len(of_frame))


def pieces(count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the first and the last number, and the size of the program, for each run of a group."""
    first = 0
    for size in SIZES:
        while count - first > size // 2 or size == SIZES[-1] and first < count:
            last = min(first + size, count)
            yield first, last, size
            first = last


class Buffers:
    """The results of all frames, or their cotangents: an array for each number and array of each form of result."""

    def __init__(self, plan: Plan) -> None:
        forms: list[Form] = []
        self.form_of: dict[int, int] = {}  # by the kind's id
        for kind in {id(k): k for k in plan.kinds}.values():
            assert kind.form is not None
            if kind.form not in forms:
                forms.append(kind.form)
            self.form_of[id(kind)] = forms.index(kind.form)
        self.row = np.zeros(plan.count, np.int64)
        counts = [0] * len(forms)
        for frame, kind in enumerate(plan.kinds):
            number = self.form_of[id(kind)]
            self.row[frame] = counts[number]
            counts[number] += 1
        self.kinds = plan.kinds
        self.arrays = [[np.zeros((n, *t.shape), t.dtype) for t in form.types] for form, n in zip(forms, counts)]

    def of(self, frame: int) -> list[np.ndarray]:
        """Return the arrays in which a frame's result has a row."""
        return self.arrays[self.form_of[id(self.kinds[frame])]]

    def rows(self, frames: Sequence[int], first: int, last: int, size: int) -> np.ndarray:
        """Return the rows of frames, the last one repeated up to ``size``."""
        found = self.row[frames[first:last]]
        return found if len(found) == size else np.concatenate([found, np.full(size - len(found), found[-1])])


def _is_variable(kind: ArrayType | Ragged) -> bool:
    return (kind.item if isinstance(kind, Ragged) else kind).is_inexact


def _is_list(kind: ArrayType | Ragged) -> bool:
    return isinstance(kind, Ragged) and kind.kind is not np.ndarray


def _own(group: Group, leaves: Sequence[Any], first: int, last: int, size: int) -> list[np.ndarray]:
    """Return the numbers and arrays of frames, one array for each place, and one of zeros that tells their number."""
    found = [np.zeros(size)]
    for i, values in enumerate(group.leaves):
        kind = group.kind.types[i]
        variables = group.variables[i] if group.variables else None
        if variables is not None:
            values = [[leaves[v] for v in x] if _is_list(kind) else leaves[x] for x in variables]
        if isinstance(kind, Ragged):
            found += ragged(values[first:last], size, kind)
            continue
        x = np.stack(values[first:last]) if isinstance(values[0], np.ndarray) else np.array(values[first:last])
        found.append(x if len(x) == size else np.concatenate([x, np.repeat(x[-1:], size - len(x), axis=0)]))
    return found


def run(plan: Plan, shared: Any, leaves: Sequence[Any], keep: Callable[..., None] | None = None) -> Buffers:
    """Compute the results of all frames; ``keep`` is called with the inputs of each program."""
    results = Buffers(plan)
    for group in plan.groups:
        for first, last, size in pieces(len(group.frames)):
            own = _own(group, leaves, first, last, size)
            inputs = [
                [x[results.rows(parts, first, last, size)] for x in results.of(parts[0])] for parts in group.parts
            ]
            try:
                y = group.kind.program(shared, own, inputs)
            except (LooksInto, NeedsResult, Recursive):
                raise Outdated("the function looks into other parts than before") from None
            rows = results.row[group.frames[first:last]]
            for x, value in zip(results.of(group.frames[0]), y):
                x[rows] = value[: last - first]
            if keep is not None:
                keep(own, inputs)
    return results


def results_of(plan: Plan, results: Buffers) -> list[Any]:
    """Return the results for the samples."""
    found = []
    for frame in plan.roots:
        form = plan.kinds[frame].form
        assert form is not None
        row = results.row[frame]
        leaves = [
            np.array(x[row]) if t.shape else x[row].item() if t.weak else x[row]
            for x, t in zip(results.of(frame), form.types)
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
        cotangents = Buffers(plan)
        for frame, given in zip(plan.roots, dy):
            _add(cotangents, frame, given, plan.kinds[frame])
        total: Any = None
        of_leaves: list[Any] = [0.0 * x for x in leaves]
        steps = reversed(kept)
        for group in reversed(plan.groups):
            for first, last, size in reversed(list(pieces(len(group.frames)))):
                rows = cotangents.row[group.frames[first:last]]
                seeds = []
                for x in cotangents.of(group.frames[0]):
                    seed = np.zeros((size, *x.shape[1:]), x.dtype)
                    seed[: last - first] = x[rows]
                    seeds.append(seed)
                own, inputs = next(steps)
                d_shared, d_own, d_results = group.kind.pull(seeds, shared, own, inputs)
                _add_to_leaves(of_leaves, group, first, last, iter(d_own[1:]))
                total = d_shared if total is None else tree.map_leaves(np.add, total, d_shared)
                for parts, found in zip(group.parts, d_results):
                    into = cotangents.row[parts[first:last]]
                    for x, d in zip(cotangents.of(parts[0]), found):
                        x[into] += d[: last - first]
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


def _add(cotangents: Buffers, frame: int, given: Any, kind: Kind) -> None:
    """Add the cotangent of a sample's result."""
    assert kind.form is not None
    leaves = iter(tree.leaves(given))
    for x, t in zip(cotangents.of(frame), kind.form.types):
        if t.is_inexact:
            x[cotangents.row[frame]] += next(leaves)


def _add_to_leaves(of_leaves: list[Any], group: Group, first: int, last: int, given: Iterator[Any]) -> None:
    """Add the cotangents of the numbers and arrays that frames have read."""
    for variables, kind in zip(group.variables, group.kind.types):
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
