"""Python's built-in functions, as the interpreter calls them on traced values and objects."""

from __future__ import annotations

import copy
import itertools
import math
import operator
import types
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.derived import Derived, example, own_method, plain
from ..ir.traced_text import Text
from ..values.attributes import has_dict
from . import comprehensions, text_methods
from .after_run import AfterRun, kind_made
from .arguments import has_traced
from .array_likes import ARRAYS
from .as_numbers import conversions
from .copying import deep, shallow
from .elements_of_arrays import ITERATORS
from .folds import is_fused
from .formatting import by_percent, formatted, is_told, repr_of, text_of
from .frames import OF_FRAMES
from .fused_loops import can_fuse
from .heaps_in_python import HEAPS
from .identity import has_choice
from .instances import has_attributes_beside_items, held_by_instance, is_instance, special
from .iterators import (
    LEFT,
    Count,
    Enumerate,
    Filter,
    Items,
    Iterator,
    Map,
    Zip,
    advance,
    entries,
    has_traced_length,
    iterator_of,
    walked,
)
from .itertools_in_python import DEFINITIONS, alike, all_, any_, called
from .keys import hash_of
from .lists_in_python import BISECTIONS, collected
from .math_in_python import DEFINITIONS as OF_MATH
from .new_object_arrays import MAKING, or_else
from .range_in_python import Range
from .rows import rows_of
from .scopes import Conflict, Late
from .sequences import traced_range
from .sorting import SORTING
from .subscripts import delitem, getitem, setitem
from .suspended import Generator
from .text_methods import length_of
from .traced import ArrayOfObjects, NeedsConcrete, Scalar, Traced


def _isinstance(trace: Any, x: Any, kinds: Any) -> Any:
    if isinstance(x, Conflict):
        x.refuse()
    if type(x) is AfterRun:
        return issubclass(kind_made(x), kinds)
    return isinstance(like(x) if isinstance(x, STAND_INS) else range(0) if type(x) is Range else x, kinds)


def _type(trace: Any, x: Any, *rest: Any) -> Any:
    if isinstance(x, Conflict):
        x.refuse()
    if rest:
        return type(x, *rest)
    if type(x) is AfterRun:
        return kind_made(x)
    return python_type(x) if isinstance(x, STAND_INS) else range if type(x) is Range else type(x)


STAND_INS = (Traced, ArrayOfObjects, Derived, Text)
"""Values of the program that stand for objects of Python's or NumPy's own classes."""


def python_type(x: Traced | ArrayOfObjects | Derived | Text) -> type:
    """Return the Python or NumPy type of the object that a traced value represents."""
    if isinstance(x, Derived):
        return x.cls
    if isinstance(x, Text):
        return str
    if not isinstance(x, Scalar):
        return np.ndarray
    return x.type.number


def like(x: Traced | ArrayOfObjects | Derived | Text) -> Any:
    """Return a number, an array or a string of the type of the object that a traced value represents."""
    if isinstance(x, Derived):
        return example(x)
    kind = python_type(x)
    return np.empty(0) if kind is np.ndarray else kind(0)


def _range(trace: Any, *args: Any) -> Any:
    return traced_range(trace, *args) if has_traced(args) else NotImplemented


def _iter(trace: Any, x: Any, *sentinel: Any) -> Any:
    return trace.calls.interpret(called, (x, *sentinel), {}) if sentinel else iterator_of(trace, x)


def _enumerate(trace: Any, iterable: Any, start: Any = 0) -> Any:
    return walked(trace, enumerate, iterable, start) or trace.new(Enumerate(iterator_of(trace, iterable), start))


def _zip(trace: Any, *iterables: Any, strict: bool = False) -> Any:
    found = None if strict else walked(trace, zip, *iterables)
    return found or trace.new(Zip([iterator_of(trace, x) for x in iterables], strict))


def _reversed(trace: Any, x: Any) -> Any:
    if rows_of(x) is not None:
        return walked(trace, reversed, x)
    if isinstance(x, (list, tuple, str)):
        return trace.new(Items(x, -1))
    if isinstance(x, dict):
        found = entries(trace, x, "keys")
        found.keys.reverse()
        return found
    method = special(x, "__reversed__")
    if method is not None:
        return trace.call(method)
    return NotImplemented if isinstance(x, Iterator) else walked(trace, reversed, x) or iterator_of(trace, reversed(x))


def _in_python(definition: Any) -> Any:
    return lambda trace, *args, **kwargs: trace.calls.interpret(definition, args, kwargs)


def _if_traced(definition: Any) -> Any:
    return lambda trace, *args: trace.calls.interpret(definition, args, {}) if has_traced(args) else NotImplemented


def _of_items(function: Any) -> Any:
    """Give a function of an iterable the items of an iterator in a list."""

    def apply(trace: Any, iterable: Any, /, **options: Any) -> Any:
        is_iterator = isinstance(iterable, Iterator)
        return trace.call(function, trace.call(list, iterable), **options) if is_iterator else NotImplemented

    return apply


def _getattr(trace: Any, x: Any, name: str, *default: Any) -> Any:
    late = _late(x, name)
    if late is not None and default:
        return trace.branch(trace.value(late.absent), lambda: default[0], lambda: late.x)
    try:
        return trace.attribute(x, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def _late(x: Any, name: str) -> Late | None:
    """Return an attribute that exists on one path only, or None."""
    held = held_by_instance(x).get(name) if is_instance(x) else None
    return held if isinstance(held, Late) else None


def _hasattr(trace: Any, x: Any, name: str) -> Any:
    late = _late(x, name)
    if late is not None:
        return trace.call(operator.not_, late.absent)
    if isinstance(x, STAND_INS) and not isinstance(x, Derived):  # an object of a derived class has more of its own
        return hasattr(like(x), name)
    try:
        trace.attribute(x, name)
    except AttributeError:
        return False
    return True


def _setattr(trace: Any, x: Any, name: str, value: Any) -> None:
    trace.objects.set_attribute(x, name, value)


def _callable(trace: Any, x: Any) -> bool:
    return callable(x)


def _number(kind: type) -> Any:
    by_method = conversions(lambda x: _type(None, x))[kind]

    def convert(trace: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(plain(args[0]), Text):
            return text_methods.number(trace, kind, plain(args[0]), *args[1:], **kwargs)
        return by_method(trace, *args, **kwargs)

    return convert


def _map(trace: Any, function: Any, *iterables: Any) -> Any:
    if not iterables:
        raise TypeError("map() must have at least two arguments.")
    return trace.new(Map(function, [iterator_of(trace, x) for x in iterables]))


def _filter(trace: Any, function: Any, iterable: Any) -> Any:
    return trace.new(Filter(function, iterator_of(trace, iterable)))


def _collect(kind: Any) -> Any:
    def collect(trace: Any, *args: Any) -> Any:
        if args and not isinstance(args[0], (Traced, Iterator)) and special(args[0], "__iter__") is not None:
            args = (iterator_of(trace, args[0]),) if trace.allows("may_grow") else args
        if args and (has_traced_length(trace, args[0]) or can_fuse(args[0])) and trace.allows("may_grow"):
            (x,) = args
            is_expression = isinstance(x, Generator) and x.is_fresh
            found = comprehensions.collected(trace, x) if is_expression else trace.calls.interpret(collected, args, {})
            return found if kind is list else tuple(found)
        if not args:
            return trace.new(kind())
        items = trace.iterate(args[0])
        return trace.new(kind(comprehensions.counted(trace, items) if can_fuse(args[0]) else items))

    return collect


def _next(trace: Any, iterator: Any, *default: Any) -> Any:
    try:
        return advance(trace, iterator)
    except StopIteration:
        if not default:
            raise
    return default[0]


def _len(trace: Any, x: Any) -> Any:
    if isinstance(x, Traced):
        return NotImplemented
    if type(x) is Derived and special(x, "__len__") is None:
        return trace.call(len, x.plain)
    if isinstance(x, Text):
        return length_of(trace, x)
    rows = rows_of(x)
    if rows is not None:
        return rows.length
    trace.refuse_unknown_entries(x, order=False)
    method = special(x, "__len__")
    return len(x) if method is None else trace.call(method)


def as_python_bool(trace: Any, test: Any) -> Any:
    """Convert a truth value to Python's bool."""
    return trace.wrap(trace.builder.python_bool(trace.value(test))) if isinstance(test, Scalar) else test


def _some(is_any: bool) -> Any:
    def some(trace: Any, iterable: Any) -> Any:
        combine, taken, may_be_endless = (
            operator.or_ if is_any else operator.and_,
            itertools.count(),
            is_fused(iterable),
        )

        def step(found: Any, x: Any) -> Any:
            if may_be_endless and next(taken) > LEFT:
                raise BadInput("the items may have no end")  # another attempt follows
            test = as_python_bool(trace, trace.expressions.truth(x))
            if isinstance(test, bool):
                return found if test is not is_any else is_any
            return test if found is (not is_any) else found if found is is_any else trace.call(combine, found, test)

        if isinstance(iterable, Traced):
            return trace.folds.fold(iterable, not is_any, step)
        found = NotImplemented
        if not (may_be_endless and trace.allows("may_grow")):
            with suppress(BadInput) if may_be_endless else nullcontext():
                found = trace.folds.unless_it_matters(lambda: trace.folds.fold(iterable, not is_any, step))
        if found is not NotImplemented:
            return found
        if isinstance(iterable, Generator) and iterable.is_fresh:
            return trace.folds.search(iterable, is_any)
        return trace.calls.interpret(any_ if is_any else all_, (iterable,), {})

    return some


def _sum(trace: Any, iterable: Any, start: Any = 0) -> Any:
    if isinstance(iterable, Traced):
        return NotImplemented
    return trace.folds.fold(iterable, start, lambda total, x: trace.call(operator.add, total, x))


def _str(trace: Any, *args: Any, **kwargs: Any) -> Any:
    return text_of(trace, *args) if len(args) == 1 and not kwargs else NotImplemented


def _mod(trace: Any, a: Any, b: Any) -> Any:
    return (
        by_percent(trace, a, b)
        if isinstance(a, str) and type(a).__mod__ is str.__mod__ and is_told(b)
        else NotImplemented
    )


def _hash(trace: Any, x: Any) -> Any:
    if type(x) is Derived:
        method = own_method(x, "__hash__")
        return trace.call(hash, x.plain) if method is None else trace.call(method)
    if isinstance(x, Traced):
        raise NeedsConcrete(trace.value(x), "the hash of a number")
    method = type(x).__hash__
    if isinstance(method, types.FunctionType):
        return trace.call(method, x)
    return hash_of(trace, x) if isinstance(x, (tuple, frozenset)) else NotImplemented


def _id(trace: Any, x: Any) -> Any:
    if isinstance(x, Traced) or has_choice(trace, x):
        raise BadInput(
            "id() of an object that is not known while compiling cannot be compiled; compare objects with `is`"
        )
    trace.outside.compared.add(id(x))
    return id(x)


def take_dict(trace: Any, x: Any) -> None:
    """Note that the program holds an object's ``__dict__``, through which it may change the object."""
    if has_attributes_beside_items(x):
        trace.dict_beside_items(x)
    elif is_instance(x) and has_dict(x):
        trace.owners[id(x.__dict__)] = x


def _vars(trace: Any, *objects: Any) -> Any:
    if not objects:
        return OF_FRAMES[locals](trace)
    (x,) = objects
    if type(x) is Derived:
        return trace.attribute(x, "__dict__")
    take_dict(trace, x)
    return trace.objects.attributes_of(x)


SPECIAL: dict[Any, Callable[..., Any]] = {
    **conversions(lambda x: _type(None, x)),
    float: _number(float),
    int: _number(int),
    isinstance: _isinstance,
    type: _type,
    range: _range,
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _setattr,
    callable: _callable,
    str: _str,
    repr: repr_of,
    format: formatted,
    operator.mod: _mod,
    hash: _hash,
    types.FunctionType: lambda trace, *args, **kwargs: types.FunctionType(
        *args, **kwargs
    ),  # globals are kept, not read
    map: _map,
    filter: _filter,
    list: _collect(list),
    tuple: _collect(tuple),
    len: _len,
    next: _next,
    any: _some(True),
    all: _some(False),
    sum: _sum,
    operator.getitem: getitem,
    operator.setitem: setitem,
    operator.delitem: delitem,
    id: _id,
    copy.copy: shallow,
    copy.deepcopy: deep,
    alike: lambda trace, x, y: trace.expressions.alike(x, y),
    vars: _vars,
    **OF_FRAMES,
    **SORTING,
    **HEAPS,
    iter: _iter,
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    **ARRAYS,
    **ITERATORS,
    **{f: or_else(make, ARRAYS[f]) if f in ARRAYS else make for f, make in MAKING.items()},
    itertools.count: lambda trace, start=0, step=1: trace.new(Count(start, step)),
    **{function: _in_python(definition) for function, definition in {**DEFINITIONS, **BISECTIONS}.items()},
    **{function: _if_traced(definition) for function, definition in OF_MATH.items()},
    math.fsum: _of_items(math.fsum),
    math.prod: _of_items(math.prod),
    bool: lambda trace, x=False: as_python_bool(trace, trace.expressions.truth(x)),
    operator.not_: lambda trace, x: NotImplemented if isinstance(x, Traced) else not trace.expressions.truth(x),
}
"""Functions with an interpreter's body of their own; ``NotImplemented`` passes a call on to the other tables."""
