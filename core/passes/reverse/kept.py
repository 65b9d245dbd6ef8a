"""Replaces functions by kernels or programs whose adjoints use again what the forward sweep computes.

See ``reuses`` and ``instead`` in ``rules.table``.

Native code factorises small matrices anew in less time than it saves and loads the factors.
"""

from __future__ import annotations

from typing import Any

from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value
from ...rules import find_rule
from ...rules.connected import connected
from ...rules.table import Rule
from ..dead_code import live_values, remove_dead_code
from ..inline import rename

SMALL_ORDER = 8


def keep(function: Function, active: set[Value], target: str) -> bool:
    """Replace the active calls of a function, in place; return whether there were any."""
    known: dict[Value, Value] = {}
    live = live_values(function)
    _block(function.block, active, 1 if target == "xla" else SMALL_ORDER + 1, known, live)
    rename(function.block, known)
    if known:
        remove_dead_code(function)  # it may read results that a program does not compute
    return bool(known)


def _block(block: Block, active: set[Value], least: int, known: dict[Value, Value], live: set[Value]) -> None:
    operations, block.operations = block.operations, []
    for op in operations:
        for inner in op.blocks:
            _block(inner, active, least, known, live)
        rule = find_rule(op.callee) if op.kind == "call" and any(r in active for r in op.results) else None
        builder = Builder(True)
        builder.line = op.line
        with builder.writing(block.operations):
            if rule is not None and rule.reuse is not None and _fits(op, least):
                known.update(zip(op.results, _kernel(builder, op, rule)))
            elif rule is not None and rule.instead is not None and _is_replaced(op, rule, live):
                known.update(zip(op.results, _program(builder, op, rule)))
            else:
                builder.append(op)


def _fits(op: Operation, least: int) -> bool:
    """Whether operands are matrices of one dtype of LAPACK's, or stacks of them, of at least this order."""
    kinds = [v.type for v in op.positional]
    return not op.keywords and all(
        k.is_static and k.dtype == kinds[0].dtype and k.dtype.char in "fdFD" and 0 not in k.shape for k in kinds
    ) and kinds[0].shape[-1] >= least  # fmt: skip


def _kernel(builder: Builder, op: Operation, rule: Rule) -> list[Value]:
    """Write the call of the kernel, and return its results."""
    assert rule.reuse is not None
    kept = connected.trace_into(builder, rule.reuse.keep, op.positional[:1], {})
    found = connected.trace_into(builder, rule.reuse.kernel, [*op.positional, kept], {})
    return list(found) if isinstance(found, tuple) else [found]


def _constants(op: Operation) -> dict[str, Any]:
    return {name: v.constant for name, v in op.named.items()}


def _is_replaced(op: Operation, rule: Rule, live: set[Value]) -> bool:
    """Whether a rule's program fits the operands, given by their types, and has the results that are used."""
    assert rule.instead is not None
    if rule.instead.is_first and not live.isdisjoint(op.results[1:]):
        return False
    kinds = [v.type for v in op.positional]
    static = all(k.is_static and k.dtype.char in "fdFD" and 0 not in k.shape for k in kinds)
    return static and rule.instead.fits(*kinds, **_constants(op))


def _program(builder: Builder, op: Operation, rule: Rule) -> list[Value]:
    """Write a rule's program, and return its results."""
    assert rule.instead is not None
    found = connected.trace_into(builder, rule.instead.program, op.positional, _constants(op))
    return list(found) if isinstance(found, tuple) else [found]
