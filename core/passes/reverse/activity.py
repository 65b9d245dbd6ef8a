"""Activity analysis: a value has a cotangent if it depends on an active parameter and affects a result.

"Varied" spreads forward and "useful" backward through inexact values (Hascoet, Naumann and Pascual, "To be recorded"
analysis in reverse-mode AD, 2005). For a carried variable of a loop, both properties also pass around the loop, through
its initial value, parameters, value after the body, and result.

All versions of a stack have a cotangent if one of them has: what later operations pop, earlier ones have pushed, and the stack of
cotangents holds a number for each, if only a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ...errors import BadInput
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK, Primitive, custom, of_text
from ...rules import find_rule

_STOPPING = {np.argmax, np.argmin, np.argsort, np.any, np.all, of_text}


def has_cotangent(value: Value) -> bool:
    """Whether a value can have a cotangent; that of a stack is a stack of cotangents."""
    return value.type is STACK or (not value.is_constant and value.type.is_inexact)


def check_active(function: Function, active: Sequence[bool]) -> None:
    """Raise BadInput if a parameter that is to be differentiated is not of floats or complex numbers."""
    for p, on in zip(function.parameters, active, strict=True):
        if on and not has_cotangent(p):
            raise BadInput(f"{p.name} of type {p.type} cannot be differentiated; pass floats or complex numbers")


def may_have_cotangent(value: Value) -> bool:
    """Whether a value, possibly constant, is of a type that has cotangents."""
    return value.type is STACK or value.type.is_inexact


def passes(op: Operation) -> bool:
    """Whether a call may propagate derivatives."""
    if op.callee in _STOPPING:
        return False
    if isinstance(op.callee, (Primitive, Function)):
        return not getattr(op.callee, "effect", False) or bool(op.results)
    rule = find_rule(op.callee)
    return rule is None or not rule.is_zero


def differentiated(op: Operation) -> list[Value]:
    """The operands of a call that may receive a cotangent."""
    if op.callee is custom:
        n, m = op.named["n"].constant, op.named["m"].constant
        return op.operands[n : n + m]
    return op.positional


Reads = Callable[[Operation], "list[Value]"]


def active_values(
    function: Function,
    parameters: Sequence[bool],
    results: Sequence[bool] | None = None,
    varying: Sequence[Value] = (),
    read: Reads = differentiated,
) -> set[Value]:
    """Return the values of a function that have a cotangent.

    ``parameters`` and ``results`` say which parameters and results have one (by default all results); ``varying`` are values
    that count as dependent on an active parameter; ``read`` gives the operands of a call on which derivatives depend.
    """
    varied = {p for p, on in zip(function.parameters, parameters) if on and has_cotangent(p)}
    varied.update(varying)
    _to_fixpoint(varied, lambda: _spread(function.block, varied, read))
    results = [True] * len(function.block.results) if results is None else results
    useful = {v for v, on in zip(function.block.results, results) if on and has_cotangent(v)}
    _to_fixpoint(useful, lambda: _collect(function.block, useful, read))
    return varied & useful


def _to_fixpoint(found: set[Value], step: Callable[[], None]) -> None:
    before = -1
    while before != len(found):
        before = len(found)
        step()


def _spread(block: Block, varied: set[Value], read: Reads) -> None:
    for op in block.operations:
        if op.kind == "call":
            if passes(op) and any(v in varied for v in read(op)):
                varied.update(filter(has_cotangent, op.results))
        elif op.kind == "if":
            for branch in op.blocks:
                _spread(branch, varied, read)
                varied.update(r for r, v in zip(op.results, branch.results) if v in varied)
        else:
            _to_fixpoint(varied, partial(_spread_once, op, varied, read))


def _spread_once(loop: Operation, varied: set[Value], read: Reads) -> None:
    for initial, parameter, after, result in loop.carried:
        if initial in varied or after in varied:
            varied.update((parameter, result))
    _spread(loop.blocks[-1], varied, read)


def _collect(block: Block, useful: set[Value], read: Reads) -> None:
    for op in reversed(block.operations):
        if op.kind == "call":
            if passes(op) and any(v in useful for v in op.results):
                useful.update(filter(has_cotangent, read(op)))
            if any(v.type is STACK and v in useful for v in op.operands):
                useful.update(r for r in op.results if r.type is STACK)
        elif op.kind == "if":
            for branch in op.blocks:
                useful.update(v for r, v in zip(op.results, branch.results) if r in useful and has_cotangent(v))
                _collect(branch, useful, read)
                useful.update(r for r, v in zip(op.results, branch.results) if r.type is STACK and v in useful)
        else:
            _to_fixpoint(useful, partial(_collect_once, op, useful, read))


def _collect_once(loop: Operation, useful: set[Value], read: Reads) -> None:
    for initial, parameter, after, result in loop.carried:
        if result in useful or parameter in useful or initial.type is STACK and initial in useful:
            useful.update(filter(has_cotangent, (after, initial)))
            useful.update((parameter, result) if result.type is STACK else (parameter,))
    _collect(loop.blocks[-1], useful, read)
