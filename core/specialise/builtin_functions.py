"""What Python's own functions do on traced values and on objects, and what only the interpreter can answer."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from ..surface.arguments import NUMBERS
from ..traced import Array, NeedsConcrete, Scalar, Traced
from ..traced_text import Text
from .arguments import has_traced
from .sequences import Sequence, traced_range, walked

_ITERATORS = (enumerate, zip, reversed)


def _isinstance(trace: Any, x: Any, kinds: Any) -> Any:
    return issubclass(python_type(x), kinds) if isinstance(x, Traced) else isinstance(x, kinds)


def _type(trace: Any, x: Any, *rest: Any) -> Any:
    return python_type(x) if isinstance(x, Traced) else type(x, *rest) if rest else type(x)


def python_type(x: Traced) -> type:
    """The type of what a traced value stands for."""
    if isinstance(x, Array):
        return np.ndarray
    if x.type.weak:
        return {"b": bool, "i": int, "f": float, "c": complex}[x.type.dtype.kind]
    return bool if x.type.dtype.kind == "b" else x.type.dtype.type


def _range(trace: Any, *args: Any) -> Any:
    return traced_range(trace, *args) if has_traced(args) else NotImplemented


def _walk(kind: Any) -> Any:
    return lambda trace, *args, **kwargs: (
        NotImplemented
        if kwargs
        else walked(trace, kind, *args)
        or kind(*(trace.iterate(a) if kind is not reversed else list(trace.iterate(a)) for a in args))
    )


def _getattr(trace: Any, x: Any, name: str, *default: Any) -> Any:
    try:
        return trace.attribute(x, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def _hasattr(trace: Any, x: Any, name: str) -> bool:
    try:
        trace.attribute(x, name)
    except AttributeError:
        return False
    return True


def _setattr(trace: Any, x: Any, name: str, value: Any) -> None:
    trace.set_attribute(x, name, value)


def _callable(trace: Any, x: Any) -> bool:
    return callable(x)


def _map(trace: Any, function: Any, *iterables: Any) -> Any:
    return iter([trace.call(function, *xs) for xs in zip(*map(trace.iterate, iterables))])


def _filter(trace: Any, function: Any, iterable: Any) -> Any:
    kept = []
    for x in trace.iterate(iterable):
        test = trace.truth(x if function is None else trace.call(function, x))
        if not isinstance(test, bool):
            raise NeedsConcrete(
                trace.value(test), "which elements filter keeps, which is not known while compiling; use np.where"
            )
        kept += [x] * test
    return iter(kept)


def _collect(kind: Any) -> Any:
    def collect(trace: Any, *args: Any) -> Any:
        return trace.new(kind(trace.iterate(args[0]))) if args else trace.new(kind())

    return collect


def _sorted(trace: Any, iterable: Any, *, key: Any = None, reverse: bool = False) -> Any:
    if isinstance(iterable, Array):
        return NotImplemented
    items = list(trace.iterate(iterable))
    keys = items if key is None else [trace.call(key, x) for x in items]
    traced = next((k for k in keys if has_traced((k,))), None)
    if traced is None:
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return trace.new([items[i] for i in order])
    if key is None and all(isinstance(x, (Scalar, int, float)) for x in items):
        return NotImplemented
    raise BadInput(
        "the order of objects by numbers that are not known while compiling; sort an array of them (np.sort, np.argsort)"
    )


def _next(trace: Any, iterator: Any, *default: Any) -> Any:
    if trace.outside.is_outside(iterator):
        raise BadInput(
            "compiled code takes the next item of an iterator from outside, which it would do while compiling only"
        )
    return NotImplemented


def _len(trace: Any, x: Any) -> Any:
    if isinstance(x, Traced):
        return NotImplemented
    method = getattr(type(x), "__len__", None)
    return (
        trace.call(method, x)
        if isinstance(method, types.FunctionType)
        else x.length
        if isinstance(x, Sequence)
        else len(x)
    )


def _some(is_any: bool) -> Any:
    def some(trace: Any, iterable: Any) -> Any:
        combine = operator.or_ if is_any else operator.and_

        def step(found: Any, x: Any) -> Any:
            test = trace.truth(x)
            if isinstance(test, bool):
                return found if test is not is_any else is_any
            return test if found is (not is_any) else found if found is is_any else trace.call(combine, found, test)

        return trace.fold(iterable, not is_any, step)

    return some


def _sum(trace: Any, iterable: Any, start: Any = 0) -> Any:
    if isinstance(iterable, Traced):
        return NotImplemented
    return trace.fold(iterable, start, lambda total, x: trace.call(operator.add, total, x))


def _extreme(function: Any) -> Any:
    """``max`` and ``min`` of what is not an array, a list or a tuple: a generator, say."""

    def extreme(trace: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or isinstance(args[0], (Traced, np.ndarray, list, tuple)):
            return NotImplemented
        return trace.call(function, list(trace.iterate(args[0])), **kwargs)

    return extreme


def _str(trace: Any, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], (Scalar, Text)):
        return args[0] if isinstance(args[0], Text) else Text("{}", [args[0]])
    return NotImplemented


def _are_alike(items: Any) -> bool:
    """Whether items are numbers, or arrays of one type: which one it is can be left open."""
    if all(isinstance(e, Scalar) or isinstance(e, NUMBERS) for e in items):
        return True
    kinds = [
        (e.dtype, e.type.shape if isinstance(e, Array) else e.shape)
        for e in items
        if isinstance(e, (Array, np.ndarray))
    ]
    return len(kinds) == len(items) and all(kind == kinds[0] for kind in kinds)


def _one_of(trace: Any, items: Any, index: Scalar) -> Any:
    """The item at an index that is not known while compiling, read from an array of them all."""
    found = trace.call(operator.getitem, trace.call(np.array, items), index)
    text = "an array may be any one of a list's, so writing to it or to them is refused; copy it first"
    for x in (found, *items) if isinstance(found, Array) else ():
        if isinstance(x, Array):
            x.storage.tied = text
    return found


def _getitem(trace: Any, x: Any, index: Any) -> Any:
    if isinstance(x, Traced):
        return NotImplemented
    if isinstance(x, Sequence):
        return x.item(index)
    method = getattr(type(x), "__getitem__", None)
    if isinstance(method, types.FunctionType):
        return trace.call(method, x, index)
    if isinstance(index, Scalar) and (index.type.dtype.kind in "iu" or isinstance(x, dict)):
        if isinstance(x, (list, tuple)) and _are_alike(x):
            return _one_of(trace, x, index)
        raise NeedsConcrete(
            trace.value(index), f"an index into a {type(x).__name__}, which is not known while compiling"
        )
    if type(x) is dict:
        found = trace.settled(x, index)
    else:
        found = x[index]
    if trace.outside.is_outside(x) and not isinstance(index, slice):
        return trace.outside.read(trace, x, index, found)
    return trace.new(found) if isinstance(index, slice) and isinstance(found, list) else found


def _setitem(trace: Any, x: Any, index: Any, value: Any) -> Any:
    if isinstance(x, Traced):
        return NotImplemented
    method = getattr(type(x), "__setitem__", None)
    if isinstance(method, types.FunctionType):
        return trace.call(method, x, index, value)
    if has_traced((index,)):
        raise BadInput(
            f"compiled code writes to a {type(x).__name__} at an index that is not known while compiling; use an array"
        )
    trace.touch(x)
    x[index] = value
    return None


SPECIAL: dict[Any, Callable[..., Any]] = {
    isinstance: _isinstance,
    type: _type,
    range: _range,
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _setattr,
    callable: _callable,
    str: _str,
    map: _map,
    filter: _filter,
    list: _collect(list),
    tuple: _collect(tuple),
    sorted: _sorted,
    len: _len,
    next: _next,
    any: _some(True),
    all: _some(False),
    sum: _sum,
    max: _extreme(max),
    min: _extreme(min),
    operator.getitem: _getitem,
    operator.setitem: _setitem,
    iter: lambda trace, x: trace.iterate(x),
    bool: lambda trace, x=False: trace.truth(x),
    operator.not_: lambda trace, x: NotImplemented if isinstance(x, Traced) else not trace.truth(x),
    **{kind: _walk(kind) for kind in _ITERATORS},
}
"""Functions that are the interpreter's own; ``NotImplemented`` leaves a call to the others."""
