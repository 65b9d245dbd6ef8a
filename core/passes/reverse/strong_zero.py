"""Backward sweeps in which a cotangent of zero contributes exactly zero, also against Inf and NaN.

A backward sweep is linear in its cotangents. This pass follows them from the seeds through loops and branches. In a
product of a cotangent and another value, it replaces that value where the cotangent is zero and the value not finite.
``values/strong_zero.py`` does the same for eager code.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK
from ...rules.kept_factors import solve_factored


def strengthen(backward: Function, seeds: Iterable[Value]) -> None:
    """Rewrite the products of a backward sweep in place; ``seeds`` are the cotangents among its parameters."""
    strong = _Strong()
    strong.marked.update(seeds)
    size = -1
    while len(strong.marked) != size:  # a fixed point, since loops carry cotangents
        size = len(strong.marked)
        strong.visited.clear()
        strong.follow(backward)
    for function in [backward, *strong.called]:
        strong.rewrite(function.block)


BILINEAR = (np.matmul, np.convolve, np.correlate)
"""Calls that sum products of their two operands."""


class _Strong:
    def __init__(self) -> None:
        self.marked: set[Value] = set()  # values that are linear in the cotangents
        self.visited: set[Function] = set()
        self.called: dict[Function, None] = {}  # functions called with cotangents
        self.builder = Builder()

    # Propagation of cotangents

    def mark(self, values: Iterable[Value], sources: Iterable[Value]) -> None:
        for value, source in zip(values, sources):
            if source in self.marked:
                self.marked.add(value)

    def follow(self, function: Function) -> None:
        if function not in self.visited:
            self.visited.add(function)
            self.block(function.block)

    def block(self, block: Block) -> None:
        for op in block.operations:
            if op.kind == "if":
                for branch in op.blocks:
                    self.block(branch)
                    self.mark(op.results, branch.results)
            elif op.kind in ("while", "range"):
                initial = op.operands if op.kind == "while" else op.operands[3:]
                for inner in op.blocks:
                    self.mark(inner.parameters[-len(initial) :] if initial else (), initial)
                    self.mark(inner.parameters[-len(initial) :] if initial else (), op.blocks[-1].results)
                    self.block(inner)
                self.mark(op.results, op.blocks[-1].results)
                self.mark(op.results, initial)
            elif isinstance(op.callee, Function):
                self.mark(op.callee.parameters, op.operands)
                if any(v in self.marked for v in op.operands):
                    self.called[op.callee] = None
                    self.follow(op.callee)
                    self.mark(op.results, op.callee.block.results)
            elif any(v in self.marked for v in op.operands):
                self.marked.update(v for v in op.results if v.type is STACK or v.type.is_inexact)

    # Products

    def rewrite(self, block: Block) -> None:
        operations, block.operations = block.operations, []
        with self.builder.writing(block.operations):
            for op in operations:
                for inner in op.blocks:
                    self.rewrite(inner)
                self.builder.line = op.line
                if op.kind == "call" and op.callee in (np.multiply, np.divide, *BILINEAR):
                    self.product(op)
                elif op.kind == "call" and op.callee in (np.linalg.solve, solve_factored):
                    self.solution(op)
                self.builder.append(op)

    def product(self, op: Operation) -> None:
        """Replace the operand of a product that is not a cotangent, with operations before the product."""
        left, right = op.positional
        if (left in self.marked) == (right in self.marked) or op.callee is np.divide and right in self.marked:
            return
        place = 1 if left in self.marked else 0
        dy, x = op.operands[1 - place], op.operands[place]
        if x.is_constant and np.all(np.isfinite(x.constant)) and (op.callee is not np.divide or np.all(x.constant)):
            return
        if op.callee in BILINEAR:
            self.contraction(op, dy, x, place)
            return
        b = self.builder
        lost = b.ufunc(np.logical_not, b.ufunc(np.isfinite, x))
        if op.callee is np.divide:
            lost = b.ufunc(np.logical_or, lost, b.ufunc(np.equal, x, b.constant(0, x.type.dtype)))
        lost = b.ufunc(np.logical_and, b.ufunc(np.equal, dy, b.constant(0, dy.type.dtype)), lost)
        neutral = b.constant(1 if op.callee is np.divide else 0, x.type.dtype)
        op.operands[place] = b.where(lost, neutral, x)

    def contraction(self, op: Operation, dy: Value, x: Value, place: int) -> None:
        """Rewrite a sum of products: finite entries are summed, and Inf or NaN counts only with nonzero cotangents.

        The operation is changed into the last of the new ones, which computes its result.
        """
        b = self.builder

        def multiply(mine: Value, theirs: Value) -> Value:
            operands = [mine, theirs] if place else [theirs, mine]
            return b.call(op.callee, operands, [op.results[0].type], **constants)[0]

        def number(value: float) -> Value:
            return b.constant(value, x.type.dtype)

        def apart() -> list[Value]:
            y = multiply(dy, b.where(finite, x, number(0)))
            given = b.cast(b.ufunc(np.not_equal, dy, number(0)), x.type.dtype)

            def met(condition: Value) -> Value:
                return multiply(given, b.cast(condition, x.type.dtype))

            if x.type.dtype.kind == "c":
                unknown = met(b.ufunc(np.logical_not, finite))
            else:
                infinite = b.ufunc(np.isinf, x)
                n, unknown = met(infinite), met(b.ufunc(np.isnan, x))
                signs = multiply(b.ufunc(np.sign, dy), b.where(infinite, b.ufunc(np.sign, x), number(0)))
                # Infinite terms of one sign give the sum that sign; terms of both make it NaN.
                same = b.ufunc(np.equal, b.ufunc(np.absolute, signs), n)
                infinity = b.where(same, b.ufunc(np.multiply, signs, number(np.inf)), number(np.nan))
                y = b.where(b.ufunc(np.not_equal, n, number(0)), infinity, y)
            return [b.where(b.ufunc(np.not_equal, unknown, number(0)), number(np.nan), y)]

        constants = {name: v.constant for name, v in op.named.items()}
        finite = b.ufunc(np.isfinite, x)
        every = b.reduce(np.all, finite, range(x.type.ndim))
        plain = Operation(
            op.kind, op.callee, op.operands, op.keywords, [], [Value("", op.results[0].type)], line=op.line
        )
        with b.block() as as_it_is:
            b.append(plain)
            as_it_is.results = plain.results
        with b.block() as split:
            split.results = apart()
        op.kind, op.callee, op.operands, op.keywords, op.blocks = "if", None, [every], (), [as_it_is, split]

    def solution(self, op: Operation) -> None:
        """Make the solution for a right-hand side of zeros zero, whatever the matrix."""
        a, right = op.positional[:2]
        if a in self.marked or right not in self.marked:
            return
        b, n = self.builder, right.type.ndim
        y = Value("", op.results[0].type)
        b.append(Operation("call", op.callee, op.operands, op.keywords, [], [y], line=op.line))
        rows = max(n - 2, 0)
        nothing = b.reduce(np.all, b.ufunc(np.equal, right, b.constant(0, right.type.dtype)), (rows,))
        nothing = b.reshape(nothing, (*right.type.shape[:rows], *[1] * (n > 1), *right.type.shape[rows + 1 :]))
        op.callee, op.operands, op.keywords = np.where, [nothing, b.constant(0, y.type.dtype), y], ()
