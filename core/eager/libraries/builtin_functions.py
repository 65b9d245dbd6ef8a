"""Handlers for Python's built-in functions that iterate, select, fold or call back.

Recorded code calls ``handler(tape, *args, **kwargs)`` in place of the function.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator
from types import CoroutineType, GeneratorType
from typing import Any

import numpy as np

from ...ir.vocabulary import larger, largest, smaller, smallest
from ...rules.registry import HANDLERS, handles
from ...rules.table import RULES
from ...source.definitions import user_module
from ...values.cotangents import conform
from ...values.numbers import Int, differentiable
from ...values.reachable import is_foreign
from ...values.special_methods import answer
from ..arrays.arrays import call_rule
from ..recorded.access import get_attribute, getitem, iterate, next_entry, place, special
from ..recorded.call import call
from ..recorded.comparison import equal, holds, sorting
from ..recorded.construct import class_made
from ..recorded.operate import OPERATORS
from ..recorded.sizes import UNASKED, listed
from ..recorded.stores import delete_attribute, set_attribute
from ..recorded.structure import same_number
from ..recorded.tape import Cotangents, Record, Tape
from ..recorded.text import as_ascii, formatted, represented, text
from ..unrecorded.frames import LAZY, take
from ..unrecorded.opaque_calls import Recording as recording
from ..unrecorded.unasking import PLAIN
from ..unrecorded.watched import call_unrecorded

add, multiply = OPERATORS["add"][0], OPERATORS["mul"][0]


def _passive(function: Any) -> Any:
    return lambda tape, *args, **kwargs: function(*args, **kwargs)


# These return nothing differentiable and run no user code that could compute.
for _function in (
    isinstance,
    issubclass,
    id,
    callable,
    property,
    staticmethod,
    classmethod,
    slice,
):
    HANDLERS[_function] = _passive(_function)


@handles(type)
def type_(tape: Tape, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1:
        return type(*args)
    name, bases, namespace = args
    return class_made(tape, type(name, bases, {"__module__": user_module(), **namespace}, **kwargs), *namespace)


def _dunder(function: Any, method: str) -> None:
    def handler(tape: Tape, x: Any = (), *args: Any) -> Any:
        own = None if type(x) in UNASKED else special(type(x), method)
        if tape.observer is not None:
            tape.observer.rounded(tape, function, (x,), None)
        args = tuple(place(tape, a) for a in args)
        if own is None and function in (math.floor, math.ceil) and special(type(x), "__float__") is not None:
            x = call(tape, float, x)
        if own is not None:
            return int(answer(tape, own, method, x)) if function is len else call(tape, own, x, *args)
        return function(x, *args)

    HANDLERS[function] = handler


_dunder(len, "__len__")
for _function, _method in ((math.floor, "__floor__"), (math.ceil, "__ceil__"), (math.trunc, "__trunc__")):
    _dunder(_function, _method)


@handles(hash)
def hash_(tape: Tape, x: Any) -> int:
    own = special(type(x), "__hash__")
    return call_unrecorded(tape, hash, x) if own is None else hash(_Hashed(answer(tape, own, "__hash__", x)))


class _Hashed:
    """An object with a given hash value; ``hash`` reduces it to the range of hashes."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return self.value


@handles(int)
def to_int(tape: Tape, x: Any = 0, *args: Any, **kwargs: Any) -> Any:
    """Convert to a constant integer, used as a count or an index: no derivative passes through it."""
    if tape.observer is not None:
        tape.observer.rounded(tape, int, (x,), None)
    for method in () if type(x) in PLAIN else ("__int__", "__index__", "__trunc__"):
        own = special(type(x), method)
        if own is not None:
            found = call(tape, own, x) if method == "__trunc__" else answer(tape, own, method, x)
            return int(found, *args, **kwargs)
    return int(x, *args, **kwargs)


SUMMED = {int, bool, float, complex, Int}
"""The classes of numbers for which ``sum`` may use a special loop."""


@handles(sum)
def sum_(tape: Tape, iterable: Any, /, start: Any = 0) -> Any:
    """Call ``sum``, which from Python 3.12 on adds runs of Python's numbers with compensated summation, unlike ``+``.

    So such runs are left to Python.  Another operand ends the compensation, unless all numbers before it were integers
    and the total is a Python number again.
    """
    if isinstance(start, (str, bytes, bytearray)):
        return sum((), start)  # raises what Python raises
    total, run, compensated = start, [], type(start) in SUMMED
    for x in iterate(tape, iterable):
        if compensated and type(x) in SUMMED:
            run.append(x)
            continue
        integers = not any(type(e) in (float, complex) for e in (total, *run))
        total = add(tape, _sum_of_numbers(tape, run, total), x)
        run, compensated = [], compensated and integers and type(total) in SUMMED
    return _sum_of_numbers(tape, run, total)


def _sum_of_numbers(tape: Tape, run: list[Any], start: Any) -> Any:
    """Return ``sum(run, start)``, by ``sum`` itself unless all are integers, for which repeated ``+`` is the same."""
    kinds = {type(start), *map(type, run)}
    if kinds == FLOATS and tape.parent is None:
        y = sum(run, start)
        tape.records.append((to_each_float, y, [start, *run]))
        return y
    if not run or kinds.isdisjoint((float, complex)):
        return functools.reduce(lambda total, x: add(tape, total, x), run, start)
    if tape.parent is None:
        y = sum([int(x) if type(x) is Int else x for x in run], int(start) if type(start) is Int else start)
    else:
        y = tape.parent.call(sum, run, start)
    tape.records.append((to_each_term, y, [start, *run]))
    return y


FLOATS = {int, float}
"""The classes of numbers in a sum of floats, which begins with the integer 0."""


def to_each_float(table: Cotangents, record: Record) -> None:
    if table.evaluate is not None:
        to_each_term(table, record)
        return
    _, y, terms = record
    numbers = table.numbers
    dy = numbers.pop(id(y), None)
    if dy is not None:
        for x in terms:
            if type(x) is float:
                key = id(x)
                present = numbers.get(key)
                numbers[key] = dy if present is None else present + dy


def to_each_term(table: Cotangents, record: Record) -> None:
    _, y, terms = record
    dy = table.take(y)
    if dy is not None:
        for x in terms:
            table.add(x, table.run(conform, dy, x) if type(y) is complex else dy)


@handles(math.prod)
def prod_(tape: Tape, iterable: Any, /, *, start: Any = 1) -> Any:
    values = list(iterate(tape, iterable))
    if type(start) is int and start == 1:
        return call_rule(tape, RULES[math.prod], (values,), {})
    return functools.reduce(lambda product, x: multiply(tape, product, x), values, start)


@handles(min, smaller, smallest)
def min_(tape: Tape, *args: Any, **kwargs: Any) -> Any:
    return _select(tape, min, args, kwargs)


@handles(max, larger, largest)
def max_(tape: Tape, *args: Any, **kwargs: Any) -> Any:
    return _select(tape, max, args, kwargs)


def _select(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``min`` or ``max``, which return one of their operands; equal numbers share its cotangent equally.

    With ``key``, the chosen object gets the whole cotangent.
    """
    values = list(iterate(tape, args[0])) if len(args) == 1 else list(args)
    y = function(values, **_recording_key(tape, values, kwargs))
    if kwargs.get("key") is not None or not isinstance(y, (float, int, np.number)) or values.count(y) == 1:
        return y
    ties = [x for x in values if x == y]
    if all(x is y for x in ties) or not any(differentiable(x) for x in ties):
        return y
    if tape.parent is not None:
        y = _select(tape.parent, function, (ties,), {})
    else:
        y = Int(y) if isinstance(y, int) else same_number(y)
    tape.records.append((to_each_tie, y, ties))
    return y


def to_each_tie(table: Cotangents, record: Record) -> None:
    _, y, ties = record
    dy = table.take(y)
    if dy is not None:
        share = table.run(operator.truediv, dy, len(ties))
        for x in ties:
            if differentiable(x):
                table.add(x, share)


def _recording_key(tape: Tape, values: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    key = sorting(tape, values, kwargs.get("key"))
    return kwargs if key is None else {**kwargs, "key": key}


@handles(sorted)
def sorted_(tape: Tape, iterable: Any, /, **kwargs: Any) -> list[Any]:
    values = list(listed(tape, iterable))
    if tape.observer is not None:
        tape.observer.told(tape, "sorted", "sorted", values)
    values.sort(**_recording_key(tape, values, kwargs))
    return values


@handles(reversed)
def reversed_(tape: Tape, x: Any) -> Any:
    own = special(type(x), "__reversed__")
    if own is not None:
        return call(tape, own, x)
    kind = type(x)
    in_c = kind is memoryview or is_foreign(kind) and not hasattr(kind, "__reversed__")  # yields raw memory
    if in_c or isinstance(x, np.ndarray) or special(kind, "__getitem__") is not None:
        return (getitem(tape, x, i) for i in range(call(tape, len, x) - 1, -1, -1))
    return reversed(x)


@handles(iter)
def iter_(tape: Tape, x: Any, *sentinel: Any) -> Any:
    return (
        _until(tape, recording(tape, x), *sentinel) if sentinel and callable(x) else iter(iterate(tape, x), *sentinel)
    )


def _until(tape: Tape, function: Any, sentinel: Any) -> Iterator[Any]:
    """Iterate as ``iter(function, sentinel)`` does, with recorded comparisons; a StopIteration of the function ends it, too."""
    while True:
        try:
            y = function()
        except StopIteration:
            return
        if equal(tape, sentinel, y):
            return
        yield y


@handles(next)
def next_(tape: Tape, iterator: Any, *default: Any) -> Any:
    step = special(type(iterator), "__next__")
    if isinstance(iterator, np.flatiter):
        step = next_entry
    elif step is None:
        return take(tape, iterator, next, iterator, *default) if type(iterator) in LAZY else next(iterator, *default)
    try:
        return next_entry(tape, iterator) if step is next_entry else call(tape, step, iterator)
    except StopIteration:
        if default:
            return default[0]
        raise


for _kind in LAZY:
    HANDLERS[_kind.__next__] = lambda tape, x: take(tape, x, next, x)
for _step in (GeneratorType.send, GeneratorType.throw, CoroutineType.send, CoroutineType.throw):
    HANDLERS[_step] = lambda tape, x, *args, _step=_step: take(tape, x, _step, x, *args)


@handles(getattr)
def getattr_(tape: Tape, x: Any, name: str, *default: Any) -> Any:
    try:
        return get_attribute(tape, x, name)
    except AttributeError:
        if default:
            return default[0]
        raise


@handles(hasattr)
def hasattr_(tape: Tape, x: Any, name: str) -> bool:
    """Look an attribute up on the tape, because the lookup may compute and store it."""
    try:
        get_attribute(tape, x, name)
    except AttributeError:
        return False
    return True


@handles(print)
def print_(tape: Tape, *values: Any, **kwargs: Any) -> None:
    print(*(text(tape, x) for x in values), **kwargs)


HANDLERS[bool] = lambda tape, *x: holds(tape, *x) if x else False
HANDLERS[range] = lambda tape, *bounds: range(*(place(tape, i) for i in bounds))
HANDLERS[object] = _passive(object)
HANDLERS |= {str: text, repr: represented, ascii: as_ascii, format: formatted}
HANDLERS[setattr] = set_attribute
HANDLERS[delattr] = delete_attribute
