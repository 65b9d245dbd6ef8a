"""Adjoints of calls of NumPy and SciPy functions: the rules of ``rules/``, written into typed IR.

A rule that is a formula is written directly (``formulas``); the specialiser traces all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from inspect import signature
from typing import Any

import numpy as np

from ...errors import BadInput, NoDerivative
from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Operation, Value, callee_name
from ...rules import find_rule
from ...rules.connected import connected
from ...rules.table import Rule
from ...values.spilled import Offloaded
from .cotangents import Cotangents
from .formulas import is_formula, write


def adjoint(builder: Builder, op: Operation, cotangents: Cotangents, dys: Sequence[Value | None]) -> None:
    """Add the contributions of a call to its operands' cotangents, given the cotangents ``dys`` of its results.

    Raises:
        NoDerivative: the call has no rule, or the rule cannot be compiled.
    """
    rule = rule_of(op, "grad")
    if rule.partials:
        _by_partials(builder, op, rule, cotangents, dys)
    else:
        _by_pullbacks(builder, op, rule, cotangents, dys)


def rule_of(op: Operation, transform: str) -> Rule:
    """Return the rule of a call; if it has none, advise to call ``mo.<transform>`` outside of the compiled function."""
    rule = find_rule(op.callee)
    if is_offloading(op):
        place = f" (line {op.line})" if op.line else ""
        raise NoDerivative(
            f"checkpoint with the policy offload has one derivative only in a compiled program{place}; choose another policy for "
            "the derivative of a derivative"
        )
    if rule is None or rule.is_zero:
        raise NoDerivative(
            f"{name_of(op)} has no derivative that compiles (line {op.line}); call mo.{transform} outside of mo.jit"
        )
    return rule


def is_offloading(op: Operation) -> bool:
    """Whether an operation moves the states of a loop to a file or back."""
    function = op.named["function"].constant if op.callee is typed.callback else None
    return isinstance(getattr(function, "__self__", None), Offloaded)


def name_of(op: Operation) -> str:
    return callee_name(op.named["function"].constant if op.callee is typed.callback else op.callee)


def _by_partials(
    builder: Builder, op: Operation, rule: Rule, cotangents: Cotangents, dys: Sequence[Value | None]
) -> None:
    (dy,) = dys
    assert dy is not None
    for value, slope, finite in slopes(builder, op, rule, cotangents.active):
        cotangents.add(value, scaled(builder, dy, slope, finite))


def slopes(builder: Builder, op: Operation, rule: Rule, active: Collection[Value]) -> Iterator[tuple[Value, Any, bool]]:
    """Write the partial derivatives of an element-wise call with respect to its active operands, one at a time.

    Yields (operand, slope, whether the slope is finite); a slope is a value or, where it is known, a number.
    """
    constants = [v.constant if v.is_constant else None for v in op.operands]
    finite = rule.is_finite(*constants)
    # Constant scalars are folded into the formula: the slope of x ** 2 becomes 2 * x.
    known = [v if c is None or v.type.shape else c for v, c in zip(op.operands, constants)]
    for value, partial in zip(op.operands, rule.partials):
        if value not in active or partial == 0:
            continue
        if partial is None or isinstance(partial, int):
            raise NoDerivative(f"{name_of(op)} has no derivative with respect to one of its arguments (line {op.line})")
        if is_formula(partial):
            slope = write(builder, partial, [op.results[0], *known])
        else:
            slope = _interpreted(builder, op, partial, [op.results[0], *op.operands], {})
        yield value, slope, finite


def scaled(builder: Builder, dy: Value, slope: Any, finite: bool, conjugated: bool = True) -> Value:
    """Return dy times the conjugate of a slope, or times the slope itself if not ``conjugated``.

    Unless the slope is ``finite``, elements with dy = 0 give zero: a ``where`` that did not choose them must block
    them.
    """
    if not isinstance(slope, Value):
        if slope == 1:
            return dy
        if slope == -1:
            return builder.ufunc(np.negative, dy)
        slope = builder.constant(slope)
    if slope.type.dtype.kind == "b":
        slope = builder.cast(slope, dy.type.dtype.type(0).real.dtype)
    if slope.type.dtype.kind == "c" and conjugated:
        slope = builder.ufunc(np.conjugate, slope)
    g = _quotient(builder, dy, slope) or builder.ufunc(np.multiply, dy, slope)
    return g if finite else zero_where_zero(builder, dy, g)


def zero_where_zero(builder: Builder, dy: Value, g: Value) -> Value:
    """Return g, zero where dy is zero."""
    zero = builder.constant(0, g.type.dtype)
    if builder.is_differentiated:
        # dy may be zero by chance; in the second derivative, dy's own derivative must still be multiplied by the slope.
        zero = builder.where(builder.ufunc(np.isnan, g), zero, g)
    return builder.where(builder.ufunc(np.equal, dy, builder.constant(0, dy.type.dtype)), zero, g)


def _quotient(builder: Builder, dy: Value, slope: Value) -> Value | None:
    """Rewrite dy times a slope p / q, just written, as (dy / q) p: several slopes over q then share one division."""
    last = builder.out[-1] if builder.out else None
    if last is None or last.callee is not np.divide or last.results[0] is not slope:
        return None
    builder.out.pop()
    p, q = last.operands
    g = builder.ufunc(np.divide, dy, q)
    return g if p.is_constant and np.all(p.constant == 1) else builder.ufunc(np.multiply, g, p)


def _by_pullbacks(
    builder: Builder, op: Operation, rule: Rule, cotangents: Cotangents, dys: Sequence[Value | None]
) -> None:
    gs = pulled(builder, op, rule, cotangents.active, dys, op.results, op.positional)
    for operand, g in zip(op.positional, gs):
        if operand in cotangents.active and g is not None:
            cotangents.add(operand, g if isinstance(g, Value) else builder.constant(g))


def pulled(
    builder: Builder, op: Operation, rule: Rule, active: Collection[Value], dys: Sequence[Value | None],
    results: Sequence[Value], operands: Sequence[Value],
) -> Sequence[Any]:  # fmt: skip
    """Write a rule's pullback for these cotangents and results of a call; return what it gives for the operands."""
    several = len(op.results) > 1
    dy: Any = tuple(dys) if several else dys[0]
    y: Any = tuple(results) if several else results[0]
    options = {k: v.constant for k, v in op.named.items()}
    args = [dy, y, *(v.constant if v.is_constant else v for v in operands)]

    def written(pullback: Any) -> Any:
        if is_formula(pullback) and not several:
            return write(builder, pullback, args, options)
        asked = {"read": entries_read(builder, dys)} if "read" in signature(pullback).parameters else {}
        return _interpreted(builder, op, pullback, args, options | asked)

    if rule.together is not None:
        return written(rule.together)
    gs = []
    for operand, pullback in zip(op.positional, rule.pullbacks):
        if operand in active and pullback is None:
            raise NoDerivative(f"{name_of(op)} has no derivative with respect to one of its arguments (line {op.line})")
        gs.append(written(pullback) if operand in active else None)
    return gs


def entries_read(builder: Builder, dys: Sequence[Value | None]) -> tuple[np.ndarray | None, ...]:
    return tuple(_read(builder, g) for g in dys)


def _read(builder: Builder, dy: Value | None) -> np.ndarray | None:
    """Return a mask of the entries of a result that the program reads; the cotangents of the others are always zero."""
    if dy is None or not all(isinstance(n, int) for n in dy.type.shape):
        return None if dy is None else np.ones(1, bool)
    written_by = builder.makers()
    found = np.zeros(dy.type.shape, bool)
    while True:
        op = written_by.get(dy)
        if op is not None and op.callee is typed.add_at and all(v.is_constant for v in op.positional[1:-1]):
            index = [v.constant for v in op.positional[1:-1]]
            # Of a part whose lengths are known only at run time, all that may be read counts.
            found[typed.index_of(op.named["spec"].constant, index, op.positional[-1].type.bounds)] = True
            dy = op.positional[0]
        elif (
            op is not None
            and op.callee is typed.full
            and op.positional[0].is_constant
            and not op.positional[0].constant
        ):
            return found
        else:
            return np.ones(dy.type.shape, bool)


def _interpreted(builder: Builder, op: Operation, function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """Trace a rule's function with typed values and return its result.

    Raises:
        NoDerivative: the function cannot be compiled.
    """
    try:
        return connected.trace_into(builder, function, args, options)
    except BadInput as error:
        raise NoDerivative(f"the derivative of {name_of(op)} (line {op.line}) does not compile: {error}") from error
