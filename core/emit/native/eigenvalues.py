"""Eigenvalues by LAPACK without Python: of general matrices, and of ``scipy.linalg`` with its options.

Eigenvectors of real matrices are assembled from LAPACK's pairs of columns, their real and imaginary parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.dynamic import Operation
from ...ir.matrix_errors import NO_EIGENVALUES, NOT_FINITE
from ...rules.matrix_factorisations import eig_in_complex, eigvals_in_complex
from .arrays import Memory
from .assembly import Code
from .elements import Element, element, is_complex, literal, register, registers
from .factorisations import BLOCK, emits_where, options_of, put_matrix, real_part
from .function import FunctionCode
from .lapack import Columns, Lapack
from .linear_algebra import check_finite, entries, failed, has_not_finite
from .real_functions import apply
from .reductions import fold


class _General:
    """Calls of ``geev`` for the matrices of a stack."""

    def __init__(self, f: FunctionCode, op: Operation, left: bool, right: bool) -> None:
        a = op.positional[0]
        self.f, self.code = f, f.code
        self.dtype, self.n = a.type.dtype, a.type.shape[-1]
        self.real, n = real_part(self.dtype), self.n
        self.lapack = Lapack(f, self.dtype)
        self.matrix = self.lapack.matrix(n, n)
        self.entry = entries(f, f.array(a), self.dtype, a.type.ndim - 2)
        self.sides = [self.lapack.matrix(n, n) if has else self.lapack.matrix(1, 1) for has in (left, right)]
        self.letters = ["V" if has else "N" for has in (left, right)]
        self.values = [self.lapack.vector(n, self.dtype) for _ in range(1 if is_complex(self.dtype) else 2)]
        self.size = (4 + BLOCK) * n
        self.work = self.lapack.vector(self.size, self.dtype)
        self.last = [self.lapack.vector(2 * n, self.real)] if is_complex(self.dtype) else []

    def run(self, at: list[str]) -> None:
        n, code = self.n, self.code
        self.matrix.fill(code, lambda i, j: self.entry(at, i, j))
        sides: list[Any] = []
        for side in self.sides:
            sides += [side, side.rows]
        status = self.lapack.call(
            "geev", *self.letters, n, self.matrix, n, *self.values, *sides, self.work, self.size, *self.last
        )
        self.f.fail_if(failed(self.f, status), *NO_EIGENVALUES)

    def value(self, i: str) -> Element:
        """An eigenvalue as a complex number."""
        if is_complex(self.dtype):
            return self.values[0].compute_flat(self.code, i)
        return self.values[0].compute_flat(self.code, i), self.values[1].compute_flat(self.code, i)

    def are_real(self) -> str:
        """Whether all eigenvalues of a real matrix are real, an i1."""
        if is_complex(self.dtype):
            return "false"
        return all_zero(self.code, self.values[1], self.n)

    def put_values(self, memory: Memory, at: list[str]) -> None:
        self.code.nest([str(self.n)], lambda i: memory.store(self.code, [*at, i[0]], self.value(i[0])))

    def put_vectors(self, memory: Memory, at: list[str], side: int) -> None:
        if is_complex(self.dtype):
            put_matrix(self.code, memory, at, self.sides[side])
        else:
            put_pairs(self.code, memory, at, self.sides[side], self.values[1])


def all_zero(code: Code, x: Memory, count: int) -> str:
    def turn(i: list[str], carried: list[str]) -> list[str]:
        zero = code.value(f"fcmp oeq {register(x.dtype)} {x.compute_flat(code, i[0])}, {literal(0, x.dtype)}")
        return [code.value(f"and i1 {carried[0]}, {zero}")]

    return fold(code, [str(count)], turn, ["i1"], ["true"])[0]


def put_pairs(code: Code, memory: Memory, at: list[str], found: Columns, imaginary: Memory) -> None:
    """Write the eigenvectors of a real matrix as complex numbers: of a pair, the columns are real and imaginary part.

    The first eigenvalue of a pair has the positive imaginary part.
    """
    kind, zero, last = register(imaginary.dtype), literal(0, imaginary.dtype), str(found.columns - 1)

    def put(ij: list[str]) -> None:
        i, j = ij
        x = imaginary.compute_flat(code, j)
        is_first = code.value(f"fcmp ogt {kind} {x}, {zero}")
        is_second = code.value(f"fcmp olt {kind} {x}, {zero}")
        before = code.value(f"select i1 {is_second}, i64 {code.subtract(j, '1')}, i64 {j}")
        following = code.add(before, "1")
        is_inside = code.value(f"icmp sle i64 {following}, {last}")
        beside = code.value(f"select i1 {is_inside}, i64 {following}, i64 {last}")
        part = found.load(code, i, beside)
        minus = code.value(f"fneg {kind} {part}")
        turned = code.value(f"select i1 {is_second}, {kind} {minus}, {kind} {zero}")
        memory.store(
            code,
            [*at, i, j],
            (found.load(code, i, before), code.value(f"select i1 {is_first}, {kind} {part}, {kind} {turned}")),
        )

    code.nest([str(found.rows), str(found.columns)], put)


def _refuse_infinities(f: FunctionCode, op: Operation) -> None:
    f.fail_if(has_not_finite(f, f.array(op.positional[0])), *NOT_FINITE)


def _numpys(f: FunctionCode, op: Operation) -> None:
    """``numpy.linalg``'s functions: the results are values, vectors if it has them, whether they are real."""
    _refuse_infinities(f, op)
    in_complex = op.callee in (eig_in_complex, eigvals_in_complex)
    has_vectors = op.callee in (np.linalg.eig, eig_in_complex)
    _put_general(f, op, _General(f, op, False, has_vectors), [1] * has_vectors, in_complex)


def _put_general(f: FunctionCode, op: Operation, general: _General, sides: list[int], tells: bool) -> None:
    out = [f.memory(r) for r in op.results[: 1 + len(sides)]]
    f.values.update(zip(op.results, out))
    code, flag = f.code, code_flag(f) if tells else ""

    def one(at: list[str]) -> None:
        general.run(at)
        general.put_values(out[0], at)
        for memory, side in zip(out[1:], sides):
            general.put_vectors(memory, at, side)
        if tells:
            before = code.value(f"load i1, ptr {flag}")
            code.do(f"store i1 {code.value(f'and i1 {before}, {general.are_real()}')}, ptr {flag}")

    code.nest(out[0].lengths[:-1], one)
    if tells:
        f.values[op.results[-1]] = code.value(f"load i1, ptr {flag}")


def code_flag(f: FunctionCode) -> str:
    """Return memory of an i1 that is true."""
    place = f.code.slot("i1")
    f.code.do(f"store i1 true, ptr {place}")
    return place


for _callee in (eig_in_complex, eigvals_in_complex, np.linalg.eig, np.linalg.eigvals):
    emits_where(
        _callee,
        lambda op: op.positional[0].type.dtype.char != "i" and op.results[0].type.dtype.kind == "c",
    )(_numpys)


def _sides(op: Operation) -> list[int]:
    options = options_of(op)
    if op.callee.__name__ == "eigvals":
        return []
    return [0] * bool(options.get("left", False)) + [1] * bool(options.get("right", True))


def _is_real_or_complex(op: Operation) -> bool:
    """Whether a call is for one matrix or a pair, with eigenvalues as complex numbers and vectors as a back end returns them."""
    kinds = [v.type for v in op.positional]
    is_alike = all(k.dtype == kinds[0].dtype and k.ndim == kinds[0].ndim for k in kinds)
    return (
        is_alike
        and kinds[0].dtype.char != "i"
        and not options_of(op).get("homogeneous_eigvals")
        and all(r.type.dtype.kind != "f" for r in op.results)
    )


def _scipys(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    sides = _sides(op)
    kind = _General if len(op.positional) == 1 else _Pair
    _put_general(f, op, kind(f, op, 0 in sides, 1 in sides), sides, op.callee.__name__ == "eig_in_complex")


for _name in (
    "scipy.linalg._decomp.eig",
    "scipy.linalg._decomp.eigvals",
    "morula.core.rules.scipy_eigenvalues.eig_in_complex",
):
    emits_where(_name, _is_real_or_complex, False)(_scipys)


class _Pair(_General):
    """A v = lam B v by ``ggev``: eigenvalues alpha / beta, and vectors of length one."""

    def __init__(self, f: FunctionCode, op: Operation, left: bool, right: bool) -> None:
        super().__init__(f, op, left, right)
        n, b = self.n, op.positional[1]
        self.other, self.of_other = self.lapack.matrix(n, n), entries(f, f.array(b), self.dtype, 0)
        self.beta = self.lapack.vector(n, self.dtype)
        self.size = (8 + BLOCK) * n
        self.work = self.lapack.vector(self.size, self.dtype)
        self.last = [self.lapack.vector(8 * n, self.real)] if is_complex(self.dtype) else []

    def run(self, at: list[str]) -> None:
        n, code = self.n, self.code
        self.matrix.fill(code, lambda i, j: self.entry(at, i, j))
        self.other.fill(code, lambda i, j: self.of_other(at, i, j))
        sides: list[Any] = []
        for side in self.sides:
            sides += [side, side.rows]
        given = self.matrix, n, self.other, n, *self.values, self.beta, *sides
        status = self.lapack.call("ggev", *self.letters, n, *given, self.work, self.size, *self.last)
        self.f.fail_if(failed(self.f, status), *NO_EIGENVALUES)
        code.nest([str(n)], lambda i: self.divide(i[0]))
        for side, letter in zip(self.sides, self.letters):
            if letter == "V":
                code.nest([str(n)], lambda j, side=side: self.scale(side, j[0]))

    def divide(self, i: str) -> None:
        """Write alpha / beta into the place of alpha: infinite where beta is zero, NaN where both are."""
        code, kind = self.code, register(self.real)
        zero, infinity = literal(0, self.real), literal(np.inf, self.real)
        alpha = [part for x in self.values for part in registers(x.compute_flat(code, i))]
        beta = registers(self.beta.compute_flat(code, i))
        is_zero = code.value(f"fcmp oeq {kind} {beta[0]}, {zero}")  # LAPACK's beta is real and not negative
        nothing = "true"
        for part in alpha:
            nothing = code.value(f"and i1 {nothing}, {code.value(f'fcmp oeq {kind} {part}, {zero}')}")
        parts = [code.value(f"fdiv {kind} {part}, {beta[0]}") for part in alpha]
        is_infinite = code.value(f"and i1 {is_zero}, {code.value(f'xor i1 {nothing}, true')}")
        parts = [
            code.value(f"select i1 {is_infinite}, {kind} {other}, {kind} {part}")
            for part, other in zip(parts, (infinity, zero))
        ]
        if is_complex(self.dtype):
            self.values[0].store_flat(code, i, tuple(parts))
        else:
            for x, part in zip(self.values, parts):
                x.store_flat(code, i, part)

    def scale(self, side: Columns, j: str) -> None:
        """Divide a vector, which has two columns where its eigenvalue is not real, by its length."""
        code, kind, n = self.code, register(self.real), str(self.n)
        columns = [j] if is_complex(self.dtype) else [j, self.partner(j)]

        def add(i: list[str], carried: list[str]) -> list[str]:
            (total,) = carried
            for column in columns:
                for part in registers(side.load(code, i[0], column)):
                    total = code.value(f"fadd {kind} {total}, {code.value(f'fmul {kind} {part}, {part}')}")
            return [total]

        (total,) = fold(code, [n], add, [kind], [literal(0, self.real)])
        if len(columns) == 2:  # of a real eigenvalue the partner is the column itself, which was counted twice
            itself = code.value(f"icmp eq i64 {columns[0]}, {columns[1]}")
            once = code.value(f"fmul {kind} {total}, {literal(0.5, self.real)}")
            total = code.value(f"select i1 {itself}, {kind} {once}, {kind} {total}")
        length = apply(code, np.sqrt, self.real, [total])
        # The columns of a pair are scaled at the first of them.
        is_done = "false" if len(columns) == 1 else code.value(f"icmp slt i64 {columns[1]}, {columns[0]}")
        length = code.value(f"select i1 {is_done}, {kind} {literal(1, self.real)}, {kind} {length}")

        def divide(i: list[str]) -> None:
            for column in columns[:1]:
                parts = registers(side.load(code, i[0], column))
                side.store(
                    code, i[0], column, element([code.value(f"fdiv {kind} {x}, {length}") for x in parts], self.dtype)
                )
            if len(columns) == 2:
                both = code.value(f"icmp sgt i64 {columns[1]}, {columns[0]}")
                factor = code.value(f"select i1 {both}, {kind} {length}, {kind} {literal(1, self.real)}")
                x = side.load(code, i[0], columns[1])
                side.store(code, i[0], columns[1], code.value(f"fdiv {kind} {x}, {factor}"))

        code.nest([n], divide)

    def partner(self, j: str) -> str:
        """The other column of a pair, or the column itself."""
        code, kind, zero = self.code, register(self.real), literal(0, self.real)
        x = self.values[1].compute_flat(code, j)
        after = code.value(f"zext i1 {code.value(f'fcmp ogt {kind} {x}, {zero}')} to i64")
        before = code.value(f"zext i1 {code.value(f'fcmp olt {kind} {x}, {zero}')} to i64")
        return code.subtract(code.add(j, after), before)
