"""Tangents of calls of NumPy and SciPy functions, by the rules of ``rules/``.

The tangent of an element-wise function is the sum of its partial derivatives times the operands' tangents. A function that the
table declares linear in an operand is its own tangent. All others have a pullback, which is transposed.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.dynamic import Operation
from ...rules.table import linear_in
from ..reverse.by_rule import rule_of, scaled, slopes
from .structural import again
from .tangents import Tangents
from .transposition import transposed_call


def tangent(builder: Builder, op: Operation, tangents: Tangents, target: str) -> None:
    """Set the tangents of the results of a call.

    Raises:
        NoDerivative: the call has no rule, or the rule cannot be compiled.
    """
    rule = rule_of(op, "jvp")
    groups = linear_in(op.callee, op.named)
    varying = {i for i, v in enumerate(op.positional) if v in tangents.of}
    if rule.partials:
        (y,) = op.results
        for value, slope, finite in slopes(builder, op, rule, tangents.of):
            tangents.add(y, scaled(builder, tangents.of[value], slope, finite, conjugated=False))
    elif len(op.results) == 1 and varying <= {i for group in groups for i in group}:
        for group in groups:
            if not varying.isdisjoint(group):
                operands = [tangents.filled(v) if i in group else v for i, v in enumerate(op.positional)]
                tangents.add(op.results[0], again(builder, op, operands))
    else:
        transposed_call(builder, op, tangents.active, target, tangents.of)
