"""Transfer functions of ``integer_bounds``: the forms and bounds of single operations' integer results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import typed
from .affine import Affine, Interval, is_bool, limits
from .dynamic import Value


def _product(a: Affine, b: Affine) -> Affine | None:
    if not a.terms:
        return b * a.constant
    return a * b.constant if not b.terms else None


def _multiplied(bounds: Any, result: Value, operands: Sequence[Value]) -> None:
    found = _products(*(bounds.interval(v) for v in operands))
    low, high = limits(result.type)
    if bounds.is_exact(np.multiply, operands):
        found = max(found[0], low), min(found[1], high)
    if low <= found[0] and found[1] <= high:
        bounds.atom(result, (), (), found)


def _products(a: Interval, b: Interval) -> Interval:
    found = [x * y for x in a for y in b]
    return min(found), max(found)


def _extreme(largest: bool) -> Any:
    def rule(bounds: Any, result: Value, operands: Sequence[Value]) -> None:
        a, b = (bounds.form(v) for v in operands)
        choose = max if largest else min
        numbers = choose(bounds.lower(a), bounds.lower(b)), choose(bounds.upper(a), bounds.upper(b))
        bounds.atom(result, [a, b] if largest else [], [] if largest else [a, b], numbers)

    return rule


def _quotient(bounds: Any, result: Value, operands: Sequence[Value]) -> None:
    a, (low, high) = bounds.form(operands[0]), bounds.interval(operands[1])
    if not 1 <= low <= high:  # an empty interval: the program does not get here
        return
    ends = [x // y for x in bounds.interval(operands[0]) for y in (low, high)]
    bounds.atom(result, (), [a] if bounds.lower(a, 0) >= 0 else (), (min(ends), max(ends)))


def _remainder(bounds: Any, result: Value, operands: Sequence[Value]) -> None:
    (least, most), divisor = bounds.interval(operands[1]), bounds.form(operands[1])
    if 1 <= least <= most:
        a = bounds.form(operands[0])
        high = [divisor + Affine(-1), *([a] if bounds.lower(a, 0) >= 0 else ())]
        bounds.atom(result, (), high, (0, most - 1))


def _magnitude(bounds: Any, result: Value, operands: Sequence[Value]) -> None:
    low, high = bounds.interval(operands[0])
    if low > limits(operands[0].type)[0]:
        bounds.atom(result, (), (), (max(low, -high, 0), max(-low, high)))


def _masked(bounds: Any, result: Value, operands: Sequence[Value]) -> None:
    highs = [high for low, high in (bounds.interval(v) for v in operands) if low >= 0]
    if highs:
        bounds.atom(result, (), (), (0, min(highs)))


def _converted(bounds: Any, result: Value, operands: Sequence[Value]) -> None:
    low, high = limits(result.type)
    if is_bool(operands[0].type):
        bounds.atom(result, (), (), (0, 1))
        return
    form = bounds.form(operands[0])
    if low <= bounds.lower(form) and bounds.upper(form) <= high:
        bounds.forms[result] = form


LINEAR: dict[Any, Any] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: _product,
    np.negative: lambda a: a * -1,
    np.positive: lambda a: a,
}
RULES: dict[Any, Any] = {
    np.multiply: _multiplied,
    np.minimum: _extreme(False),
    np.maximum: _extreme(True),
    np.floor_divide: _quotient,
    np.remainder: _remainder,
    np.absolute: _magnitude,
    np.bitwise_and: _masked,
    typed.cast: _converted,
}
SAME_ELEMENTS = (
    typed.cast,
    typed.full,
    typed.broadcast_to,
    typed.reshape,
    typed.transpose,
    typed.concatenate,
    typed.getitem,
    typed.setitem,
    np.sort,
    np.min,
    np.max,
)


def _powers(a: Interval, b: Interval) -> Interval:
    largest = max(map(abs, a))
    if b[1] > 63 and largest > 1:
        return -(2**64), 2**64
    size = largest ** max(b[1], 0) if largest > 1 else 1
    return (0 if a[0] >= 0 else -size), size


ENDS: dict[Any, Any] = {
    np.power: _powers,
    np.add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    np.subtract: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    np.multiply: _products,
    np.negative: lambda a: (-a[1], -a[0]),
    np.minimum: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    np.maximum: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    np.floor_divide: lambda a, b: (
        (min(x // y for x in a for y in b), max(x // y for x in a for y in b)) if b[0] > 0 else (-(2**64), 2**64)
    ),
    np.remainder: lambda a, b: (0, b[1] - 1) if b[0] > 0 else (-(2**64), 2**64),
}


def _less(bounds: Any, a: Affine, b: Affine) -> bool:
    return bounds.is_less(a, b)


def _at_most(bounds: Any, a: Affine, b: Affine) -> bool:
    return bounds.is_at_most(a, b)


def _apart(bounds: Any, a: Affine, b: Affine) -> bool:
    return bounds.is_less(a, b) or bounds.is_less(b, a)


def _swapped(proof: Any) -> Any:
    return lambda bounds, a, b: proof(bounds, b, a)


PROOFS: dict[Any, Any] = {
    np.less: (_less, _swapped(_at_most)),
    np.less_equal: (_at_most, _swapped(_less)),
    np.greater: (_swapped(_less), _at_most),
    np.greater_equal: (_swapped(_at_most), _less),
    np.equal: (lambda _, a, b: a == b, _apart),
    np.not_equal: (_apart, lambda _, a, b: a == b),
}
NEGATIONS = (np.logical_not, np.invert)
ALL = (np.logical_and, np.bitwise_and)
ANY = (np.logical_or, np.bitwise_or)
CONDITIONS = {*PROOFS, *NEGATIONS, *ALL, *ANY, typed.overflows}


def facts(callee: Any, holds: bool, a: Affine, b: Affine) -> list[tuple[Affine, Affine, int]]:
    """Return the inequalities that a comparison implies: (small, large, gap) for ``small + gap <= large``."""
    if callee in (np.equal, np.not_equal):
        return [(a, b, 0), (b, a, 0)] if holds == (callee is np.equal) else []
    if callee in (np.greater, np.greater_equal):
        a, b, callee = b, a, np.less if callee is np.greater else np.less_equal
    if holds:
        return [(a, b, 1 if callee is np.less else 0)]
    return [(b, a, 0 if callee is np.less else 1)]
