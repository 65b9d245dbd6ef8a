"""Calls of functions without rule or source: they run as they are, and the tape notes what they may have computed.

Python functions that they call back are recorded (``Recording``).
"""

from __future__ import annotations

import array
import functools
import types
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...rules.connected import connected
from ...values.attributes import has_dict
from ...values.memory import identity, is_about_memory, owner, pinned, rebased
from ...values.numbers import NUMBER_TYPES, PASSIVE, call_on
from ...values.reachable import is_foreign, reached
from ..arrays.integers import carries, lose
from ..recorded.tape import Tape, snapshot
from .opaque import (
    RANDOM,
    Opaque,
    holds_values,
    keeps,
    may_hold_numbers,
    note,
    note_as_bytes,
    note_given,
    note_overwritten,
)
from .watching import unwatched

RUN_BY_C = {types.GeneratorType, map, filter, zip}


class Recording:
    """A Python function handed to C code: calling it records on the tape, until the run is over."""

    __slots__ = ("__weakref__", "caller", "function", "tape")

    def __init__(self, tape: Tape, function: Any, caller: tuple[Any, Any] | None = None) -> None:
        self.tape: Tape | None = tape
        self.function = function
        self.caller = caller  # the C function that calls back with values that it has made, and its inputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tape = self.tape
        while tape is not None and tape.over:
            tape = tape.parent
        if tape is not None and self.caller is not None:
            note(tape, args, *self.caller)
        return unwatched(call_on, tape, self.function, *args, **kwargs)

    def __morula_call__(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        """Do a call from recorded code, which may belong to an enclosing derivative or a later run."""
        own = inner = self.tape
        if tape.over and own is not None and not own.over:  # the caller is a thread that an earlier run has started
            tape = own
        while inner is not None and inner is not tape:
            inner = inner.parent
        within = inner is tape and own is not None and not own.over
        return call_on(own if within else tape, self.function, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


CALLABLE = (FunctionType, MethodType, functools.partial, functools._lru_cache_wrapper)


def callback(tape: Tape, x: Any, caller: tuple[Any, Any] | None = None) -> Any:
    """Return ``x``, wrapped to record if it is a Python function that C code may call."""
    if not isinstance(x, CALLABLE):
        return x
    recording = Recording(tape, x, caller)
    tape.lent.append(recording)
    return recording


def call_opaque(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function without rule or source; record its inputs, its result and what it stored in its arguments."""
    if any(isinstance(x, dict) or has_dict(x) for x in (*args, *kwargs.values()) if not _is_code(x)):
        return call_within_reach(tape, function, function, args, kwargs, lambda: (args, kwargs))
    return _run(tape, function, args, kwargs, (*args, *kwargs.values()))


def call_past_the_class(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``super().__call__(*args, **kwargs)`` where a Python class overrides the ``__call__`` of a C base class."""
    x = function.__self__
    if isinstance(x, functools.partial):
        return tape.call(x.func, *x.args, *args, **{**x.keywords, **kwargs})
    return call_opaque(tape, function, args, kwargs)


def _is_code(x: Any) -> bool:
    return isinstance(x, (type, ModuleType, np.ndarray)) or type(x) in PASSIVE


def call_within_reach(
    tape: Tape, function: Any, form: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reach: Any, constants: Any = ()
) -> Any:
    """Run a ``form`` of a function that may store computed values in anything that ``reach()`` holds; note these."""
    known: set[int] = set()
    values: list[Any] = []
    reached(reach(), known, values=values)
    arrays = [x for x in values if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.flags.writeable]
    arrays = [x for x in arrays if not any(x is a for a in (*args, *kwargs.values()))]
    arrays = [x if type(x) is np.ndarray else x.view(np.ndarray) for x in arrays]
    before = [call_on(tape.parent, np.copy, a) for a in arrays]
    first = len(tape.records)
    # List what the arguments hold now, because they may hold more at the end of the run.
    inputs = *values, *constants, *_defaults((*args, *kwargs.values()))
    y = _run(tape, form(inputs) if form is not function else function, args, kwargs, inputs)
    recorded = _written_since(tape, first)
    for a, old in zip(arrays, before):
        if id(owner(a)) not in recorded and a.tobytes() != old.tobytes():
            note_overwritten(tape, a, old, Opaque(function, snapshot(inputs)))
    left: list[Any] = []
    reached((reach(), None if holds_values(y) else y), set(), values=left)
    made = [x for x in left if identity(x) not in known]
    note(tape, made, function, inputs)
    return y


def _defaults(objects: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the numbers that are defaults of fields in the classes of some objects."""
    classes = {cls for x in objects if has_dict(x) and not _is_code(x) for cls in type(x).__mro__}
    for attribute in (a for cls in classes for a in vars(cls).values() if type(a) not in METHODS):
        for field in attribute.values() if isinstance(attribute, dict) else (attribute,):
            yield from (x for x in (field, getattr(field, "default", None)) if type(x) in NUMBER_TYPES)


METHODS = {FunctionType, classmethod, staticmethod, property, str, type(None)}
"""Classes of attributes of a class that are no fields."""


def _written_since(tape: Tape, first: int) -> set[int]:
    """Return the ids of the arrays' owners to which callbacks have written, recorded on the tape."""
    return {id(owner(r[1])) for r in tape.records[first:] if isinstance(r[1], np.ndarray)}


def _run(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], taken: tuple[Any, ...]) -> Any:
    given = [*args, *kwargs.values()]
    bound = getattr(function, "__self__", None)
    if bound is not None and not isinstance(bound, (ModuleType, type)):
        given.append(bound)
        taken = *taken, bound
    else:
        bound = None
    arrays = [a for a in given if isinstance(a, np.ndarray) and a.dtype.kind != "O" and a.flags.writeable]
    arrays = [a if type(a) is np.ndarray else a.view(np.ndarray) for a in arrays]
    known_addresses = addressed(tape)
    arrays += [a for a in known_addresses if not any(a is b for b in arrays)] if known_addresses else []
    before = [call_on(tape.parent, np.copy, a) for a in arrays]
    first = len(tape.records)
    caller = function, taken
    drawn: list[Any] = []
    inside = [_drawing(tape.call(iter, a), drawn) if type(a) in RUN_BY_C else callback(tape, a, caller) for a in args]
    y = connected.run_opaque(tape, function, *inside, **{k: callback(tape, v, caller) for k, v in kwargs.items()})
    if tape.observer is not None and isinstance(y, (bytes, bytearray, memoryview, array.array)):
        tape.observer.told(tape, "bytes", getattr(function, "__name__", "bytes"), taken)
    if function is np.ndarray:
        y = pinned(y)
    inputs = (*taken, *drawn, *(record[1] for record in tape.records[first:]))
    recorded = _written_since(tape, first)
    changed = [a.tobytes() != old.tobytes() for a, old in zip(arrays, before)]
    for a, old, surely in zip(arrays, before, changed):
        if id(owner(a)) in recorded:
            continue
        may = y is None and not any(changed) and a.dtype.kind in "fc" and not any(a is b for b in known_addresses)
        if surely or may:
            note_overwritten(tape, a, old, Opaque(function, snapshot(inputs)), surely)
    note_as_bytes(tape, y, function)
    same = any(y is a for a in given if type(a) not in PASSIVE)
    if same or isinstance(y, np.ndarray) and any(owner(a) is owner(y) for a in arrays):
        return y
    may_keep = bound is not None and keeps(type(bound)) and any(type(x) not in PASSIVE for x in given[:-1])
    if isinstance(y, (np.ndarray, np.integer, list, tuple)) and carries(tape, given):
        if not (getattr(function, "__module__", None) or type(bound).__module__ or "").startswith(RANDOM):
            y = lose(tape, y, function, given)
    note(tape, (y, bound) if may_keep else y, function, inputs)
    if y is None:  # it was called for its effect on its arguments
        note(tape, tuple(a for a in args if is_foreign(type(a))), function, inputs)
    if not holds_values(y) and any(map(may_hold_numbers, inputs)) and is_about_memory(function, inputs):
        note_given(tape, function, inputs)
    return as_view(y, inputs)


def _drawing(iterator: Iterator[Any], drawn: list[Any]) -> Iterator[Any]:
    """Yield from an iterator, and append each value to ``drawn``."""
    for x in iterator:
        drawn.append(x)
        yield x


def addressed(tape: Tape) -> list[np.ndarray]:
    """Return the arrays whose address C code knows: it can write to them without being given them."""
    return tape.memory.get(addressed, [])


def as_view(y: Any, inputs: Any) -> Any:
    """Return ``y``, an array that C code made on the memory of an array in ``inputs``, as a view of that array."""
    if not isinstance(y, np.ndarray) or y.base is None or isinstance(y.base, np.ndarray) or owner(y) is not y:
        return y
    values: list[Any] = []
    reached(inputs, set(), values=values)
    return rebased(y, tuple(x for x in values if isinstance(x, np.ndarray) and np.may_share_memory(x, y)))


def evaluate_text(tape: Tape, function: Any, names: dict[str, Any], scope: dict[str, Any], *args: Any) -> Any:
    """Run ``eval`` or ``exec`` in the scope of the caller, as an opaque call."""
    source, *given = args
    scopes = given or [names, scope]
    before = {name: id(value) for name, value in scopes[-1].items()}
    code = source if isinstance(source, types.CodeType) else compile(source.strip(), "<text>", function.__name__)
    used = [s[name] for name in _names(code) for s in scopes if name in s]
    values: list[Any] = []  # what these hold now: the text may store other values
    reached(used, set(), values=values)
    y = connected.run_opaque(tape, function, source, *scopes)
    made = [value for name, value in scopes[-1].items() if before.get(name) != id(value) and name != "__builtins__"]
    note(tape, (y, made), function, (*used, *values))
    return y


def _names(code: types.CodeType) -> set[str]:
    """Return the names that code, including nested code, looks up in its scope."""
    inner = (_names(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return {*code.co_names}.union(*inner)
