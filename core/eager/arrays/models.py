"""Compiled functions without a rule: differentiated by an equivalent Python program (a model), or else opaque.

In the forward sweep the function itself runs, so the result is the same as without morula.  In the backward sweep the
model runs on the same arguments and is differentiated like any other program.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from ...rules import find_model
from ...rules.connected import connected
from ...rules.table import Model
from ...values.numbers import call_on, differentiable
from ...values.reachable import is_foreign
from ..recorded.stores import setitem
from ..recorded.tape import Cotangents, Record, Tape, snapshot
from ..unrecorded.opaque import Opaque, judge, refusal
from ..unrecorded.opaque_calls import call_opaque, callback
from .overwrite import FLAG


def call_compiled(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that has neither a rule nor source."""
    model = find_model(function)
    return call_opaque(tape, function, args, kwargs) if model is None else call_model(tape, model, args, kwargs)


def call_model(tape: Tape, model: Model, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    signature = _signature(model.program)
    names = list(signature.parameters)
    by_position, by_name = len(args), list(kwargs)
    if kwargs:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # the model does not cover this form of call
            return call_opaque(tape, model.function, args, kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    if any(callback(tape, x) is not x for x in args):
        return _run_program(tape, model, args, kwargs)
    inside = list(args)
    for i in (*model.into, *_overwritten(names, args)):
        inside[i] = call_on(tape.parent, np.copy, args[i])
    out = inside[names.index("out")] if "out" in names[: len(args)] and not model.into else None
    if out is not None:
        inside[names.index("out")] = None
    named = {name: kwargs[name] if name in kwargs else inside[names.index(name)] for name in by_name}
    y = call_on(tape.parent, model.function, *inside[:by_position], **named)
    if is_foreign(type(y)):  # a Cython memoryview
        y = np.asarray(y)
    written = [inside[i] for i in model.into]
    result = y if not written else written[0] if len(written) == 1 else tuple(written)
    active = [i for i, x in enumerate(args) if (model.updates or i not in model.into) and differentiable(x)]
    if active and differentiable(result):
        opaque = Opaque(model.function, snapshot(args))
        tape.records.append((pull_back_model, result, model, snapshot(args), kwargs, active, opaque))
    for i, value in zip(model.into, written):
        setitem(tape, args[i], ..., value)
    if out is not None:
        setitem(tape, out, ..., y)
        return out
    return args[model.into[0]] if written and isinstance(y, np.ndarray) else y


@functools.cache
def _signature(program: Any) -> inspect.Signature:
    return inspect.signature(program)


def _overwritten(names: list[str], args: tuple[Any, ...]) -> list[int]:
    """Return the positions of arrays that a function may overwrite; it gets copies of them."""
    flags = {name.removeprefix(FLAG) for name, x in zip(names, args) if name.startswith(FLAG) and x}
    return [i for i, (name, x) in enumerate(zip(names, args)) if name in flags and isinstance(x, np.ndarray)]


def _run_program(tape: Tape, model: Model, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the model in place of a function that calls back: a callback may depend on more than the arguments."""
    y = tape.call(model.program, *args, **kwargs)
    if not model.into:
        return y
    for i, value in zip(model.into, y if len(model.into) > 1 else (y,)):
        setitem(tape, args[i], ..., value)
    return None


def pull_back_model(table: Cotangents, entry: Record) -> None:
    _, y, model, args, kwargs, active, opaque = entry
    dy = table.take(y)
    if dy is None:
        return
    if opaque.moved is None:
        judge(table.tape)
    if not opaque.depends:
        return
    parent = table.parent
    try:
        computed, back = connected.record_run(parent, model.program, args, kwargs, active)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise refusal(opaque) from error  # the model does not cover these arguments
    if isinstance(computed, tuple):
        for part, d in zip(computed, dy):
            if part is None and d is not None and np.any(d != 0):
                raise refusal(opaque)
    for i, g in zip(active, back.run(parent, dy)):
        table.add(args[i], _once(args[i], g, set()))


def _once(x: Any, g: Any, seen: set[int]) -> Any:
    """Return the gradient ``g`` of an argument, with the total of an array that occurs twice kept once only."""
    if isinstance(x, (tuple, list)) and isinstance(g, (tuple, list)):
        return [_once(e, h, seen) for e, h in zip(x, g)]
    if isinstance(x, np.ndarray):
        if id(x) in seen:
            return None
        seen.add(id(x))
    return g
