"""Matrix products: loops for small ones and those of integers, BLAS through SciPy's function pointers for large ones."""

from __future__ import annotations

import numpy as np

from ...ir import Operation
from .arrays import Array
from .elements import Element, element, literal, register_kinds, registers
from .function import FunctionCode, emits
from .real_functions import apply
from .reductions import add_in_any_order, fold


@emits(np.matmul)
def _matmul(f: FunctionCode, op: Operation) -> None:
    a, b = (f.array(v) for v in op.operands)
    result = op.results[0]
    if len(a.lengths) == 1 and len(b.lengths) == 1:
        f.values[result] = dot(f, a, b, lambda i: [i], lambda i: [i])
        return
    _loops(f, op, a, b)


def dot(f: FunctionCode, a: Array, b: Array, of_a, of_b) -> Element:
    """The sum of products along one index of each."""
    dtype = a.dtype

    def step(at: list[str], carried: list[str]) -> list[str]:
        term = apply(f.code, np.multiply, dtype, [a.load(f.code, of_a(at[0])), b.load(f.code, of_b(at[0]))])
        return registers(add_in_any_order(f.code, dtype, element(carried, dtype), term))

    n = a.lengths[-1]
    return element(fold(f.code, [n], step, register_kinds(dtype), registers(literal(0, dtype))), dtype)


def _loops(f: FunctionCode, op: Operation, a: Array, b: Array) -> None:
    code, result = f.code, op.results[0]
    memory = f.values[result] = f.memory(result)
    *batch, rows, columns = memory.lengths
    inner = a.lengths[-1]
    known = [n for n in (rows, columns, inner) if n[0] != "%"]
    if len(known) == 3 and int(rows) * int(columns) <= 16 or columns == "1":
        # a register for each element
        code.nest(
            memory.lengths,
            lambda at: memory.store(code, at, dot(f, a, b, lambda k: [*at[:-1], k], lambda k: [*at[:-2], k, at[-1]])),
        )
        return
    dtype, zero = memory.dtype, literal(0, memory.dtype)
    code.nest([memory.count(code)], lambda at: memory.store_flat(code, at[0], zero))

    def into(at: list[str]) -> None:
        *outer, i, k, j = at
        term = apply(code, np.multiply, dtype, [a.load(code, [*outer, i, k]), b.load(code, [*outer, k, j])])
        place = [*outer, i, j]
        memory.store(code, place, add_in_any_order(code, dtype, memory.compute(code, place), term))

    code.nest([*batch, rows, inner, columns], into)
