"""Python functions that have no source, as what a decorator has generated: run as they are, with care.

What they compute by themselves is not looked into, as in ``opaque``.  But most of them pass things on: what they call by
a name of their globals is recorded.
"""

from __future__ import annotations

import builtins
import dis
from types import CellType, FunctionType
from typing import Any

import numpy as np

from .opaque import (
    NUMBER_TYPES,
    Opaque,
    Recording,
    call_opaque,
    callback,
    holds_values,
    note,
    note_overwritten,
    reached,
)
from .tape import Tape, owner, snapshot
from .values import evaluate

LOOKING_AROUND = {"locals", "vars", "dir", "globals", "super", "eval", "exec"}
"""Functions that see the frame that they are called from."""


def call_unread(tape: Tape, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a Python function that has no source; what it leaves in arguments, closure or globals is recorded as well."""
    stored = [i.argval for i in dis.get_instructions(function) if i.opname == "STORE_GLOBAL"]

    def within_reach() -> tuple[Any, ...]:
        return args, kwargs, function, [function.__globals__.get(name) for name in stored]

    known: set[int] = set()
    values: list[Any] = []
    reached(within_reach(), known, values=values)
    arrays = [x for x in values if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.flags.writeable]
    arrays = [x for x in arrays if not any(x is a for a in (*args, *kwargs.values()))]
    before = [evaluate(tape.parent, np.copy, a) for a in arrays]
    first = len(tape.records)
    there = *values, *(c for c in function.__code__.co_consts if type(c) in NUMBER_TYPES)
    inputs = *args, *kwargs.values(), function, *there
    y = call_opaque(tape, function if stored else _calling_back(tape, function, inputs), args, kwargs, there)
    recorded = {id(owner(r[1])) for r in tape.records[first:] if isinstance(r[1], np.ndarray)}
    for a, old in zip(arrays, before):
        if id(owner(a)) not in recorded and a.tobytes() != old.tobytes():
            note_overwritten(tape, a, old, Opaque(function, snapshot(inputs)))
    values.clear()
    reached((within_reach(), None if holds_values(y) else y), set(), values=values)
    made = [x for x in values if (id(owner(x)) if isinstance(x, np.ndarray) else id(x)) not in known]
    note(tape, made, function, inputs)
    return y


def _calling_back(tape: Tape, function: FunctionType, given: tuple[Any, ...]) -> FunctionType:
    """The same code, where each global that it does nothing but call is in a form that records."""
    loads = [i for i in dis.get_instructions(function) if i.opname == "LOAD_GLOBAL"]
    called = {i.argval for i in loads if i.arg is not None and i.arg & 1}  # pushed together with the mark of a call
    named = {i.argval for i in loads if i.arg is not None and not i.arg & 1}
    scope = {**vars(builtins), **function.__globals__}
    recording = {n: Recording(tape, scope[n], (function, given)) for n in called - named - LOOKING_AROUND if n in scope}
    inside = FunctionType(
        function.__code__,
        {**function.__globals__, **recording},
        function.__name__,
        function.__defaults__,
        tuple(_recording_cell(tape, cell, (function, given)) for cell in function.__closure__ or ()),
    )
    inside.__kwdefaults__ = function.__kwdefaults__
    return inside


def _recording_cell(tape: Tape, cell: CellType, caller: tuple[Any, Any]) -> CellType:
    try:
        held = cell.cell_contents
    except ValueError:  # a variable that is not assigned yet
        return cell
    return CellType(callback(tape, held, caller)) if type(held) is FunctionType else cell
