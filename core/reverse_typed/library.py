"""Adjoints of calls of libraries: the pullbacks of the table of rules, interpreted into typed IR."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np

from .. import typed
from ..builder import Builder
from ..errors import BadInput, NoDerivative
from ..ir import Operation, Value, callee_name
from ..rules import find_rule
from .cotangents import Cotangents


def adjoint(builder: Builder, op: Operation, cotangents: Cotangents, dys: Sequence[Value | None]) -> None:
    """Add what a call with these cotangents of its results gives to its operands.

    Raises:
        NoDerivative: there is no rule, or it does what cannot be compiled.
    """
    rule = find_rule(op.callee)
    name = callee_name(op.named["function"].constant if op.callee is typed.callback else op.callee)
    if rule is None or rule.is_zero:
        raise NoDerivative(f"{name} has no derivative that compiles (line {op.line})")
    several = len(op.results) > 1
    dy: Any = tuple(dys) if several else dys[0]
    y: Any = tuple(op.results) if several else op.results[0]
    options = {k: v.constant for k, v in op.named.items()}
    args = [dy, y, *(v.constant if v.is_constant else v for v in op.positional)]

    def traced(pullback: Any) -> Any:
        asked = {"read": tuple(_read(builder, g) for g in dys)} if "read" in signature(pullback).parameters else {}
        return interpreted(builder, op, pullback, args, options | asked)

    if rule.together is not None:
        gs = traced(rule.together)
    else:
        gs = []
        for operand, pullback in zip(op.positional, rule.pullbacks):
            if operand in cotangents.active and pullback is None:
                raise NoDerivative(f"{name} has no derivative in one of its operands (line {op.line})")
            gs.append(traced(pullback) if operand in cotangents.active else None)
    for operand, g in zip(op.positional, gs):
        if operand in cotangents.active and g is not None:
            cotangents.add(operand, g if isinstance(g, Value) else builder.constant(g))


def _read(builder: Builder, dy: Value | None) -> np.ndarray | None:
    """Which entries of a result the program reads: the others have no cotangent, whatever the numbers are."""
    if dy is None or not all(isinstance(n, int) for n in dy.type.shape):
        return None if dy is None else np.ones(1, bool)
    written_by = {result: op for operations, _ in builder.open for op in operations for result in op.results}
    found = np.zeros(dy.type.shape, bool)
    while True:
        op = written_by.get(dy)
        if op is not None and op.callee is typed.add_at and all(v.is_constant for v in op.positional[1:-1]):
            index = [v.constant for v in op.positional[1:-1]]
            found[typed.index_of(op.named["spec"].constant, index, op.positional[-1].type.shape)] = True
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


def interpreted(builder: Builder, op: Operation, function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """What a function of a rule gives for typed values.

    Raises:
        NoDerivative: it does what cannot be compiled.
    """
    from ..specialise.inline import inline  # the specialiser itself takes derivatives

    try:
        return inline(builder, function, args, options)
    except BadInput as error:
        name = callee_name(op.callee)
        raise NoDerivative(f"the derivative of {name} (line {op.line}) does not compile: {error}") from error
