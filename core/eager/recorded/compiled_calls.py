"""Calls of functions that have a compiled form: two sweeps of plain Python, recorded on the tape as one operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ...errors import NoDerivative
from ...rules.connected import connected
from ...rules.registry import Handler
from ...source.expressions import STATIC
from ...values.numbers import REAL, Int, call_on
from ..arrays.apply import SINGULAR
from ..arrays.integers import carries, enlist_all
from ..rewriting.instrument import instrument
from ..structured.captured import is_constant
from ..structured.functions import compiled_for
from . import known
from .tape import Cotangents, Record, Tape, pull_again, snapshot

NOT_COMPILED = object()
"""In place of a result: the call has to be recorded operation by operation."""


def call_compiled_form(
    tape: Tape, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any], otherwise: Callable[..., Any]
) -> Any:
    """Run the compiled form of a function and record it; NOT_COMPILED if these arguments have none, or if it raises.

    ``otherwise(tape, function, args, kwargs)`` is the call in general, for later calls with arguments of other types.
    """
    if tape.tangents is not None:
        return connected.call_compiled_forward(tape, function, args, kwargs)
    values = parameters(function, args, kwargs)
    if values is None or tape.integers and any(type(x) is not Int and carries(tape, x) for x in values):
        return NOT_COMPILED
    run = run_compiled(tape, tape.parent, function, values)
    if run is None:
        return NOT_COMPILED
    compiled, y, saved = run
    if any(type(x) is Int for x in values):
        y = enlist_all(tape, y, function)
    kept = snapshot(y) if compiled.result.kind == "tuple" else y
    tape.records.append((_pull_compiled, kept, compiled, saved, values, function))
    if known.runs and compiled.is_fixed and function.__closure__ is None:
        rest = values[len(args) :]
        if args and not kwargs and all(type(x) in REAL for x in args) and all(type(x) in STATIC for x in rest):
            found = _of_numbers(function, compiled, len(args), rest, otherwise)
            known.functions.settle(function, found, compiled.is_current)
    return y


def run_compiled(
    tape: Tape | None,
    parent: Tape | None,
    function: FunctionType,
    values: Sequence[Any],
    active: tuple[bool, ...] | None = None,
) -> tuple[Any, Any, Any] | None:
    """Decide between the tiers: run the compiled form of a structured function, or return None if it has to be recorded.

    Args:
        tape: on which the globals that the form treats as constants may not depend; None where nothing is recorded.
        parent: the tape of the enclosing derivative, on which the form runs.
        values: the arguments in the order of the parameters, then the contents of the closure.
        active: which of them are differentiated; None stands for all numbers and arrays.

    Returns:
        The form, the result and what it saved for the backward sweep.
    """
    compiled = compiled_for(function, values, active)  # type: ignore[arg-type]
    if compiled is None or not (tape is None or compiled.is_fixed or is_constant(tape, compiled)):
        return None
    try:
        y, saved = call_on(parent, compiled.forward, *values)
        return (compiled, y, saved) if compiled.fits(y) else None
    except Exception:  # the recorded form raises the error again, on the user's lines
        return None


def _of_numbers(
    function: FunctionType, compiled: Any, given: int, rest: tuple[Any, ...], otherwise: Callable[..., Any]
) -> Handler:
    """Return the recorded form of a compiled function that checks types again only if an argument is not a real number.

    It passes ``rest``, the values of the parameters after the first ``given``.
    """
    whole = connected.body(function, otherwise, given)
    if whole is not None:
        return whole
    forward = compiled.forward
    several = compiled.result.kind == "tuple"  # includes lists, which the program may change afterwards

    def call_of_numbers(tape: Tape, /, *args: Any, **kwargs: Any) -> Any:
        if (
            len(args) == given
            and not kwargs
            and tape.parent is None
            and tape.tangents is None
            and compiled.is_current()
        ):
            if all(type(x) in REAL for x in args):
                try:
                    y, saved = forward(*args, *rest)
                    if compiled.fits(y):
                        kept = snapshot(y) if several else y
                        tape.records.append((_pull_compiled, kept, compiled, saved, (*args, *rest), function))
                        return y
                except Exception:
                    pass  # the recorded form raises the error again, on the user's lines
        return otherwise(tape, function, args, kwargs)

    return call_of_numbers


def parameters(
    function: FunctionType, args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> tuple[Any, ...] | None:
    """Return the arguments of a call with defaults and closure contents, or None if they do not match one to one."""
    code = function.__code__
    missing = code.co_argcount - len(args)
    if missing or kwargs:
        if missing < 0 or code.co_kwonlyargcount:
            return None
        defaults = function.__defaults__ or ()
        names = code.co_varnames[len(args) : code.co_argcount]
        known_ = dict(zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults))
        known_ |= kwargs or {}
        if kwargs and (not kwargs.keys() <= set(names) or code.co_posonlyargcount):
            return None
        try:
            args = (*args, *(known_[name] for name in names))
        except KeyError:
            return None
    if function.__closure__ is None:
        return tuple(args)
    try:
        return (*args, *(cell.cell_contents for cell in function.__closure__))
    except ValueError:  # a variable that is not assigned yet
        return None


def _pull_compiled(table: Cotangents, record: Record) -> None:
    _, y, compiled, saved, values, function = record
    dy = table.take(y)
    if dy is None:
        return
    if table.is_strong and _is_as_it_was(function, values):
        _pull_recorded(table, function, values, dy)
        return
    try:
        gradients = iter(table.run(compiled.pull, saved, dy, y))
    except (*SINGULAR, NoDerivative):
        if not _is_as_it_was(function, values):
            raise
        _pull_recorded(table, function, values, dy)
        return
    for x, is_active in zip(values, compiled.active):
        if is_active:
            table.add(x, next(gradients))


def _pull_recorded(table: Cotangents, function: FunctionType, values: tuple[Any, ...], dy: Any) -> None:
    """Pull back a compiled call by recording it again, because the tape treats infinite slopes."""
    args = values[: function.__code__.co_argcount]
    pull_again(table, lambda again: instrument(function)(again, *args), dy)


def _is_as_it_was(function: FunctionType, values: tuple[Any, ...]) -> bool:
    """Whether the closure of a compiled function is unchanged since the call."""
    now = parameters(function, values[: function.__code__.co_argcount])
    return now is not None and all(a is b for a, b in zip(values, now))
