"""Run and record a function that has a rule, and pull its cotangent back."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.table import RULES, Rule, pull, pull_strongly
from ...source.definitions import describe, user_frame
from ...values.cotangents import conform
from ...values.memory import owner
from ...values.numbers import NO_KEYWORDS, NUMBERS, PASSIVE, Int, call_on, differentiable
from ...values.reachable import is_foreign
from ...values.strong_zero import is_zero
from ..recorded.tape import Cotangents, Record, Tape, is_alone, snapshot
from ..unrecorded.opaque import note, note_as_bytes
from .integers import carries, follow
from .object_arrays import computes, holds_objects, is_by_entries, record_objects
from .records import holds_numbers, moved_by

SINGULAR = (ArithmeticError, ValueError)
"""The exceptions that Python's arithmetic and ``math`` raise where a partial derivative is infinite."""


def apply_rule(tape: Tape, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function that has a rule, and record it if a cotangent can pass through."""
    parent = tape.parent
    if rule.reuse is not None and not kwargs and tape.tangents is None and rule.reuse.fits(args):
        args = (*args, call_on(parent, rule.reuse.keep, args[0]))
        rule = RULES[rule.reuse.kernel]
    if rule.instead is not None and rule.instead.is_exact and tape.tangents is None and _fits(rule, args, kwargs):
        return tape.call(rule.instead.program, *args, **kwargs)
    y = rule.function(*args, **kwargs) if parent is None else parent.call(rule.function, *args, **kwargs)
    return record_rule(tape, rule, y, args, kwargs)


def _fits(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the program that a rule names in place of its function takes these arguments."""
    assert rule.instead is not None
    try:
        return isinstance(args[0], np.ndarray) and rule.instead.fits(*args, **kwargs)
    except (AttributeError, TypeError, IndexError):  # the function says what is wrong with them
        return False


def record_rule(tape: Tape, rule: Rule, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record that a function with a rule returned ``y``, if a cotangent can pass through; return ``y`` or its stand-in.

    The stand-in carries the derivative: an ``Int`` for an int, a copy of ``y`` where ``y`` is one of the operands.
    """
    if kwargs:
        args, kwargs = rule.positional(args, kwargs)
    kind = type(y)
    if rule.is_zero and not (kind is np.ndarray and y.dtype.kind == "O" and is_by_entries(rule)):
        if tape.observer is not None:
            tape.observer.rounded(tape, rule.function, args, y)
        return y
    if kind is np.ndarray or isinstance(y, np.ndarray):
        if y.dtype.kind == "O":
            return record_objects(tape, y, rule, args, kwargs)
        if y.dtype.kind not in "fcV":
            if y.base is not None:
                note_as_bytes(tape, y, rule.function)
            return follow(tape, rule, y, args, kwargs)
        if y.base is not None:
            place = owner(y)
            for a in args:
                if isinstance(a, np.ndarray) and owner(a) is place:
                    return y
        if y.dtype.kind == "V":
            return _record_structured(tape, y, rule, args, kwargs)
    elif kind is int:
        if not any(map(differentiable, args)) and not carries(tape, args):
            return y
        y = Int(y)
    elif kind in PASSIVE:
        y = follow(tape, rule, y, args, kwargs)
        if not carries(tape, y):
            return y
    elif kind is list or kind is tuple:
        y = follow(tape, rule, y, args, kwargs)
    active = lists = False
    for a in args:
        if a is y:
            if kind is not np.ndarray or not any(b is not y and differentiable(b) for b in args):
                return y
            y = call_on(tape.parent, np.copy, y)  # a matrix to the power 1.0, which depends on the exponent too
        ka = type(a)
        if ka in PASSIVE:
            active = active or carries(tape, a)
            continue
        if ka is np.ndarray:
            if a.dtype.kind == "O":
                return record_objects(tape, y, rule, args, kwargs)
        elif ka not in NUMBERS:
            if isinstance(a, np.dtype):
                continue
            if not isinstance(a, (tuple, list, np.ndarray, np.generic, float, complex, int)):
                if is_foreign(ka):
                    note(tape, y, rule.function, args)
                    return y
                if holds_objects(a) or computes(a) and not isinstance(y, (np.ndarray, np.generic, float, complex)):
                    return record_objects(tape, y, rule, args, kwargs)
                continue
            lists = lists or isinstance(a, (list, tuple, np.ndarray))
            if holds_objects(a):
                return record_objects(tape, y, rule, args, kwargs)
            if not differentiable(a) and not carries(tape, a):
                continue
        active = True
    if not active:
        return y
    if kwargs:
        kwargs = {name: snapshot(x) for name, x in kwargs.items()}
    known = y if kind in NUMBERS else plain_arrays(y)
    if rule.may_refuse or (kwargs or None in rule.given) and unknown_operands(rule, args, kwargs):
        tape.places[id(known)] = user_frame()
    tape.records.append((pull_back, known, rule, plain_arrays(snapshot(args)) if lists else args, kwargs))
    return y


def _record_structured(tape: Tape, y: np.ndarray, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a structured result: follow moved records; write those made of tuples or other dtypes field by field."""
    if not holds_numbers(y.dtype):
        return y
    plain = plain_arrays(y)
    first = args[0] if args else None
    if isinstance(first, (list, tuple)) and rule.function in (np.array, np.asarray, np.asanyarray):
        for i in np.ndindex(y.shape):
            tape.call(operator.setitem, plain, i, functools.reduce(operator.getitem, i, first))
    elif isinstance(first, np.ndarray) and first.dtype.names is not None and first.dtype != y.dtype:
        tape.call(operator.setitem, plain, ..., first)
    elif not moved_by(tape, rule.function, plain, args, kwargs):
        note(tape, plain, rule.function, args)
    return y


def record_fields(tape: Tape, y: np.ndarray, x: np.ndarray, record: Callable[..., tuple[Any, ...]]) -> None:
    """Record ``y``, which consists of entries of the structured array ``x``, field by field."""
    for name in y.dtype.names or ():
        if y[name].dtype.kind == "V":
            record_fields(tape, y[name], x[name], record)
        elif y[name].dtype.kind in "fc":
            tape.records.append(record(y[name], x[name]))


def plain_arrays(x: Any) -> Any:
    """Replace arrays of a subclass by plain views of the same memory, as the tape identifies arrays by memory."""
    if isinstance(x, np.ndarray):
        return x if type(x) is np.ndarray else x.view(np.ndarray)
    if type(x) is tuple or type(x) is list:
        return type(x)(map(plain_arrays, x))
    return x


def pull_back(table: Cotangents, record: Record) -> None:
    """Pull back an operation with a rule; an error names the line of the call where that is known."""
    try:
        _pull_back(table, record)
    except NoDerivative as error:
        place = table.tape.places.get(id(record[1])) if table.tape is not None else None
        if place is None or f"{place[0]}:{place[1]}" in str(error):
            raise
        raise NoDerivative(f"{error}\n  in {describe(record[2].function)}, called at {place[0]}:{place[1]}") from error


def _pull_back(table: Cotangents, record: Record) -> None:
    _, y, rule, args, kwargs = record
    dy = table.take(y)
    if dy is None:
        return
    try:
        if table.evaluate is None:
            cotangents = pull(rule, dy, y, args, kwargs)
        elif table.is_strong:
            if is_alone(table.parent) and is_zero(dy):  # within an outer derivative dy may be zero only at this point
                return
            cotangents = table.run(pull_strongly, rule, dy, y, args, kwargs)
        else:
            cotangents = table.run(pull, rule, dy, y, args, kwargs)
    except SINGULAR:
        cotangents = table.run(pull_limits, rule, dy, y, args, kwargs)
    for x, g in zip(args, cotangents):
        if g is not None:
            table.add(x, g)
    if kwargs or None in rule.given:
        # NaN marks an unknown derivative, and reaches exactly the inputs that the derivative would reach.
        for x in unknown_operands(rule, args, kwargs):
            table.unknown[rule.function] = table.tape.places.get(id(y)) if table.tape is not None else None
            table.add(x, np.full_like(x, np.nan) if isinstance(x, np.ndarray) else type(x)(np.nan))


def unknown_operands(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the real and complex operands for which a rule gives no derivative."""
    given = (*(x for x, p in zip(args, rule.given) if p is None), *kwargs.values())
    return [x for x in given if isinstance(x, (float, complex, np.inexact)) or _is_inexact(x)]


def _is_inexact(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def pull_back_binary(table: Cotangents, record: Record) -> None:
    """Do what ``pull_back`` does for an element-wise function of two operands, skipping operands without cotangents."""
    _, y, rule, a, b = record
    dy = table.take(y)
    if dy is None:
        return
    if table.evaluate is not None:
        try:
            cotangents = table.run(pull_strongly if table.is_strong else pull, rule, dy, y, (a, b), NO_KEYWORDS)
        except SINGULAR:
            cotangents = table.run(pull_limits, rule, dy, y, (a, b), NO_KEYWORDS)
        for x, g in zip((a, b), cotangents):
            table.add(x, g)
        return
    left, right = rule.partials
    for x, partial in ((a, left), (b, right)):
        if type(x) not in PASSIVE or table.carries(x):
            try:
                slope = partial(y, a, b)  # type: ignore[operator,misc]
            except SINGULAR:
                table.add(x, pull_limits(rule, dy, y, (a, b), NO_KEYWORDS)[0 if partial is left else 1])
                continue
            one = type(slope) is int and slope == 1
            table.add(x, conform(dy if one else rule.scale(dy, slope), x))  # type: ignore[arg-type]


def pull_limits(rule: Rule, dy: Any, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Pull back with NumPy's numbers, which give inf or NaN where Python's arithmetic raises at an infinite slope.

    The operand may be a constant that needs no cotangent.  A zero cotangent passes nothing on.
    """
    if is_zero(dy):
        return [None for _ in args]
    try:
        with np.errstate(all="ignore"):
            cotangents = pull(rule, dy, of_numpy(y), tuple(map(of_numpy, args)), kwargs)
    except np.linalg.LinAlgError as error:
        raise NoDerivative(
            f"{rule.function.__name__} has no derivative here, because a matrix to be inverted for it is singular ({error})"
        ) from error
    return [float(g) if type(x) is float and isinstance(g, np.floating) else g for g, x in zip(cotangents, args)]


def of_numpy(x: Any) -> Any:
    if isinstance(x, bool):
        return x
    return np.float64(x) if isinstance(x, (float, int)) else np.complex128(x) if isinstance(x, complex) else x
