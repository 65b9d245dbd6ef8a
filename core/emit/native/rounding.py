"""Decisive values: those whose last digit can change a branch, a rounded number or an index.

They are rounded exactly as by NumPy. For a value that only enters other real numbers, products and sums may be
contracted, and a quotient may be a product with a reciprocal, which is accurate to one unit in the last place and
several times faster.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...ir.dynamic import Block, Function, Operation, Value, operands, walk
from ...ir.typed import STACK, raise_if
from .stack_contents import pushed

_ROUNDED = {
    *(np.floor, np.ceil, np.trunc, np.rint, np.floor_divide, np.remainder, np.fmod, np.divmod, np.modf),
    *(np.sign, np.heaviside),
}
_TESTS = (np.isinf, np.isnan, np.isfinite)


def decisive(function: Function, of_errors: bool = True) -> set[Value]:
    """Return the values of a function that are decisive, directly or through the values computed from them.

    Without ``of_errors``, tests that only decide whether an error is raised do not count.
    """
    sources: dict[Value, list[Value]] = {}  # the values that a value is computed from
    found: list[Value] = []
    choosing = _choosing(function)
    raising = set() if of_errors else _raising(function)
    origin = pushed(function)

    def flows(to: Value, *values: Value) -> None:
        sources.setdefault(to, []).extend(v for v in values if not v.is_constant)

    def block(b: Block) -> None:
        for op in b.operations:
            if op.kind == "call":
                is_exempt = op.results and (
                    op.results[0] in raising or op.callee in _TESTS and op.results[0] in choosing
                )
                if _decides(op) and not is_exempt:
                    found.extend(v for v in op.operands if not v.is_constant)
                for result in op.results:
                    flows(result, *([origin[result]] if result in origin else op.operands))
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


def _choosing(function: Function) -> set[Value]:
    """Return the conditions of ``np.where`` that have no other use."""
    used = Counter(v for v in operands(function.block) if not v.is_constant)
    chosen = Counter(
        op.operands[0] for op in walk(function.block) if op.callee is np.where and not op.operands[0].is_constant
    )
    return {v for v, count in chosen.items() if used[v] == count}


def _raising(function: Function) -> set[Value]:
    """Return the conditions that only ``raise_if`` uses, directly or through other conditions."""
    found: set[Value] = set()
    others: set[Value] = set()  # what anything else uses

    def block(b: Block) -> None:
        others.update(b.results)
        for op in reversed(b.operations):
            for inner in reversed(op.blocks):
                block(inner)
            is_test = (
                op.kind == "call"
                and not isinstance(op.callee, Function)
                and bool(op.results)
                and all(_is_condition(r) and r not in others for r in op.results)
            )
            if is_test:
                found.update(op.results)
            passes_on = is_test or op.callee is raise_if
            others.update(v for v in op.operands if not (passes_on and _is_condition(v)))

    block(function.block)
    return found


def _is_condition(value: Value) -> bool:
    return value.type is not STACK and value.type is not None and value.type.dtype.kind == "b"


def _decides(op: Operation) -> bool:
    """Return whether an operation turns real numbers into integers or bools.

    A comparison with zero is exempt, and a test for infinities or NaN that only chooses elements (``np.where``): the last
    digit does not make them. One that decides what runs is not: whether a solver goes on may depend on all digits.
    """
    if isinstance(op.callee, Function):
        return True
    if op.callee in _ROUNDED:
        # The sign of a complex number, z / abs(z), jumps at zero alone.
        return op.callee is not np.sign or op.results[0].type.dtype.kind != "c"
    kinds = [v.type for v in op.results if v.type is not STACK]
    if not any(_is_inexact(v) for v in op.operands) or all(kind.dtype.kind in "fc" for kind in kinds):
        return False
    if op.callee in (np.equal, np.not_equal):
        return not any(v.is_constant and not np.any(v.constant) for v in op.operands)
    return True


def _is_inexact(value: Value) -> bool:
    return value.type is not None and value.type is not STACK and value.type.dtype.kind in "fc"
