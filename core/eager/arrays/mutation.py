"""NumPy's functions and methods that write into an array, expressed by recorded ``setitem``."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.registry import HANDLERS, Handler, handles
from ...values.cotangents import conform
from ...values.memory import owner
from ...values.numbers import call_on
from ..recorded.access import array_getitem, getitem
from ..recorded.call import call
from ..recorded.operate import OPERATORS
from ..recorded.stores import array_setitem, set_attribute, setitem
from ..recorded.tape import Cotangents, Record, Tape, snapshot
from .arrays import MUTATORS
from .integers import carries, enlist
from .ufunc_methods import ADD_AT


def _allocating(function: Any) -> Any:
    def handler(tape: Tape, *args: Any, **kwargs: Any) -> Any:
        y = call_on(tape.parent, function, *args, **kwargs)
        if isinstance(y, np.ndarray) and y.dtype.char in "efdFD":
            y.fill(np.frombuffer(16 * b"\xfb", y.dtype, 1)[0])
        return y

    return handler


# Fresh memory may hold old numbers.  If C code wrote the same numbers again, the write would not be detected, so new
# memory is filled with a pattern.
for _function in (np.empty, np.empty_like):
    HANDLERS[_function] = _allocating(_function)


def mutator(name: str) -> Any:
    def register(handler: Handler) -> Handler:
        MUTATORS[name] = handler
        return handler

    return register


@mutator("fill")
def fill(tape: Tape, a: np.ndarray, value: Any) -> None:
    array_setitem(tape, a, ..., value)


@mutator("sort")
def sort(tape: Tape, a: np.ndarray, axis: int = -1, kind: Any = None, order: Any = None, **stable: Any) -> None:
    array_setitem(tape, a, ..., call(tape, np.sort, a, axis=operator.index(axis), kind=kind, order=order, **stable))


@mutator("partition")
def partition(
    tape: Tape, a: np.ndarray, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None
) -> None:
    axis = operator.index(axis)
    places = np.argpartition(a, kth, axis=axis, kind=kind, order=order)
    array_setitem(tape, a, ..., call(tape, np.take_along_axis, a, places, axis=axis))


@mutator("setfield")
def set_field(tape: Tape, a: np.ndarray, value: Any, dtype: Any, offset: int = 0) -> None:
    setitem(tape, a.getfield(dtype, offset), ..., value)


@mutator("resize")
def resize(tape: Tape, a: np.ndarray, *shape: Any, refcheck: bool = True) -> None:
    new = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if math.prod(map(int, new)) != a.size:
        raise NoDerivative(
            "a.resize() to another size reallocates the array's memory and cannot be differentiated; use np.resize or np.pad"
        )
    set_attribute(tape, a, "shape", new)


@mutator("itemset")
@mutator("__setitem__")
def store(tape: Tape, a: np.ndarray, index: Any, value: Any) -> None:
    array_setitem(tape, a, index, value)


@mutator("__getitem__")
def load(tape: Tape, a: np.ndarray, index: Any) -> Any:
    return array_getitem(tape, a, index)


@mutator("put")
@handles(np.put)
def put(tape: Tape, a: np.ndarray, ind: Any, v: Any, mode: str = "raise") -> None:
    places = np.zeros(a.shape, dtype=np.intp)
    np.put(places, ind, 0, mode)  # type: ignore[arg-type]  # raises what NumPy raises
    chosen = np.take(np.arange(a.size), ind, mode=mode).reshape(-1)  # type: ignore[arg-type]
    if np.size(v) == 0:
        return  # as NumPy does
    values = call(tape, np.resize, v, chosen.shape) if np.size(v) != 1 else v
    array_setitem(tape, a, np.unravel_index(chosen, a.shape), values)


@handles(np.copyto)
def copyto(tape: Tape, dst: np.ndarray, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if isinstance(src, (list, tuple)):
        src = call(tape, np.array, src)
    if not np.can_cast(np.result_type(src), dst.dtype, casting):  # type: ignore[call-overload]
        np.copyto(dst, src, casting=casting)  # type: ignore[arg-type]
    array_setitem(tape, dst, ..., src if where is True else call(tape, np.where, where, src, dst))


@handles(np.putmask)
def putmask(tape: Tape, a: np.ndarray, mask: Any, values: Any) -> None:
    mask = np.asarray(mask, dtype=bool)
    array_setitem(tape, a, mask, getitem(tape, call(tape, np.resize, values, a.shape), mask))


@handles(np.place)
def place(tape: Tape, arr: np.ndarray, mask: Any, vals: Any) -> None:
    mask = np.asarray(mask, dtype=bool).reshape(arr.shape)
    if np.size(vals) == 0:
        np.place(arr, mask, vals)  # raises what NumPy raises
    array_setitem(tape, arr, mask, call(tape, np.resize, vals, (int(np.count_nonzero(mask)),)))


@handles(np.fill_diagonal)
def fill_diagonal(tape: Tape, a: np.ndarray, val: Any, wrap: bool = False) -> None:
    marked = np.zeros(a.shape, dtype=bool)
    np.fill_diagonal(marked, True, wrap=wrap)
    values = val if np.ndim(val) == 0 else call(tape, np.resize, val, (int(np.count_nonzero(marked)),))
    array_setitem(tape, a, np.nonzero(marked), values)


@handles(np.put_along_axis)
def put_along_axis(tape: Tape, arr: np.ndarray, indices: Any, values: Any, axis: int | None) -> None:
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    index = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    index[axis] = indices
    setitem(tape, arr, tuple(index), call(tape, np.broadcast_to, values, indices.shape))


@handles(np.ndarray.__setitem__)
def unbound_store(tape: Tape, a: np.ndarray, index: Any, value: Any) -> None:
    array_setitem(tape, a, index, value)


def add_at(tape: Tape, ufunc: np.ufunc, a: np.ndarray, index: Any, b: Any) -> None:
    """Call ``np.add.at`` or ``np.subtract.at``, which add to an entry once for each time that the index names it."""
    if isinstance(b, (list, tuple)):
        b = call(tape, np.array, b)
    index = snapshot(index)
    old = call_on(tape.parent, np.copy, a)
    call_on(tape.parent, ufunc.at, a, index, b)
    tape.written.add(id(owner(a)))
    if a.dtype.kind in "iu" and carries(tape, b):
        enlist(tape, a, ufunc, (b,))
    tape.records.append((add_at_back, a, ufunc is np.subtract, index, old, b))


def add_at_back(table: Cotangents, record: Record) -> None:
    _, a, negative, index, old, b = record
    table.redo.append((a, ..., table.run(np.copy, a)))
    table.write(a, ..., old)
    if a.dtype.kind in "fc" and table.reached(a):
        g = table.run(operator.getitem, table.window(a), index)
        g = table.run(operator.neg, g) if negative else table.run(np.copy, g)
        table.add(b, table.run(conform, g, b))


@handles(operator.setitem)
def _operator_setitem(tape: Tape, a: Any, i: Any, v: Any) -> None:
    setitem(tape, a, i, v)


@handles(operator.getitem)
def _operator_getitem(tape: Tape, a: Any, i: Any) -> Any:
    return getitem(tape, a, i)


for _ufunc in (np.add, np.subtract):
    ADD_AT[_ufunc] = functools.partial(lambda ufunc, tape, *args: add_at(tape, ufunc, *args), _ufunc)
for _name, (_recorded, _) in OPERATORS.items():
    if _name.startswith("i") and _name != "invert":
        MUTATORS[f"__{_name}__"] = _recorded
