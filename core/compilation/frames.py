"""The calls that a recursive function makes for the parts of a structure: which of them are alike, and their order.

A *frame* is one call: a function with the objects that it was called for.  Frames are of one *kind* if the function reads the same
structure in them: the same containers, types, shapes and strings at the same places, as far as it looks.  How far that is, tracing
finds out (``specialise.parts``): containers are opened one after the other, when the function looks into them.  All frames of
a kind run by one program, which is compiled for batches of them.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from ..api import pullback
from ..errors import BadInput, MorulaError
from ..ir.dynamic import Value
from ..ir.typed import ArrayType, type_of
from ..specialise.batches import differs
from ..specialise.forms import numbers_in
from ..specialise.parts import (
    Call,
    Frame,
    LooksInto,
    NeedsResult,
    Outdated,
    Part,
    Unsuited,
    enter,
)
from ..specialise.rows import Rows
from ..specialise.traced import Array, Scalar, Storage, Traced, always_traces
from ..values.layout import (
    STATIC,
    Build,
    Describe,
    Fixed,
    Holder,
    Hole,
    Layout,
    held_by,
)
from .batching import vmap
from .compiled import calls_python
from .just_in_time import jit
from .matchers import Matcher, matcher
from .opened_structures import (
    ANY_LENGTH,
    ITEM,
    PART,
    Opened,
    Ragged,
    capacity_of,
    count_opened,
    is_leaf,
    is_of_known_length,
    leaves_in,
    looked_at,
    of_known_length,
    paths_of,
    places_in,
    ragged,
    seen_of,
    with_path,
)

MOST_OPENED = 64
"""How many parts of a structure one call may look into."""


@dataclass(eq=False)
class Form:
    """The form of a result: its containers, and the types of its numbers and arrays; equal ones are one object (``Kinds.form``)."""

    layout: Layout
    types: tuple[ArrayType, ...]


@dataclass(eq=False)
class Kind:
    """Frames that one program serves."""

    function: FunctionType
    arguments: tuple[tuple[str, Any], ...]  # of the function: ``shared``, or ``object`` number n of the frame
    opened: list[Opened | None]  # of each of the frame's objects
    seen: list[Any]  # what is seen of its objects: see ``seen_of``
    leaves: list[int] = field(default_factory=list)  # the places of its numbers and arrays
    types: list[ArrayType | Ragged] = field(default_factory=list)  # their types
    results: list[Form] = field(default_factory=list)  # of its calls
    asked: list[Call] = field(default_factory=list)  # the calls with these results
    calls: list[Call] = field(default_factory=list)
    form: Form | None = None
    variants: list[Kind] = field(default_factory=list)  # for results of other forms
    parts: Any = None  # see ``Kinds.parts``
    program: Any = None  # called with what is shared, the leaves, and the results of the calls, for a batch
    pull: Any = None  # likewise, after cotangents of its results; returns those of its arguments

    @functools.cached_property
    def places(self) -> list[Any]:
        """What is seen at each place."""
        return places_in(self.seen)


@dataclass(eq=False)
class Node:
    """What is known of frames whose opened parts look alike up to some depth."""

    opened: list[Opened | None]
    next: dict[Any, Node | Kind] = field(default_factory=dict)
    lengths: dict[Any, Any] = field(default_factory=dict)
    """By the key without lengths of arrays: the key that was found first, then the node that does not see the lengths."""


@dataclass(eq=False)
class Nodes:
    """What is known of the frames of a function with arguments of some form."""

    function: FunctionType
    arguments: tuple[tuple[str, Any], ...]
    first: Node
    matchers: dict[type | None, list[tuple[Matcher, Kind]]] = field(default_factory=dict)  # by the first object's class

    def recognised(self, objects: Sequence[Any]) -> tuple[Kind, list[Any]] | None:
        """Return the kind of a frame that looks like an earlier one, and what is at its places."""
        for match, kind in self.matchers.get(type(objects[0]) if objects else None, ()):
            found = match(*objects)  # what a frame looks like at the end of the way decides the whole way
            if found is not None:
                return kind, found
        return None

    def remember(self, objects: Sequence[Any], node: Node, kind: Kind) -> None:
        """Let frames that look like this one be recognised at once."""
        known = self.matchers.setdefault(type(objects[0]) if objects else None, [])
        known.append((matcher(objects, node.opened), kind))


class Kinds:
    """The kinds of frames of a function, and how they were found."""

    def __init__(self, function: FunctionType, arguments: Sequence[tuple[str, Any]]) -> None:
        self.function, self.arguments = function, tuple(arguments)
        self.functions = {function}
        self.known: dict[Any, Nodes] = {}  # by the function and its arguments
        self.forms: list[Form] = []
        self.of_each_item = True  # whether calls for the items of a list may be one call for any number of items

    def nodes(self, function: FunctionType, arguments: tuple[tuple[str, Any], ...], count: int) -> Nodes:
        """Return what is known of the frames of a function with these arguments, for ``count`` objects."""
        found = self.known.get((function, arguments))
        if found is None:
            found = self.known[function, arguments] = Nodes(function, arguments, Node([None] * count))
        return found

    def of(self, nodes: Nodes, objects: Sequence[Any], shared: Any) -> tuple[Kind, list[Any]]:
        """Return the kind of a frame, and what is at its places."""
        recognised = nodes.recognised(objects)
        if recognised is not None:
            return recognised
        node = nodes.first
        while True:
            key, found = looked_at(objects, node.opened)
            known = node.next.get(key)
            if isinstance(known, Kind):
                nodes.remember(objects, node, known)
                return known, found
            if known is None:
                longer = self.with_any_length(node, key, objects)
                if longer is not None:
                    node.next[key] = longer
                    continue
                made = self.made(nodes.function, nodes.arguments, objects, node, key, shared)
                node.next.setdefault(key, made)  # the frames of its parts may have been of this kind
                continue
            node = known

    def parts(self, kind: Kind) -> list[tuple[Nodes, list[tuple[str, Any, Any]]]]:
        """Return, for each call of a kind, what is known of its frames, and where their objects are (``Call.of_frame``)."""
        if kind.parts is None:
            kind.parts = []
            for call in kind.calls:
                arguments, objects = call.of_frame
                kind.parts.append((self.nodes(call.function, arguments, len(objects)), objects))
        return kind.parts

    def with_any_length(self, node: Node, key: list[Any], objects: Sequence[Any]) -> Node | None:
        """Return a node that does not see the lengths of arrays in which a frame differs from an earlier one; None if it differs otherwise."""
        alike = tuple((e[0], e[1], e[2][1:]) if type(e) is tuple and e[0] is np.ndarray else e for e in key)
        first = node.lengths.setdefault(alike, key)
        if isinstance(first, Node) or first is key:
            return first if isinstance(first, Node) else None
        paths: list[tuple[int, ...]] = []
        for i, (x, inside) in enumerate(zip(objects, node.opened)):
            paths_of(x, inside, (i,), paths)
        opened = list(node.opened)
        for path, a, b in zip(paths, key, first):
            if a != b:
                if is_of_known_length(opened[path[0]], path[1:]):
                    return None
                opened[path[0]] = with_path(opened[path[0]], (*path[1:], ANY_LENGTH))
        node.lengths[alike] = found = Node(opened)
        return found

    def made(
        self, function: FunctionType, arguments: Any, objects: Sequence[Any], node: Node, key: Any, shared: Any
    ) -> Node | Kind:
        """Trace the function for a frame; return its kind, or a node with one more part opened."""
        opened = node.opened
        kind = Kind(function, arguments, opened, list(map(seen_of, objects, opened)))
        found = looked_at(objects, opened)[1]
        kind.leaves, kind.types = leaves_in(kind.seen)
        program = Program(self, kind)
        while True:
            try:
                program.trace(shared, [found[i] for i in kind.leaves])
            except LooksInto as looks:
                return Node(program.with_opened(looks))
            except MorulaError:
                fixed = [of_known_length(x) for x in opened]
                if fixed == opened:
                    raise
                return Node(fixed)
            except NeedsResult as needs:
                kind.results.append(self.form_of(kind, needs.call, found, shared))
                kind.asked.append(needs.call)
                if key in node.next:
                    return node.next[key]
                continue
            return kind

    def form(self, layout: Layout, types: Sequence[ArrayType]) -> Form:
        """Return the form of a result."""
        for known in self.forms:
            if known.types == tuple(types) and known.layout == layout:
                return known
        self.forms.append(Form(layout, tuple(types)))
        return self.forms[-1]

    def with_results(self, kind: Kind, found: Sequence[Any], forms: list[Form], shared: Any) -> Kind:
        """Return the kind for frames whose calls have results of these forms."""
        for known in (kind, *kind.variants):
            if known.results == forms:
                return known
        made = Kind(kind.function, kind.arguments, kind.opened, kind.seen, kind.leaves, kind.types, forms, kind.calls)
        try:
            Program(self, made).trace(shared, [found[i] for i in kind.leaves])
        except (LooksInto, NeedsResult):
            raise Unsuited("what the function looks into depends on the form of the results for its parts") from None
        if made.calls != kind.calls:
            raise Unsuited("the calls for parts depend on the form of their results")
        kind.variants.append(made)
        return made

    def form_of(self, kind: Kind, call: Call, found: Sequence[Any], shared: Any) -> Form:
        """Return the form of the result of a call that a frame makes."""
        arguments, objects = call.of_frame
        items = None if call.of_each is None else items_of(kind, call, found)[0]
        kind, _ = self.of(self.nodes(call.function, arguments, len(objects)), objects_of(objects, found, items), shared)
        assert kind.form is not None
        return kind.form

    def objects_of(
        self, kind: Kind, call: Call, objects: Sequence[tuple[str, Any, Any]], found: Sequence[list[Any]]
    ) -> tuple[list[Any], np.ndarray | None]:
        """Return the objects of all frames of a call of some frames, and for a call for each item of a list where those of each frame begin."""
        place = call.of_each
        if place is None:
            if len(objects) == 1 and objects[0][0] == "place":
                i = objects[0][1]
                return [(x[i],) for x in found], None
            return [objects_of(objects, x) for x in found], None
        starts = np.cumsum([0, *[len(x[place]) for x in found]])
        if len(objects) == 1 and kind.places[place].opened is None:  # the items themselves
            return [(item,) for x in found for item in x[place]], starts
        return [objects_of(objects, x, item) for x in found for item in items_of(kind, call, x)], starts


def items_of(kind: Kind, call: Call, found: Sequence[Any]) -> list[list[Any]]:
    """Return what is seen of each item of the list for whose items a call is made."""
    return kind.places[call.of_each].items_of(found[call.of_each])  # type: ignore[index]


def objects_of(objects: Sequence[tuple[str, Any, Any]], found: Sequence[Any], item: Any = None) -> list[Any]:
    """Return the objects of the frame of a call, from what is at the places of the frame that makes it, and in an item of a list."""
    return [found[x] if what == "place" else item[at] if what == "each" else x for what, x, at in objects]


class Program:
    """The program of a kind while it is traced."""

    def __init__(self, kinds: Kinds, kind: Kind) -> None:
        self.kinds, self.kind = kinds, kind

        def run(shared: Any, own: Any, results: Any) -> Any:
            return for_frame(self, shared, own, results)

        batch: Any = vmap(run, in_axes=(None, 0, 0))

        def pull(seeds: Any, shared: Any, own: Any, results: Any) -> Any:
            return pullback(batch, shared, own, results)[1](seeds)

        kind.program, kind.pull = batch.programs.compiled, jit(pull)

    def trace(self, shared: Any, leaves: Sequence[Any]) -> None:
        """Trace the program for a batch of two; raises what stops it.

        What it would warn of, as of a ``print``, is told only if the program is used.
        """
        own = [np.zeros(2)]
        for x, kind in zip(leaves, self.kind.types):
            own += ragged([kind.columns_of(x)] * 2, 2, kind) if isinstance(kind, Ragged) else [np.stack([x, x])]
        results = self.results(leaves)
        with warnings.catch_warnings(record=True, action="always") as caught:
            lowered = self.kind.program.lower(shared, own, results)
        if calls_python(lowered.compilation.program.function.block):
            raise Unsuited("the function prints, or calls Python from compiled code")
        for told in caught:
            warnings.warn_explicit(told.message, told.category, told.filename, told.lineno)

    def results(self, leaves: Sequence[Any]) -> list[list[np.ndarray]]:
        """Return zeros for the results of the calls."""
        made = []
        for form, call in zip(self.kind.results, self.kind.asked):
            shape: tuple[int, ...] = (2,)
            if call.of_each is not None:
                at = self.kind.leaves.index(call.of_each)
                shape = 2, capacity_of([self.kind.types[at].columns_of(leaves[at])])  # type: ignore[union-attr]
            made.append([np.zeros((*shape, *t.shape), t.dtype) for t in form.types])
        return made

    def with_opened(self, looks: LooksInto) -> list[Opened | None]:
        """Return what is opened, and also this part."""
        first, *rest = looks.part.path
        if looks.goes_through and ITEM not in rest:  # the lists in items of a list are of known length
            rest.append(ANY_LENGTH)
        opened = list(self.kind.opened)
        if sum(map(count_opened, opened)) == MOST_OPENED:
            raise Unsuited(f"a call looks into more than {MOST_OPENED} parts of the structure")
        opened[first] = with_path(opened[first], rest)
        return opened

    def run(self, trace: Any, shared: Any, own: Any, results: Any) -> Any:
        """Run the frame's function in a traced program; return the numbers and arrays of its result."""
        kind = self.kind
        leaves = iter(own[1:])
        frame = Frame(self.kinds.functions, self.kinds.of_each_item, {}, {}, [], [], {}, [], [])
        places: list[Any] = []
        objects = [self.abstract(trace, x, (i,), leaves, frame, places) for i, x in enumerate(kind.seen)]
        frame.places = {id(x): i for i, x in enumerate(places)}
        given = flat(shared)
        frame.shared = {id(x): i for i, x in enumerate(given)}
        frame.arrays = [x for x in (*places, *given) if isinstance(x, Array)]
        frame.fresh = {id(x): x.storage.value for x in frame.arrays}
        frame.keep = [places, given]
        frame.results = [
            functools.partial(self.result, trace, found, form) for found, form in zip(results, kind.results)
        ]
        y = enter(
            trace, frame, kind.function, [given[x] if what == "shared" else objects[x] for what, x in kind.arguments]
        )
        if differs(y, set(), Traced):
            raise Unsuited("the function returns values of different kinds depending on its numbers")
        described = Describe((Traced,))
        layout = described.describe(y)
        for x in described.static:
            if type(x) is Part:  # in an object
                raise LooksInto(x)
        form = self.kinds.form(layout, [x.type if isinstance(x, Traced) else type_of(x) for x in described.leaves])
        if kind.form is not None and not (kind.form is form and kind.calls == frame.calls):
            raise Outdated("the calls for parts have changed")
        kind.form, kind.calls, kind.parts = form, frame.calls, None
        return trace.new(described.leaves)

    def result(self, trace: Any, found: Sequence[Any], form: Form, number: Any) -> Any:
        """Return the result of a call; that for one of the items of a list, if there is a number."""
        if number is not None:
            found = [trace.call(np.copy, trace.call(operator.getitem, x, number)) for x in found]
        return trace.new(Build([self.of_kind(trace, x, t) for x, t in zip(found, form.types)]).build(form.layout))

    def abstract(self, trace: Any, x: Any, path: tuple[Any, ...], leaves: Any, frame: Frame, places: list[Any]) -> Any:
        """Return the program's object for a part of the structure."""
        at = len(places)
        places.append(None)
        if isinstance(x, ArrayType):
            made = self.of_kind(trace, next(leaves), x)
        elif isinstance(x, Ragged):
            columns = [next(leaves) for _ in range(x.count)]
            made = self.of_any_length(trace, x, columns, trace.call(int, next(leaves)), (*path, ANY_LENGTH, ITEM), at)
            if isinstance(made, list):
                frame.opened.append((made, list(made)))
        elif isinstance(x, Fixed):
            made = x.value
        elif x is PART:
            made = Part(path)
        else:
            inside = [self.abstract(trace, e, (*path, i), leaves, frame, places) for i, e in enumerate(x.parts)]
            made = trace.new(Build(inside).build(Holder(x.kind, x.names, [Hole(i) for i in range(len(inside))])))
            frame.opened.append((made, inside))
        places[at] = made
        return made

    def of_any_length(
        self, trace: Any, x: Ragged, columns: list[Any], length: Any, path: tuple[Any, ...], place: int
    ) -> Any:
        """Return the program's object for a list or an array of any length."""
        if x.kind is np.ndarray:
            return trace.call(operator.getitem, columns[0], slice(None, length))
        templates = [_template(kind) for kind in x.columns]
        item = self.item(x.item, iter(templates), path, place, iter(range(MOST_OPENED)))
        given = {id(t): (kind, trace.value(column)) for t, kind, column in zip(templates, x.columns, columns)}
        rows = [given.get(id(e)) or self.column(trace, e, columns[-1]) for e in numbers_in(item)]
        kinds = tuple(kind for kind, _ in rows)
        values = tuple(Scalar(value) for _, value in rows)
        return trace.new(x.kind([Rows(length, values, item, kinds, columns[0].type.shape[0], True)]))

    def item(self, x: Any, templates: Iterator[Any], path: tuple[Any, ...], place: int, numbers: Iterator[int]) -> Any:
        """Return an item of a list, with the templates as its numbers and arrays."""
        at = next(numbers)
        if isinstance(x, ArrayType):
            return next(templates)
        if isinstance(x, Fixed):
            return x.value
        if x is PART:
            return Part(path, (place, at), _template(type_of(0)))
        inside = [self.item(e, templates, (*path, i), place, numbers) for i, e in enumerate(x.parts)]
        return Build(inside).build(Holder(x.kind, x.names, [Hole(i) for i in range(len(inside))]))

    def column(self, trace: Any, e: Any, numbers: Array) -> tuple[ArrayType, Value]:
        """Return the column of what all items have: a number that is part of the program, or that of the item."""
        if isinstance(e, Scalar):
            return e.type, trace.value(numbers)
        column = trace.builder.full(numbers.type.shape, trace.builder.constant(e))
        return type_of(e), column

    def of_kind(self, trace: Any, x: Any, kind: ArrayType) -> Any:
        """Return a sample as the number of Python that it stands for, if it does."""
        return trace.call(kind.number, x) if kind.weak else x


def flat(x: Any, found: list[Any] | None = None, seen: set[int] | None = None) -> list[Any]:
    """Return a structure and everything in it, in order."""
    found, seen = [] if found is None else found, set() if seen is None else seen
    found.append(x)
    if not is_leaf(x) and not isinstance(x, Traced) and type(x) not in STATIC and id(x) not in seen:
        seen.add(id(x))
        held = held_by(x)
        for e in () if held is None else held[1]:
            flat(e, found, seen)
    return found


def _template(kind: ArrayType) -> Any:
    return Array(Storage(Value(type=kind))) if kind.shape else Scalar(Value(type=kind))


def for_frame(program: Program, shared: Any, own: Any, results: Any) -> Any:
    raise BadInput(
        "autobatch has no derivative of a derivative with respect to ints; pass floats, or differentiate with respect to other arguments"
    )


@always_traces(for_frame)
def _trace_frame(trace: Any, program: Program, shared: Any, own: Any, results: Any) -> Any:
    return program.run(trace, shared, own, results)
