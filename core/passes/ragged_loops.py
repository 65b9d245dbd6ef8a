"""Vectors whose length only the data tell, in the iterations of a loop, as inner loops over their elements.

    for i in range(n):                                  for i in range(n):
        part = slice(starts[i], starts[i + 1])              y[i] = 0.0
        y[i] = entries[part] @ x[columns[part]]             for k in range(starts[i], starts[i + 1]):
                                                                y[i] += entries[k] * x[columns[k]]

XLA has no arrays of varying length: a vector has its greatest possible length, which for a row of a sparse matrix is the number
of all entries, in each iteration.  Element-wise functions, reads and sums of such vectors are computed again in each inner loop
that needs them; the results are the same but for the order of sums.  Vectors that are used otherwise stay as they are, and so
do those whose length follows from the loops' indices, which are shorter by a factor of two on average.

Without this pass ``sparse_product`` (``benchmarks/compilation``) takes hours by XLA.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..ir import typed
from ..ir.builder import Builder
from ..ir.dynamic import Block, Function, Operation, Value, operands, walk
from ..ir.typed import ArrayType, Dim

LEAST = 128
"""The least bound of a length that is replaced by an inner loop."""

_FOLDS: dict[Any, Any] = {
    np.sum: np.add,
    np.prod: np.multiply,
    np.max: np.maximum,
    np.min: np.minimum,
    np.any: np.logical_or,
    np.all: np.logical_and,
}
_WRITES = (typed.add_at, typed.setitem)
_SLICE, _INDICES = (("s", 1),), ("a",)


def by_elements(function: Function) -> Function:
    """Return a function with inner loops in place of such vectors; ``function`` is not changed."""
    made = {result: op for op in walk(function.block) for result in op.results}
    if not any(isinstance(n, Dim) and n.bound >= LEAST for v in made for n in _shape(v)):
        return function
    return replace(function, block=_Rewriting(made).block(function.block, False))


def _shape(value: Value) -> tuple[int | Dim, ...]:
    return value.type.shape if isinstance(value.type, ArrayType) else ()


class _Rewriting:
    def __init__(self, made: dict[Value, Operation]) -> None:
        self.made = made

    def block(self, block: Block, is_repeated: bool) -> Block:
        """Return a block in which the vectors of the iterations of a loop are replaced."""
        found = [
            replace(op, blocks=[self.block(b, is_repeated or op.kind != "if") for b in op.blocks])
            for op in block.operations
        ]
        own = {r for op in block.operations for r in op.results} if is_repeated else set()
        lengths = {n for v in own for n in _shape(v) if isinstance(n, Dim) and n.value in own and self.is_read(n)}
        for length in lengths:
            changed = _Elements(length, replace(block, operations=found)).run()
            found = changed if changed is not None else found
        return Block(block.parameters, found, block.results)

    def is_read(self, length: Dim) -> bool:
        """Whether a length may be large and is computed from elements of an array."""
        waiting, seen = [length.value], set[Value]()
        while waiting and length.bound >= LEAST:
            v = waiting.pop()
            op = self.made.get(v)
            if v in seen or op is None:
                continue
            if op.callee is typed.getitem:
                return True
            seen.add(v)
            waiting += op.positional
        return False


class _Elements:
    """The vectors of one length in a block, each element of which an inner loop computes."""

    def __init__(self, length: Dim, block: Block) -> None:
        self.length, self.block_ = length, block
        self.vectors: dict[Value, Operation] = {}
        self.waiting: list[Operation] = []  # sums and writes for the next inner loop
        self.out: list[Operation] = []

    def has_length(self, value: Value) -> bool:
        return self.length in _shape(value)

    def is_vector(self, value: Value) -> bool:
        return _shape(value) == (self.length,)

    def run(self) -> list[Operation] | None:
        """Return the operations in place of those of the block; None if a vector is used in a way that no loop can take over."""
        if any(map(self.has_length, self.block_.results)):
            return None
        for op in self.block_.operations:
            inside = [v for b in op.blocks for v in operands(b)]
            if any(map(self.has_length, inside)):
                return None
            if any(v in w.results for w in self.waiting for v in (*op.operands, *inside)):
                self.write_loop()
            if any(map(self.is_vector, op.results)):
                if not self.is_element(op):
                    return None
                self.vectors[op.results[0]] = op
            elif any(map(self.has_length, (*op.operands, *op.results))):
                if not self.is_fold(op):
                    return None
                self.waiting.append(op)
            else:
                self.out.append(op)
        self.write_loop()
        return self.out

    def is_element(self, op: Operation) -> bool:
        """Whether an element of a vector follows from single elements and numbers."""
        if op.kind != "call" or len(op.results) != 1:
            return False
        if op.callee is typed.getitem:
            return op.positional[0].type.ndim == 1 and op.named["spec"].constant in (_SLICE, _INDICES)
        is_ufunc = isinstance(op.callee, np.ufunc) or op.callee in (np.where, typed.cast, typed.complex_of)
        simple = is_ufunc or op.callee in (typed.full, typed.iota)
        if op.callee is typed.broadcast_to:
            return _shape(op.positional[0]) == (1,)
        return simple and all(not _shape(v) or self.is_vector(v) for v in op.positional)

    def is_fold(self, op: Operation) -> bool:
        """Whether an operation sums the elements of vectors, or writes them to an array one after the other."""
        if op.kind != "call" or len(op.results) != 1 or self.has_length(op.results[0]):
            return False
        if op.callee in _WRITES:
            spec = op.named["spec"].constant
            fits = spec == _SLICE or spec == _INDICES and op.callee is typed.add_at
            return fits and op.positional[0].type.ndim == 1 and not self.has_length(op.positional[0])
        if op.callee is np.matmul:
            return all(map(self.is_vector, op.positional))
        return op.callee in _FOLDS and all(map(self.is_vector, op.positional))

    def write_loop(self) -> None:
        if not self.waiting:
            return
        folds, self.waiting = self.waiting, []
        builder = Builder()
        builder.line = folds[0].line
        with builder.writing(self.out):
            firsts = [_first(builder, op) for op in folds]

            def body(index: Value, *totals: Value) -> list[Value]:
                elements: dict[Value, Value] = {}
                return [self.folded(builder, op, total, index, elements) for op, total in zip(folds, totals)]

            zero, one = builder.constant(0), builder.constant(1)
            results = builder.range_(zero, self.length.value, one, body, firsts)
        made = {r: op for op in self.out for r in op.results}
        for op, result in zip(folds, results):
            made[result].results[made[result].results.index(result)] = op.results[0]

    def element(self, builder: Builder, v: Value, index: Value, elements: dict[Value, Value]) -> Value:
        """Return the element of a vector at the inner loop's index; other values are the same for all elements."""
        op = self.vectors.get(v)
        if op is None:
            return v
        if v not in elements:
            kind = ArrayType(v.type.dtype)
            if op.callee is typed.iota:
                elements[v] = index
            elif op.callee is typed.full:
                elements[v] = op.positional[0]
            elif op.callee is typed.broadcast_to:
                elements[v] = builder.reshape(op.positional[0], ())
            elif op.callee is typed.getitem:
                at = self.place(builder, op, index, elements)
                elements[v] = builder.getitem(op.positional[0], [at], ("i",), [])
            else:
                given = [self.element(builder, x, index, elements) for x in op.positional]
                constants = {k: x.constant for k, x in op.named.items()}
                elements[v] = builder.call(op.callee, given, [kind], **constants)[0]
        return elements[v]

    def place(self, builder: Builder, op: Operation, index: Value, elements: dict[Value, Value]) -> Value:
        """Return where an access reads or writes the element at the inner loop's index."""
        where = op.positional[1]
        if op.named["spec"].constant == _INDICES:
            return self.element(builder, where, index, elements)
        return builder.ufunc(np.add, builder.cast(where, np.int64), index)

    def folded(
        self, builder: Builder, op: Operation, total: Value, index: Value, elements: dict[Value, Value]
    ) -> Value:
        if op.callee in _WRITES:
            at, x = self.place(builder, op, index, elements), self.element(builder, op.positional[-1], index, elements)
            return (builder.add_at if op.callee is typed.add_at else builder.setitem)(total, [at], x, ("i",))
        given = [self.element(builder, x, index, elements) for x in op.positional]
        term = given[0] if len(given) == 1 else builder.ufunc(np.multiply, *given)
        return builder.ufunc(_FOLDS.get(op.callee, np.add), total, term)


def _first(builder: Builder, op: Operation) -> Value:
    """Return what a sum or a write starts from: for a maximum the least number."""
    if op.callee in _WRITES:
        return op.positional[0]
    kind = op.results[0].type
    if op.callee in (np.max, np.min):
        limits = np.finfo(kind.dtype) if kind.dtype.kind == "f" else np.iinfo(kind.dtype)
        least = -np.inf if kind.dtype.kind == "f" else limits.min
        most = np.inf if kind.dtype.kind == "f" else limits.max
        return builder.constant(least if op.callee is np.max else most, kind.dtype)
    return builder.constant(op.callee in (np.prod, np.all), kind.dtype)
