"""Functions of a few numbers that return one: their partial derivatives are computed with the value, in one pass over the samples.

Reverse mode of such a function would save what each sample's loops and branches compute. Its few partial derivatives need no
memory beside the results, and the derivative of the batch is a product with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Function, Value, walk
from ...ir.typed import ArrayType, custom
from ..forward import forward
from ..inline import inline
from ..reverse.by_rule import scaled
from ..simplify import simplify
from .varying import OF_LANES

MOST = 3
"""The greatest number of arguments: each partial derivative costs about as much as the function."""


def is_of_few_numbers(function: Function) -> bool:
    """Whether a function of one sample returns a real number, and depends on a few real numbers alone."""
    inexact = [p for p in function.parameters if p.type is typed.STACK or p.type.is_inexact]
    values = [*inexact, *function.block.results]
    if not 0 < len(inexact) <= MOST or len(function.block.results) != 1:
        return False
    if not all(v.type is not typed.STACK and not v.type.shape and v.type.dtype.kind == "f" for v in values):
        return False
    return not any(
        op.callee in (*OF_LANES, typed.with_rule, typed.refused) or isinstance(op.callee, Function)
        for op in walk(function.block)
    )


def with_partials(function: Function, target: str, is_differentiated: bool) -> Function:
    """Return the function that returns its value, and its partial derivatives by each of its inexact parameters."""
    active = [p.type.is_inexact for p in function.parameters]
    count = sum(active)
    pushed = forward(function, active, target, is_differentiated=is_differentiated, directions=count)
    b = Builder(is_differentiated)
    parameters = [Value(p.name, p.type) for p in function.parameters]
    varied = [p for p, on in zip(parameters, active) if on]
    with b.block() as block:
        seeds = [b.constant(float(i == j), p.type.dtype) for i, p in enumerate(varied) for j in range(count)]
        block.results = inline(b, pushed, [*parameters, *seeds])
    return simplify(Function(function.name, parameters, block, function.filename))


def joined(b: Builder, y: Value, xs: Sequence[Value], partials: Sequence[Value]) -> Value:
    """Return the values of all samples with their derivatives: those by x are sums over the samples if x is the same for all."""
    dy, saved = Value("dy", y.type), [Value("partial", p.type) for p in partials]
    with b.block() as block:
        for x, partial in zip(xs, saved):
            g = scaled(b, dy, partial, finite=False)
            block.results.append(b.cast(g if x.type.shape else b.reduce(np.sum, g, (0,)), x.type.dtype))
    backward = Function("by_partials", [*saved, dy], block)
    kind = ArrayType(y.type.dtype, y.type.shape)
    return b.call(custom, [y, *xs, *partials], [kind], n=1, m=len(xs), backward=backward)[0]
