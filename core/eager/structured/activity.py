"""Activity analysis on structured IR: the values that have a cotangent.

A value is *varied* if it depends on an active parameter, and *useful* if the result depends on it.  A value that is
both is active (Hascoet, Naumann and Pascual, "To be recorded" analysis in reverse-mode AD, 2005).
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from types import FunctionType

from ...ir.dynamic import Function, Operation, Value, walk
from ...ir.vocabulary import UNPACK, make_list, make_tuple
from ...rules import find_rule
from .types import COMPARISONS


def is_differentiable(op: Operation, index: int) -> bool:
    """Whether a derivative flows from operand ``index`` of a call to its result."""
    if op.callee in (UNPACK, make_tuple, make_list):
        return True
    if op.callee is operator.getitem:
        return index == 0
    if op.callee in COMPARISONS or op.callee in vars(builtins).values() and op.callee not in (abs, float, pow):
        return False
    rule = find_rule(op.callee)
    if rule is None:
        return isinstance(op.callee, FunctionType)
    if rule.is_zero:
        return False
    if rule.partials:
        partial = rule.partials[index] if index < len(rule.partials) else None
        return partial is not None and not (isinstance(partial, int) and partial == 0)
    if rule.pullbacks:
        return index < len(rule.pullbacks) and callable(rule.pullbacks[index])
    return index < len(op.positional)


def active_values(function: Function, parameters: Sequence[Value]) -> set[Value]:
    """Return the values through which a derivative flows from ``parameters`` to the result."""
    varied = _closure(function, set(parameters), forward=True)
    useful = _closure(function, set(function.block.results), forward=False)
    return {v for v in varied & useful if not v.is_constant and v.type.kind in ("real", "array", "number", "tuple")}


def _closure(function: Function, found: set[Value], *, forward: bool) -> set[Value]:
    """Return ``found`` and every value reachable from it, along the differentiable data flow or against it."""
    edges: list[tuple[Value, Value]] = []
    for op in walk(function.block):
        if op.kind == "call":
            for i, operand in enumerate(op.operands):
                if is_differentiable(op, i):
                    edges += [(operand, result) for result in op.results]
        elif op.kind == "if":
            for branch in op.blocks:
                edges += zip(branch.results, op.results)
        else:
            initial = op.operands[1:] if op.kind == "for" else op.operands
            body = op.blocks[-1]
            parameters = body.parameters[op.items :] if op.kind == "for" else body.parameters
            for start, parameter, following, result in zip(initial, parameters, body.results, op.results):
                edges += [(start, parameter), (following, parameter), (parameter, result)]
            if op.kind == "while":
                edges += zip(parameters, op.blocks[0].parameters)
    if not forward:
        edges = [(b, a) for a, b in edges]
    following_values: dict[Value, list[Value]] = {}
    for a, b in edges:
        following_values.setdefault(a, []).append(b)
    frontier = list(found)
    while frontier:
        for value in following_values.get(frontier.pop(), ()):
            if value not in found:
                found.add(value)
                frontier.append(value)
    return found
