"""Least squares by LAPACK without Python: of NumPy and SciPy, and by a QR factorisation that the backward sweep uses again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.dynamic import Operation
from ...ir.matrix_errors import NO_LEAST_SQUARES
from ...rules import kept_triangles, linear_algebra
from .arrays import Memory
from .elements import convert, is_complex, literal, register, registers
from .factorisations import BLOCK, emits_where, options_of, real_part, select_element
from .function import FunctionCode
from .lapack import Lapack
from .linear_algebra import check_finite, entries, failed, has_not_finite
from .reductions import fold

INTEGER = np.dtype(np.int32)
_DOUBLE: tuple[Any, Any] = np.dtype(np.float64), np.dtype(np.complex128)
WITHOUT_RESIDUAL = (
    "scipy.linalg.lstsq returns no residuals for a matrix without full column rank, but the shapes of results in compiled code "
    "are fixed; use numpy.linalg.lstsq"
)


class _Problem:
    """min |A x - B| for matrices in memory that LAPACK overwrites; ``dtype`` is that of the computation."""

    def __init__(self, f: FunctionCode, op: Operation, dtype: np.dtype, out: Memory | None = None) -> None:
        a, b = op.positional
        self.f, self.code, self.dtype, self.real = f, f.code, dtype, real_part(dtype)
        self.out = f.memory(op.results[0]) if out is None else out
        f.values[op.results[0]] = self.out
        (self.m, self.n), self.is_vector = a.type.shape, b.type.ndim == 1
        self.columns = 1 if self.is_vector else b.type.shape[1]
        self.k = min(self.m, self.n)
        self.lapack = Lapack(f, dtype)
        self.matrix = self.lapack.matrix(self.m, self.n)
        self.sides = self.lapack.matrix(max(self.m, self.n), self.columns)
        self.left, self.right = entries(f, f.array(a), dtype, 0), f.array(b)

    def fill(self) -> None:
        code, dtype = self.code, self.dtype
        self.matrix.fill(code, lambda i, j: self.left([], i, j))

        def side(ji: list[str]) -> None:
            j, i = ji
            x = self.right.load(code, [i] if self.is_vector else [i, j])
            self.sides.store(code, i, j, convert(code, x, self.right.dtype, dtype))

        code.nest([str(self.columns), str(self.m)], side)
        below = max(self.n - self.m, 0)
        zero = literal(0, dtype)
        code.nest(
            [str(self.columns), str(below)],
            lambda ji: self.sides.store(code, code.add(ji[1], str(self.m)), ji[0], zero),
        )

    def by_singular_values(self, driver: str, cut: float) -> tuple[Memory, str]:
        """Emit the solution by ``gelsd``, ``gelss`` or ``gelsy``; return the singular values and the rank, an i32."""
        lapack, values, rank = self.lapack, self.lapack.vector(self.k, self.real), self.lapack.integers(1)
        numbers, integers = _workspace(driver, self.dtype, self.m, self.n, self.columns, cut)
        work, size = lapack.vector(numbers, self.dtype), numbers
        second: Any = values
        if driver == "gelsy":
            second = lapack.integers(self.n)
            self.code.nest([str(self.n)], lambda i: second.store_flat(self.code, i[0], "0"))
        reals = _reals(driver, self.m, self.n, self.columns)
        last = [lapack.vector(reals, self.real)] * is_complex(self.dtype)
        last += [lapack.integers(integers)] * (driver == "gelsd")
        limit = lapack.vector(1, self.real)
        limit.store_flat(self.code, "0", literal(cut, self.real))
        sides = self.sides, self.sides.rows
        given = self.m, self.n, self.columns, self.matrix, self.m, *sides, second, limit, rank, work, size, *last
        self.f.fail_if(failed(self.f, lapack.call(driver, *given)), *NO_LEAST_SQUARES)
        return values, rank.compute_flat(self.code, "0")

    def put(self, dtype: np.dtype) -> None:
        """Write the solution."""
        code = self.code

        def one(ij: list[str]) -> None:
            x = convert(code, self.sides.load(code, *ij), self.dtype, dtype)
            self.out.store(code, ij[:1] if self.is_vector else ij, x)

        code.nest([str(self.n), str(self.columns)], one)

    def residual(self, j: str) -> str:
        """The sum of the squares below the solution."""
        code, kind = self.code, register(self.real)

        def add(i: list[str], carried: list[str]) -> list[str]:
            (total,) = carried
            for part in registers(self.sides.load(code, code.add(i[0], str(self.n)), j)):
                total = code.value(f"fadd {kind} {total}, {code.value(f'fmul {kind} {part}, {part}')}")
            return [total]

        return fold(code, [str(self.m - self.n)], add, [kind], [literal(0, self.real)])[0]


def _workspace(driver: str, dtype: np.dtype, m: int, n: int, columns: int, cut: float) -> tuple[int, int]:
    """The numbers and integers that LAPACK asks for."""
    from scipy.linalg import get_lapack_funcs

    found: Any = get_lapack_funcs((f"{driver}_lwork",), dtype=dtype)[0](m, n, columns, cut)
    return max(int(np.real(found[0])), 1), int(found[-2]) if driver == "gelsd" else 0


def _reals(driver: str, m: int, n: int, columns: int) -> int:
    """The real numbers that LAPACK needs for complex matrices, by its documentation."""
    k = min(m, n)
    if driver != "gelsd":
        return 5 * k if driver == "gelss" else 2 * n
    small = 25
    levels = max(int(np.log2(k / (small + 1))) + 1, 0)
    rest = max((small + 1) ** 2, n * (1 + columns) + 2 * columns)
    return 10 * n + 2 * n * small + 8 * n * levels + 3 * small * columns + rest


def _emit(f: FunctionCode, op: Operation, dtype: np.dtype, driver: str, cut: float) -> None:
    problem, code = _Problem(f, op, dtype), f.code
    problem.fill()
    values, rank = problem.by_singular_values(driver, cut)
    problem.put(op.results[0].type.dtype)
    residuals, of_rank, *of_values = op.results[1:]
    f.values[of_rank] = convert(code, rank, INTEGER, of_rank.type.dtype)
    if of_values:
        out = f.values[of_values[0]] = f.memory(of_values[0])

        def put(i: list[str]) -> None:
            out.store(code, i, convert(code, values.compute_flat(code, i[0]), values.dtype, out.dtype))

        code.nest([str(problem.k)], put)
    is_whole = code.value(f"icmp eq i32 {rank}, {problem.n}")
    kind = residuals.type.dtype

    def residual(j: str) -> Any:
        x = select_element(code, is_whole, problem.residual(j), problem.real)
        return convert(code, x, problem.real, kind)

    if op.callee is not linear_algebra.lstsq and 0 not in residuals.type.shape:
        f.fail_if(code.value(f"xor i1 {is_whole}, true"), BadInput, WITHOUT_RESIDUAL)
    if not residuals.type.shape:
        f.values[residuals] = residual("0")
        return
    out = f.values[residuals] = f.memory(residuals)
    code.nest(out.lengths, lambda i: out.store(code, i, residual(i[0])))


def _is_problem(op: Operation) -> bool:
    """Whether a call is for a matrix and one or several right-hand sides, with a cut-off that is known."""
    return len(op.positional) == 2 and op.positional[1].type.ndim in (1, 2)


_ANY_NUMBERS = "bBhHiIlLqQfdFD"


@emits_where(linear_algebra.lstsq, _is_problem, False, _ANY_NUMBERS)
def _numpys(f: FunctionCode, op: Operation) -> None:
    """NumPy computes in double precision, and reports a matrix that is not finite as one for which LAPACK did not converge."""
    f.fail_if(has_not_finite(f, f.array(op.positional[0])), *NO_LEAST_SQUARES)
    m, n = op.positional[0].type.shape
    rcond = options_of(op).get("rcond")
    dtype = _DOUBLE[is_complex(op.results[0].type.dtype)]
    _emit(f, op, dtype, "gelsd", np.finfo(dtype).eps * max(m, n) if rcond is None else float(rcond))


def _has_residuals(op: Operation) -> bool:
    """Whether a problem has residuals of the number of right-hand sides, or none."""
    a, b = op.positional[0].type, op.positional[1].type
    return _is_problem(op) and (a.shape[0] <= a.shape[1] or op.results[1].type.shape == b.shape[1:])


def _scipys(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    options, dtype = options_of(op), op.results[0].type.dtype
    cond = options.get("cond")
    is_gelsy = op.callee.__name__ == "gelsy"
    driver = "gelsy" if is_gelsy else options.get("lapack_driver") or "gelsd"
    _emit(f, op, dtype, driver, np.finfo(dtype).eps if cond is None else float(cond))


emits_where("scipy.linalg._basic.lstsq", _has_residuals, False, _ANY_NUMBERS)(_scipys)
emits_where("morula.core.rules.scipy_linear_algebra.gelsy", _is_problem, False, _ANY_NUMBERS)(_scipys)


@emits_where(kept_triangles.least_squares, _is_problem, False, "fdFD")
def _by_triangle(f: FunctionCode, op: Operation) -> None:
    dtype, code = op.results[0].type.dtype, f.code
    problem = _Problem(f, op, dtype)
    m, n, columns, lapack, real = problem.m, problem.n, problem.columns, problem.lapack, problem.real
    rcond, limits = options_of(op).get("rcond"), np.finfo(dtype)
    triangle = f.values[op.results[1]] = f.memory(op.results[1])
    size = BLOCK * max(m, n, columns)
    work, tau = lapack.vector(size, dtype), lapack.vector(n, dtype)
    condition = lapack.vector(1, real)
    matrix, sides = (problem.matrix, m), (problem.sides, problem.sides.rows)
    problem.fill()
    lapack.call("geqrf", m, n, *matrix, tau, work, size)
    last = lapack.vector(n, real) if is_complex(dtype) else lapack.integers(n)
    lapack.call("trcon", "1", "U", "N", n, *matrix, condition, lapack.vector(3 * n, dtype), last)
    least = max(n * max(0.0 if rcond is None else rcond, limits.eps * m), limits.eps**0.5)
    found, kind = condition.compute_flat(code, "0"), register(real)
    is_whole = code.value(f"fcmp ogt {kind} {found}, {literal(least, real)}")

    def by_factors() -> None:
        name, turn = ("unmqr", "C") if is_complex(dtype) else ("ormqr", "T")
        lapack.call(name, "L", turn, m, columns, n, *matrix, tau, *sides, work, size)
        lapack.call("trtrs", "U", "N", "N", n, columns, *matrix, *sides)
        problem.put(dtype)

        def put(ij: list[str]) -> None:
            inside = code.value(f"icmp sle i64 {ij[0]}, {ij[1]}")
            triangle.store(code, ij, select_element(code, inside, problem.matrix.load(code, *ij), dtype))

        code.nest([str(n), str(n)], put)

    def by_values() -> None:
        wide = _DOUBLE[is_complex(dtype)]
        again = _Problem(f, op, wide, problem.out)
        again.fill()
        cut = np.finfo(wide).eps * max(m, n) if rcond is None else float(rcond)
        again.by_singular_values("gelsd", cut)
        again.put(dtype)
        code.nest([str(n), str(n)], lambda ij: triangle.store(code, ij, literal(0, dtype)))

    code.choose([(is_whole, by_factors)], by_values)
