"""The calls that a recursive function makes for the parts of a structure: which of them are alike, and their order.

A *frame* is one call: a function with the objects that it was called for.  Frames are of one *kind* if the function reads the same
structure in them: the same containers, types, shapes and strings at the same places, as far as it looks.  How far that is, tracing
finds out (``specialise.parts``): containers are opened one after the other, when the function looks into them.  All frames of
a kind run by one program, which is compiled for batches of them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from ..api import pullback
from ..errors import BadInput, MorulaError
from ..ir.dynamic import Value
from ..ir.typed import ArrayType, type_of
from ..specialise.batches import differs
from ..specialise.parts import (
    Call,
    Frame,
    IntsAreDifferentiated,
    LooksInto,
    NeedsResult,
    Outdated,
    Part,
    Unsuited,
    enter,
)
from ..specialise.rows import Rows
from ..specialise.traced import Array, Scalar, Storage, Traced, always_traces
from ..values.layout import NUMBERS, NUMBERS_OF_NUMPY, STATIC, Build, Describe, Fixed, Holder, Hole, Layout, held_by
from ..values.numbers import Int
from .batching import vmap
from .compiled import calls_python
from .just_in_time import jit

MOST_OPENED = 64
"""How many parts of a structure one call may look into."""

Opened = dict[Any, Any]
"""Which entries of a container are opened, by number, and which of theirs."""

PART = object()
ANY_LENGTH = "any length"
"""In ``Opened``: a list is seen as rows of an array, an array without the length of its first axis."""


@dataclass(frozen=True)
class Ragged:
    """Items of one type, of a list or tuple, or of an array along its first axis, whose number differs between frames."""

    kind: type  # list, tuple or np.ndarray
    item: ArrayType


@dataclass(frozen=True)
class Form:
    """The form of a result: its containers, and the types of its numbers and arrays."""

    layout: Layout
    types: tuple[ArrayType, ...]

    def is_like(self, other: Form) -> bool:
        return self.types == other.types and self.layout == other.layout


@dataclass(eq=False)
class Kind:
    """Frames that one program serves."""

    function: FunctionType
    arguments: tuple[tuple[str, Any], ...]  # of the function: ``shared``, or ``object`` number n of the frame
    opened: list[Opened | None]  # of each of the frame's objects
    seen: list[Any]  # what is seen of its objects: see ``_seen``
    leaves: list[int] = field(default_factory=list)  # the places of its numbers and arrays
    types: list[ArrayType | Ragged] = field(default_factory=list)  # their types
    results: list[Form] = field(default_factory=list)  # of its calls
    calls: list[Call] = field(default_factory=list)
    form: Form | None = None
    variants: list[Kind] = field(default_factory=list)  # for results of other forms
    program: Any = None  # called with what is shared, the leaves, and the results of the calls, for a batch
    pull: Any = None  # likewise, after cotangents of its results; returns those of its arguments


@dataclass(eq=False)
class Node:
    """What is known of frames whose opened parts look alike up to some depth."""

    opened: list[Opened | None]
    next: dict[Any, Node | Kind] = field(default_factory=dict)
    lengths: dict[Any, Any] = field(default_factory=dict)
    """By the key without lengths of arrays: the key that was found first, then the node that does not see the lengths."""


class Kinds:
    """The kinds of frames of a function, and how they were found."""

    def __init__(self, function: FunctionType, arguments: Sequence[tuple[str, Any]]) -> None:
        self.function, self.arguments = function, tuple(arguments)
        self.functions = {function}
        self.known: dict[Any, Node] = {}
        self.count = 0

    def of(
        self, function: FunctionType, arguments: tuple[tuple[str, Any], ...], objects: Sequence[Any], shared: Any
    ) -> tuple[Kind, list[Any]]:
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
                longer = self.with_any_length(node, key, objects)
                if longer is not None:
                    node.next[key] = longer
                    continue
                made = self.made(function, arguments, objects, node, key, shared)
                node.next.setdefault(key, made)  # the frames of its parts may have been of this kind
                continue
            node = known

    def with_any_length(self, node: Node, key: list[Any], objects: Sequence[Any]) -> Node | None:
        """Return a node that does not see the lengths of arrays in which a frame differs from an earlier one; None if it differs otherwise."""
        alike = tuple((e[0], e[1], e[2][1:]) if type(e) is tuple and e[0] is np.ndarray else e for e in key)
        first = node.lengths.setdefault(alike, key)
        if isinstance(first, Node) or first is key:
            return first if isinstance(first, Node) else None
        paths: list[tuple[int, ...]] = []
        for i, (x, inside) in enumerate(zip(objects, node.opened)):
            _paths(x, inside, (i,), paths)
        opened = list(node.opened)
        for path, a, b in zip(paths, key, first):
            if a != b:
                if _is_of_known_length(opened[path[0]], path[1:]):
                    return None
                opened[path[0]] = _with(opened[path[0]], (*path[1:], ANY_LENGTH))
        node.lengths[alike] = found = Node(opened)
        return found

    def made(
        self, function: FunctionType, arguments: Any, objects: Sequence[Any], node: Node, key: Any, shared: Any
    ) -> Node | Kind:
        """Trace the function for a frame; return its kind, or a node with one more part opened."""
        opened = node.opened
        kind = Kind(function, arguments, opened, list(map(_seen, objects, opened)))
        found = looked_at(objects, opened)[1]
        kind.leaves, kind.types = leaves_in(kind.seen), types_in(kind.seen)
        program = Program(self, kind)
        while True:
            try:
                program.trace(shared, [found[i] for i in kind.leaves])
            except LooksInto as looks:
                return Node(program.with_opened(looks))
            except MorulaError:
                fixed = [_of_known_length(x) for x in opened]
                if fixed == opened:
                    raise
                return Node(fixed)
            except NeedsResult as needs:
                kind.results.append(self.form_of(needs.call, found, shared))
                if key in node.next:
                    return node.next[key]
                continue
            self.count += 1
            return kind

    def with_results(self, kind: Kind, found: Sequence[Any], forms: Sequence[Form], shared: Any) -> Kind:
        """Return the kind for frames whose calls have results of these forms."""
        for known in (kind, *kind.variants):
            if all(a is b or a.is_like(b) for a, b in zip(known.results, forms)):
                return known
        made = Kind(kind.function, kind.arguments, kind.opened, kind.seen, kind.leaves, kind.types, list(forms))
        try:
            Program(self, made).trace(shared, [found[i] for i in kind.leaves])
        except (LooksInto, NeedsResult):
            raise Unsuited("what the function looks into depends on the form of the results for its parts") from None
        if made.calls != kind.calls:
            raise Unsuited("the calls for parts depend on the form of their results")
        kind.variants.append(made)
        return made

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
    return [i for i, x in enumerate(flat_) if isinstance(x, (ArrayType, Ragged))]


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
    elif kind is Int:
        raise IntsAreDifferentiated("ints of the structure are differentiated")
    elif opened is None:
        key.append(PART)
    elif opened.get(ANY_LENGTH) is not None and (item := _item(x)) is not None:
        key.append((ANY_LENGTH, kind, item))
    elif kind is np.ndarray:
        key.append((kind, x.dtype, x.shape))
    elif kind in NUMBERS or kind in NUMBERS_OF_NUMPY:
        key.append(kind)
    else:
        held = held_by(x)
        if held is None:
            raise Unsuited(
                f"the structure contains a {kind.__name__}; it may consist of lists, tuples, dicts, objects, arrays, numbers and strings"
            )
        key.append((kind, held[0]))
        for i, e in enumerate(held[1]):
            _look(e, opened.get(i), key, found)


def _item(x: Any) -> ArrayType | None:
    """Return the type of the items of a list, a tuple or an array; None if they are of several types, or none."""
    if type(x) is np.ndarray:
        return ArrayType(x.dtype, x.shape[1:]) if x.ndim and len(x) else None
    if type(x) not in (list, tuple) or not x or not all(map(is_leaf, x)):
        return None
    first = type_of(x[0])
    return first if all(type_of(e) == first for e in x) else None


def _paths(x: Any, opened: Opened | None, path: tuple[int, ...], found: list[tuple[int, ...]]) -> None:
    """Append the paths of what ``_look`` finds."""
    found.append(path)
    if (
        type(x) not in STATIC
        and opened is not None
        and not is_leaf(x)
        and not (ANY_LENGTH in opened and _item(x) is not None)
    ):
        for i, e in enumerate(held_by(x)[1]):  # type: ignore[index]
            _paths(e, opened.get(i), (*path, i), found)


def _of_known_length(opened: Opened | None) -> Opened | None:
    """Return what is opened, with lists of any length as lists of a known length."""
    if opened is None:
        return None
    return {key: None if key == ANY_LENGTH else _of_known_length(x) for key, x in opened.items()}


def _is_of_known_length(opened: Opened | None, path: Sequence[int]) -> bool:
    """Whether a program that does not know the length of the list or array at a path has been refused."""
    for i in path:
        opened = (opened or {}).get(i)
    return opened is not None and opened.get(ANY_LENGTH, {}) is None


def _seen(x: Any, opened: Opened | None) -> Any:
    """Return what is seen of an object: the type of a leaf, a constant, ``PART``, or a container with what is seen of its entries."""
    if type(x) in STATIC:
        return Fixed(x)
    if opened is None:
        return PART
    item = _item(x) if opened.get(ANY_LENGTH) is not None else None
    if item is not None:
        return Ragged(type(x), item)
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

        batch: Any = vmap(run, in_axes=(None, 0, 0))

        def pull(seeds: Any, shared: Any, own: Any, results: Any) -> Any:
            return pullback(batch, shared, own, results)[1](seeds)

        kind.program, kind.pull = batch.programs.compiled, jit(pull)

    def trace(self, shared: Any, leaves: Sequence[Any]) -> None:
        """Trace the program for a batch of two; raises what stops it."""
        own = [np.zeros(2)]
        for x, kind in zip(leaves, self.kind.types):
            own += ragged([x, x], 2, kind) if isinstance(kind, Ragged) else [np.stack([x, x])]
        results = [[np.zeros((2, *t.shape), t.dtype) for t in form.types] for form in self.kind.results]
        lowered = self.kind.program.lower(shared, own, results)
        if calls_python(lowered.compilation.program.function.block):
            raise Unsuited("the function prints, or calls Python from compiled code")

    def with_opened(self, looks: LooksInto) -> list[Opened | None]:
        """Return what is opened, and also this part."""
        first, *rest = self.paths[id(looks.part)]
        if looks.goes_through:
            rest.append(ANY_LENGTH)
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
        y = enter(
            trace, frame, kind.function, [given[x] if what == "shared" else objects[x] for what, x in kind.arguments]
        )
        if differs(y, set(), Traced):
            raise Unsuited("the function returns values of different kinds depending on its numbers")
        described = Describe((Traced,))
        layout = described.describe(y)
        form = Form(layout, tuple(x.type if isinstance(x, Traced) else type_of(x) for x in described.leaves))
        if kind.form is not None and not (kind.form.is_like(form) and kind.calls == frame.calls):
            raise Outdated("the calls for parts have changed")
        kind.form, kind.calls = form, frame.calls
        return trace.new(described.leaves)

    def abstract(self, trace: Any, x: Any, path: tuple[int, ...], leaves: Any, frame: Frame, places: list[Any]) -> Any:
        """Return the program's object for a part of the structure."""
        at = len(places)
        places.append(None)
        if isinstance(x, ArrayType):
            made = self.of_kind(trace, next(leaves), x)
        elif isinstance(x, Ragged):
            made = self.of_any_length(trace, x, next(leaves), trace.call(int, next(leaves)))
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

    def of_any_length(self, trace: Any, x: Ragged, items: Array, length: Any) -> Any:
        if x.kind is np.ndarray:
            return trace.call(operator.getitem, items, slice(None, length))
        item = Array(Storage(Value(type=x.item))) if x.item.shape else Scalar(Value(type=x.item))
        column = trace.value(items)
        return trace.new(x.kind([Rows(length, (Scalar(column),), item, (x.item,), column.type.shape[0], True)]))

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


def types_in(seen: Sequence[Any]) -> list[ArrayType | Ragged]:
    """Return the types of the numbers and arrays that are seen."""
    found: list[Any] = []
    for x in seen:
        _flatten(x, found)
    return [x for x in found if isinstance(x, (ArrayType, Ragged))]


def ragged(values: Sequence[Any], size: int, kind: Ragged) -> list[np.ndarray]:
    """Return lists or arrays of any length as one array, filled up with zeros, and their lengths."""
    most = max(map(len, values))
    made = np.zeros((size, 1 << (most - 1).bit_length(), *kind.item.shape), kind.item.dtype)
    for row, x in zip(made, values):
        row[: len(x)] = x
    return [made, np.array([*map(len, values), *[len(values[-1])] * (size - len(values))])]


def _with(opened: Opened | None, path: Sequence[int]) -> Opened:
    """Return what is opened with the part at a path opened too."""
    if not path:
        return {}
    made = dict(opened or {})
    made[path[0]] = _with(made.get(path[0]), path[1:])
    return made


def for_frame(program: Program, shared: Any, own: Any, results: Any) -> Any:
    raise BadInput(
        "autobatch has no derivative of a derivative with respect to ints; pass floats, or differentiate with respect to other arguments"
    )


@always_traces(for_frame)
def _trace_frame(trace: Any, program: Program, shared: Any, own: Any, results: Any) -> Any:
    return program.run(trace, shared, own, results)
