"""The layout of a compiled function's arguments and results: their containers and objects, without the leaves.

``scan`` returns the leaves of a value and its signature, which is equal for values that differ only in their numbers; it
runs at every call of a compiled function.  ``layout_of`` describes the containers, and ``build`` makes new ones of that
layout around other leaves: the traced arguments of a program, or its results.  Both list the leaves in the same order.

Leaves are Python's floats, complex numbers and ints, NumPy's numbers, and arrays.  They may be nested in lists, tuples,
named tuples, dicts, objects with attributes, bound methods and ``functools.partial``.  Anything else is *static*: a
compile-time constant, part of the signature by value.  Sharing is kept: an object that occurs twice is built once.
"""

from __future__ import annotations

import enum
import functools
import types
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import BadInput
from .array_classes import array_and_attributes, is_array_class, put
from .attributes import attributes, set_entry
from .holders import BUILT_IN, SPARSE, blank, kind_of
from .items import count_of, entries_of, items_of

SMALL = 1 << 63
NUMBERS = {float, complex, int}
DTYPES = frozenset("?bhilqBHILQfdFD")
NUMBERS_OF_NUMPY = {np.dtype(c).type for c in DTYPES}
STATIC = {str, bytes, bool, type(None), type, FunctionType, ModuleType, types.BuiltinFunctionType, np.ufunc, range}
STATIC |= {type(...), type(NotImplemented), np.dtype, type(np.sum)}
VIEWS = (type({}.values()), type(OrderedDict().values()), types.MappingProxyType)
"""Views of dicts: hashable by identity, although the dict may change."""


VALUES = (float, complex, int, str, bytes, frozenset, np.generic)
"""Classes whose instances are values; those of derived classes are compile-time constants, and equal to others of that value."""


class Static:
    """A value that the user has declared static."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            hash(value)
        except TypeError:
            raise Unhashable(_no_hash(value)) from None

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and type(other.value) is type(self.value) and bool(other.value == self.value)


class Unhashable(BadInput):
    """A static value has no hash, so it cannot be part of a signature."""


def scan(x: Any, leaf: type | tuple[type, ...] = ()) -> tuple[list[Any], tuple[Any, ...]]:
    """Return the leaves of ``x``, each object once, and its signature; instances of ``leaf`` are leaves, too.

    Raises:
        BadInput: an array of a class or a dtype that cannot be compiled; a static value that has no hash.
    """
    leaves: list[Any] = []
    key: list[Any] = []
    _scan(x, leaves, key, {}, leaf)
    return leaves, tuple(key)


def _scan(x: Any, leaves: list[Any], key: list[Any], seen: dict[int, int], leaf: Any) -> None:
    kind = type(x)
    if kind is np.ndarray:
        if id(x) in seen:
            key.append(seen[id(x)])
            return
        seen[id(x)] = len(seen)
        if x.dtype.char not in DTYPES:
            _refuse_array(x)
        leaves.append(x)
        key.append(x.dtype)
        key.append(x.shape)
        if not x.flags.c_contiguous:
            key.append(x.strides)
    elif kind is float or kind is complex or kind in NUMBERS_OF_NUMPY or kind is int and -SMALL <= x < SMALL:
        leaves.append(x)
        key.append(kind)
    elif kind in STATIC:
        key.append(kind)
        key.append(x)
    elif leaf and isinstance(x, leaf):
        if id(x) in seen:
            key.append(seen[id(x)])
        else:
            seen[id(x)] = len(seen)
            leaves.append(x)
            key.append(kind)
    else:
        _scan_holder(x, leaves, key, seen, leaf)


def _scan_holder(x: Any, leaves: list[Any], key: list[Any], seen: dict[int, int], leaf: Any) -> None:
    """Scan a container, an object or a static value."""
    kind = type(x)
    if id(x) in seen:
        key.append(seen[id(x)])
        return
    held = held_by(x)
    key.append(kind)
    if held is None:
        key.append(_hashable(x))
        return
    if has_identity(kind):
        seen[id(x)] = len(seen)
    elif issubclass(kind, tuple) and kind is not tuple and attributes(x):
        raise BadInput(
            f"a {kind.__qualname__} holds a tuple and attributes, which compiled code cannot take as one argument; pass them apart"
        )
    names, values = held
    key.append(names)
    for value in _parts(kind, values):
        _scan(value, leaves, key, seen, leaf)


def held_by(x: Any) -> tuple[Any, Sequence[Any]] | None:
    """Return the names (static) and values that ``x`` holds; None if ``x`` itself is static."""
    kind: Any = type(x)
    if kind is list or kind is tuple:
        return len(x), x
    if kind is dict:
        return tuple(x), list(x.values())
    if kind is MethodType:
        return x.__func__, (x.__self__,)
    if is_array_class(kind):
        parts = array_and_attributes(x)
        return (0, *parts), list(parts.values())
    if kind is functools.partial:
        return tuple(x.keywords), (x.func, *x.args, *x.keywords.values())
    if isinstance(x, tuple):
        return count_of(x), tuple(items_of(x))
    if kind in (slice, set, Static):
        return None
    if isinstance(x, (type, enum.Enum, ModuleType, np.dtype, *VALUES)) or callable_of_morula(kind):
        return None
    inner = list(items_of(x)) if isinstance(x, list) else [e for _, e in entries_of(x)] if isinstance(x, dict) else ()
    keys = tuple(items_of(x)) if isinstance(x, dict) else len(inner)
    named = attributes(x)
    if not named and not isinstance(x, (list, dict)):
        return None
    return (keys, *(name for name, _ in named)), [*inner, *(value for _, value in named)]


def _parts(kind: type, values: Sequence[Any]) -> Sequence[Any]:
    """Return what an object of a class holds, with the ints of a sparse matrix, such as its shape, as static values."""
    if kind in BUILT_IN or kind_of(kind) is not SPARSE:
        return values
    return [Static(x) if type(x) is int or type(x) is tuple and {*map(type, x)} == {int} else x for x in values]


def has_identity(kind: type) -> bool:
    """Whether instances are distinguished by identity; immutable ones are not."""
    return not issubclass(kind, (tuple, MethodType))


def callable_of_morula(kind: type) -> bool:
    """Return whether instances are functions made by morula, e.g. ``grad(f)``."""
    return hasattr(kind, "__morula_call__") or hasattr(kind, "__morula_trace__")


def _refuse_array(x: np.ndarray) -> None:
    if not x.dtype.isnative:
        raise BadInput(
            f"compiled code has no arrays of dtype {x.dtype.str}, which is not in native byte order: pass x.astype(x.dtype.type)"
        )
    raise BadInput(
        f"compiled code has no arrays of dtype {x.dtype}: pass bools, integers, float32, float64, complex64 or complex128"
    )


def _hashable(x: Any) -> Any:
    """Return a static value as an entry of a signature."""
    if isinstance(x, VALUES) and not isinstance(x, enum.Enum) and attributes(x):
        base = next(cls for cls in type(x).__mro__ if cls.__module__ in ("builtins", "numpy"))
        raise BadInput(
            f"a {type(x).__qualname__} holds a value of class {base.__name__} and attributes, which compiled code cannot take as one "
            "argument; pass them apart"
        )
    if isinstance(x, (float, complex)):  # 0.0 and -0.0 are equal
        return float.__repr__(x) if isinstance(x, float) else complex.__repr__(x)
    if type(x) is slice:
        return x.start, x.stop, x.step
    if type(x) is set:
        return frozenset(x)
    if isinstance(x, VIEWS):
        raise Unhashable(f"a {type(x).__qualname__} shows a dict that may change; pass list(...) or dict(...) of it")
    own = getattr(x, "__dict__", None)
    is_empty = type(own) is dict and not own
    try:
        hash(x)
    except (TypeError, ValueError):
        raise Unhashable(_no_hash(x)) from None
    if is_empty and own:  # by its ``__hash__``, maybe before its ``__init__`` has run
        own.clear()
        raise Unhashable(_no_hash(x))
    return x


def _no_hash(x: Any) -> str:
    shown = f" {x!r:.60}" if type(x).__module__ == "builtins" else ""  # that of a user's class may change the object
    return (
        f"{type(x).__qualname__}{shown} is a compile-time constant (declared static, or not a number, array or container "
        "of these) but is not hashable; pass a tuple, a frozenset or an object of a class with __hash__ and __eq__"
    )


@dataclass
class Hole:
    """The position of a leaf."""

    index: int


@dataclass
class Fixed:
    """A static value."""

    value: Any


@dataclass
class Again:
    """An object that occurred before, by its number."""

    number: int


@dataclass
class Holder:
    """An object of ``kind`` that holds parts under ``names`` (see ``held_by``)."""

    kind: type
    names: Any
    parts: list[Any] = field(default_factory=list)
    number: int = 0


Layout = Hole | Fixed | Again | Holder


def layout_of(x: Any, leaf: type | tuple[type, ...] = ()) -> Layout:
    """Return the layout of ``x``; leaves are numbered in the order of ``scan``."""
    return Describe(leaf).describe(x)


def objects_of(x: Any) -> list[Any]:
    """Return the arrays, containers and objects in ``x``, in the order of their numbers in the layout."""
    found = Describe()
    found.describe(x)
    return found.objects


class Describe:
    """Finds the layout of one value, its ``leaves``, its numbered ``objects`` and its ``static`` parts.

    A leaf of the classes ``shared`` that occurs twice is one leaf, with a number.
    """

    def __init__(self, leaf: type | tuple[type, ...] = (), shared: type | tuple[type, ...] = object) -> None:
        self.leaf, self.shared = leaf, shared
        self.seen: dict[int, Any] = {}
        self.objects: list[Any] = []
        self.leaves: list[Any] = []
        self.static: list[Any] = []  # without names, functions and the like, which hold no numbers

    def describe(self, x: Any) -> Layout:
        kind = type(x)
        if kind is np.ndarray or kind not in STATIC and self.leaf and isinstance(x, self.leaf):
            if kind is np.ndarray and not x.dtype.isnative:  # the key holds the dtype: asked once for each
                _refuse_array(x)
            if not isinstance(x, self.shared):
                return self.hole(x)
            if id(x) in self.seen:
                return self.seen[id(x)]
            self.objects.append(x)
            self.seen[id(x)] = self.hole(x)
            return self.seen[id(x)]
        if kind in (float, complex) or kind in NUMBERS_OF_NUMPY or kind is int and -SMALL <= x < SMALL:
            return self.hole(x)
        if kind in STATIC:
            return Fixed(x)
        if id(x) in self.seen:
            return Again(self.seen[id(x)].number)
        held = held_by(x)
        if held is None:
            self.static.append(x.value if kind is Static else x)
            return Fixed(x)
        made = Holder(kind, held[0], [], len(self.seen))
        if has_identity(kind):
            self.seen[id(x)] = made
            self.objects.append(x)
        made.parts = [self.describe(value) for value in _parts(kind, held[1])]
        return made

    def hole(self, x: Any) -> Hole:
        self.leaves.append(x)
        return Hole(len(self.leaves) - 1)


def build(layout: Layout, leaves: Sequence[Any]) -> Any:
    """New containers and objects of this layout around other leaves."""
    return Build(leaves).build(layout)


class Build:
    """Builds one value; ``made`` holds the containers and objects by number, ``fixed`` the static values."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.leaves = leaves
        self.fixed: list[Any] = []
        self.made: dict[int, Any] = {}

    def build(self, layout: Layout) -> Any:
        if isinstance(layout, Hole):
            return self.leaves[layout.index]
        if isinstance(layout, Fixed):
            self.fixed.append(layout.value.value if isinstance(layout.value, Static) else layout.value)
            return self.fixed[-1]
        if isinstance(layout, Again):
            return self.made[layout.number]
        kind: Any = layout.kind
        names = layout.names
        if kind is list or kind is dict:
            x: Any = kind()
            self.made[layout.number] = x
            if kind is list:
                x.extend(map(self.build, layout.parts))
            else:
                x.update(zip(names, map(self.build, layout.parts)))
            return x
        if issubclass(kind, tuple):
            parts = [self.build(p) for p in layout.parts]
            return getattr(kind, "_make", kind)(parts)
        if kind is MethodType:
            return MethodType(names, self.build(layout.parts[0]))
        if kind is functools.partial:
            function, *parts = [self.build(p) for p in layout.parts]
            n = len(parts) - len(names)
            self.made[layout.number] = x = functools.partial(function, *parts[:n], **dict(zip(names, parts[n:])))
            return x
        return self.object(layout)

    def object(self, layout: Holder) -> Any:
        """Build an instance without running methods that its class defines in Python."""
        self.made[layout.number] = x = blank(layout.kind)
        keys, *attributes = layout.names
        n = len(keys) if isinstance(keys, tuple) else keys
        own = getattr(layout.kind, "__setitem__", None)
        store = dict.__setitem__ if isinstance(own, FunctionType) else own
        for key, part in zip(keys if isinstance(keys, tuple) else (), layout.parts):
            store(x, key, self.build(part))  # type: ignore[misc]
        if not isinstance(keys, tuple):
            for part in layout.parts[:n]:
                list.append(x, self.build(part))
        store_attribute = put if is_array_class(layout.kind) else set_entry
        for name, part in zip(attributes, layout.parts[n:]):
            store_attribute(x, name, self.build(part))
        return x


def names_of_leaves(layout: Layout, name: str = "") -> list[str]:
    """Return the expression for each leaf, in order, as a user would write it: ``params['w'][0]``."""
    found: dict[int, str] = {}
    _name(layout, name, found)
    return [found[i] for i in range(len(found))]


def names_of_arguments(f: Any, layout: Layout) -> list[str]:
    """Return the names of the leaves of ``(args, kwargs)``, with the names of the parameters of ``f``."""
    args, kwargs = layout.parts  # type: ignore[union-attr]
    code = getattr(f, "__code__", None)
    names = [] if code is None else list(code.co_varnames[: code.co_argcount])
    rest = (
        code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        if code is not None and code.co_flags & 4
        else "args"
    )
    found: dict[int, str] = {}
    for i, part in enumerate(args.parts):
        _name(part, names[i] if i < len(names) else f"{rest}[{i - len(names)}]", found)
    for name, part in zip(kwargs.names, kwargs.parts):
        _name(part, name, found)
    return [found[i] for i in range(len(found))]


def _name(layout: Layout, name: str, found: dict[int, str]) -> None:
    if isinstance(layout, Hole):
        found.setdefault(layout.index, name)
    elif isinstance(layout, Holder):
        for text, part in zip(_names_of_parts(layout, name), layout.parts):
            _name(part, text, found)


def _names_of_parts(layout: Holder, name: str) -> list[str]:
    kind, names = layout.kind, layout.names
    if issubclass(kind, tuple):
        fields = getattr(kind, "_fields", None)
        return [f"{name}.{f}" for f in fields] if fields else [f"{name}[{i}]" for i in range(len(layout.parts))]
    if kind is list:
        return [f"{name}[{i}]" for i in range(len(layout.parts))]
    if kind is dict:
        return [f"{name}[{k!r}]" for k in names]
    if kind is MethodType:
        return [f"{name}.__self__"]
    if kind is functools.partial:
        n = len(layout.parts) - 1 - len(names)
        return [f"{name}.func", *(f"{name}.args[{i}]" for i in range(n)), *(f"{name}.{k}" for k in names)]
    keys, *attributes_ = names
    inner = [f"{name}[{k!r}]" for k in keys] if isinstance(keys, tuple) else [f"{name}[{i}]" for i in range(keys)]
    return [*inner, *(f"{name}.{a}" for a in attributes_)]
