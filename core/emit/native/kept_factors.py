"""Native code of the kernels of ``rules.kept_factors``: LU factors in memory that LAPACK reads, used again."""

from __future__ import annotations

import numpy as np

from ...ir.dynamic import Operation
from ...ir.matrix_errors import SINGULAR
from ...rules import kept_factors
from .arrays import Memory
from .assembly import Code
from .elements import address, convert, is_complex, register, registers
from .function import FunctionCode
from .lapack import Columns, Lapack
from .linear_algebra import (
    Entry,
    Numbers,
    Pivot,
    each_matrix,
    emits_static,
    entries,
    product,
    sign_and_logarithm,
)
from .reductions import fold

INTEGER = np.dtype(np.int32)


def _columns(code: Code, memory: Memory, at: list[str], n: int) -> Columns:
    """The factors of a matrix in a stack of them, as LAPACK's column-major matrix."""
    place = address(code, memory.pointer, memory.offset(code, [*at, "0", "0"]), memory.dtype)
    return Columns(Memory(code, place, memory.dtype, [str(n * n)]), n, n)


@emits_static(kept_factors.factored)
def _factored(f: FunctionCode, op: Operation) -> None:
    (a,), result, code = op.positional, op.results[0], f.code
    dtype, n = result.type.dtype, a.type.shape[-1]
    memory = f.values[result] = f.memory(result)
    entry = entries(f, f.array(a), dtype, a.type.ndim - 2)
    lapack = Lapack(f, dtype)
    exchanged = lapack.integers(n)

    def one(at: list[str]) -> None:
        factor = _columns(code, memory, at, n)
        factor.fill(code, lambda i, j: entry(at, i, j))
        lapack.call("getrf", n, n, factor, n, exchanged)

        def keep(i: list[str]) -> None:
            row = code.value(f"sub i32 {exchanged.compute_flat(code, i[0])}, 1")
            memory.store(code, [*at, str(n), i[0]], convert(code, row, INTEGER, dtype))

        code.nest([str(n)], keep)

    code.nest(memory.lengths[:-2], one)


class _Kept:
    """Factors as an operand of a kernel."""

    def __init__(self, f: FunctionCode, op: Operation) -> None:
        value = op.positional[-1]
        self.f, self.code, self.n = f, f.code, value.type.shape[-1]
        self.memory, self.dtype, self.own = f.in_memory(value), value.type.dtype, value.type.ndim - 2
        self.lapack = Lapack(f, self.dtype)

    def stack(self, at: list[str]) -> list[str]:
        """The index of the factors in their own stack, which broadcasts to that of the result."""
        lengths = self.memory.lengths[: self.own]
        return ["0" if n == "1" else k for n, k in zip(lengths, at[len(at) - self.own :])]

    def columns(self, at: list[str]) -> Columns:
        return _columns(self.code, self.memory, self.stack(at), self.n)

    def real(self, at: list[str], i: str, j: str) -> str:
        x = self.memory.compute(self.code, [*self.stack(at), i, j])
        return registers(x)[0]

    def fill_exchanged(self, at: list[str], into: Memory) -> None:
        """Write the interchanges of rows as LAPACK counts them."""
        code, part = self.code, self.dtype.type(0).real.dtype

        def one(i: list[str]) -> None:
            row = code.value(f"fptosi {register(part)} {self.real(at, str(self.n), i[0])} to i32")
            into.store_flat(code, i[0], code.value(f"add i32 {row}, 1"))

        code.nest([str(self.n)], one)

    def check(self, at: list[str]) -> None:
        """Fail if a pivot is zero."""
        code = self.code

        def turn(i: list[str], carried: list[str]) -> list[str]:
            zero = "true"
            for x in registers(self.memory.compute(code, [*self.stack(at), i[0], i[0]])):
                kind = register(self.dtype.type(0).real.dtype)
                zero = code.value(f"and i1 {zero}, {code.value(f'fcmp oeq {kind} {x}, 0.0')}")
            return [code.value(f"or i1 {carried[0]}, {zero}")]

        self.f.fail_if(fold(code, [str(self.n)], turn, ["i1"], ["false"])[0], *SINGULAR)


def _is_adjoint(op: Operation) -> bool:
    return "adjoint" in op.named and bool(op.named["adjoint"].constant)


@emits_static(kept_factors.solve_factored)
def _solve_factored(f: FunctionCode, op: Operation) -> None:
    kept, (_, b, _), result, code = _Kept(f, op), op.positional, op.results[0], f.code
    n, is_vector = kept.n, b.type.ndim == 1
    columns = 1 if is_vector else result.type.shape[-1]
    memory = f.values[result] = f.memory(result)
    batch = memory.lengths[:-1] if is_vector else memory.lengths[:-2]
    vector = f.array(b)
    right: Entry = lambda at, i, j: convert(code, vector.load(code, [i]), vector.dtype, kept.dtype)  # noqa: E731
    if not is_vector:
        right = entries(f, vector, kept.dtype, len(batch))
    exchanged, solution = kept.lapack.integers(n), kept.lapack.matrix(n, columns)

    def one(at: list[str]) -> None:
        kept.check(at)
        kept.fill_exchanged(at, exchanged)
        solution.fill(code, lambda i, j: right(at, i, j))
        letter = "C" if _is_adjoint(op) else "N"
        kept.lapack.call("getrs", letter, n, columns, kept.columns(at), n, exchanged, solution, n)

        def put(ij: list[str]) -> None:
            memory.store(code, [*at, ij[0]] if is_vector else [*at, *ij], solution.load(code, ij[0], ij[1]))

        code.nest([str(n), str(columns)], put)

    code.nest(batch, one)


@emits_static(kept_factors.inv_factored)
def _inv_factored(f: FunctionCode, op: Operation) -> None:
    kept, result, code = _Kept(f, op), op.results[0], f.code
    n, dtype = kept.n, kept.dtype
    memory = f.values[result] = f.memory(result)
    exchanged, work = kept.lapack.integers(n), kept.lapack.matrix(64, n)
    # The transposed inverse is computed in the memory of the result, whose order is LAPACK's transposed.
    in_place = _is_adjoint(op) and not is_complex(dtype)
    inverse = None if in_place else kept.lapack.matrix(n, n)

    def one(at: list[str]) -> None:
        kept.check(at)
        kept.fill_exchanged(at, exchanged)
        found = _columns(code, memory, at, n) if inverse is None else inverse
        factor = kept.columns(at)
        size = str(n * n)
        code.nest([size], lambda i: found.memory.store_flat(code, i[0], factor.memory.compute_flat(code, i[0])))
        kept.lapack.call("getri", n, found, n, exchanged, work, 64 * n)
        if inverse is None:
            return
        made = inverse

        def put(ij: list[str]) -> None:
            if not _is_adjoint(op):
                memory.store(code, [*at, *ij], made.load(code, ij[0], ij[1]))
                return
            real, imaginary = made.load(code, ij[1], ij[0])
            minus = code.value(f"fneg {register(dtype.type(0).real.dtype)} {imaginary}")
            memory.store(code, [*at, *ij], (real, minus))

        code.nest([str(n), str(n)], put)

    code.nest(memory.lengths[:-2], one)


def _of_factors(f: FunctionCode, op: Operation, numbers: Numbers) -> None:
    """Emit numbers that follow from the pivots."""
    kept, code = _Kept(f, op), f.code
    part = kept.dtype.type(0).real.dtype

    def pivots(at: list[str]) -> tuple[Pivot, str]:
        def turn(i: list[str], carried: list[str]) -> list[str]:
            itself = convert(code, i[0], np.dtype(np.int64), part)
            is_other = code.value(f"fcmp une {register(part)} {kept.real(at, str(kept.n), i[0])}, {itself}")
            return [code.value(f"xor i1 {carried[0]}, {is_other}")]

        is_odd = fold(code, [str(kept.n)], turn, ["i1"], ["false"])[0]
        return lambda i: kept.memory.compute(code, [*kept.stack(at), i, i]), is_odd

    each_matrix(f, op, kept.n, pivots, numbers)


@emits_static(kept_factors.slogdet_factored)
def _slogdet_factored(f: FunctionCode, op: Operation) -> None:
    _of_factors(f, op, sign_and_logarithm)


@emits_static(kept_factors.det_factored)
def _det_factored(f: FunctionCode, op: Operation) -> None:
    _of_factors(f, op, product)
