"""Arguments of a derivative taken inside compiled code: during the call their numbers and arrays are new parameters.

Lists, dicts and objects keep their identity and temporarily hold other entries, since the function may also reach them
through a closure or another object.  Those from outside the program cannot change: copies replace them, and reading the
original during the call is refused (``Outside.read``).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.dynamic import Value
from ..ir.typed import FLOAT, ArrayType, type_of
from ..rules import find_rule
from ..rules.registry import DESCRIBED_BY_INTS
from ..values.array_classes import ARRAY, array_and_attributes, array_in, is_array_class, is_traced_array, put
from ..values.attributes import attributes, set_entry
from ..values.holders import SparseMatrices, kind_of
from ..values.items import entries_of, items_of
from ..values.layout import Again, Build, Describe, Fixed, Holder, Hole, Layout, has_identity, held_by
from .instances import has_attributes_beside_items
from .scopes import Choice
from .surface.memory_order import Call, itself
from .traced import Array, Scalar, Storage, Traced


def differentiable(x: Any, integers: bool = True) -> ArrayType | None:
    """Return the type in which a leaf is differentiated; None if it has no derivative.

    A Python int is differentiated as a float, unless ``integers`` is false.
    """
    kind = x.type if isinstance(x, Traced) else type_of(x)
    if kind.is_inexact:
        return kind
    return FLOAT if integers and kind.weak and kind.dtype.kind == "i" else None


def is_python_int(x: Any) -> bool:
    kind = x.type if isinstance(x, Traced) else type_of(x)
    return kind.weak and kind.dtype.kind == "i"


class Entered:
    """A differentiated argument: its leaves, and their replacements while the function runs."""

    def __init__(self, trace: Any, x: Any, integers: bool | Sequence[bool] = True) -> None:
        """``integers``: whether Python ints are differentiated, or whether each of them is, in order."""
        if trace.builder.watch is not None:
            trace.builder.watch.refuse("a derivative")
        self.trace, self.x = trace, x
        found = Describe(Traced, shared=(Array, np.ndarray))
        self.layout, self.leaves, self.objects = found.describe(x), found.leaves, found.objects
        of_ints = itertools.repeat(integers) if isinstance(integers, bool) else iter(integers)
        self.types = [differentiable(leaf, is_python_int(leaf) and next(of_ints)) for leaf in self.leaves]
        self.described = [i for i in describing(self.layout) if is_python_int(self.leaves[i])]
        for i in self.described:
            self.types[i] = None
        self.parameters = [Value("x", t) for t in self.types if t is not None]
        self.originals: dict[int, Any] = {}  # by the replacement's id: the program's own array or holder
        self.immutable: dict[int, Any] = {}  # likewise its own numbers and tuples
        self.fresh: list[Any] = []
        self.filled: list[tuple[Any, list[Any]]] = []  # lists, dicts and objects, with their original entries
        self.copies: list[tuple[Any, Any, list[Any]]] = []  # of outside holders: copy, original, entries
        self.made: dict[int, Any] = {}  # the replacements of holders, by number

    @property
    def is_active(self) -> bool:
        return bool(self.parameters) or isinstance(self.layout, Holder) and not self.layout.parts

    @property
    def holders(self) -> list[Any]:
        return [x for x in self.objects if not isinstance(x, (Array, np.ndarray))]

    def values(self) -> list[Value]:
        """Return the parameters' values in the program."""
        builder, found = self.trace.builder, []
        for leaf, kind in zip(self.leaves, self.types):
            if kind is not None:
                value = self.trace.value(leaf)
                found.append(value if value.type.dtype == kind.dtype else builder.cast(value, kind.dtype))
        return found

    def enter(self) -> Any:
        """Return the argument with which the function is called."""
        given = iter(self.parameters)
        for leaf, kind in zip(self.leaves, self.types):
            if kind is None:
                self.fresh.append(leaf)
            elif isinstance(leaf, (Array, np.ndarray)):
                self.fresh.append(Array(Storage(next(given))))
                self.fresh[-1].storage.made_by = Call(itself, (leaf,), {}, None)
                self.fresh[-1].is_fixed = isinstance(leaf, Array) and leaf.is_fixed
                self.originals[id(self.fresh[-1])] = leaf
            else:
                self.fresh.append(Scalar(next(given)))
                self.immutable[id(self.fresh[-1])] = leaf
        return self.stand_in(self.layout, self.x)

    def stand_in(self, layout: Layout, x: Any) -> Any:
        """Return the replacement for a part of the argument: the same object, refilled, if it is mutable."""
        if isinstance(layout, Fixed):
            return x
        if isinstance(layout, Hole):
            return self.fresh[layout.index]
        if isinstance(layout, Again):
            return self.made[layout.number]
        if has_identity(layout.kind) and self.trace.outside.is_outside(x):
            return self.copy(layout)
        is_filled = not issubclass(layout.kind, (tuple, MethodType, functools.partial))
        if is_filled:
            self.made[layout.number] = x
        held = [*held_by(x)[1]]  # type: ignore[index]
        parts = [self.stand_in(part, e) for part, e in zip(layout.parts, held)]
        if all(part is e for part, e in zip(parts, held)):
            y = x
        elif is_filled:
            self.fill(y := x, held, parts)
        else:
            y = Build(parts).build(
                Holder(layout.kind, layout.names, [Hole(i) for i in range(len(parts))], layout.number)
            )
            self.fresh.append(y)
            self.immutable[id(y)] = x
        if has_identity(layout.kind):
            self.made[layout.number] = y
        return y

    def fill(self, x: Any, held: list[Any], parts: list[Any]) -> None:
        self.trace.save(x)
        if has_attributes_beside_items(x):
            self.trace.save(self.trace.dict_beside_items(x))
        self.filled.append((x, held))
        for (store, key, old), new in zip(entries(x), parts):
            if new is not old:
                store(x, key, new)

    def copy(self, layout: Holder) -> Any:
        build = Build(self.fresh)
        build.made = self.made
        before = {*self.made}
        made = build.build(layout)
        for number in self.made.keys() - before:
            x, original = self.trace.new(self.made[number]), self.objects[number]
            self.originals[id(x)] = original
            self.trace.outside.entered[id(original)] = self.trace.outside.objects[id(original)] = original
            self.copies.append((x, original, [e for _, _, e in entries(x)]))
        return made

    def leave(self, restore: Callable[[Any], Any]) -> None:
        """Put the program's own numbers and arrays back into lists, dicts and objects, where not replaced."""
        changes = self.trace.changes[-1]
        for _, original, _ in self.copies:
            self.trace.outside.entered.pop(id(original), None)
        for x, held in self.filled:
            for store, key, e in entries(x):
                own = self.immutable[id(e)] if id(e) in self.immutable else restore(e)
                if own is not e:
                    store(x, key, own)
            now = [e for _, _, e in entries(x)]
            if len(now) == len(held) and all(a is b for a, b in zip(now, held)):
                changes.before.pop(id(x), None)
                if has_attributes_beside_items(x):
                    changes.before.pop(id(x.__dict__), None)

    def changed(self) -> list[tuple[Array, Any]]:
        """Return the fresh arrays that were written to, each with the program's own array."""
        arrays = [x for x in self.fresh if isinstance(x, Array) and id(x) in self.originals]
        written = [x for x in arrays if x.storage.value not in self.parameters]
        for x in written:
            if sum(self.originals[id(x)] is self.originals[id(other)] for other in arrays) > 1:
                raise BadInput("the function writes into an array that is passed to it twice; pass separate copies")
        for x, original, before in self.copies:
            now = [e for _, _, e in entries(x)]
            if len(now) != len(before) or any(a is not b for a, b in zip(now, before)):
                self.trace.outside.refuse_change(original)
        return [(x, self.originals[id(x)]) for x in written]

    def gradient(self, cotangents: Sequence[Value]) -> Any:
        given = iter(cotangents)
        leaves = [None if kind is None else self.trace.wrap(next(given)) for kind in self.types]
        for i in self.described:
            leaves[i] = 0
        return InStructure(leaves, self.trace, self.leaves).build(self.layout)


def describing(layout: Layout, within: bool = False) -> list[int]:
    """Return the leaves of objects whose ints describe them."""
    if isinstance(layout, Hole):
        return [layout.index] if within else []
    if not isinstance(layout, Holder):
        return []
    find_rule(None)  # loads what is known of the classes of libraries
    within = within or issubclass(layout.kind, tuple(DESCRIBED_BY_INTS))
    return [i for part in layout.parts for i in describing(part, within)]


def entries(x: Any) -> list[tuple[Callable[[Any, Any, Any], None], Any, Any]]:
    """Return, for each entry and attribute of a list, dict or object, how to store it, its key, and its value."""
    found: list[tuple[Callable[[Any, Any, Any], None], Any, Any]] = []
    if isinstance(x, list):
        found += ((list.__setitem__, i, e) for i, e in enumerate(items_of(x)))
    elif isinstance(x, dict):
        found += ((dict.__setitem__, key, e) for key, e in dict.items(x))
    if type(x) in (list, dict):
        return found
    if is_traced_array(x):
        return [(put, name, e) for name, e in array_and_attributes(x).items()]
    return found + [(set_entry, name, e) for name, e in attributes(x)]


class InStructure(Build):
    """Builds cotangents in the structure of an argument: None for parts without one, objects of the same class.

    ``given`` are the leaves of the argument: the cotangent of a sparse matrix has its pattern.
    """

    def __init__(self, leaves: Sequence[Any], trace: Any, given: Sequence[Any]) -> None:
        super().__init__(leaves)
        self.trace, self.given = trace, given

    def build(self, layout: Layout) -> Any:
        if isinstance(layout, Fixed):
            return None
        if isinstance(layout, (Hole, Again)):
            return super().build(layout)
        if is_array_class(layout.kind):  # the cotangent of an array is a plain one
            self.made[layout.number] = self.build(layout.parts[0])
            return self.made[layout.number]
        if not issubclass(layout.kind, (list, tuple, dict)) and not self.has_gradient(layout):
            self.made[layout.number] = None
            for part in layout.parts:  # an entry may occur elsewhere too
                self.build(part)
            return None
        if isinstance(kind_of(layout.kind), SparseMatrices):
            return self.sparse(layout)
        return self.partial(layout) if layout.kind is functools.partial else self.trace.new(super().build(layout))

    def sparse(self, layout: Holder) -> Any:
        """Return a sparse matrix of cotangents, with copies of the arrays that hold the pattern."""
        given = [self.trace.call(np.copy, x) if isinstance(x, (Array, np.ndarray)) else x for x in self.given]
        pattern = Build(given)
        made = [
            self.build(part) if name == "data" else pattern.build(part)
            for name, part in zip(layout.names[1:], layout.parts)
        ]
        return self.trace.new(Build(made).build(Holder(layout.kind, layout.names, [Hole(i) for i in range(len(made))])))

    def partial(self, layout: Holder) -> Any:
        """Return a ``functools.partial`` of the same function; a function written in Python has no gradient of its own."""
        function, *parts = layout.parts
        made = [self.build(part) for part in parts]
        n = len(made) - len(layout.names)
        called = function.value if isinstance(function, Fixed) else self.build(function)
        return functools.partial(called, *made[:n], **dict(zip(layout.names, made[n:])))

    def has_gradient(self, layout: Layout) -> bool:
        """Return whether anything in a part of the argument has a gradient."""
        if isinstance(layout, Hole):
            return self.leaves[layout.index] is not None
        return isinstance(layout, Holder) and any(map(self.has_gradient, layout.parts))


class Restore:
    """Puts the program's own arrays and holders back in place of their replacements in a result."""

    def __init__(self, originals: dict[int, Any]) -> None:
        self.originals = originals
        self.seen: set[int] = set()

    def __call__(self, x: Any) -> Any:
        if id(x) in self.originals:
            return self.originals[id(x)]
        if type(x) is Choice:
            return Choice(x.which, [self(e) for e in x.options])
        if isinstance(x, tuple):
            parts = [self(e) for e in items_of(x)]
            same = all(a is b for a, b in zip(parts, x))
            return x if same else getattr(x, "_make", type(x))(parts)
        if is_traced_array(x):
            put(x, ARRAY, self(array_in(x)))
            return x
        if id(x) not in self.seen:
            self.seen.add(id(x))
            if isinstance(x, (list, dict)):
                for k, e in list(enumerate(items_of(x)) if isinstance(x, list) else entries_of(x)):
                    if self(e) is not e:
                        x[k] = self(e)
        return x
