"""Compiled functions without a rule: by a program that computes the same, or else not looked into.

The function itself runs, so that its result is what it would be without morula.  Going back, the program runs on the same
arguments and is differentiated like any other.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from .opaque import call_opaque, callback
from .rules import find_model
from .rules.table import Model
from .stores import setitem
from .tape import Cotangents, Record, Tape, snapshot
from .values import differentiable, evaluate


def call_compiled(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function that has neither a rule nor source, on the tape."""
    model = find_model(function)
    return call_opaque(tape, function, args, kwargs) if model is None else _call_model(tape, model, args, kwargs)


def _call_model(tape: Tape, model: Model, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs:
        bound = inspect.signature(model.program).bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    if any(callback(tape, x) is not x for x in args):
        return _run_program(tape, model, args, kwargs)
    inside = list(args)
    for i in model.into:
        inside[i] = evaluate(tape.parent, np.copy, args[i])
    y = evaluate(tape.parent, model.function, *inside, **kwargs)
    written = [inside[i] for i in model.into]
    result = y if not written else written[0] if len(written) == 1 else tuple(written)
    active = [i for i, x in enumerate(args) if i not in model.into and differentiable(x)]
    if active and differentiable(result):
        tape.records.append((_pull_back, result, model, snapshot(args), kwargs, active))
    for i, value in zip(model.into, written):
        setitem(tape, args[i], ..., value)
    return y


def _run_program(tape: Tape, model: Model, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The program in place of a function that calls back: what is called may read what the arguments do not show."""
    y = tape.call(model.program, *args, **kwargs)
    if not model.into:
        return y
    for i, value in zip(model.into, y if len(model.into) > 1 else (y,)):
        setitem(tape, args[i], ..., value)
    return None


def _pull_back(table: Cotangents, record: Record) -> None:
    _, y, model, args, kwargs, active = record
    from .pullback import record  # which itself needs to call

    dy = table.take(y)
    if dy is None:
        return
    parent = table.evaluate.args[0] if table.evaluate is not None else None  # type: ignore[attr-defined]
    _, back = record(parent, model.program, args, kwargs, active)
    for i, g in zip(active, back.run(parent, dy)):
        table.add(args[i], g)
