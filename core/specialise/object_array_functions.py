"""What NumPy's functions do with arrays of objects: they arrange the entries, or compute with them one by one."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import entries_in_python as in_python
from .object_arrays import (
    COMPARISONS,
    OF_FUNCTIONS,
    OF_UFUNCS,
    ObjectArray,
    array_of,
    as_numbers,
    as_objects,
    is_of_objects,
    known,
    needs_known,
    places_of,
    refusal,
    view,
)
from .surface.operators import UFUNCS
from .traced import Array, current

# Arranging


def rearranged(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a function that only arranges entries to arrays of their places."""
    given: list[tuple[ObjectArray, np.ndarray, int]] = []  # each with its places, counted on from those before
    entries: list[Any] = []

    def numbered(x: Any) -> Any:
        if isinstance(x, (list, tuple)) and any(isinstance(e, (ObjectArray, Array, np.ndarray)) for e in x):
            return type(x)(map(numbered, x))
        if not isinstance(x, (ObjectArray, Array, np.ndarray)):
            return x
        if isinstance(x, Array) and function in _BY_INDEX:
            index = known(x)
            if index is None:
                raise needs_known(x)
            return index[0]
        objects = as_objects(x)
        given.append((objects, places_of(objects) + len(entries), len(entries)))
        entries.extend(objects._entries)
        return given[-1][1]

    operands = list(args)
    if function in _JOINING:
        operands[0] = list(map(as_objects, current().iterate(operands[0])))
    elif function in _VALUES:
        operands[_VALUES[function]] = as_objects(operands[_VALUES[function]])
    found = function(*map(numbered, operands), **{k: numbered(x) for k, x in kwargs.items()})

    def made(places: Any) -> Any:
        if isinstance(places, (list, tuple)):
            return type(places)(map(made, places))
        for x, whole, offset in given:
            if np.may_share_memory(whole, places):
                return view(x, places - offset)
        return array_of([entries[i] for i in places.flat], places.shape)

    return made(found)


_BY_INDEX = frozenset((np.take, np.repeat, np.delete))
_JOINING = frozenset((np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack))
_VALUES = {np.append: 1, np.insert: 2}  # the positions of the values
_REARRANGING = {
    *_BY_INDEX,
    *_JOINING,
    *_VALUES,
    np.roll,
    np.rot90,
    np.tile,
    np.copy,
    np.reshape,
    np.ravel,
    np.transpose,
}
_REARRANGING |= {np.squeeze, np.expand_dims, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.moveaxis, np.swapaxes}
_REARRANGING |= {np.rollaxis, np.flip, np.flipud, np.fliplr, np.broadcast_to, np.diagonal}
_REARRANGING |= {np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit}
"""Functions whose results hold the entries of their arguments, or are views of these."""


# Computing


def _elementwise(function: Callable[..., Any], *inputs: Any) -> Any:
    """Apply a function to the entries; return the entry itself if there is no dimension."""
    operands = [
        as_objects(x) if isinstance(x, (Array, np.ndarray, list, tuple)) else x if isinstance(x, ObjectArray) else array_of([x], ())
        for x in inputs
    ]  # fmt: skip
    shape = np.broadcast_shapes(*(x._shape for x in operands))
    places = [np.broadcast_to(places_of(x), shape).ravel().tolist() for x in operands]
    found = [function(*(x._entries[i] for x, i in zip(operands, at))) for at in zip(*places)]
    return array_of(found, shape) if shape else found[0]


def of_entry(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return what a ufunc does with entries: Python's operator, or the entry's method of that name."""
    function = _ENTRY.get(ufunc)
    if function is not None:
        return lambda *args: current().call(function, *args)
    if ufunc in _IN_PYTHON:
        return lambda *args: current().calls.interpret(_IN_PYTHON[ufunc], args, {})  # type: ignore[attr-defined]

    def apply(x: Any, *others: Any) -> Any:
        name = ufunc.__name__
        try:
            method = current().attribute(x, name)
        except AttributeError:
            kind = current().call(type, x).__name__
            raise TypeError(
                f"loop of ufunc does not support argument 0 of type {kind} which has no callable {name} method"
            ) from None
        return current().call(method, *others)

    return apply


def _call(ufunc: np.ufunc, *inputs: Any, dtype: Any = None) -> Any:
    if ufunc is np.matmul:
        return _dot(*inputs)
    found = _elementwise(of_entry(ufunc), *inputs)
    if ufunc in COMPARISONS and not is_of_objects(dtype):
        made = array_of([found], ()) if not isinstance(found, ObjectArray) else found
        bools = as_numbers(_elementwise(lambda x: current().call(bool, x), made.reshape(-1)), bool)
        return current().call(np.reshape, bools, made._shape) if made._shape else bools[0]
    return found if dtype is None or not isinstance(found, ObjectArray) else found.astype(dtype)


def _reduce(ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, keepdims: Any = False, initial: Any = np._NoValue) -> Any:  # fmt: skip
    x = as_objects(x)
    if dtype is not None and not is_of_objects(dtype):
        return current().call(ufunc.reduce, as_numbers(x, dtype), axis, keepdims=keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(range(x.ndim)[a] for a in axes)
    others = [i for i in range(x.ndim) if i not in axes]
    outer = tuple(x._shape[i] for i in others)
    rows = np.transpose(places_of(x), (*others, *axes)).reshape(*outer, -1)
    step, found = of_entry(ufunc), []
    for i in np.ndindex(outer):
        entries = [] if initial is np._NoValue or initial is None else [initial]
        entries += [x._entries[k] for k in rows[i]]
        if not entries and ufunc.identity is None:
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
        found.append(functools.reduce(step, entries) if entries else ufunc.identity)
    if keepdims:
        return array_of(found, tuple(1 if i in axes else n for i, n in enumerate(x._shape)))
    return array_of(found, outer) if outer else found[0]


def _accumulate(ufunc: np.ufunc, x: Any, axis: Any = 0) -> Any:
    made = as_objects(x).copy()
    step, rows = of_entry(ufunc), np.moveaxis(places_of(made), axis, 0)
    for before, now in zip(rows[:-1], rows[1:]):
        for p, q in zip(np.ravel(before), np.ravel(now)):
            made._entries[q] = step(made._entries[p], made._entries[q])
    return made


def _outer(ufunc: np.ufunc, a: Any, b: Any) -> Any:
    a, b = as_objects(a), as_objects(b)
    return _call(ufunc, a.reshape((*a._shape, *[1] * b.ndim)), b)


def _dot(a: Any, b: Any) -> Any:
    """``np.dot`` of numbers, vectors and matrices."""
    a, b = as_objects(a), as_objects(b)
    if not a.ndim or not b.ndim:
        return _call(np.multiply, a, b)
    if a.ndim > 2 or b.ndim > 2:
        raise refusal("a product of stacks of matrices")
    if a._shape[-1] != b._shape[0]:
        raise ValueError(f"shapes {a._shape} and {b._shape} not aligned: {a._shape[-1]} != {b._shape[0]}")
    rows = a if a.ndim == 2 else a.reshape((1, -1))
    columns = b.T if b.ndim == 2 else b.reshape((1, -1))
    found = [_reduce(np.add, _call(np.multiply, r, c)) for r in map(rows.__getitem__, range(len(rows))) for c in map(columns.__getitem__, range(len(columns)))]  # fmt: skip
    shape = (*a._shape[:-1], *b._shape[1:])
    return array_of(found, shape) if shape else found[0]


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise refusal("np.where with one argument")
    trace: Any = current()

    def choose(c: Any, a: Any, b: Any) -> Any:
        test = trace.expressions.truth(c)
        return (a if test else b) if isinstance(test, bool) else trace.branch(trace.value(test), lambda: a, lambda: b)

    found = _elementwise(choose, condition, x, y)
    return found if isinstance(found, ObjectArray) else array_of([found], ())


def _broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    arrays = list(map(as_objects, args))
    shape = np.broadcast_shapes(*(x._shape for x in arrays))
    return tuple(rearranged(np.broadcast_to, x, shape) for x in arrays)


_ENTRY: dict[Any, Any] = {
    ufunc: function for function, ufunc in UFUNCS.items() if not function.__name__.startswith("i")
}
_ENTRY |= {np.negative: operator.neg, np.positive: operator.pos, np.absolute: abs, np.invert: operator.invert}
_IN_PYTHON: dict[Any, Any] = {
    np.maximum: in_python.larger,
    np.minimum: in_python.smaller,
    np.logical_and: in_python.both,
    np.logical_or: in_python.either,
    np.logical_not: in_python.negated,
    np.square: in_python.square,
    np.reciprocal: in_python.reciprocal,
}


OF_UFUNCS |= {
    "__call__": (_call, ("dtype",)),
    "reduce": (_reduce, ("axis", "dtype", "keepdims", "initial")),
    "accumulate": (_accumulate, ("axis",)),
    "outer": (_outer, ()),
}
OF_FUNCTIONS |= {function: functools.partial(rearranged, function) for function in _REARRANGING}
OF_FUNCTIONS |= {np.dot: _dot, np.where: _where, np.broadcast_arrays: _broadcast_arrays}
