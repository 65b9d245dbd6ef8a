"""Subscripts, attribute loads, iteration and unpacking in recorded code.

On arrays these are operations on the tape.  Containers only move references.  For other objects they follow Python's
protocol and record the methods of the class.
"""

from __future__ import annotations

import ctypes
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from ...rules.methods import ATTRIBUTES
from ...rules.table import RULES
from ...values.attributes import MISSING, attributes, class_attribute
from ...values.memory import flat_index, owner, rebased
from ...values.numbers import NO_KEYWORDS, PROXIES, Int, referent
from ...values.reachable import is_foreign
from ...values.special_methods import answer, special
from ..arrays.apply import apply_rule, plain_arrays, record_fields, record_rule
from ..arrays.integers import carries, lose
from ..arrays.raw_memory import ADDRESSES, FLOATS, expose
from ..unrecorded.frames import LAZY, followed
from ..unrecorded.opaque import note
from ..unrecorded.unasking import PLAIN
from ..unrecorded.watched import hashed
from . import known
from .tape import Cotangents, Record, Tape, snapshot

Operation = Callable[..., Any]
FLOAT = np.dtype(float)

INDICES = PLAIN | {slice, tuple, list, np.ndarray}
"""Classes of array indices that NumPy can use without calling an ``__index__`` written in Python."""


class _Structure(ctypes.Structure):
    _fields_ = (("field", ctypes.c_double),)


def getitem(tape: Tape, a: Any, i: Any) -> Any:
    kind: Any = type(a)
    if kind is list or kind is dict or kind is tuple:
        return a[i] if type(i) in PLAIN else hashed_or_counted(tape, operator.getitem, a, i)
    if kind is np.ndarray:
        if type(i) is int and a.dtype is FLOAT and a.ndim == 1 and tape.parent is None:
            y = a[i]
            tape.records.append((entry_back, y, a, i))
            return y
        return array_getitem(tape, a, i if type(i) in INDICES else place(tape, i))
    own = special(kind, "__getitem__")
    if own is not None:
        return tape.call(own, a, i)
    if isinstance(a, np.ndarray):
        return array_getitem(tape, a, i)
    if isinstance(a, np.flatiter):
        return getitem(tape, a.base, flat_index(a, i))
    if kind is memoryview:
        return a[i] if a.format not in FLOATS or type(i) is slice else _entry(tape, np.asarray(a), i)
    if isinstance(a, np.void) and a.dtype.names:  # a row of a structured array shares its memory
        part = np.asarray(a)[a.dtype.names[i] if isinstance(i, int) else i]
        return getitem(tape, part, ()) if part.ndim == 0 and part.dtype.kind != "V" else part if part.ndim else a[i]
    if isinstance(a, np.nditer):
        return visited(tape, a[i], a.operands)
    if isinstance(a, np.inexact):  # x[()], x[...], x[None] of a NumPy scalar
        return getitem(tape, tape.call(np.asarray, a), i)
    if isinstance(a, dict):
        return entry_of(tape, a, i)
    if kind in PROXIES:
        return getitem(tape, referent(a), i)
    if isinstance(a, type):
        own = class_attribute(a.__mro__, "__class_getitem__")
        if isinstance(getattr(own, "__func__", None), FunctionType):
            return tape.call(own.__func__, a, i)
    y = operator.getitem(a, i) if type(i) in PLAIN else hashed_or_counted(tape, operator.getitem, a, i)
    if is_foreign(kind):
        note(tape, y, operator.getitem, (a,))
    return y


def _entry(tape: Tape, a: np.ndarray, i: Any) -> Any:
    """Return an entry of an array as a Python number."""
    return tape.call(np.ndarray.item, getitem(tape, a, i))


def place(tape: Tape, i: Any) -> Any:
    """Convert an index for C code: call ``__index__`` written in Python on the tape, also in a slice."""
    kind = type(i)
    if kind is slice:
        parts = i.start, i.stop, i.step
        return i if all(type(p) in PLAIN for p in parts) else slice(*(place(tape, p) for p in parts))
    if kind in PLAIN:
        return i
    own = special(kind, "__index__")
    return i if own is None else operator.index(answer(tape, own, "__index__", i))


def hashed_or_counted(tape: Tape, function: Operation, a: Any, i: Any, *v: Any) -> Any:
    """Access an item of a container where ``i`` may be an object: a key to hash, or an index to convert."""
    if isinstance(a, dict):
        return hashed(tape, function, i, a, i, *v)
    return function(a, place(tape, i), *v)


def entry_of(tape: Tape, a: dict[Any, Any], i: Any) -> Any:
    """Do ``dict.__getitem__`` of a subclass, with the calls for a missing key recorded."""
    missing = special(type(a), "__missing__")
    if missing is not None and not hashed(tape, dict.__contains__, i, a, i):
        return tape.call(missing, a, i)
    if isinstance(a, defaultdict) and a.default_factory is not None and not hashed(tape, dict.__contains__, i, a, i):
        hashed(tape, dict.__setitem__, i, a, i, tape.call(a.default_factory))
    return hashed(tape, dict.__getitem__, i, a, i)


def array_getitem(tape: Tape, a: np.ndarray, i: Any) -> Any:
    """Do ``ndarray.__getitem__``, recorded."""
    y = np.ndarray.__getitem__(a, i) if tape.parent is None else array_getitem(tape.parent, a, i)
    if a.dtype.kind in "fc" and not (isinstance(y, np.ndarray) and y.base is not None and owner(y) is owner(a)):
        tape.records.append((getitem_back, plain_arrays(y), plain_arrays(a), i if type(i) is int else snapshot(i)))
    elif a.dtype.kind == "V" and isinstance(y, np.ndarray) and owner(y) is not owner(a):
        record_fields(tape, y, a, lambda part, whole: (getitem_back, part, whole, snapshot(i)))
    elif tape.integers is not None and carries(tape, a):
        return lose(tape, y, operator.getitem, (a,))
    return y


def getitem_back(table: Cotangents, record: Record) -> None:
    _, y, a, index = record
    dy = table.take(y)
    if dy is not None:
        table.add_at(a, index, dy)


def entry_back(table: Cotangents, record: Record) -> None:
    """Pull back the read of one entry of a vector."""
    _, y, a, i = record
    dy = table.numbers.pop(id(y), None)
    if dy is None:
        return
    if table.evaluate is None:
        _, window, overlaps = table.entry(a)
        if not overlaps:
            window[i] += dy
            return
    table.add_at(a, i, dy)


def iterate(tape: Tape, x: Any) -> Any:
    """Return the iterable over which a ``for`` loop, a call's ``*args`` or a built-in runs in place of ``x``."""
    kind = type(x)
    if kind is list or kind is tuple or kind is range or kind is dict or kind is str:
        return x
    if kind in LAZY:
        return followed(tape, x)
    if kind is np.ndarray or isinstance(x, np.ndarray) and special(kind, "__iter__") is None:
        one_by_one = x.ndim == 1 and (x.dtype.kind in "fc" or carries(tape, x)) or kind is not np.ndarray
        return _entries(tape, x) if one_by_one else x
    if isinstance(x, np.flatiter):
        return _rest(tape, x)
    if isinstance(x, np.void) and x.dtype.names:
        return (getitem(tape, x, name) for name in x.dtype.names)
    if isinstance(x, np.nditer):
        operands = x.operands
        return (visited(tape, y, operands) for y in x)
    if isinstance(x, np.ndenumerate):
        array: Any = x.iter.base  # type: ignore[attr-defined]
        return ((i, getitem(tape, array, i)) for i in np.ndindex(array.shape))
    if isinstance(x, memoryview) and x.format in FLOATS and x.ndim == 1:
        return (_entry(tape, np.asarray(x), i) for i in range(len(x)))
    own = special(kind, "__iter__")
    if own is not None:
        iterator = answer(tape, own, "__iter__", x)
        return _advance(tape, iterator) if special(type(iterator), "__next__") is not None else (
            iterate(tape, iterator) if iterator is not x else iterator
        )  # fmt: skip
    if not hasattr(kind, "__iter__") and special(kind, "__getitem__") is not None:
        return _by_index(tape, x)
    if kind in PROXIES:
        return iterate(tape, referent(x))
    return _noted(tape, x) if is_foreign(kind) else x


def visited(tape: Tape, y: Any, operands: tuple[np.ndarray, ...]) -> Any:
    """Return the values of ``np.nditer`` as views of its operands; note views of a buffer as opaque."""
    if isinstance(y, tuple):
        return tuple(visited(tape, e, operands) for e in y)
    view = rebased(y, operands)
    if view is y:
        note(tape, y, np.nditer, operands)
    return view


def _entries(tape: Tape, x: np.ndarray) -> Iterator[Any]:
    for i in range(len(x)):
        yield getitem(tape, x, i)


def next_entry(tape: Tape, x: np.flatiter) -> Any:
    """Do ``next(a.flat)``, recorded."""
    index = x.coords if x.index < x.base.size else None
    next(x)
    return getitem(tape, x.base, index)


def _rest(tape: Tape, x: np.flatiter) -> Iterator[Any]:
    while x.index < x.base.size:
        yield next_entry(tape, x)


def _noted(tape: Tape, x: Any) -> Iterator[Any]:
    for y in x:
        note(tape, y, iter, (x,))
        yield y


def _advance(tape: Tape, iterator: Any) -> Iterator[Any]:
    step = special(type(iterator), "__next__")
    while True:
        try:
            value = tape.call(step, iterator)
        except StopIteration:
            return
        yield value


def _by_index(tape: Tape, x: Any) -> Iterator[Any]:
    i = 0
    while True:
        try:
            value = getitem(tape, x, i)
        except IndexError:
            return
        yield value
        i += 1


def unpack(tape: Tape, x: Any) -> Iterable[Any]:
    """Return the entries of the right side of ``a, b = x``."""
    return iterate(tape, x)


def mapping(tape: Tape, x: Any) -> Any:
    """Return the mapping that ``**x`` unpacks; Python reads a dict directly unless its class defines ``__iter__``."""
    if isinstance(x, dict) and special(type(x), "__iter__") is None:
        return x
    if special(type(x), "__getitem__") is not None or special(type(x), "keys") is not None:
        return {key: getitem(tape, x, key) for key in iterate(tape, call_keys(tape, x))}
    return x


def call_keys(tape: Tape, x: Any) -> Any:
    keys = special(type(x), "keys")
    return x.keys() if keys is None else tape.call(keys, x)


def pairs(tape: Tape, x: Any) -> Any:
    """Return the entries that ``dict(x)`` and ``update(x)`` read: a mapping, or pairs."""
    return mapping(tape, x) if hasattr(x, "keys") else iterate(tape, x)


def get_attribute(tape: Tape, x: Any, name: str) -> Any:
    kind = type(x)
    if kind in known.classes("load", name):
        return getattr(x, name)
    getter = known.getters(name).get(kind)
    if getter is not None:
        return known.functions[getter](tape, x)
    if kind is np.ndarray or issubclass(kind, (np.ndarray, np.generic)) and _is_numpys(kind, name):
        return _array_attribute(tape, x, name)
    if kind is ModuleType and not hasattr(kind, name) and name not in x.__dict__ and "__getattr__" in x.__dict__:
        return tape.call(x.__getattr__, name)
    if kind is ModuleType or kind is float:
        return getattr(x, name)
    if kind is Int:
        return x if name in ("real", "numerator") else getattr(x, name)
    if kind is complex:
        part = np.real if name == "real" else np.imag if name == "imag" else None
        return getattr(x, name) if part is None else apply_rule(tape, RULES[part], (x,), NO_KEYWORDS)
    if kind is super:
        raw = class_attribute(_after(x.__self_class__, x.__thisclass__), name)
        if (
            is_property(raw, "__get__") and x.__self__ is x.__self_class__
        ):  # ``super()`` in a class method gives the property itself
            return raw
        return _from_class(tape, x, name, x.__self__, raw)
    if kind in PROXIES:
        return get_attribute(tape, referent(x), name)
    own = kind.__getattribute__
    if type(own) is FunctionType:
        try:
            return tape.call(own, x, name)
        except AttributeError:
            fallback = special(kind, "__getattr__")
            if fallback is None:
                raise
            return tape.call(fallback, x, name)
    raw = class_attribute(kind.__mro__, name)
    if isinstance(x, type) and raw is MISSING:
        raw = class_attribute(x.__mro__, name)
        getter = getattr(type(raw), "__get__", None)
        if type(getter) is FunctionType:
            return tape.call(getter, raw, None, x)
        if kind is type:
            known.is_plain("own", x, name, raw)
        elif raw is MISSING and special(kind, "__getattr__") is not None:
            return tape.call(special(kind, "__getattr__"), x, name)
        return getattr(x, name)
    if raw is MISSING:
        fallback = getattr(kind, "__getattr__", None)
        if type(fallback) is FunctionType:
            try:
                return object.__getattribute__(x, name)
            except AttributeError:
                return tape.call(fallback, x, name)
        elif not isinstance(x, type):
            known.is_plain("load", kind, name)
        return getattr(x, name)
    return _from_class(tape, x, name, x, raw)


def _array_attribute(tape: Tape, x: Any, name: str) -> Any:
    y = getattr(x, name) if tape.parent is None else get_attribute(tape.parent, x, name)
    function = ATTRIBUTES.get(name)
    if function is not None and name != "flat" and isinstance(x, (np.inexact, np.ndarray)):
        record_rule(tape, RULES[function], y, (plain_arrays(x),), NO_KEYWORDS)
    elif name in ADDRESSES:
        expose(tape, x, getattr(np.ndarray, name))
    elif type(x) is np.ndarray:
        known.is_plain("load", np.ndarray, name)
    return y


def _part_of_number(tape: Tape, x: Any, name: str, plainly: Any) -> Any:
    """Return ``x.real`` or ``x.imag`` of a number whose class derives from ``float`` or ``complex``: a new number."""
    y = plainly(x, name) if tape.parent is None else _part_of_number(tape.parent, x, name, plainly)
    record_rule(tape, RULES[ATTRIBUTES[name]], y, (x,), NO_KEYWORDS)
    return y


def _is_numpys(kind: type, name: str) -> bool:
    """Whether a class of arrays or NumPy scalars inherits an attribute from NumPy."""
    if kind.__module__ == "numpy" and issubclass(kind, np.generic) and kind is not np.record:
        return True
    raw = class_attribute(kind.__mro__, name)
    return raw is not MISSING and raw is np.ndarray.__dict__.get(name)


FIELDS = (GetSetDescriptorType, MemberDescriptorType, type(_Structure.field))
"""Descriptors of the fields of objects whose classes are written in C."""

PARTS = tuple(cls.__dict__[name] for cls in (float, complex) for name in ("real", "imag"))
"""Descriptors of the parts of Python's numbers."""


def _after(cls: type, base: type) -> tuple[type, ...]:
    """Return the classes that ``super(base, instance of cls)`` searches."""
    return cls.__mro__[cls.__mro__.index(base) + 1 :]


def load_attribute(tape: Tape, x: Any, name: str, plainly: Any = object.__getattribute__) -> Any:
    """Do ``object.__getattribute__``, which ignores the class's own ``__getattribute__`` and ``__getattr__``."""
    raw = class_attribute(type(x).__mro__, name)
    return plainly(x, name) if raw is MISSING else _from_class(tape, x, name, x, raw, plainly)


def is_property(raw: Any, method: str) -> bool:
    """Whether a descriptor is a property, or of a subclass that inherits ``method``."""
    return isinstance(raw, property) and getattr(type(raw), method) is getattr(property, method)


def _from_class(tape: Tape, x: Any, name: str, instance: Any, raw: Any, plainly: Any = getattr) -> Any:
    """Return ``x.name``, where ``raw`` is the class attribute of that name."""
    kind = type(raw)
    if is_property(raw, "__get__"):
        if plainly is getattr and instance is x and kind is property and type(raw.fget) is FunctionType:
            known.enter_getter(name, type(x), raw.fget)
        return tape.call(raw.fget, instance) if raw.fget is not None else plainly(x, name)
    getter = getattr(kind, "__get__", None)
    if type(getter) is FunctionType:
        stored = getattr(instance, "__dict__", None)
        if stored is not None and name in stored and not hasattr(kind, "__set__"):
            return stored[name]
        return tape.call(getter, raw, instance, type(instance))
    if any(raw is part for part in PARTS):
        return _part_of_number(tape, x, name, plainly)
    y = plainly(x, name)
    if isinstance(raw, FIELDS) and is_foreign(type(x)):
        note(tape, (y, *(v for _, v in attributes(y))), raw, (x,))
    elif instance is x and not isinstance(x, type) and not (
        isinstance(raw, classmethod) and not isinstance(raw.__func__, FunctionType)
    ):  # fmt: skip
        known.is_plain("load", type(x), name, raw)
    return y
