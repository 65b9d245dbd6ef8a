"""Short ways for the usual calls of functions with rules: of numbers and arrays of float64, on the outermost tape.

Most calls have such operands, which no class takes over and C code takes as they are.  ``call_rule`` finds that out
step by step for operands of any kind; here one loop over the operands does, and the cotangents need fewer conversions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...rules.registry import Handler
from ...rules.table import Rule
from ...values.cotangents import conform
from ...values.numbers import NO_KEYWORDS, REAL
from ..recorded.tape import Cotangents, Record, Tape
from .apply import SINGULAR, pull_back, pull_limits, record_rule, unknown_operands

FLOAT = np.dtype(float)

CONSTANT = {int, bool, type(None), str}
"""Classes of operands without a derivative that C code takes as they are."""

SELECTING = {"axis", "keepdims"}
"""Keyword arguments that select entries, and have no derivative."""


def shortened(rule: Rule, general: Callable[..., Any]) -> Handler:
    """Return the recorded form of a function with a rule; ``general(tape, rule, args, kwargs)`` does any other call."""
    function, most = rule.function, rule.position_of_out
    has_unknown = rule.may_refuse or None in rule.given
    pull = pull_elementwise if rule.partials and not has_unknown else pull_back

    def call(tape: Tape, /, *args: Any, **kwargs: Any) -> Any:
        if tape.parent is not None or len(args) > most or tape.integers is not None:
            return general(tape, rule, args, kwargs)
        active = False
        for x in args:
            kind = type(x)
            if kind is np.ndarray:
                if x.dtype is not FLOAT:
                    return general(tape, rule, args, kwargs)
                active = True
            elif kind in REAL:
                active = True
            elif kind not in CONSTANT:
                return general(tape, rule, args, kwargs)
        if not active or kwargs and not _selects(kwargs):
            return general(tape, rule, args, kwargs)
        y = function(*args, **kwargs)
        kind = type(y)
        if kind is np.ndarray and y.dtype is FLOAT:
            if y.base is not None:
                return record_rule(tape, rule, y, args, kwargs)
        elif kind not in REAL:
            return record_rule(tape, rule, y, args, kwargs)
        for x in args:
            if x is y:
                return record_rule(tape, rule, y, args, kwargs)
        if has_unknown and (rule.may_refuse or unknown_operands(rule, args, kwargs)):
            return record_rule(tape, rule, y, args, kwargs)
        tape.records.append((pull, y, rule, args, kwargs or NO_KEYWORDS))
        return y

    is_general = rule.may_write or rule.is_zero or rule.reuse is not None or rule.instead is not None
    return call if not is_general else lambda tape, /, *a, **k: general(tape, rule, a, k)


def array_of_numbers(rule: Rule, general: Callable[..., Any]) -> Handler:
    """Return the recorded form of ``np.array`` and ``np.asarray``, with a short way for lists of real numbers."""
    function = rule.function

    def call(tape: Tape, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and tape.parent is None and tape.integers is None:
            (entries,) = args
            if type(entries) is list or type(entries) is tuple:
                kinds = {*map(type, entries)}
                if kinds <= SCALARS and kinds != INTEGERS and kinds:
                    y = function(entries)
                    tape.records.append((pull_entries, y, rule, tuple(entries)))
                    return y
        return general(tape, rule, args, kwargs)

    return call


SCALARS = REAL | {int}
INTEGERS = {int}


def pull_entries(table: Cotangents, record: Record) -> None:
    _, y, rule, entries = record
    if table.evaluate is not None:
        pull_back(table, (pull_back, y, rule, ([*entries],), NO_KEYWORDS))
        return
    dy = table.take(y)
    if dy is None:
        return
    numbers = table.numbers
    for x, g in zip(entries, dy.tolist()):
        if type(x) is not int:
            key = id(x)
            present = numbers.get(key)
            numbers[key] = g if present is None else present + g


def _scaled(rule: Rule, dy: Any, slope: Any) -> Any:
    """Do what ``rule.scale`` does, which looks for infinities; here one product of BLAS finds that there are none."""
    if type(slope) is not np.ndarray or slope.dtype is not FLOAT:
        return rule.scale(dy, slope)
    g = dy * slope
    if rule.finite is True or type(g) is np.ndarray and g.dtype is FLOAT and math.isfinite(np.vdot(g, g)):
        return g
    return rule.scale(dy, slope)


def _selects(kwargs: dict[str, Any]) -> bool:
    """Whether all keyword arguments select entries by integers that no program can change afterwards."""
    for name, x in kwargs.items():
        kind = type(x)
        if name not in SELECTING or kind not in CONSTANT and not (kind is tuple and {*map(type, x)} <= {int}):
            return False
    return True


def pull_elementwise(table: Cotangents, record: Record) -> None:
    """Do what ``pull_back`` does for an element-wise function of numbers and arrays of float64."""
    if table.evaluate is not None:
        pull_back(table, record)
        return
    _, y, rule, args, _ = record
    if type(y) is np.ndarray:
        key = id(y)
        dy = table.arrays.pop(key, None)
        if dy is None:
            return
        table.windows.pop(key, None)
        table.exclusive.discard(key)
    else:
        dy = table.numbers.pop(id(y), None)
        if dy is None:
            return
    for i, (x, partial) in enumerate(zip(args, rule.partials)):
        if type(x) in CONSTANT or type(partial) is int and partial == 0:
            continue
        try:
            slope = partial(y, *args)  # type: ignore[operator,misc]
            g = dy if type(slope) is int and slope == 1 else _scaled(rule, dy, slope)
        except SINGULAR:
            table.add(x, pull_limits(rule, dy, y, args, NO_KEYWORDS)[i])
            continue
        if type(x) is np.ndarray:
            if type(g) is np.ndarray and g.shape == x.shape and x.base is None:
                table.add_array(x, g)
                continue
        elif type(g) is not np.ndarray:
            numbers, key = table.numbers, id(x)
            present = numbers.get(key)
            numbers[key] = g if present is None else present + g
            continue
        table.add(x, conform(g, x))
