"""Factorisations by LAPACK without Python: eigenvalues, singular values, QR, SciPy's LU and Cholesky, and solutions with these.

The routines, and so the signs and phases, are those of NumPy and SciPy.  The sizes of workspaces are those of LAPACK's
documentation, with room for blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.dynamic import Operation
from ...ir.matrix_errors import BANDED, MINOR, NO_EIGENVALUES, NO_SVD
from .arrays import Memory
from .assembly import Code
from .elements import Element, convert, element, half, is_complex, literal, register, registers
from .function import EMITTERS, FunctionCode, emits
from .lapack import Columns, Lapack
from .linear_algebra import Entry, check_finite, emits_static, entries, failed

BLOCK = 64  # columns that LAPACK treats at once


def real_part(dtype: np.dtype) -> np.dtype:
    return half(dtype) if is_complex(dtype) else dtype


def put_matrix(code: Code, memory: Memory, at: list[str], found: Columns) -> None:
    """Write a matrix into a stack of them."""
    lengths = [str(found.rows), str(found.columns)]
    code.nest(lengths, lambda ij: memory.store(code, [*at, *ij], found.load(code, ij[0], ij[1])))


def put_vector(code: Code, memory: Memory, at: list[str], found: Memory, count: int) -> None:
    code.nest([str(count)], lambda i: memory.store(code, [*at, i[0]], found.compute_flat(code, i[0])))


def options_of(op: Operation) -> dict[str, Any]:
    return {name: v.constant for name, v in op.named.items()}


def emits_where(
    callee: Any, applies: Callable[[Operation], bool], is_stackable: bool = True, dtypes: str = "fdFDi"
) -> Callable[[Any], Any]:
    """Register an emitter for calls of non-empty matrices of LAPACK's ``dtypes``; others are called in Python."""

    def add(emit: Callable[[FunctionCode, Operation], None]) -> Any:
        def emit_or_call(f: FunctionCode, op: Operation) -> None:
            kinds = [v.type for v in op.positional]
            if all(0 not in k.shape and k.dtype.char in dtypes for k in kinds) and applies(op):
                emit(f, op)
            else:
                EMITTERS["library"](f, op)

        emits_static(callee, is_stackable)(emit_or_call)
        return emit

    return add


# Hermitian eigenvalues


def _eigh(f: FunctionCode, op: Operation) -> None:
    (a,), code = op.positional, f.code
    has_vectors = len(op.results) == 2
    dtype, n = a.type.dtype, a.type.shape[-1]
    out = [f.memory(r) for r in op.results]
    f.values.update(zip(op.results, out))
    lapack, real = Lapack(f, dtype), real_part(dtype)
    matrix, values = lapack.matrix(n, n), lapack.vector(n, real)
    entry = entries(f, f.array(a), dtype, a.type.ndim - 2)
    size = (2 * n + n * n if is_complex(dtype) else 1 + 6 * n + 2 * n * n) + BLOCK * n
    work, count = lapack.vector(size, dtype), 3 + 5 * n
    integers = lapack.integers(count)
    further: list[Any] = []
    if is_complex(dtype):
        real_size = 1 + 5 * n + 2 * n * n
        further = [lapack.vector(real_size, real), real_size]
    letters = "V" if has_vectors else "N", str(options_of(op).get("UPLO", "L")).upper()

    def one(at: list[str]) -> None:
        matrix.fill(code, lambda i, j: entry(at, i, j))
        name = "heevd" if is_complex(dtype) else "syevd"
        status = lapack.call(name, *letters, n, matrix, n, values, work, size, *further, integers, count)
        f.fail_if(failed(f, status), *NO_EIGENVALUES)
        put_vector(code, out[0], at, values, n)
        if has_vectors:
            put_matrix(code, out[1], at, matrix)

    code.nest(out[0].lengths[:-1], one)


emits_where(np.linalg.eigh, lambda op: True)(_eigh)
emits_where(np.linalg.eigvalsh, lambda op: True)(_eigh)


# Singular values


def _svd(f: FunctionCode, op: Operation) -> None:
    (a,), code, options = op.positional, f.code, options_of(op)
    dtype, (m, n) = a.type.dtype, a.type.shape[-2:]
    k = min(m, n)
    letter = "N" if len(op.results) == 1 else "A" if options.get("full_matrices", True) else "S"
    out = [f.memory(r) for r in op.results]
    f.values.update(zip(op.results, out))
    lapack, real = Lapack(f, dtype), real_part(dtype)
    matrix, values = lapack.matrix(m, n), lapack.vector(k, real)
    left = lapack.matrix(m, m if letter == "A" else k) if letter != "N" else lapack.matrix(1, 1)
    right = lapack.matrix(n if letter == "A" else k, n) if letter != "N" else lapack.matrix(1, 1)
    size = 5 * k * k + 7 * k + 2 * k + max(m, n) + BLOCK * (m + n + 2 * k)
    work, integers = lapack.vector(size, dtype), lapack.integers(8 * k)
    further = [lapack.vector(max(5 * k * k + 7 * k, 2 * max(m, n) * k + 2 * k * k + k), real)] * is_complex(dtype)
    entry = entries(f, f.array(a), dtype, a.type.ndim - 2)

    def one(at: list[str]) -> None:
        matrix.fill(code, lambda i, j: entry(at, i, j))
        places = left, left.rows, right, right.rows
        status = lapack.call("gesdd", letter, m, n, matrix, m, values, *places, work, size, *further, integers)
        f.fail_if(code.value(f"icmp ne i32 {status}, 0"), *NO_SVD)
        if letter == "N":
            put_vector(code, out[0], at, values, k)
            return
        put_matrix(code, out[0], at, left)
        put_vector(code, out[1], at, values, k)
        put_matrix(code, out[2], at, right)

    code.nest(out[0].lengths[: a.type.ndim - 2], one)


emits_where(np.linalg.svd, lambda op: not options_of(op).get("hermitian"))(_svd)
emits_where(np.linalg.svdvals, lambda op: True)(_svd)


# QR


def _is_reduced(op: Operation) -> bool:
    return options_of(op).get("mode", "reduced") in ("reduced", "complete", "r")


@emits_where(np.linalg.qr, _is_reduced)
def _qr(f: FunctionCode, op: Operation) -> None:
    (a,), code = op.positional, f.code
    dtype, (m, n) = a.type.dtype, a.type.shape[-2:]
    k, r = min(m, n), op.results[-1]
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    columns = op.results[0].type.shape[-1] if len(out) == 2 else 0
    lapack = Lapack(f, dtype)
    matrix, tau = lapack.matrix(m, max(n, columns)), lapack.vector(k, dtype)
    size = BLOCK * max(n, columns)
    work = lapack.vector(size, dtype)
    entry = entries(f, f.array(a), dtype, a.type.ndim - 2)

    def one(at: list[str]) -> None:
        code.nest([str(n), str(m)], lambda ji: matrix.store(code, ji[1], ji[0], entry(at, ji[1], ji[0])))
        lapack.call("geqrf", m, n, matrix, m, tau, work, size)

        def put(ij: list[str]) -> None:
            inside = code.value(f"icmp sle i64 {ij[0]}, {ij[1]}")
            out[-1].store(code, [*at, *ij], select_element(code, inside, matrix.load(code, ij[0], ij[1]), dtype))

        code.nest([str(r.type.shape[-2]), str(n)], put)
        if columns:
            lapack.call("ungqr" if is_complex(dtype) else "orgqr", m, columns, k, matrix, m, tau, work, size)
            q = Columns(matrix.memory, m, columns)
            put_matrix(code, out[0], at, q)

    code.nest(out[-1].lengths[:-2], one)


def select_element(code: Code, condition: str, x: Element, dtype: np.dtype) -> Element:
    kind, zeros = register(dtype), registers(literal(0, dtype))
    chosen = [code.value(f"select i1 {condition}, {kind} {p}, {kind} {z}") for p, z in zip(registers(x), zeros)]
    return element(chosen, dtype)


# Factors of SciPy, and solutions with them


@emits_where("scipy.linalg._decomp_lu.lu_factor", lambda op: op.positional[0].type.dtype.char != "i", False)
def _lu_factor(f: FunctionCode, op: Operation) -> None:
    (a,), code = op.positional, f.code
    check_finite(f, op)
    dtype, (m, n) = a.type.dtype, a.type.shape
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    lapack, entry = Lapack(f, dtype), entries(f, f.array(a), dtype, 0)
    factors, exchanged = lapack.matrix(m, n), lapack.integers(min(m, n))
    factors.fill(code, lambda i, j: entry([], i, j))
    lapack.call("getrf", m, n, factors, m, exchanged)
    put_matrix(code, out[0], [], factors)
    kind = op.results[1].type.dtype

    def put(i: list[str]) -> None:
        row = code.value(f"sub i32 {exchanged.compute_flat(code, i[0])}, 1")
        out[1].store(code, i, convert(code, row, np.dtype(np.int32), kind))

    code.nest([str(min(m, n))], put)


def _is_square(op: Operation) -> bool:
    shape = op.positional[0].type.shape
    return shape[0] == shape[1] and op.positional[0].type.dtype.char != "i"


@emits_where("scipy.linalg._decomp_cholesky.cho_factor", _is_square, False)
def _cho_factor(f: FunctionCode, op: Operation) -> None:
    """The other triangle is that of the matrix, as in SciPy before version 1.18; it is not defined."""
    (a,), code = op.positional, f.code
    check_finite(f, op)
    dtype, n, lower = a.type.dtype, a.type.shape[0], bool(options_of(op).get("lower", False))
    out = f.values[op.results[0]] = f.memory(op.results[0])
    f.values[op.results[1]] = literal(lower, np.dtype(bool))
    lapack, entry = Lapack(f, dtype), entries(f, f.array(a), dtype, 0)
    factor = lapack.matrix(n, n)
    factor.fill(code, lambda i, j: entry([], i, j))
    status = lapack.call("potrf", "L" if lower else "U", n, factor, n)
    f.fail_if(failed(f, status), *MINOR, [(status, np.dtype(np.int32))])
    put_matrix(code, out, [], factor)


class _Solution:
    """A solution with factors: the right-hand sides in LAPACK's order, and where the solution goes."""

    def __init__(self, f: FunctionCode, op: Operation, b: Any) -> None:
        self.code, result = f.code, op.results[0]
        self.dtype, self.is_vector = result.type.dtype, b.type.ndim == 1
        self.n, self.columns = b.type.shape[0], 1 if self.is_vector else b.type.shape[1]
        self.out = f.values[result] = f.memory(result)
        self.lapack = Lapack(f, self.dtype)
        self.sides = self.lapack.matrix(self.n, self.columns)
        array, code = f.array(b), self.code
        entry: Entry = entries(f, array, self.dtype, 0)

        def side(i: str, j: str) -> Element:
            return convert(code, array.load(code, [i]), array.dtype, self.dtype) if self.is_vector else entry([], i, j)

        self.sides.fill(code, side)

    def matrix(self, f: FunctionCode, value: Any) -> Columns:
        found, entry = self.lapack.matrix(self.n, self.n), entries(f, f.array(value), self.dtype, 0)
        found.fill(self.code, lambda i, j: entry([], i, j))
        return found

    def put(self) -> None:
        code = self.code
        at = (lambda ij: ij[:1]) if self.is_vector else (lambda ij: ij)
        lengths = [str(self.n), str(self.columns)]
        code.nest(lengths, lambda ij: self.out.store(code, at(ij), self.sides.load(code, ij[0], ij[1])))


@emits("morula.core.rules.known_matrices.solved_by_lu")
def _solved_by_lu(f: FunctionCode, op: Operation) -> None:
    _, _, lu, piv = op.positional
    check_finite(f, op, 1)
    solution, code, n = _Solution(f, op, op.positional[1]), f.code, lu.type.shape[0]
    factors, exchanged, rows = solution.matrix(f, lu), solution.lapack.integers(n), f.array(piv)

    def count(i: list[str]) -> None:
        row = convert(code, rows.load(code, i), rows.dtype, np.dtype(np.int32))
        exchanged.store_flat(code, i[0], code.value(f"add i32 {row}, 1"))

    code.nest([str(n)], count)
    letter = "NTC"[int(options_of(op).get("trans", 0))]
    solution.lapack.call("getrs", letter, n, solution.columns, factors, n, exchanged, solution.sides, n)
    solution.put()


@emits("morula.core.rules.known_matrices.solved_by_cholesky")
def _solved_by_cholesky(f: FunctionCode, op: Operation) -> None:
    c = op.positional[2]
    check_finite(f, op, 1)
    solution, n, lower = _Solution(f, op, op.positional[1]), c.type.shape[0], bool(options_of(op).get("lower", False))
    if is_complex(solution.dtype):
        factor = solution.matrix(f, c)
    else:  # the factor's memory is that of its transpose in LAPACK's order, the other triangle
        factor, lower = Columns(f.in_memory(c), n, n), not lower
    solution.lapack.call("potrs", "L" if lower else "U", n, solution.columns, factor, n, solution.sides, n)
    solution.put()


@emits_static("scipy.linalg._basic.solve_banded", is_stackable=False)
def _solve_banded(f: FunctionCode, op: Operation) -> None:
    """The numbers of diagonals are operands: the memory has room for any of them, ``kl`` rows of it for the fill-in."""
    (counts, bands, b), result = op.positional, op.results[0]
    if 0 in bands.type.shape or 0 in b.type.shape or result.type.dtype.char not in "fdFD":
        EMITTERS["library"](f, op)
        return
    check_finite(f, op, 1)
    solution, code = _Solution(f, op, b), f.code
    (count, n), lapack = bands.type.shape, solution.lapack
    rows = 2 * count - 1
    matrix, exchanged, widths = lapack.matrix(rows, n), lapack.integers(n), lapack.integers(2)
    given, entry = f.array(counts), entries(f, f.array(bands), solution.dtype, 0)
    below = convert(code, given.load(code, ["0"]), given.dtype, np.dtype(np.int64))

    def narrow(k: str, x: str) -> Memory:
        widths.store_flat(code, k, code.value(f"trunc i64 {x} to i32"))
        return Memory(code, code.value(f"getelementptr i32, ptr {widths.pointer}, i64 {k}"), widths.dtype, ["1"])

    kl, ku = narrow("0", str(below)), narrow("1", code.value(f"sub i64 {count - 1}, {below}"))
    code.nest(
        [str(n), str(count)],
        lambda ji: matrix.store(code, code.add(ji[1], str(below)), ji[0], entry([], ji[1], ji[0])),
    )
    sides = solution.sides
    status = lapack.call("gbsv", n, kl, ku, solution.columns, matrix, rows, exchanged, sides, n)
    f.fail_if(failed(f, status), *BANDED)
    solution.put()
