"""Subscripts, attributes, iteration and unpacking of recorded code.

On arrays these are operations of the tape; containers only move references; for objects of a class they follow Python's
protocol into the class's own methods.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from . import known
from .apply import apply_rule, plain_arrays, record_fields
from .cotangents import conform
from .errors import NoDerivative
from .integers import carries, enlist, lose
from .memory import fields, flat_index, is_known, rebased
from .opaque import is_foreign, note
from .rules.methods import ATTRIBUTES
from .rules.table import RULES
from .tape import SHAPE, Cotangents, Int, Tape, is_fancy, owner, snapshot
from .values import NO_KEYWORDS, NUMBERS, PASSIVE, differentiable, evaluate

Operation = Callable[..., Any]


def getitem(tape: Tape, a: Any, i: Any) -> Any:
    kind = type(a)
    if kind is list or kind is dict or kind is tuple:
        return a[i]
    if isinstance(a, np.ndarray):
        y = a[i] if tape.parent is None else getitem(tape.parent, a, i)
        if a.dtype.kind in "fc" and not (isinstance(y, np.ndarray) and y.base is not None and owner(y) is owner(a)):
            if kind is not np.ndarray:
                a = a.view(np.ndarray)
            tape.records.append((_getitem_back, plain_arrays(y), a, i if type(i) is int else snapshot(i)))
        elif a.dtype.kind == "V" and isinstance(y, np.ndarray) and owner(y) is not owner(a):
            record_fields(tape, y, a, lambda part, whole: (_getitem_back, part, whole, snapshot(i)))
        elif tape.integers is not None and carries(tape, a):
            return lose(tape, y, operator.getitem, (a,))
        return y
    own = special(kind, "__getitem__")
    if own is not None:
        return tape.call(own, a, i)
    if isinstance(a, np.flatiter):
        return getitem(tape, a.base, flat_index(a, i))
    if kind is memoryview:
        y = getitem(tape, np.asarray(a), i)
        return tape.call(np.ndarray.item, y) if isinstance(y, np.generic) else y
    if isinstance(a, np.void) and a.dtype.names:  # a row of a structured array shares its memory
        part = np.asarray(a)[i]
        return getitem(tape, part, ()) if part.ndim == 0 and part.dtype.kind != "V" else part if part.ndim else a[i]
    if isinstance(a, np.nditer):
        return rebased(a[i], a.operands)
    if isinstance(a, np.inexact):  # x[()], x[...], x[None] of a number of NumPy
        return getitem(tape, tape.call(np.asarray, a), i)
    y = a[i]
    if is_foreign(kind):
        note(tape, y, operator.getitem, (a,))
    return y


def _getitem_back(table: Cotangents, y: Any, a: np.ndarray, index: Any) -> None:
    dy = table.take(y)
    if dy is not None:
        table.add_at(a, index, dy)


def setitem(tape: Tape, a: Any, i: Any, v: Any) -> None:
    if isinstance(a, np.ndarray):
        kind = a.dtype.kind
        if kind == "O":
            _set_objects(tape, a, i, v)
            return
        if kind == "V":
            _set_fields(tape, a, i, v)
            return
        if type(v) not in NUMBERS:
            v = _as_entries(tape, v, kind)
        parent = tape.parent
        if parent is None:
            old = a[i]
            if isinstance(old, np.ndarray):
                old = np.copy(old)
            a[i] = v
        else:
            old = evaluate(parent, _read, a, i)
            setitem(parent, a, i, v)
        tape.written.add(id(a) if a.base is None else _written_memory(a))
        if kind in "iu" and carries(tape, v):
            enlist(tape, a, operator.setitem, (v,))
        tape.records.append((_setitem_back, a, i if type(i) is int else snapshot(i), old, v))
        return
    own = special(type(a), "__setitem__")
    if own is not None:
        tape.call(own, a, i, v)
    elif isinstance(a, np.void):
        setitem(tape, np.asarray(a), i, v)
    elif isinstance(a, np.nditer):
        setitem(tape, rebased(a[i], a.operands), ..., v)
    elif isinstance(a, np.flatiter):
        index = flat_index(a, i)
        n = np.size(a[i])
        setitem(tape, a.base, index, tape.call(np.resize, v, (n,)) if np.size(v) not in (1, n) else v)
    elif isinstance(a, memoryview):
        v = np.frombuffer(v, np.asarray(a).dtype) if isinstance(v, (bytes, bytearray)) else v
        setitem(tape, np.asarray(a), i, v)
    else:
        a[i] = iterate(tape, v) if type(i) is slice else v
        if is_foreign(type(a)):
            note(tape, a, operator.setitem, (a, v))


def _set_objects(tape: Tape, a: np.ndarray, i: Any, v: Any) -> None:
    """Into an array of objects go references, and the entries of an array of numbers as objects."""
    single = not isinstance(np.empty(a.shape, dtype=bool)[i], np.ndarray)
    if not single and isinstance(v, np.ndarray) and v.dtype.kind in "fc":
        v = tape.call(np.asarray, v, dtype=object)
    old = a[i] if single else np.copy(a[i])
    evaluate(tape.parent, operator.setitem, a, i, v)
    tape.records.append((_objects_back, a, i if type(i) is int else snapshot(i), old, single))


def _objects_back(table: Cotangents, a: np.ndarray, index: Any, old: Any, single: bool) -> None:
    table.redo.append((a, index, a[index] if single else np.copy(a[index])))
    table.write(a, index, old)


def _as_entries(tape: Tape, v: Any, kind: str) -> Any:
    """What NumPy makes of ``v``, neither a number nor a plain array, to store it in an array of numbers."""
    if isinstance(v, (list, tuple)):
        v = tape.call(np.array, v)
    if isinstance(v, np.ndarray) and v.dtype.kind == "O":
        convert = complex if kind == "c" else float
        entries = [e if type(e) in NUMBERS else tape.call(convert, e) for e in v.ravel().tolist()]
        return tape.call(np.reshape, tape.call(np.array, entries), v.shape)
    if isinstance(v, (np.ndarray, np.generic, float, complex, int)) or type(v) in PASSIVE:
        return v
    if type(v) is memoryview:
        return np.asarray(v)
    own = special(type(v), "__array__")
    if own is not None:
        return tape.call(own, v)
    if hasattr(type(v), "__complex__") and kind == "c":
        return tape.call(complex, v)
    return tape.call(float, v) if hasattr(type(v), "__float__") else tape.call(np.asarray, v)


def _written_memory(a: np.ndarray) -> int:
    """The identity of the memory that a view was written through."""
    holder = owner(a)
    if not is_known(holder):
        raise NoDerivative(
            f"a write into memory of {type(holder.base).__name__}, which arrays may share without showing it, cannot be "
            "differentiated; write into an array"
        )
    return id(holder)


def _set_fields(tape: Tape, a: np.ndarray, i: Any, v: Any) -> None:
    """``a[i] = v`` of a structured array: a write for each field."""
    names = fields(a.dtype)
    if isinstance(i, str) or isinstance(i, list) and i and isinstance(i[0], str):
        a, i = a[i], ...
        if a.dtype.kind != "V":
            setitem(tape, a, i, v)
            return
        names = fields(a.dtype)
    structured = isinstance(v, (np.ndarray, np.void)) and v.dtype.names
    for k, name in enumerate(names):
        if structured:
            part = getitem(tape, v, structured[k])
        elif isinstance(v, list) and v and isinstance(v[0], tuple):
            part = [e[k] for e in v]
        else:
            part = v[k] if isinstance(v, tuple) else v
        setitem(tape, a[name], i, part)


def _read(a: np.ndarray, i: Any) -> Any:
    entry = a[i]
    return np.copy(entry) if isinstance(entry, np.ndarray) else entry


def _setitem_back(table: Cotangents, a: np.ndarray, index: Any, old: Any, v: Any) -> None:
    if table.evaluate is None and type(index) is int and a.ndim == 1:
        # One entry of a vector: what filling an array in a loop spends its time on.
        table.redo.append((a, index, a[index]))
        a[index] = old
        if not table.reached(a):
            return
        if a.dtype.kind not in "fc":
            table.cut(a, index)
        else:
            window = table.window(a)
            g = window[index]
            window[index] = 0
            if type(v) not in PASSIVE or table.carries(v):
                table.add(v, g if type(v) is float or type(v) is np.float64 else conform(g, v))
        return
    table.redo.append((a, index, table.run(_read, a, index)))
    table.write(a, index, old)
    if not table.reached(a):
        return
    if a.dtype.kind not in "fc":
        table.cut(a, index)
        return
    window = table.window(a)
    g = table.run(_read, window, index)
    table.write(window, index, 0)
    if (differentiable(v) or table.carries(v)) and np.size(g):
        # A mask may select nothing: then nothing of v is reached, infinite or not.
        if is_fancy(index):
            g = table.run(operator.mul, g, _last_writes(a.shape, index))
        table.add(v, table.run(conform, g, v))


def _last_writes(shape: tuple[int, ...], index: Any) -> np.ndarray:
    """Which entries of ``v`` in ``a[index] = v`` stay: where an index names an entry twice, the last one does."""
    places = np.zeros(shape, dtype=np.intp)
    order = np.arange(np.size(places[index])).reshape(np.shape(places[index]))
    places[index] = order
    return places[index] == order


def iterate(tape: Tape, x: Any) -> Any:
    """What a ``for`` loop, a call's ``*args`` or a built-in function runs over in place of ``x``."""
    kind = type(x)
    if kind is list or kind is tuple or kind is range or kind is dict or kind is str:
        return x
    if isinstance(x, np.ndarray):
        return _entries(tape, x) if x.ndim == 1 and (x.dtype.kind in "fc" or carries(tape, x)) else x
    if isinstance(x, np.flatiter):
        return _rest(tape, x)
    if isinstance(x, np.nditer):
        operands = x.operands
        return (rebased(y, operands) for y in x)
    if isinstance(x, np.ndenumerate):
        array: Any = x.iter.base  # type: ignore[attr-defined]
        return ((i, getitem(tape, array, i)) for i in np.ndindex(array.shape))
    own = special(kind, "__iter__")
    if own is not None:
        iterator = tape.call(own, x)
        return _advance(tape, iterator) if special(type(iterator), "__next__") is not None else (
            iterate(tape, iterator) if iterator is not x else iterator
        )  # fmt: skip
    if not hasattr(kind, "__iter__") and special(kind, "__getitem__") is not None:
        return _by_index(tape, x)
    return _noted(tape, x) if is_foreign(kind) else x


def _entries(tape: Tape, x: np.ndarray) -> Iterator[Any]:
    for i in range(len(x)):
        yield getitem(tape, x, i)


def next_entry(tape: Tape, x: np.flatiter) -> Any:
    """``next(a.flat)``."""
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
    """The right side of ``a, b = x``."""
    return iterate(tape, x)


def mapping(tape: Tape, x: Any) -> Any:
    """What ``**x`` unpacks."""
    if special(type(x), "__getitem__") is not None:
        return {key: getitem(tape, x, key) for key in iterate(tape, tape.call(x.keys))}
    return x


def get_attribute(tape: Tape, x: Any, name: str) -> Any:
    kind = type(x)
    if kind is np.ndarray or isinstance(x, (np.ndarray, np.generic)):
        function = ATTRIBUTES.get(name)
        if function is not None and name != "flat" and isinstance(x, (np.inexact, np.ndarray)):
            return apply_rule(tape, RULES[function], (x,), NO_KEYWORDS)
        if name in np.ndarray.__dict__:
            if kind is np.ndarray:
                known.is_plain("load", kind, name)
            return getattr(x, name)
    if kind is ModuleType or kind is float:
        return getattr(x, name)
    if kind is Int:
        return x if name in ("real", "numerator") else getattr(x, name)
    if kind is complex:
        part = np.real if name == "real" else np.imag if name == "imag" else None
        return getattr(x, name) if part is None else apply_rule(tape, RULES[part], (x,), NO_KEYWORDS)
    if kind is super:
        return _from_class(tape, x, name, x.__self__, class_attribute(_after(x.__self_class__, x.__thisclass__), name))
    own = kind.__getattribute__
    if type(own) is FunctionType:
        return tape.call(own, x, name)
    raw = class_attribute(kind.__mro__, name)
    if isinstance(x, type) and raw is MISSING:
        raw = class_attribute(x.__mro__, name)
        getter = getattr(type(raw), "__get__", None)
        if type(getter) is FunctionType:
            return tape.call(getter, raw, None, x)
        if kind is type:
            known.is_plain("own", x, name)
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


MISSING = object()


def class_attribute(mro: tuple[type, ...], name: str) -> Any:
    """The attribute of the first class that has it, no descriptor asked."""
    for cls in mro:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return MISSING


class Special:
    """A special method that is no plain function (static, of a class, cached, any descriptor), called object first."""

    __slots__ = ("kind", "raw")

    def __init__(self, kind: type, raw: Any) -> None:
        self.kind, self.raw = kind, raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Special) and other.raw is self.raw

    def __hash__(self) -> int:
        return hash(id(self.raw))

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return _bound(self.raw, x, self.kind)(*args, **kwargs)

    def __morula_call__(self, tape: Tape, x: Any, *args: Any, **kwargs: Any) -> Any:
        return tape.call(tape.call(_bound, self.raw, x, self.kind), *args, **kwargs)


def _bound(raw: Any, x: Any, kind: type) -> Any:
    """What Python calls for a special method: looked up in the class, then bound like any attribute."""
    return raw.__get__(x, kind) if hasattr(type(raw), "__get__") else raw


WRITTEN_IN_C = (WrapperDescriptorType, MethodDescriptorType, BuiltinFunctionType, ClassMethodDescriptorType)


def special(kind: type, name: str) -> Any:
    """The special method ``name`` of a class, to be called with the object first; None if it is missing or in C."""
    raw = kind.__dict__.get(name, MISSING)
    if raw is MISSING:
        raw = class_attribute(kind.__mro__, name)
    if type(raw) is FunctionType:
        return raw
    return None if raw is MISSING or raw is None or isinstance(raw, WRITTEN_IN_C) else Special(kind, raw)


def _after(cls: type, base: type) -> tuple[type, ...]:
    """The classes among which ``super(base, instance of cls)`` looks."""
    return cls.__mro__[cls.__mro__.index(base) + 1 :]


def _from_class(tape: Tape, x: Any, name: str, instance: Any, raw: Any) -> Any:
    """``x.name``, for which a class of ``x`` has the attribute ``raw``."""
    kind = type(raw)
    if kind is property and not isinstance(instance, type):
        return tape.call(raw.fget, instance) if raw.fget is not None else getattr(x, name)
    getter = getattr(kind, "__get__", None)
    if type(getter) is FunctionType:
        stored = getattr(instance, "__dict__", None)
        if stored is not None and name in stored and not hasattr(kind, "__set__"):
            return stored[name]
        return tape.call(getter, raw, instance, type(instance))
    y = getattr(x, name)
    if kind is GetSetDescriptorType and is_foreign(type(x)):
        note(tape, y, raw, (x,))
    elif instance is x and not isinstance(x, type) and not (
        kind is classmethod and not isinstance(raw.__func__, FunctionType)
    ):  # fmt: skip
        known.is_plain("load", type(x), name)
    return y


def set_attribute(tape: Tape, x: Any, name: str, v: Any) -> None:
    if isinstance(x, np.ndarray) and name in np.ndarray.__dict__:
        if name in ("real", "imag", "flat"):
            setitem(tape, get_attribute(tape, x, name), slice(None) if name == "flat" else ..., v)
        elif name == "shape":
            shape = x.shape
            evaluate(tape.parent, setattr, x, name, v)
            tape.records.append((_shape_back, x, shape))
        elif x.dtype.kind in "fc" and not (name == "dtype" and np.dtype(v) == x.dtype):
            raise NoDerivative(
                f"an assignment to the {name} of an array cannot be differentiated; make a new array, as view() does"
            )
        else:
            setattr(x, name, v)
        return
    if isinstance(x, type):
        known.forget_classes()
    own = getattr(type(x), "__setattr__", None)
    if isinstance(own, FunctionType):
        tape.call(own, x, name, v)
        return
    raw = class_attribute(type(x).__mro__, name)
    if type(raw) is property and raw.fset is not None:
        tape.call(raw.fset, x, v)
    elif isinstance(getattr(type(raw), "__set__", None), FunctionType):
        tape.call(type(raw).__set__, raw, x, v)
    else:
        if own is object.__setattr__:
            known.is_plain("store", type(x), name)
        setattr(x, name, v)


def _shape_back(table: Cotangents, x: np.ndarray, shape: tuple[int, ...]) -> None:
    """The operations before the assignment knew the array in its old shape."""
    table.redo.append((x, SHAPE, x.shape))
    table.reshape(x, shape)


def delete_item(tape: Tape, x: Any, i: Any) -> None:
    own = special(type(x), "__delitem__")
    if own is not None:
        tape.call(own, x, i)
    else:
        del x[i]


def update_item(tape: Tape, in_place: Operation, x: Any, i: Any, v: Any) -> None:
    """``x[i] op= v``."""
    old = getitem(tape, x, i)
    new = in_place(tape, old, v)
    if not (new is old and isinstance(x, np.ndarray) and owner(new) is owner(x)):
        setitem(tape, x, i, new)


def update_attribute(tape: Tape, in_place: Operation, x: Any, name: str, v: Any) -> None:
    """``x.name op= v``."""
    old = get_attribute(tape, x, name)
    new = in_place(tape, old, v)
    if not (new is old and isinstance(x, np.ndarray)):
        set_attribute(tape, x, name, new)
