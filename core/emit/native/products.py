"""Matrix products: loops for small products and integers, BLAS through SciPy's function pointers for large products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.dynamic import Operation
from .arrays import Array, Memory
from .elements import Element, address, element, in_memory, is_complex, literal, register_kinds, registers
from .elementwise import elementwise
from .function import FunctionCode, emits
from .fusion import is_outer
from .real_functions import apply
from .reductions import add_in_any_order, fold

LARGE = 24**3  # the number of multiplications from which BLAS is faster than a loop
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


@emits(np.matmul)
def _matmul(f: FunctionCode, op: Operation) -> None:
    if is_outer(op):
        elementwise(f, op)
        return
    a, b = (f.array(v) for v in op.operands)
    result = op.results[0]
    if len(a.lengths) == 1 and len(b.lengths) == 1:
        f.values[result] = _dot(f, a, b, lambda k: [k], lambda k: [k])
        return
    memory = f.values[result] = f.memory(result)
    rows, columns = result.type.bounds[-2:]
    inner = op.operands[0].type.bounds[-1]
    if result.type.dtype.char in _LETTERS and rows * columns * inner >= LARGE and min(rows, columns, inner) > 1:
        _blas(f, op, memory, a, b)
    else:
        _loops(f, memory, a, b)


def _dot(
    f: FunctionCode, a: Array, b: Array, of_a: Callable[[str], list[str]], of_b: Callable[[str], list[str]]
) -> Element:
    """Return the sum of products along one index of each operand."""
    dtype = a.dtype

    def step(at: list[str], carried: list[str]) -> list[str]:
        term = apply(f.code, np.multiply, dtype, [a.load(f.code, of_a(at[0])), b.load(f.code, of_b(at[0]))])
        return registers(add_in_any_order(f.code, dtype, element(carried, dtype), term))

    return element(fold(f.code, [a.lengths[-1]], step, register_kinds(dtype), registers(literal(0, dtype))), dtype)


def _runs_along(array: Array, axis: int) -> bool:
    """Return whether elements along an axis are contiguous."""
    return not isinstance(array, Memory) or array.strides[axis] == "1" or array.lengths[axis] == "1"


def _loops(f: FunctionCode, memory: Memory, a: Array, b: Array) -> None:
    """Emit loops in the order of memory: a register for each element of the result, or sums of rows in memory."""
    code, dtype = f.code, memory.dtype
    *batch, rows, columns = memory.lengths
    inner = a.lengths[-1]
    known = all(n[0] != "%" for n in (rows, columns, inner))
    small = known and int(rows) * int(columns) <= 16 and int(inner) <= 16
    if small or _runs_along(a, -1) and _runs_along(b, -2):
        code.nest(
            memory.lengths,
            lambda at: memory.store(code, at, _dot(f, a, b, lambda k: [*at[:-1], k], lambda k: [*at[:-2], k, at[-1]])),
        )
        return
    zero = literal(0, dtype)
    code.nest([memory.count(code)], lambda at: memory.store_flat(code, at[0], zero))

    def into(outer: list[str], i: str, k: str, j: str) -> None:
        term = apply(code, np.multiply, dtype, [a.load(code, [*outer, i, k]), b.load(code, [*outer, k, j])])
        place = [*outer, i, j]
        memory.store(code, place, add_in_any_order(code, dtype, memory.compute(code, place), term))

    if columns == "1":  # a matrix in column-major order, times a vector
        code.nest([*batch, inner, rows], lambda at: into(at[:-2], at[-1], at[-2], "0"))
    else:
        code.nest([*batch, rows, inner, columns], lambda at: into(at[:-3], *at[-3:]))


def _blas(f: FunctionCode, op: Operation, memory: Memory, a: Array, b: Array) -> None:
    """Emit ``gemm``. Its matrices are column-major, so the operands are exchanged: (A B)ᵀ = Bᵀ Aᵀ."""
    code, dtype = f.code, memory.dtype
    ready = [_matrix(f, x, v.type) for x, v in zip((a, b), op.operands)]
    name = f"{_LETTERS[dtype.char]}gemm"
    symbol = f"blas.{name}"
    code.module.symbols[symbol] = ("scipy.linalg.cython_blas", name)
    code.module.declare(symbol, "void", ["ptr"] * 13, pure=False)
    *batch, rows, columns = memory.lengths
    inner = a.lengths[-1]
    sizes = [_int(f, n) for n in (columns, rows, inner, columns)]
    factors = [_constant(f, x, dtype) for x in (1, 0)]
    letters = [code.module.constant(f'[1 x i8] c"{"T" if transposed else "N"}"') for _, transposed, _ in ready]
    steps = [_int(f, step) for _, _, step in ready]

    def one(at: list[str]) -> None:
        (pa, pb), c = (
            (address(code, m.pointer, m.offset(code, [*at, "0", "0"]), dtype) for m, _, _ in ready),
            address(code, memory.pointer, memory.offset(code, [*at, "0", "0"]), dtype),
        )
        arguments = [
            letters[1],
            letters[0],
            *sizes[:3],
            factors[0],
            pb,
            steps[1],
            pa,
            steps[0],
            factors[1],
            c,
            sizes[3],
        ]
        code.do(f"call void @{symbol}({', '.join(f'ptr {p}' for p in arguments)})")

    code.nest(batch, one)


def _matrix(f: FunctionCode, array: Array, kind: Any) -> tuple[Memory, bool, str]:
    """Return an operand in memory that BLAS can read, whether it is transposed, and its leading dimension."""
    if isinstance(array, Memory):
        rows, columns = kind.bounds[-2:]
        for transposed, (far, near), least in ((False, (-2, -1), columns), (True, (-1, -2), rows)):
            step = array.strides[far]
            if array.strides[near] == "1" and (step[0] == "%" or int(step) >= max(least, 1)):
                return array, transposed, step
    made = f.copied(array, kind)
    return made, False, made.strides[-2]


def _int(f: FunctionCode, n: str) -> str:
    """Return the address of a C int with this value."""
    if n[0] != "%":
        return f.code.module.constant(f"i32 {n}")
    place, short = f.code.slot("i32"), f.code.value(f"trunc i64 {n} to i32")
    f.code.do(f"store i32 {short}, ptr {place}")
    return place


def _constant(f: FunctionCode, x: float, dtype: np.dtype) -> str:
    kind, parts = in_memory(dtype), registers(literal(x, dtype))
    listed = ", ".join(f"{kind} {part}" for part in parts)
    return f.code.module.constant(f"[{2 if is_complex(dtype) else 1} x {kind}] [{listed}]")
