"""Tangents where only a pullback is known: a pullback is linear, and its transpose maps tangents.

The pullback of y = f(x) is the transpose of the derivative of f; transposing it gives that derivative again, at about the
cost of the pullback.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Function, Operation, Value
from ...ir.typed import ArrayType
from ..inline import free_values, inline
from ..reverse import by_rule, reverse, structural
from ..reverse.cotangents import Cotangents, strong


def transposed_call(b: Builder, op: Operation, active: set[Value], target: str, tangents: dict[Value, Value]) -> None:
    """Set the tangents of the active results of a call by transposing the adjoint of the call."""
    dys = [Value("dy", strong(r.type)) if r in active else None for r in op.results]
    seeds = [dy for dy in dys if dy is not None]
    operands = [v for v in dict.fromkeys(op.positional) if v in tangents]
    with b.block() as block:
        cotangents = Cotangents(b, set(operands))
        written = structural.ADJOINTS.get(op.callee)
        (written or by_rule.adjoint)(b, op, cotangents, dys)
        block.results = [cotangents.filled(v) for v in operands]
    free = free_values(block, set(seeds))
    pullback = Function("pullback", [*free, *seeds], block)
    found = transposed(b, pullback, free, [tangents[v] for v in operands], target)
    tangents.update(zip([r for r in op.results if r in active], found))


def transposed(
    b: Builder, pullback: Function, fixed: Sequence[Value], tangents: Sequence[Value], target: str
) -> list[Value]:
    """Write the transpose of a function that is linear in its parameters after the first ones, which are ``fixed``.

    ``tangents`` has one for each result of the function; the results have one for each parameter that is not fixed.
    """
    linear = pullback.parameters[len(fixed) :]
    sweeps = reverse(
        pullback, [False] * len(fixed) + [True] * len(linear), target, is_differentiated=b.is_differentiated
    )
    # A pullback is linear, so its transpose is the same everywhere; but it may treat zeros apart.
    point = [_irregular(b, v.type) for v in linear]
    saved = inline(b, sweeps.forward, [*fixed, *point])[len(pullback.block.results) :]
    return inline(b, sweeps.backward, [*saved, *tangents])


def _irregular(b: Builder, kind: ArrayType) -> Value:
    """Write an array that is orthogonal to no vector of a matrix by its structure, as ones are to those of a Laplacian.

    Pullbacks of decompositions refuse cotangents that depend on the choice of vectors, and ones might not.
    """
    x = b.constant(1, kind.dtype)
    for axis, n in enumerate(kind.shape):
        if isinstance(n, int):
            along = (1 + 0.5 * np.sin(np.arange(n) ** 2 + 1.0 + axis)).astype(kind.dtype)
            x = b.ufunc(np.multiply, x, b.constant(along.reshape(n, *[1] * (kind.ndim - axis - 1))))
    return b.broadcast_to(x, kind.shape)
