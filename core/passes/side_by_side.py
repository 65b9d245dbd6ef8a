"""Vectorise loops with independent iterations where that yields matrix products.

    for j in range(n):                      C[i, :] = A[i, k0:] @ B[k0:, :]
        C[i, j] = A[i, k0:] @ B[k0:, j]

    for k in range(n):                      c = c + (a * x) @ M
        c = c + a * x[k] * M[k, :]

A loop's body is translated once, with *lanes*: a value that differs between iterations gets an extra first dimension,
with one element per iteration. A carried array must be one that each iteration reads and writes at its own index, or a
sum. Where parts of arrays begin or end at places that depend on the index, ``ragged_lanes`` pads and masks them: the
result is a product with a triangular matrix; in native code, a loop over blocks of its rows. Loops that yield no matrix
product stay as they are: as loops they are as fast, and save less for the backward sweep. Sums may be taken in another
order; all other results are unchanged.

Without ``lanes``, native gradients of ``benchmarks/compilation`` take longer by these factors: ``gram_schmidt`` 1.6, ``trmm``
3.1, ``symm`` 3.3, ``syrk`` and ``syr2k`` 4.9; with XLA 1.5 (``trmm``) to 3.3 (``syr2k``). A 60 x 60 matrix product
written as three loops takes 12 times as long on either target. Without ``ragged_lanes`` they take longer by 1.2
(``trmm``, ``syrk``, ``symm``) to 2.5 (``covariance``), with XLA by 5 to 11.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import typed
from ..ir.builder import Builder
from ..ir.dynamic import Block, Function, Operation, Value, walk
from ..ir.typed import ArrayType
from .index_proofs import in_range, without_checks
from .inline import copy_function, last, rename
from .lanes import LEAST, WRITES, Lanes, Refused
from .ragged_lanes import RaggedLanes
from .simplify import simplify

BLOCK = 64
"""The number of iterations in a block of a loop over parts that grow or shrink (``ragged_lanes``), in native code."""


def side_by_side(function: Function, target: str = "native", is_strong: bool = False) -> Function:
    """Return an equivalent function with matrix products in place of loops, or ``function`` if nothing changes.

    ``is_strong``: the function's derivative has to be right also where cotangents are not finite. Loops over parts that grow
    or shrink then stay: the derivative of a product with a masked matrix multiplies the cotangent by its zeros.
    """
    if not any(op.kind == "range" for op in walk(function.block)):
        return function
    made = copy_function(function)
    pass_ = _Pass(target, is_strong)
    for parameter in made.parameters:
        if isinstance(parameter.type, ArrayType):
            pass_.builder.integers.lengths(parameter.type)
    pass_.block(made.block)
    if not pass_.instead:
        return function
    rename(made.block, pass_.instead)
    return made


def products_of_loops(function: Function, target: str = "native", is_strong: bool = False) -> Function:
    """Apply ``side_by_side`` to a function that may not have been simplified yet."""
    if not any(op.kind == "range" for op in walk(function.block)):
        return function
    before, made = None, simplify(without_checks(function))
    smaller = made
    while made is not before:  # an outer loop may have become simple enough
        before = made
        made = side_by_side(made, target, is_strong)
        made = made if made is before else simplify(made)
    return function if made is smaller else made


class _Pass:
    def __init__(self, target: str, is_strong: bool) -> None:
        self.target, self.is_strong = target, is_strong
        self.builder = Builder()
        self.instead: dict[Value, Value] = {}  # replacements for the results of removed loops

    def block(self, block: Block) -> None:
        out: list[Operation] = []
        for op in block.operations:
            for inner in op.blocks:
                mark = len(self.builder.integers.trail)
                if op.kind == "range":
                    self.builder.integers.index(inner.parameters[0], *op.operands[:3])
                self.block(inner)
                self.builder.integers.undo(mark)
            if op.kind == "range":
                made = self.replaced(op)
                if made is not None:
                    out += made
                    continue
            out.append(op)
            self.builder.integers.define(op)
        block.operations = out

    def replaced(self, op: Operation) -> list[Operation] | None:
        """Return the operations that replace a loop, or None if it stays."""
        rename(op.blocks[0], self.instead)
        op.operands = [last(self.instead, v) for v in op.operands]
        for write in (self.lanes, *([] if self.is_strong else [self.ragged_lanes])):
            operations: list[Operation] = []
            builder = Builder()
            builder.integers, builder.line = self.builder.integers, op.line
            mark = len(builder.integers.trail)
            with builder.writing(operations):
                try:
                    results = write(builder, op, operations)
                except Refused:
                    builder.integers.undo(mark)
                    continue
            self.instead.update(zip(op.results, results))
            return operations
        return None

    def lanes(self, builder: Builder, op: Operation, operations: Sequence[Operation]) -> list[Value]:
        lanes = Lanes(builder, op)
        results = lanes.run()
        if not lanes.products or not (lanes.runs or _all_in_range(builder, operations)):
            raise Refused
        return results

    def ragged_lanes(self, builder: Builder, op: Operation, operations: Sequence[Operation]) -> list[Value]:
        start, stop, _, *initial = op.operands
        n = op.iterations
        lanes = RaggedLanes(builder, op)
        if n is not None and (self.target != "native" or n <= BLOCK):
            if n < LEAST:
                raise Refused
            results = lanes.run_from(builder.cast(start, np.int64), n, initial)
        elif self.target != "native":
            raise Refused
        else:
            block = builder.constant(BLOCK, np.int64)
            begin, end = (builder.cast(v, np.int64) for v in (start, stop))

            def turn(first: Value, *carried: Value) -> list[Value]:
                left = builder.ufunc(np.subtract, end, first)
                count = builder.ufunc(np.minimum, left, block)
                return lanes.run_from(first, lanes.dimension(count), carried)

            results = builder.range_(begin, end, block, turn, initial)
        if not lanes.products:
            raise Refused
        return results


def _all_in_range(builder: Builder, operations: Sequence[Operation]) -> bool:
    """Whether all indices are proved to be in range; the new operations run even if the loop had no iterations."""
    indexing = (o for o in operations if o.callee in (typed.getitem, *WRITES))
    made = {r: o for o in operations for r in o.results}
    return all(in_range(builder.integers, o, made) for o in indexing)
