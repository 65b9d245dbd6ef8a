"""Containers and objects: what they hold, under which keys, and how a gradient of their kind is made.

An argument of a derivative is a structure of these, with numbers and arrays as its leaves.  A list, a dict, a deque or an
object of a class keeps its identity: its entries are replaced one by one (``put``), and its gradient is a new one of its
class, which is there before its entries (``blank``, then ``fill``), since a structure may contain itself.  A tuple, a
``functools.partial``, a bound method or a read-only view of a dict is made anew from its parts (``made``).

Whatever is none of these (an enum member, a lock, a generator, a compiled pattern, a date, a set) is a constant.
"""

from __future__ import annotations

import enum
import functools
import gc
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Generator, Sequence
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ..errors import ENGINE
from .array_classes import blank_array, is_array_class
from .attributes import attributes, dict_of, set_entry
from .numbers import PASSIVE, Int, is_exact

CONSTANTS = (
    *(type, FunctionType, BuiltinFunctionType, ModuleType, np.random.Generator, np.dtype, np.ufunc, type(np.sum)),
    *(functools._lru_cache_wrapper, types.GenericAlias, enum.Enum),
)
RESOURCES = {
    "_thread",
    "threading",
    "multiprocessing",
    "concurrent",
    "asyncio",
    "queue",
    "logging",
    "socket",
    "selectors",
}
RESOURCES |= {
    "subprocess",
    "tempfile",
    "pathlib",
    "re",
    "typing",
    "random",
    "inspect",
    "importlib",
    "weakref",
    "ctypes",
}
"""Modules of the standard library whose objects manage something other than numbers."""

Entries = list[tuple[Any, Any]]


class Attribute(str):
    """The key of an attribute, beside the items of a container."""

    __slots__ = ()


class Kind:
    """How objects of a kind of class hold others."""

    is_mutable = True
    only_with_leaves = False  # the gradient is None where nothing inside is differentiated

    def entries(self, x: Any) -> Entries:
        """Return the entries of ``x`` as (key, value), without calling methods of its class."""
        raise NotImplementedError

    def varies(self, key: Any) -> bool:
        """Return whether an entry can have a derivative."""
        return True

    def put(self, x: Any, key: Any, value: Any) -> None:
        """Replace an entry in place."""
        raise NotImplementedError

    def blank(self, x: Any) -> Any:
        """Return an empty gradient of ``x``."""
        raise NotImplementedError

    def fill(self, new: Any, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Put the entries into the result of ``blank``."""
        for key, value in zip(keys, values):
            self.put(new, key, value)

    def made(self, x: Any, values: Sequence[Any]) -> Any:
        """Return a copy of the immutable ``x`` with other parts."""
        raise NotImplementedError


class Lists(Kind):
    def entries(self, x: Any) -> Entries:
        found: Entries = list(enumerate(list.__iter__(x)))
        return found if type(x) is list else found + _attributes(x)

    def put(self, x: Any, key: Any, value: Any) -> None:
        if type(key) is Attribute:
            set_entry(x, key, value)
        else:
            list.__setitem__(x, key, value)

    def blank(self, x: Any) -> Any:
        return [] if type(x) is list else _like(x, list)

    def fill(self, new: Any, keys: Sequence[Any], values: Sequence[Any]) -> None:
        for key, value in zip(keys, values):
            if type(key) is not Attribute:
                list.append(new, value)
            elif type(new) is not list:
                set_entry(new, key, value)


class Dicts(Kind):
    def entries(self, x: Any) -> Entries:
        found = list(dict.items(x))
        return found if type(x) is dict else found + _attributes(x)

    def put(self, x: Any, key: Any, value: Any) -> None:
        if type(key) is not Attribute:
            (OrderedDict if isinstance(x, OrderedDict) else dict).__setitem__(x, key, value)
        elif type(x) is not dict:
            set_entry(x, key, value)

    def blank(self, x: Any) -> Any:
        if type(x) is dict:
            return {}
        new = _like(x, dict)
        if isinstance(x, defaultdict) and isinstance(new, defaultdict):
            new.default_factory = x.default_factory
        return new


class Deques(Kind):
    def entries(self, x: Any) -> Entries:
        return [*enumerate(deque.__iter__(x)), *_attributes(x)]

    def put(self, x: Any, key: Any, value: Any) -> None:
        if type(key) is Attribute:
            set_entry(x, key, value)
        else:
            deque.__setitem__(x, key, value)

    def blank(self, x: Any) -> Any:
        return deque(maxlen=x.maxlen)

    def fill(self, new: Any, keys: Sequence[Any], values: Sequence[Any]) -> None:
        new.extend(value for key, value in zip(keys, values) if type(key) is not Attribute)


class Objects(Kind):
    """Objects of a class written in Python: their attributes."""

    only_with_leaves = True

    def entries(self, x: Any) -> Entries:
        return list(dict_of(x).items())

    def put(self, x: Any, key: Any, value: Any) -> None:
        dict_of(x)[key] = value

    def fill(self, new: Any, keys: Sequence[Any], values: Sequence[Any]) -> None:
        dict_of(new).update(zip(keys, values))

    def blank(self, x: Any) -> Any:
        try:
            return blank(type(x))
        except Exception:  # its class cannot be made without arguments
            return SimpleNamespace()


class SlottedObjects(Objects):
    """Objects with slots, and maybe a ``__dict__`` too."""

    def entries(self, x: Any) -> Entries:
        return attributes(x)

    def put(self, x: Any, key: Any, value: Any) -> None:
        set_entry(x, key, value)

    fill = Kind.fill


class SparseMatrices(Objects):
    """Matrices of ``scipy.sparse`` in a format with an array ``data``: a gradient has the pattern of the matrix."""

    def varies(self, key: Any) -> bool:
        return key == "data"

    def fill(self, new: Any, keys: Sequence[Any], values: Sequence[Any]) -> None:
        held = dict_of(new)
        held.update((key, value) for key, value in zip(keys, values) if key == "data" or key not in held)

    def blank(self, x: Any) -> Any:
        new = blank(type(x))
        dict_of(new).update((name, _copied(value)) for name, value in dict_of(x).items() if name != "data")
        return new


class Tuples(Kind):
    is_mutable = False

    def entries(self, x: Any) -> Entries:
        return list(enumerate(tuple.__iter__(x)))

    def made(self, x: Any, values: Sequence[Any]) -> Any:
        return type(x)._make(values) if hasattr(x, "_make") else tuple(values)


class Partials(Kind):
    is_mutable = False
    only_with_leaves = True

    def entries(self, x: Any) -> Entries:
        return [*enumerate((x.func, *x.args)), *x.keywords.items(), *_attributes(x)]

    def made(self, x: Any, values: Sequence[Any]) -> Any:
        n = len(x.args) + 1
        function = x.func if values[0] is None else values[0]
        named = dict(zip(x.keywords, values[n:]))
        new = type(x).__new__(type(x), function, *values[1:n], **named)
        for (key, _), value in zip(_attributes(x), values[n + len(named) :]):
            set_entry(new, key, value)
        return new


class Methods(Kind):
    """A bound method holds the object to which it is bound."""

    is_mutable = False
    only_with_leaves = True

    def entries(self, x: Any) -> Entries:
        return [(0, x.__self__)]

    def made(self, x: Any, values: Sequence[Any]) -> Any:
        return MethodType(x.__func__, values[0])


class Views(Kind):
    """``types.MappingProxyType``, which shows a mapping that others may write to."""

    is_mutable = False

    def entries(self, x: Any) -> Entries:
        return [(0, mapping) for mapping in gc.get_referents(x)]

    def made(self, x: Any, values: Sequence[Any]) -> Any:
        return MappingProxyType(values[0])


OBJECTS, SLOTTED, SPARSE = Objects(), SlottedObjects(), SparseMatrices()
KINDS: list[tuple[type, Kind]] = [
    (tuple, Tuples()),
    (list, Lists()),
    (dict, Dicts()),
    (deque, Deques()),
    (functools.partial, Partials()),
    (MethodType, Methods()),
    (MappingProxyType, Views()),
]
_kinds: weakref.WeakKeyDictionary[type, Kind | None] = weakref.WeakKeyDictionary()


def kind_of(cls: type) -> Kind | None:
    """How objects of a class hold others; None for leaves and constants."""
    if cls in BUILT_IN:
        return BUILT_IN[cls]
    try:
        return _kinds[cls]
    except KeyError:
        found = _kinds[cls] = _kind_of(cls)
        return found


def _kind_of(cls: type) -> Kind | None:
    if issubclass(cls, (*CONSTANTS, np.ndarray, np.generic, float, complex)) or is_exact(cls):
        return None
    for base, kind in KINDS:
        if issubclass(cls, base):
            return kind
    module = cls.__module__ or ""
    if module.split(".")[0] in RESOURCES or hasattr(cls, "__morula_call__") and module.startswith(ENGINE):
        return None
    if any(vars(c).get("__slots__") for c in cls.__mro__):
        return SLOTTED
    if any(c.__module__ == "scipy.sparse._data" and c.__name__ == "_data_matrix" for c in cls.__mro__):
        return SPARSE
    return OBJECTS if cls.__dictoffset__ else None


def is_engines_own(cls: Any) -> bool:
    """Return whether instances are values of the engine while it traces a program, which hold no values of the user's."""
    return hasattr(cls, "__morula_trace__") or (cls.__module__ or "").startswith(ENGINE)


BUILT_IN: dict[type, Kind | None] = {
    **dict.fromkeys(PASSIVE),
    **dict.fromkeys((float, complex, Int, np.ndarray, np.float64, np.float32)),
    **dict(KINDS),
}
"""The most frequent classes."""


def blank(cls: Any) -> Any:
    """Return an instance without attributes; runs neither ``__init__`` nor a ``__new__`` written in Python."""
    return blank_array(cls) if is_array_class(cls) else layout_of_class(cls).__new__(cls)


def layout_of_class(cls: type) -> Any:
    """Return the class in C that gives a class its layout."""
    return next(c for c in cls.__mro__ if not c.__flags__ & (1 << 9))


def _copied(x: Any) -> Any:
    """Return an attribute of a sparse matrix that its methods may change in place, as a copy."""
    if isinstance(x, np.ndarray):
        return x.copy()
    return tuple(map(_copied, x)) if type(x) is tuple else x


def _like(x: Any, base: type) -> Any:
    """Return an empty container of the class of ``x``, a subclass of ``base``; of ``base`` if that fails."""
    try:
        return blank(type(x))
    except Exception:
        return base()


def _attributes(x: Any) -> Entries:
    return [(Attribute(name), value) for name, value in attributes(x)]


Recursion = Generator["Recursion", Any, Any]


def unrolled(recursion: Recursion) -> Any:
    """Return the result of a recursive generator, whose recursive calls are ``(yield f(y))``; the depth is unlimited."""
    stack, value = [recursion], None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as result:
            stack.pop()
            value = result.value
    return value
