"""Sums of products of arrays that are broadcast against each other, as matrix products.

    np.sum(x[:, :, np.newaxis] * y[np.newaxis], axis=1)         x @ y
    np.sum(window[..., np.newaxis] * kernel, axis=(1, 2, 3))    window.reshape(n, -1) @ kernel.reshape(-1, m)

The terms are the same; the sums may be taken in another order. XLA computes such a sum as one loop over all products, without
reuse of what it has loaded. Without this pass the gradient of ``conv`` (``benchmarks/compilation``) by XLA takes 3.7 times as long. Native code
keeps its fused loops: its products of small matrices would take twice as long.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from ..ir import typed
from ..ir.builder import Builder
from ..ir.dynamic import Block, Function, Operation, Value, operands, walk
from .dead_code import remove_dead_code

LEAST, NARROW = 4096, 4
"""The fewest products of a sum that is replaced, and the fewest rows and columns of the result."""


def as_products(function: Function) -> Function:
    """Return a function with such sums as matrix products; ``function`` is not changed."""
    found = _Rewriting(function)
    block = found.block(function.block)
    return remove_dead_code(replace(function, block=block)) if found.instead else function


class _Rewriting:
    def __init__(self, function: Function) -> None:
        self.made = {result: op for op in walk(function.block) for result in op.results}
        self.uses = Counter(v for v in operands(function.block) if not v.is_constant)
        self.instead: dict[Value, Value] = {}

    def block(self, block: Block) -> Block:
        found: list[Operation] = []
        for op in block.operations:
            now = self.instead.get
            moved = replace(op, operands=[now(v, v) for v in op.operands], blocks=[self.block(b) for b in op.blocks])
            product = self.product(op)
            if product is None:
                found.append(moved)
                continue
            builder = Builder()
            builder.line = op.line
            with builder.writing(found):
                self.instead[op.results[0]] = _contracted(builder, op, *(now(v, v) for v in product))
        return Block(block.parameters, found, [self.instead.get(v, v) for v in block.results])

    def product(self, op: Operation) -> tuple[Value, Value] | None:
        """Return the factors, before they are broadcast, if an operation is a sum of products that can be replaced."""
        if op.callee is not np.sum:
            return None
        terms = self.made.get(op.positional[0])
        if terms is None or terms.callee is not np.multiply or self.uses[op.positional[0]] != 1:
            return None
        kind = op.positional[0].type
        if not kind.is_static or not kind.is_inexact or op.results[0].type.dtype != kind.dtype:
            return None
        a, b = map(self.unbroadcast, terms.positional)
        if any(x.type.dtype != kind.dtype or not x.type.is_static for x in (a, b)):
            return None
        axes = _Axes(op, kind.shape, a, b)
        rows, columns = axes.size(axes.of_a), axes.size(axes.of_b)
        is_worth_it = min(rows, columns) >= NARROW and math.prod(kind.shape) >= LEAST
        return (a, b) if axes.summed and axes.are_whole and is_worth_it else None

    def unbroadcast(self, x: Value) -> Value:
        op = self.made.get(x)
        return op.positional[0] if op is not None and op.callee is typed.broadcast_to else x


class _Axes:
    """The axes of the products: those summed over, those of both factors that stay, and those of one factor."""

    def __init__(self, op: Operation, shape: tuple[int, ...], a: Value, b: Value) -> None:
        self.shape = shape
        over = set(op.named["axis"].constant)
        in_a, in_b = (_own(x, shape) for x in (a, b))
        long = [d for d, n in enumerate(shape) if n > 1]
        self.summed = [d for d in long if d in over]
        self.batch = [d for d in long if d not in over and d in in_a and d in in_b]
        self.of_a = [d for d in long if d not in over and d in in_a and d not in in_b]
        self.of_b = [d for d in long if d not in over and d in in_b and d not in in_a]
        self.are_whole = all(d in in_a and d in in_b for d in self.summed)

    def size(self, axes: list[int]) -> int:
        return math.prod(self.shape[d] for d in axes)


def _own(x: Value, shape: tuple[int, ...]) -> set[int]:
    """Return the axes of a broadcast shape along which a factor has more than one element."""
    first = len(shape) - x.type.ndim
    return {first + i for i, n in enumerate(x.type.shape) if n > 1}


def _contracted(builder: Builder, op: Operation, a: Value, b: Value) -> Value:
    """Write the matrix product in place of a sum."""
    shape = op.positional[0].type.shape
    axes = _Axes(op, shape, a, b)
    batch = [shape[d] for d in axes.batch]

    def matrix(x: Value, order: list[list[int]]) -> Value:
        own = sorted(_own(x, shape))
        flat = builder.reshape(x, tuple(shape[d] for d in own))
        turned = builder.transpose(flat, [own.index(d) for group in order for d in group])
        return builder.reshape(turned, (*batch, *(axes.size(group) for group in order[1:])))

    left = matrix(a, [axes.batch, axes.of_a, axes.summed])
    right = matrix(b, [axes.batch, axes.summed, axes.of_b])
    made = builder.matmul(left, right)
    order = [*axes.batch, *axes.of_a, *axes.of_b]
    apart = builder.reshape(made, tuple(shape[d] for d in order))
    turned = builder.transpose(apart, [order.index(d) for d in sorted(order)])
    return builder.reshape(turned, op.results[0].type.shape)
