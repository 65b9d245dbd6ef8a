"""Handlers for functions of the standard library and of classes: copies, frames, ``operator``, NumPy's constructors."""

from __future__ import annotations

import copy
import copyreg
import functools
import itertools
import operator
import sys
import weakref
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np

from ...rules.registry import CALLERS, HANDLERS, handles
from ...source.definitions import program_frame
from ...values.numbers import NUMBERS, call_on
from ..arrays.integers import carries, enlist, lose
from ..recorded import known
from ..recorded.access import get_attribute, getitem, iterate, load_attribute, place, special
from ..recorded.call import call, call_method
from ..recorded.stores import delete_item, store_attribute
from ..recorded.tape import Tape, pass_on
from ..rewriting.instrument import instrument
from ..unrecorded.opaque_calls import Recording as recording, call_opaque
from .builtin_functions import to_each_term


@handles(weakref.proxy)
def proxy_(tape: Tape, x: Any, *callback: Any) -> Any:
    return weakref.proxy(x, *(recording(tape, function) for function in callback if function is not None))


HANDLERS[object.__setattr__] = store_attribute
HANDLERS[object.__getattribute__] = load_attribute


@handles(type.__setattr__, type.__delattr__)
def _of_class(tape: Tape, cls: type, name: str, *value: Any) -> None:
    known.forget_classes()
    type.__setattr__(cls, name, *value) if value else type.__delattr__(cls, name)


HANDLERS[operator.delitem] = delete_item
HANDLERS[operator.index] = lambda tape, x: operator.index(place(tape, x))


def _numpy_integer(cls: type) -> Any:
    """Return the handler of a NumPy integer class: the new object carries on the derivative of a Python int."""

    def handler(tape: Tape, x: Any = 0, *args: Any) -> Any:
        if not carries(tape, x):
            return call_opaque(tape, cls, (x, *args), {})
        y = call_on(tape.parent, cls, x, *args)
        if isinstance(y, np.ndarray):
            return lose(tape, y, cls)
        enlist(tape, y, cls)
        tape.records.append((to_each_term, y, [x]))
        return y

    return handler


for _function in {np.dtype(c).type for c in "bhilqpBHILQP"}:
    HANDLERS[_function] = _numpy_integer(_function)


@handles(operator.call)
def call_(tape: Tape, function: Any, *args: Any, **kwargs: Any) -> Any:
    return call(tape, function, *args, **kwargs)


def _copying(function: Any, method: str) -> Any:
    """Return a handler that records the source of ``copy`` or ``deepcopy``, which calls a class's own methods."""

    def handler(tape: Tape, x: Any, *memo: Any, **kwargs: Any) -> Any:
        if type(x) in NUMBERS and not isinstance(x, np.ndarray):
            return x
        if isinstance(x, (float, complex)) and not isinstance(getattr(type(x), method, None), FunctionType):
            y = call_on(tape.parent, function, x)
            tape.records.append((pass_on, y, x))
            return y
        return instrument(function)(tape, x, *memo, **kwargs)

    return handler


@handles(sys._getframe)
def getframe_(tape: Tape, depth: int = 0) -> Any:
    """Return the frame that Python would return without the engine's frames in between."""
    frame = program_frame(sys._getframe(1))
    for _ in range(depth):
        frame = frame and program_frame(frame.f_back)
    return frame or sys._getframe(10_000)  # raises what Python raises


def getframemodulename(tape: Tape, depth: int = 0) -> str | None:
    """Return the module name of the frame that ``getframe_`` returns, or None if there is no such frame."""
    with suppress(ValueError):
        return getframe_(tape, depth).f_globals.get("__name__")
    return None


if sys.version_info >= (3, 12):
    handles(sys._getframemodulename)(getframemodulename)


@handles(object.__reduce_ex__)
def reduce_ex(tape: Tape, x: Any, protocol: int) -> Any:
    """Return the reduction of ``x`` for copying; the class's own methods, which C code would call, are recorded."""
    cls: Any = type(x)
    if isinstance(cls.__reduce__, FunctionType):
        return call(tape, cls.__reduce__, x)
    arguments, state = special(cls, "__getnewargs__"), special(cls, "__getstate__")
    if arguments is None and state is None:
        return x.__reduce_ex__(protocol)
    given = call(tape, arguments, x) if arguments is not None else getattr(x, "__getnewargs__", tuple)()
    kept = call(tape, state, x) if state is not None else object.__getstate__(x)  # type: ignore[attr-defined]
    entries = list.__iter__(x) if isinstance(x, list) else None
    new: Any = copyreg.__newobj__  # type: ignore[attr-defined]
    return new, (cls, *given), kept, entries, iter(dict.items(x)) if isinstance(x, dict) else None


for _function, _method in ((copy.copy, "__copy__"), (copy.deepcopy, "__deepcopy__")):
    HANDLERS[_function] = _copying(_function, _method)


def _call_itemgetter(tape: Tape, getter: Any, x: Any) -> Any:
    found = [getitem(tape, x, i) for i in getter.__reduce__()[1]]
    return tuple(found) if len(found) > 1 else found[0]


def _call_attrgetter(tape: Tape, getter: Any, x: Any) -> Any:
    names = getter.__reduce__()[1]
    found = [functools.reduce(lambda y, n: get_attribute(tape, y, n), name.split("."), x) for name in names]
    return tuple(found) if len(found) > 1 else found[0]


def _call_methodcaller(tape: Tape, caller: Any, x: Any) -> Any:
    make, args = caller.__reduce__()
    if isinstance(make, functools.partial):
        return call_method(tape, x, make.args[0], *args, **make.keywords)
    return call_method(tape, x, *args)


@handles(np.fromiter)
def fromiter_(tape: Tape, iter: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    if np.dtype(dtype).kind not in "fc":
        return call_opaque(tape, np.fromiter, (iterate(tape, iter), dtype, count), kwargs)
    values = list(iterate(tape, iter) if count < 0 else itertools.islice(iterate(tape, iter), count))
    if len(values) < count:
        return np.fromiter(values, dtype, count)  # raises what NumPy raises
    return call(tape, np.array, values, dtype=dtype)


CALLERS[operator.itemgetter] = _call_itemgetter
CALLERS[operator.attrgetter] = _call_attrgetter
CALLERS[operator.methodcaller] = _call_methodcaller
