"""Forward mode by the structured tier: runs the form of a function that computes tangents beside values.

The form runs while NumPy raises floating-point errors: where one occurs, where Python raises, and where a tangent is NaN, the run
is repeated on a tape, which knows limits at infinite slopes, and whose own operations warn.  Structured functions have no side
effects, so nothing has happened yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ...rules import find_rule
from ...rules.connected import connected
from ...rules.registry import HANDLERS
from ...source.expressions import STATIC
from ...values.numbers import INEXACT, NUMBERS, REAL, Int, call_on
from ...values.silence import raising
from ...values.strong_zero import is_nan
from ...values.tangents import has_tangent
from ..arrays.integers import carries
from ..recorded.compiled_calls import NOT_COMPILED, parameters
from ..recorded.structure import as_gradient
from ..recorded.tape import Tape
from ..structured.captured import is_constant
from ..structured.functions import compiled_for, is_structured
from .tangents import Tangents

MOST_FAILURES = 3
"""How often the form of a function may fail before its runs are recorded at once."""

FLOAT = np.dtype(float)


def run_compiled(
    tape: Tape | None, parent: Tape | None, function: FunctionType, values: tuple[Any, ...], tangents: Sequence[Any]
) -> tuple[Any, Any] | None:
    """Return the result and its tangent, or None if the run has to be recorded.

    Args:
        tape: on which the globals that the form treats as constants may not depend; None where nothing is recorded.
        parent: the tape of the enclosing derivative, on which the form runs.
        values: the arguments in the order of the parameters, then the contents of the closure.
        tangents: their tangents, None for zero.

    The tangent of a tuple has None for elements that do not vary.
    """
    compiled = compiled_for(function, values, tuple(t is not None for t in tangents), is_forward=True)
    if compiled is None or compiled.failures > MOST_FAILURES:
        return None
    if not (tape is None or compiled.is_fixed or is_constant(tape, compiled)):
        return None
    given = [t for t in tangents if t is not None]
    try:
        found = raising(call_on, parent, compiled.push, *values, *given)
        if found is not None:
            y, t = found
            if compiled.fits(y) and not _has_nan(t):
                return y, _apart(parent, t, given)
    except Exception:  # the recorded form raises the error again, on the user's lines
        pass
    compiled.failures += 1
    return None


def run_whole(parent: Tape | None, f: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return ``f(*primals)`` and its tangent by the structured tier, None if the run has to be recorded."""
    if type(f) is not FunctionType or not is_structured(f) or f in HANDLERS or find_rule(f) is not None:
        return None
    ts: list[Any] = []
    for x, t in zip(primals, tangents):
        if t is not None:
            kind = type(x)
            if kind in REAL:
                if type(t) is int:
                    t = float(t)
                elif type(t) not in REAL:
                    return None
            elif (
                kind is not np.ndarray
                or type(t) is not kind
                or t.dtype != FLOAT
                or x.dtype != FLOAT
                or t.shape != x.shape
            ):
                return None
        ts.append(t)
    values = parameters(f, primals)
    if values is None or all(t is None for t in ts):
        return None
    found = run_compiled(parent, parent, f, values, [*ts, *[None] * (len(values) - len(ts))])
    return None if found is None else (found[0], _of_result(parent, *found))


def call_compiled(tape: Tape, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the compiled form of a call on a tape of forward mode; NOT_COMPILED if it has to be recorded."""
    tangents: Tangents = tape.tangents
    values = None if tangents.is_series else parameters(function, args, kwargs)
    if values is None:
        return NOT_COMPILED
    ts: list[Any] = []
    for x in values:
        kind = type(x)
        if kind is Int or tape.integers is not None and carries(tape, x):
            return NOT_COMPILED
        if kind not in NUMBERS and kind not in STATIC:
            return NOT_COMPILED
        ts.append(tangents.get(x) if kind in INEXACT else None)
    found = run_compiled(tape, tape.parent, function, values, ts)
    if found is None:
        return NOT_COMPILED
    y, t = found
    tangents.length += 1
    tangents.set(y, t)
    return y


def _has_nan(t: Any) -> bool:
    if type(t) is float:
        return t != t
    return any(map(_has_nan, t)) if isinstance(t, (tuple, list)) else is_nan(t)


def _apart(parent: Tape | None, t: Any, taken: list[Any]) -> Any:
    """Copy arrays in the tangent of a result that share memory with given tangents, or with each other."""
    if isinstance(t, (tuple, list)):
        return [_apart(parent, e, taken) for e in t]
    if isinstance(t, np.ndarray):
        if any(isinstance(other, np.ndarray) and np.may_share_memory(t, other) for other in taken):
            t = call_on(parent, np.copy, t)
        taken.append(t)
    return t


def _of_result(parent: Tape | None, y: Any, t: Any) -> Any:
    """Return the tangent of the result of a whole run: zero where it does not vary, None for what has no derivative."""
    if isinstance(y, (tuple, list)):
        ts = [None] * len(y) if t is None else t
        return type(y)([_of_result(parent, e, te) for e, te in zip(y, ts)])
    if not has_tangent(y):
        return None
    if isinstance(y, np.ndarray):
        return np.zeros(y.shape, y.dtype) if t is None else t
    return as_gradient(0 if t is None else t, y) if t is None or parent is None else t


connected.call_compiled_forward = call_compiled
