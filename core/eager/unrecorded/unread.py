"""Python functions that have no source, as what a decorator has generated: run as they are, with care.

What they compute by themselves is not looked into, as in ``opaque``.  But most of them pass things on: what they call by
a name of their globals is recorded.
"""

from __future__ import annotations

import builtins
import dis
from types import CellType, FunctionType
from typing import Any

from ..recorded.tape import Tape
from .opaque import NUMBER_TYPES, Recording, call_within_reach, callback

LOOKING_AROUND = {"locals", "vars", "dir", "globals", "super", "eval", "exec"}
"""Functions that see the frame that they are called from."""


def call_unread(tape: Tape, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a Python function that has no source; what it leaves in arguments, closure or globals is recorded as well."""
    stored = [i.argval for i in dis.get_instructions(function) if i.opname == "STORE_GLOBAL"]
    constants = [c for c in function.__code__.co_consts if type(c) in NUMBER_TYPES]

    def reach() -> Any:
        return args, kwargs, function, [function.__globals__.get(name) for name in stored]

    def form(inputs: tuple[Any, ...]) -> FunctionType:
        return function if stored else _calling_back(tape, function, inputs)

    return call_within_reach(tape, function, form, args, kwargs, reach, constants)


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
