"""Stores in recorded code: ``a[i] = v``, ``x.name = v``, ``del a[i]`` and their augmented forms.

A store into an array is an operation on the tape, whose record keeps the overwritten values.  A store into a container
or an object only replaces a reference and needs no record.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...values.cotangents import conform, is_fancy
from ...values.memory import blank_memory, corresponding, fields, flat_index, is_known, overlaps_itself, owner, rebased
from ...values.numbers import NUMBERS, PASSIVE, call_on, differentiable
from ...values.reachable import is_foreign
from ..arrays.apply import plain_arrays
from ..arrays.integers import carries, enlist
from ..arrays.raw_memory import cut
from ..unrecorded.opaque_calls import call_opaque
from ..unrecorded.unasking import PLAIN
from . import known
from .access import (
    FIELDS,
    PROXIES,
    class_attribute,
    get_attribute,
    getitem,
    hashed_or_counted,
    is_property,
    iterate,
    referent,
    special,
)
from .sizes import listed
from .tape import SHAPE, Cotangents, Record, Tape, snapshot

Operation = Callable[..., Any]


def setitem(tape: Tape, a: Any, i: Any, v: Any) -> None:
    if type(a) is np.ndarray:
        array_setitem(tape, a, i, v)
        return
    own = special(type(a), "__setitem__")
    if own is not None:
        tape.call(own, a, i, v)
    elif isinstance(a, np.ndarray):
        array_setitem(tape, a, i, v)
    elif isinstance(a, np.void):
        setitem(tape, np.asarray(a), fields(a.dtype)[i] if isinstance(i, int) else i, v)
    elif isinstance(a, np.nditer):
        setitem(tape, rebased(a[i], a.operands), ..., v)
    elif isinstance(a, np.flatiter):
        index = flat_index(a, i)
        if isinstance(v, np.ndarray):
            _check_overlap(a.base, v, lambda target, values: operator.setitem(target.flat, i, values))
        n = np.size(a[i])
        setitem(tape, a.base, index, tape.call(np.resize, v, (n,)) if np.size(v) != 1 else v)
    elif isinstance(a, memoryview):
        v = np.frombuffer(v, np.asarray(a).dtype) if isinstance(v, (bytes, bytearray)) else v
        setitem(tape, np.asarray(a), i, v)
    else:
        if type(i) is slice:  # C code calls ``iter`` and asks the iterator for its length
            v = (iterate if hasattr(type(v), "__iter__") else listed)(tape, v)
        if is_foreign(type(a)):
            call_opaque(tape, operator.setitem, (a, i, list(v) if isinstance(v, Iterator) else v), {})
        elif type(i) in PLAIN:
            a[i] = v
        else:
            hashed_or_counted(tape, operator.setitem, a, i, v)


def _kept_index(i: Any) -> Any:
    """Copy an index before a write into an array that may be the index itself, as in ``mask[mask] = v``."""
    if isinstance(i, np.ndarray):
        return np.copy(i)
    return tuple(map(_kept_index, i)) if type(i) is tuple else i


def array_setitem(tape: Tape, a: np.ndarray, i: Any, v: Any) -> None:
    """Do ``ndarray.__setitem__``, recorded."""
    kind = a.dtype.kind
    if kind == "O":
        _set_objects(tape, a, i, v)
        return
    if kind == "V":
        _set_fields(tape, a, i, v)
        return
    if type(v) not in NUMBERS:
        v = plain_arrays(_as_entries(tape, v, kind))
    if type(a) is not np.ndarray:
        a = plain_arrays(a)
    if kind in "biu":
        i = _kept_index(i)
    if type(v) is np.ndarray and type(i) is not int and _has_mask(i):
        _check_overlap(a, v, lambda target, values: operator.setitem(target, i, values))
    parent = tape.parent
    if parent is None:
        old = a[i]
        if isinstance(old, np.ndarray):
            old = np.copy(old)
        a[i] = v
    else:
        old = call_on(parent, _read, a, i)
        array_setitem(parent, a, i, v)
    tape.written.add(id(a) if a.base is None else _written_memory(a))
    if kind in "iu" and carries(tape, v):
        enlist(tape, a, operator.setitem, (v,))
    tape.records.append((setitem_back, a, i if type(i) is int else snapshot(i), old, v))


def _set_objects(tape: Tape, a: np.ndarray, i: Any, v: Any) -> None:
    """Store into an array of objects: references, or the entries of an array of numbers as objects."""
    single = not isinstance(np.empty(a.shape, dtype=bool)[i], np.ndarray)
    if not single and isinstance(v, np.ndarray) and v.dtype.kind in "fc":
        v = tape.call(np.asarray, v, dtype=object)
    old = a[i] if single else np.copy(a[i])
    call_on(tape.parent, operator.setitem, a, i, v)
    tape.records.append((objects_back, a, i if type(i) is int else snapshot(i), old, single))


def objects_back(table: Cotangents, record: Record) -> None:
    _, a, index, old, single = record
    table.redo.append((a, index, a[index] if single else np.copy(a[index])))
    table.write(a, index, old)


def _as_entries(tape: Tape, v: Any, kind: str) -> Any:
    """Convert ``v``, neither a number nor a plain array, as NumPy does to store it in an array of numbers."""
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
    """Return the id of the owner of the memory into which a view was written."""
    holder = owner(a)
    if not is_known(holder):
        raise NoDerivative(
            f"a write into an array in the memory of a {type(holder.base).__name__} object cannot be differentiated, because "
            "other arrays may share that memory unnoticed; write into an ordinary array, e.g. a copy"
        )
    return id(holder)


def _has_mask(i: Any) -> bool:
    for m in i if type(i) is tuple else (i,):
        if isinstance(m, np.ndarray) and m.dtype == bool or type(m) is list and np.asarray(m).dtype == bool:
            return True
    return False


def _check_overlap(a: np.ndarray, v: np.ndarray, write: Callable[[Any, Any], None]) -> None:
    """Refuse a write of ``v`` into ``a`` that reads entries it has already overwritten.

    This concerns masks and ``flat``; in other writes NumPy copies an overlapping ``v`` first.
    """
    holder = owner(a)
    if owner(v) is not holder or not np.may_share_memory(a, v):
        return
    same = False
    if isinstance(holder, np.ndarray):
        twin = np.copy(holder)
        if twin.dtype.kind in "fc" and twin.size < 2 ** np.finfo(twin.dtype).nmant:
            twin.reshape(-1, order="A")[:] = np.arange(twin.size)  # distinct entries show which of them were read
        target, source = corresponding(a, holder, twin), corresponding(v, holder, twin)
        expected = np.copy(target)
        write(expected, np.copy(source))
        write(target, source)
        same = np.array_equal(target, expected, equal_nan=a.dtype.kind in "fc")
    if not same:
        raise NoDerivative(
            "entries chosen by a mask or by flat are written from an array in the same memory, some of whose entries are "
            "overwritten before they are read; copy it first"
        )


def _set_fields(tape: Tape, a: np.ndarray, i: Any, v: Any) -> None:
    """Do ``a[i] = v`` for a structured array: one write per field."""
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


def setitem_back(table: Cotangents, record: Record) -> None:
    _, a, index, old, v = record
    if table.evaluate is None and type(index) is int and a.ndim == 1 and a.flags.writeable:
        # A shortcut for one entry of a vector, the usual write of a loop that fills an array.
        table.redo.append((a, index, a[index]))
        a[index] = old
        if not table.reached(a):
            return
        if a.dtype.kind not in "fc":
            cut(table, a, index, old, v)
        else:
            window = table.window(a)
            g = window[index]
            window[index] = 0
            if type(v) not in PASSIVE or table.carries(v):
                same = type(g) is np.float64 and (type(v) is float or type(v) is np.float64)
                table.add(v, g if same else conform(g, v))
        return
    table.redo.append((a, index, table.run(_read, a, index)))
    table.write(a, index, old)
    if not table.reached(a):
        return
    if a.dtype.kind not in "fc":
        cut(table, a, index, old, v)
        return
    window = table.window(a)
    g = table.run(_read, window, index)
    table.write(window, index, 0)
    if (differentiable(v) or table.carries(v)) and np.size(g):
        # A mask may select nothing; then v gets no cotangent, even where slopes are infinite.
        overlaps = a.base is not None and overlaps_itself(a)
        if overlaps or is_fancy(index):
            g = table.run(np.where, _last_writes(a, index, overlaps), g, 0)
        table.add(v, table.run(conform, g, v))


def _last_writes(a: np.ndarray, index: Any, overlaps: bool) -> np.ndarray:
    """Return a mask of the entries of ``v`` that remain after ``a[index] = v``: the last one written to each place."""
    holder = owner(a)
    places = corresponding(a, holder, blank_memory(holder)) if overlaps else np.zeros(a.shape, np.intp)
    order = np.arange(np.size(places[index]), dtype=places.dtype).reshape(np.shape(places[index]))
    places[index] = order
    return places[index] == order


def set_attribute(tape: Tape, x: Any, name: str, v: Any) -> None:
    if isinstance(x, np.ndarray) and name in np.ndarray.__dict__:
        if name in ("real", "imag", "flat"):
            if name == "flat" and isinstance(v, np.ndarray):
                _check_overlap(x, v, lambda target, values: setattr(target, "flat", values))
            setitem(tape, get_attribute(tape, x, name), slice(None) if name == "flat" else ..., v)
        elif name == "shape":
            shape = x.shape
            call_on(tape.parent, setattr, x, name, v)
            tape.records.append((shape_back, x, shape))
        elif x.dtype.kind in "fc" and not (name == "dtype" and np.dtype(v) == x.dtype):
            raise NoDerivative(
                f"an assignment to the {name} of an array cannot be differentiated; make a new array, as view() does"
            )
        else:
            setattr(x, name, v)
        return
    if type(x) in PROXIES:
        x = referent(x)
    _forget(x, name)
    own = getattr(type(x), "__setattr__", None)
    if isinstance(own, FunctionType):
        tape.call(own, x, name, v)
        return
    if _store(tape, x, name, v, setattr) and own is object.__setattr__ and type(x) is not FunctionType:
        known.is_plain("store", type(x), name, class_attribute(type(x).__mro__, name))


def store_attribute(tape: Tape, x: Any, name: str, v: Any) -> None:
    """Do ``object.__setattr__``, which ignores the class's own ``__setattr__``."""
    _forget(x, name)
    _store(tape, x, name, v, type.__setattr__ if isinstance(x, type) else object.__setattr__)


def _forget(x: Any, name: str) -> None:
    """Drop cached knowledge about a class or a function that is being changed."""
    if isinstance(x, type):
        known.forget_classes()
    elif type(x) is FunctionType and name in ("__code__", "__defaults__", "__kwdefaults__"):
        known.functions.pop(x, None)
        known.hashing.clear()


def _store(tape: Tape, x: Any, name: str, v: Any, plainly: Callable[[Any, str, Any], None]) -> bool:
    """Store through a property or descriptor of the class, else by ``plainly``; return whether it was the latter."""
    raw = class_attribute(type(x).__mro__, name)
    if is_property(raw, "__set__") and raw.fset is not None:
        tape.call(raw.fset, x, v)
    elif isinstance(getattr(type(raw), "__set__", None), FunctionType):
        tape.call(type(raw).__set__, raw, x, v)
    else:
        if isinstance(raw, FIELDS) and is_foreign(type(x)):
            call_opaque(tape, plainly, (x, name, v), {})
            return False
        plainly(x, name, v)
        return True
    return False


def shape_back(table: Cotangents, record: Record) -> None:
    """Give the array its old shape back for the operations before the assignment."""
    _, x, shape = record
    table.redo.append((x, SHAPE, x.shape))
    table.reshape(x, shape)


def delete_attribute(tape: Tape, x: Any, name: str) -> None:
    _forget(x, name)
    own = special(type(x), "__delattr__")
    if own is not None:
        tape.call(own, x, name)
    else:
        remove_attribute(tape, x, name, delattr)


def remove_attribute(tape: Tape, x: Any, name: str, plainly: Any = object.__delattr__) -> None:
    """Do ``object.__delattr__``, which ignores the class's own ``__delattr__``."""
    raw = class_attribute(type(x).__mro__, name)
    if is_property(raw, "__delete__") and raw.fdel is not None:
        tape.call(raw.fdel, x)
    elif special(type(raw), "__delete__") is not None:
        tape.call(type(raw).__delete__, raw, x)
    else:
        plainly(x, name)


def delete_item(tape: Tape, x: Any, i: Any) -> None:
    own = special(type(x), "__delitem__")
    if own is not None:
        tape.call(own, x, i)
    else:
        hashed_or_counted(tape, operator.delitem, x, i)


def update_item(tape: Tape, x: Any, i: Any, old: Any, in_place: Operation, v: Any) -> None:
    """Do ``x[i] op= v``, where ``x[i]`` was ``old`` before ``v`` was evaluated."""
    new = in_place(tape, old, v)
    if not (new is old and isinstance(x, np.ndarray) and owner(new) is owner(x)):
        setitem(tape, x, i, new)


def update_attribute(tape: Tape, x: Any, name: str, old: Any, in_place: Operation, v: Any) -> None:
    """Do ``x.name op= v``, where ``x.name`` was ``old`` before ``v`` was evaluated."""
    new = in_place(tape, old, v)
    if not (new is old and isinstance(x, np.ndarray)):
        set_attribute(tape, x, name, new)
