"""The calls that a recursive function makes for the parts of a structure: which of them are alike, and their order.

A *frame* is one call: a function with the objects that it was called for.  Frames are of one *kind* if the function reads the same
structure in them: the same containers, types, shapes and strings at the same places, as far as it looks.  How far that is, tracing
finds out (``specialise.parts``): containers are opened one after the other, when the function looks into them.  All frames of
a kind run by one program, which is compiled for batches of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.typed import ArrayType, type_of
from ..specialise.batches import differs
from ..specialise.parts import Call, Frame, LooksInto, NeedsResult, Part, Recursive, Unsuited, enter
from ..specialise.traced import Array, Traced, always_traces
from ..values.layout import NUMBERS, NUMBERS_OF_NUMPY, STATIC, Build, Describe, Fixed, Holder, Hole, Layout, held_by
from .batching import vmap

MOST_OPENED = 64
"""How many parts of a structure one call may look into."""

Opened = dict[int, Any]
"""Which entries of a container are opened, and which of theirs."""

PART = object()


@dataclass(frozen=True)
class Form:
    """The form of a result: its containers, and the types of its numbers and arrays."""

    layout: Layout
    types: tuple[ArrayType, ...]

    def is_like(self, other: Form) -> bool:
        return self.types == other.types and self.layout == other.layout


@dataclass
class Kind:
    """Frames that one program serves."""

    function: FunctionType
    arguments: tuple[tuple[str, Any], ...]  # of the function: ``shared``, or ``object`` number n of the frame
    opened: list[Opened | None]  # of each of the frame's objects
    seen: list[Any]  # what is seen of its objects: see ``_seen``
    leaves: list[int] = field(default_factory=list)  # the places of its numbers and arrays
    results: list[Form] = field(default_factory=list)  # of its calls
    calls: list[Call] = field(default_factory=list)
    form: Form | None = None
    program: Any = None  # called with what is shared, the leaves, and the results of the calls, for a batch


@dataclass
class Node:
    """What is known of frames whose opened parts look alike up to some depth."""

    opened: list[Opened | None]
    next: dict[Any, Node | Kind] = field(default_factory=dict)


class Kinds:
    """The kinds of frames of a function, and how they were found."""

    def __init__(self, function: FunctionType, arguments: Sequence[tuple[str, Any]]) -> None:
        self.function, self.arguments = function, tuple(arguments)
        self.functions = {function}
        self.known: dict[Any, Node] = {}
        self.count = 0

    def of(self, function: FunctionType, arguments: tuple[tuple[str, Any], ...], objects: Sequence[Any], shared: Any) -> tuple[Kind, list[Any]]:
        """Return the kind of a frame, and what is at its places."""
        node = self.known.get((function, arguments))
        if node is None:
            node = self.known[function, arguments] = Node([None] * len(objects))
        while True:
            key, found = looked_at(objects, node.opened)
            known = node.next.get(key)
            if type(known) is Kind:
                return known, found
            if known is None:
                made = self.made(function, arguments, objects, node, key, shared)
                node.next.setdefault(key, made)  # the frames of its parts may have been of this kind
                continue
            node = known

    def made(self, function: FunctionType, arguments: Any, objects: Sequence[Any], node: Node, key: Any, shared: Any) -> Node | Kind:
        """Trace the function for a frame; return its kind, or a node with one more part opened."""
        opened = node.opened
        kind = Kind(function, arguments, opened, list(map(_seen, objects, opened)))
        found = looked_at(objects, opened)[1]
        kind.leaves = leaves_in(kind.seen)
        program = Program(self, kind)
        while True:
            try:
                program.trace(shared, [found[i] for i in kind.leaves])
            except LooksInto as looks:
                return Node(program.with_opened(looks.part))
            except NeedsResult as needs:
                kind.results.append(self.form_of(needs.call, found, shared))
                if key in node.next:
                    return node.next[key]
                continue
            self.count += 1
            return kind

    def form_of(self, call: Call, found: Sequence[Any], shared: Any) -> Form:
        """Return the form of the result of a call that a frame makes."""
        kind, _ = self.of(*called(call, found), shared)
        assert kind.form is not None
        return kind.form


def leaves_in(seen: Sequence[Any]) -> list[int]:
    """Return the places of the numbers and arrays that are seen."""
    flat_: list[Any] = []
    for x in seen:
        _flatten(x, flat_)
    return [i for i, x in enumerate(flat_) if isinstance(x, ArrayType)]


def _flatten(x: Any, found: list[Any]) -> None:
    found.append(x)
    for e in x.parts if isinstance(x, Holder) else ():
        _flatten(e, found)


def called(call: Call, found: Sequence[Any]) -> tuple[FunctionType, tuple[tuple[str, Any], ...], list[Any]]:
    """Return the frame of a call: its function, what its arguments are, and the objects that it is called for."""
    arguments: list[tuple[str, Any]] = []
    objects: list[Any] = []
    for what, x in call.arguments:
        if what == "shared":
            arguments.append(("shared", x))
        else:
            arguments.append(("object", len(objects)))
            objects.append(found[x] if what == "place" else x)
    return call.function, tuple(arguments), objects


def is_leaf(x: Any) -> bool:
    kind = type(x)
    return kind is np.ndarray or kind in NUMBERS or kind in NUMBERS_OF_NUMPY


def looked_at(objects: Sequence[Any], opened: Sequence[Opened | None]) -> tuple[Any, list[Any]]:
    """Return the key of what is seen of objects, and everything that is seen, in order."""
    key: list[Any] = []
    found: list[Any] = []
    for x, inside in zip(objects, opened):
        _look(x, inside, key, found)
    return tuple(key), found


def _look(x: Any, opened: Opened | None, key: list[Any], found: list[Any]) -> None:
    found.append(x)
    kind = type(x)
    if kind in STATIC:
        key.append((kind, x))
    elif opened is None:
        key.append(PART)
    elif kind is np.ndarray:
        key.append((x.dtype, x.shape))
    elif kind in NUMBERS or kind in NUMBERS_OF_NUMPY:
        key.append(kind)
    else:
        held = held_by(x)
        if held is None:
            raise Unsuited(f"the structure contains a {kind.__name__}; it may consist of lists, tuples, dicts, objects, arrays, numbers and strings")
        key.append((kind, held[0]))
        for i, e in enumerate(held[1]):
            _look(e, opened.get(i), key, found)


def _seen(x: Any, opened: Opened | None) -> Any:
    """Return what is seen of an object: the type of a leaf, a constant, ``PART``, or a container with what is seen of its entries."""
    if type(x) in STATIC:
        return Fixed(x)
    if opened is None:
        return PART
    if is_leaf(x):
        return type_of(x)
    names, held = held_by(x)  # type: ignore[misc]
    return Holder(type(x), names, [_seen(e, opened.get(i)) for i, e in enumerate(held)])


class Program:
    """The program of a kind while it is traced."""

    def __init__(self, kinds: Kinds, kind: Kind) -> None:
        self.kinds, self.kind = kinds, kind
        self.paths: dict[int, tuple[int, ...]] = {}  # of the parts, by id
        self.parts: list[Part] = []

        def run(shared: Any, own: Any, results: Any) -> Any:
            return for_frame(self, shared, own, results)

        kind.program = vmap(run, in_axes=(None, 0, 0)).programs.compiled  # type: ignore[attr-defined]

    def trace(self, shared: Any, leaves: Sequence[Any]) -> None:
        """Trace the program for a batch of two; raises what stops it."""
        own = [np.zeros(2), *(np.stack([x, x]) for x in leaves)]
        results = [[np.zeros((2, *t.shape), t.dtype) for t in form.types] for form in self.kind.results]
        self.kind.program.lower(shared, own, results)

    def with_opened(self, part: Part) -> list[Opened | None]:
        """Return what is opened, and also this part."""
        first, *rest = self.paths[id(part)]
        opened = list(self.kind.opened)
        if sum(map(_count, opened)) == MOST_OPENED:
            raise Unsuited(f"a call looks into more than {MOST_OPENED} parts of the structure")
        opened[first] = _with(opened[first], rest)
        return opened

    def run(self, trace: Any, shared: Any, own: Any, results: Any) -> Any:
        """Run the frame's function in a traced program; return the numbers and arrays of its result."""
        kind = self.kind
        self.paths, self.parts = {}, []
        leaves = iter(own[1:])
        frame = Frame(self.kinds.functions, {}, {}, [], [], {}, [])
        places: list[Any] = []
        objects = [self.abstract(trace, x, (i,), leaves, frame, places) for i, x in enumerate(kind.seen)]
        frame.places = {id(x): i for i, x in enumerate(places)}
        given = flat(shared)
        frame.shared = {id(x): i for i, x in enumerate(given)}
        frame.fresh = {id(x): x.storage.value for x in (*places, *given) if isinstance(x, Array)}
        frame.keep = [places, given]
        frame.results = [
            trace.new(Build([self.of_kind(trace, x, t) for x, t in zip(found, form.types)]).build(form.layout))
            for found, form in zip(results, kind.results)
        ]
        y = enter(trace, frame, kind.function, [given[x] if what == "shared" else objects[x] for what, x in kind.arguments])
        if differs(y, set(), Traced):
            raise Unsuited("the function returns values of different kinds depending on its numbers")
        described = Describe((Traced,))
        layout = described.describe(y)
        kind.form = Form(layout, tuple(x.type if isinstance(x, Traced) else type_of(x) for x in described.leaves))
        kind.calls = frame.calls
        return trace.new(described.leaves)

    def abstract(self, trace: Any, x: Any, path: tuple[int, ...], leaves: Any, frame: Frame, places: list[Any]) -> Any:
        """Return the program's object for a part of the structure."""
        at = len(places)
        places.append(None)
        if isinstance(x, ArrayType):
            made = self.of_kind(trace, next(leaves), x)
        elif isinstance(x, Fixed):
            made = x.value
        elif x is PART:
            made = Part()
            self.paths[id(made)] = path
            self.parts.append(made)
        else:
            inside = [self.abstract(trace, e, (*path, i), leaves, frame, places) for i, e in enumerate(x.parts)]
            made = trace.new(Build(inside).build(Holder(x.kind, x.names, [Hole(i) for i in range(len(inside))])))
            frame.opened.append((made, inside))
        places[at] = made
        return made

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


def _count(opened: Opened | None) -> int:
    return 0 if opened is None else 1 + sum(map(_count, opened.values()))


def _with(opened: Opened | None, path: Sequence[int]) -> Opened:
    """Return what is opened with the part at a path opened too."""
    if not path:
        return {}
    made = dict(opened or {})
    made[path[0]] = _with(made.get(path[0]), path[1:])
    return made


def for_frame(program: Program, shared: Any, own: Any, results: Any) -> Any:
    raise BadInput("a program for the parts of a structure is only compiled")


@always_traces(for_frame)
def _trace_frame(trace: Any, program: Program, shared: Any, own: Any, results: Any) -> Any:
    return program.run(trace, shared, own, results)
