"""Decisive values: those whose last digit can change a branch, a rounded number or an index.

They are rounded exactly as by NumPy. For a value that only enters other real numbers, products and sums may be
contracted, and a quotient may be a product with a reciprocal, which is accurate to one unit in the last place and
several times faster.
"""

from __future__ import annotations

import numpy as np

from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK

_ROUNDED = {
    *(np.floor, np.ceil, np.trunc, np.rint, np.floor_divide, np.remainder, np.fmod, np.divmod, np.modf),
    *(np.sign, np.heaviside),
}


def decisive(function: Function) -> set[Value]:
    """Return the values of a function that are decisive, directly or through the values computed from them."""
    sources: dict[Value, list[Value]] = {}  # the values that a value is computed from
    found: list[Value] = []

    def flows(to: Value, *values: Value) -> None:
        sources.setdefault(to, []).extend(v for v in values if not v.is_constant)

    def block(b: Block) -> None:
        for op in b.operations:
            if op.kind == "call":
                if _decides(op):
                    found.extend(v for v in op.operands if not v.is_constant)
                for result in op.results:
                    flows(result, *op.operands)
                continue
            for inner in op.blocks:
                block(inner)
            if op.kind == "if":
                for result, *values in zip(op.results, *(inner.results for inner in op.blocks)):
                    flows(result, *values)
                continue
            body = op.blocks[-1]
            count = len(op.results)
            for k, result in enumerate(op.results):
                carried = (op.operands[len(op.operands) - count + k], body.results[k])
                flows(result, *carried)
                for inner in op.blocks:
                    flows(inner.parameters[len(inner.parameters) - count + k], *carried)

    block(function.block)
    reached: set[Value] = set()
    while found:
        value = found.pop()
        if value not in reached:
            reached.add(value)
            found.extend(sources.get(value, ()))
    return reached


def _decides(op: Operation) -> bool:
    """Return whether an operation turns real numbers into integers or bools.

    A comparison with zero is exempt, and a test for infinities or NaN: the last digit does not make them.
    """
    if isinstance(op.callee, Function) or op.callee in _ROUNDED:
        return True
    kinds = [v.type for v in op.results if v.type is not STACK]
    if not any(_is_inexact(v) for v in op.operands) or all(kind.dtype.kind in "fc" for kind in kinds):
        return False
    if op.callee in (np.isinf, np.isnan, np.isfinite):
        return False
    if op.callee in (np.equal, np.not_equal):
        return not any(v.is_constant and not np.any(v.constant) for v in op.operands)
    return True


def _is_inexact(value: Value) -> bool:
    return value.type is not None and value.type is not STACK and value.type.dtype.kind in "fc"
