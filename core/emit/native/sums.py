"""Sums without an order: those of the cotangents that the iterations of a reversed loop contribute to one number.

A loop of the program adds in its own order, since a sum in another order has other digits. The order in which cotangents
are added is not part of the program: LLVM may add them in several accumulators, and so vectorise the loop.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...ir.dynamic import Block, Function, Operation, Value, definitions, operands, walk
from ...ir.typed import REVERSED, STACK, add_at


def unordered(function: Function) -> set[Value]:
    """Return the sums that reversed loops carry, and the arrays to one element of which such a loop adds."""
    found: set[Value] = set()
    for loop in walk(function.block):
        if loop.kind != "range" or loop.callee is not REVERSED:
            continue
        body = loop.blocks[0]
        for first, last in zip(body.parameters[1:], body.results):
            if first.type is not STACK and not first.type.shape and first.type.dtype.kind == "f":
                found.update(_sums(first, last, body) or ())
        inside = {*definitions(body)}
        for op in body.operations:
            if op.callee is add_at and inside.isdisjoint(op.positional[1:-1]):
                found.update(op.results)
    return found


def _sums(value: Value, last: Value, block: Block) -> list[Value] | None:
    """Return the sums that lead from a value to another one in a block; None if there is another use of these on the way."""
    uses = Counter(operands(block))
    user: dict[Value, Operation] = {}
    for op in block.operations:
        user.update(dict.fromkeys((*op.operands, *(v for b in op.blocks for v in operands(b))), op))
    found: list[Value] = []
    while value is not last:
        op = user.get(value)
        if op is None or uses[value] != max(1, len(op.blocks)):
            return None
        if op.callee is np.add or op.callee is np.subtract and op.operands[0] is value:
            (value,) = op.results
        elif op.kind == "if":
            for k, result in enumerate(op.results):
                ways = [_sums(value, b.results[k], b) for b in op.blocks]
                if all(way is not None for way in ways):
                    found += [v for way in ways if way is not None for v in way]
                    value = result
                    break
            else:
                return None
        else:
            return None
        found.append(value)
    return found if uses[last] == 1 else None
