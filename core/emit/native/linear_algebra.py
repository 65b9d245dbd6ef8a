"""Dense linear algebra of NumPy and SciPy without Python: loops for small real matrices, LAPACK for others.

LAPACK's functions are SciPy's, called by their pointers.  Their matrices are column-major, so each operand is copied
into memory of its own, which they overwrite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.dynamic import Operation
from ...ir.matrix_errors import DIAGONAL, INDEFINITE, MINOR, NOT_FINITE_IN_SCIPY, SINGULAR, MatrixError
from .arrays import Array, Memory
from .assembly import Code
from .elements import Element, convert, element, half, is_complex, literal, register, registers
from .function import EMITTERS, FunctionCode, emits
from .lapack import Lapack
from .real_functions import apply
from .reductions import fold
from .small_matrices import SMALL_ORDER, Block, eliminate, factorise, first_zero, substitute

Entry = Callable[[list[str], str, str], Element]
"""Returns an element of a stack of matrices: the indices in the stack, the row, the column."""
Pivot = Callable[[str], Element]
"""Returns the i-th pivot of a matrix."""
Numbers = Callable[[Code, np.dtype, int, Pivot, str], list[Element]]
"""Emits numbers that follow from a matrix's pivots; last, whether an odd number of rows were exchanged."""


def emits_static(callee: Any, is_stackable: bool = True) -> Callable[[Any], Any]:
    """Register an emitter; where it does not apply, the function is called in Python."""

    def add(emit: Callable[[FunctionCode, Operation], None]) -> Any:
        @emits(callee)
        def emit_or_call(f: FunctionCode, op: Operation) -> None:
            kinds = [v.type for v in (*op.positional, *op.results)]
            if all(kind.is_static for kind in kinds) and (is_stackable or all(kind.ndim <= 2 for kind in kinds)):
                emit(f, op)
            else:
                EMITTERS["library"](f, op)

        return emit

    return add


def _is_small(n: int, columns: int, dtype: np.dtype) -> bool:
    return n <= SMALL_ORDER and columns <= SMALL_ORDER and not is_complex(dtype)


def entries(f: FunctionCode, array: Array, dtype: np.dtype, batch: int) -> Entry:
    """Return the elements of a stack of matrices, which is broadcast to ``batch`` dimensions and converted."""
    own = len(array.lengths) - 2

    def entry(at: list[str], i: str, j: str) -> Element:
        stack = ["0" if n == "1" else k for n, k in zip(array.lengths, at[batch - own :])]
        return convert(f.code, array.load(f.code, [*stack, i, j]), array.dtype, dtype)

    return entry


@dataclass
class System:
    """The equations A X = B of a call, one for each index of a stack: their elements, and where the solutions go."""

    f: FunctionCode
    batch: Sequence[str]
    n: int
    columns: int
    dtype: np.dtype
    left: Entry
    right: Entry
    put: Callable[[list[str], str, str, Element], None]
    error: MatrixError = SINGULAR

    @classmethod
    def of(cls, f: FunctionCode, op: Operation) -> System:
        """The equations of a call of two operands, A and B, which may be a vector; of one operand: those of its inverse."""
        a, *sides = op.positional
        result, code = op.results[0], f.code
        dtype, n = result.type.dtype, a.type.shape[-1]
        is_vector = bool(sides) and sides[0].type.ndim == 1
        memory = f.values[result] = f.memory(result)
        batch = memory.lengths[:-1] if is_vector else memory.lengths[:-2]
        if not sides:
            right: Entry = lambda at, i, j: _identity(code, i, j, dtype)  # noqa: E731
        elif is_vector:
            vector = f.array(sides[0])
            right = lambda at, i, j: convert(code, vector.load(code, [i]), vector.dtype, dtype)  # noqa: E731
        else:
            right = entries(f, f.array(sides[0]), dtype, len(batch))

        def put(at: list[str], i: str, j: str, x: Element) -> None:
            memory.store(code, [*at, i] if is_vector else [*at, i, j], x)

        columns = 1 if is_vector else result.type.shape[-1]
        return cls(f, batch, n, columns, dtype, entries(f, f.array(a), dtype, len(batch)), right, put)

    @property
    def is_small(self) -> bool:
        return _is_small(self.n, self.columns, self.dtype)

    def block(self, at: list[str]) -> Block:
        """Emit the equations of one index in memory for loops."""
        block = Block(self.f.code, self.dtype, self.n, self.columns)
        block.fill(lambda i, j: self.left(at, i, j), lambda i, j: self.right(at, i, j))
        return block

    def fail_if(self, condition: str) -> None:
        self.f.fail_if(condition, *self.error)

    def store(self, at: list[str], found: Callable[[str, str], Element]) -> None:
        self.f.code.nest([str(self.n), str(self.columns)], lambda ij: self.put(at, ij[0], ij[1], found(ij[0], ij[1])))

    def eliminate(self, at: list[str]) -> None:
        """Emit the solution by loops."""
        block = self.block(at)
        is_singular, _ = eliminate(block)
        self.fail_if(is_singular)
        substitute(block)
        self.store(at, lambda i, j: block.get(i, block.column(j)))


def _identity(code: Code, i: str, j: str, dtype: np.dtype) -> Element:
    if i[0] != "%" and j[0] != "%":
        return literal(int(i == j), dtype)
    return convert(code, code.value(f"icmp eq i64 {i}, {j}"), np.dtype(bool), dtype)


@emits_static(np.linalg.solve)
@emits_static(np.linalg.inv)
def _solve(f: FunctionCode, op: Operation) -> None:
    system, code = System.of(f, op), f.code
    if system.is_small:
        code.nest(system.batch, system.eliminate)
        return
    n, columns = system.n, system.columns
    lapack = Lapack(f, system.dtype)
    factor, solution, pivots = lapack.matrix(n, n), lapack.matrix(n, columns), lapack.integers(n)

    def by_lapack(at: list[str]) -> None:
        factor.fill(code, lambda i, j: system.left(at, i, j))
        solution.fill(code, lambda i, j: system.right(at, i, j))
        system.fail_if(failed(f, lapack.call("gesv", n, columns, factor, max(n, 1), pivots, solution, max(n, 1))))
        system.store(at, lambda i, j: solution.load(code, i, j))

    code.nest(system.batch, by_lapack)


@emits_static(np.linalg.slogdet)
def _slogdet(f: FunctionCode, op: Operation) -> None:
    _of_pivots(f, op, sign_and_logarithm)


@emits_static(np.linalg.det)
def _det(f: FunctionCode, op: Operation) -> None:
    _of_pivots(f, op, product)


@emits_static("scipy.linalg._basic.det")
def _scipy_det(f: FunctionCode, op: Operation) -> None:
    """The factors have the dtype of the matrix; their product, of double precision, overflows only at the end."""
    if op.positional[0].type.dtype.char not in "fdFD":
        EMITTERS["library"](f, op)
        return
    check_finite(f, op)
    _of_pivots(f, op, product)


def _of_pivots(f: FunctionCode, op: Operation, numbers: Numbers) -> None:
    """Emit numbers that follow from a matrix's pivots."""
    (a,), code = op.positional, f.code
    dtype, n = op.results[0].type.dtype, a.type.shape[-1]
    own = a.type.dtype if a.type.dtype.char in "fdFD" else dtype
    of_matrix = _pivots(f, entries(f, f.array(a), own, a.type.ndim - 2), n, own)

    def converted(at: list[str]) -> tuple[Pivot, str]:
        pivot, is_odd = of_matrix(at)
        return lambda i: convert(code, pivot(i), own, dtype), is_odd

    each_matrix(f, op, n, converted, numbers)


def each_matrix(
    f: FunctionCode, op: Operation, n: int, pivots: Callable[[list[str]], tuple[Pivot, str]], numbers: Numbers
) -> None:
    """Emit numbers for each matrix of a stack, whose pivots and parity ``pivots`` gives."""
    code, dtype = f.code, op.results[0].type.dtype
    for result in op.results:
        if result.type.shape:
            f.values[result] = f.memory(result)

    def one(at: list[str]) -> None:
        pivot, is_odd = pivots(at)
        for result, x in zip(op.results, numbers(code, dtype, n, pivot, is_odd)):
            if result.type.shape:
                f.values[result].store(code, at, x)
            else:
                f.values[result] = x

    code.nest(f.lengths(op.results[0].type), one)


def _pivots(f: FunctionCode, entry: Entry, n: int, dtype: np.dtype) -> Callable[[list[str]], tuple[Pivot, str]]:
    """Return what factorises a matrix of a stack: it gives the pivots, and whether the number of exchanges is odd."""
    code = f.code

    def in_loops(at: list[str]) -> tuple[Pivot, str]:
        block = Block(code, dtype, n)
        block.fill(lambda i, j: entry(at, i, j))
        _, is_odd = eliminate(block)
        return lambda i: block.get(i, i), is_odd

    if _is_small(n, n, dtype):
        return in_loops
    lapack = Lapack(f, dtype)
    factor, exchanged = lapack.matrix(n, n), lapack.integers(n)

    def by_lapack(at: list[str]) -> tuple[Pivot, str]:
        factor.fill(code, lambda i, j: entry(at, i, j))
        lapack.call("getrf", n, n, factor, max(n, 1), exchanged)
        return lambda i: factor.load(code, i, i), _is_odd(code, n, exchanged)

    return by_lapack


def _is_odd(code: Code, n: int, exchanged: Memory) -> str:
    """Return whether LAPACK has exchanged an odd number of rows: row i with row ``exchanged[i]``, counted from 1."""

    def turn(i: list[str], carried: list[str]) -> list[str]:
        itself = code.value(f"trunc i64 {code.add(i[0], '1')} to i32")
        is_other = code.value(f"icmp ne i32 {exchanged.compute_flat(code, i[0])}, {itself}")
        return [code.value(f"xor i1 {carried[0]}, {is_other}")]

    return fold(code, [str(n)], turn, ["i1"], ["false"])[0]


def sign_and_logarithm(code: Code, dtype: np.dtype, n: int, pivot: Pivot, is_odd: str) -> list[Element]:
    """Return the sign of a determinant, a number on the unit circle if it is complex, and the logarithm of its size."""
    real = half(dtype) if is_complex(dtype) else dtype
    kind, zero = register(real), literal(0, real)

    def turn(i: list[str], carried: list[str]) -> list[str]:
        x, (*sign, total, is_singular) = pivot(i[0]), carried
        size = apply(code, np.absolute, dtype, [x])
        if is_complex(dtype):
            phase = element([apply(code, np.divide, real, [part, size]) for part in registers(x)], dtype)
            sign = registers(apply(code, np.multiply, dtype, [element(sign, dtype), phase]))
        else:
            below = code.value(f"fcmp olt {kind} {x}, {zero}")
            minus = code.value(f"fneg {kind} {sign[0]}")
            sign = [code.value(f"select i1 {below}, {kind} {minus}, {kind} {sign[0]}")]
        none = code.value(f"fcmp oeq {kind} {size}, {zero}")
        total = apply(code, np.add, real, [total, apply(code, np.log, real, [size])])
        return [*sign, total, code.value(f"or i1 {is_singular}, {none}")]

    first = registers(_unit(code, dtype, is_odd))
    *sign, total, is_singular = fold(code, [str(n)], turn, [kind] * (len(first) + 1) + ["i1"], [*first, zero, "false"])
    sign = [code.value(f"select i1 {is_singular}, {kind} {zero}, {kind} {part}") for part in sign]
    least = literal(-np.inf, real)
    return [element(sign, dtype), code.value(f"select i1 {is_singular}, {kind} {least}, {kind} {total}")]


def _unit(code: Code, dtype: np.dtype, is_negative: str) -> Element:
    """Return -1 or 1."""
    kind = register(half(dtype) if is_complex(dtype) else dtype)
    pairs = zip(registers(literal(-1, dtype)), registers(literal(1, dtype)))
    return element([code.value(f"select i1 {is_negative}, {kind} {x}, {kind} {y}") for x, y in pairs], dtype)


def product(code: Code, dtype: np.dtype, n: int, pivot: Pivot, is_odd: str) -> list[Element]:
    """Return the determinant: the product of the pivots, or exp of the sum of their logarithms where it is out of range."""
    real = half(dtype) if is_complex(dtype) else dtype
    kind = register(real)

    def turn(i: list[str], carried: list[str]) -> list[str]:
        return registers(apply(code, np.multiply, dtype, [element(carried, dtype), pivot(i[0])]))

    first = registers(_unit(code, dtype, is_odd))
    found = fold(code, [str(n)], turn, [kind] * len(first), first)
    limits = np.finfo(dtype)
    size = apply(code, np.absolute, dtype, [element(found, dtype)])
    above = code.value(f"fcmp oge {kind} {size}, {literal(limits.tiny, real)}")
    below = code.value(f"fcmp ole {kind} {size}, {literal(limits.max, real)}")
    places, again, after = [code.slot(kind) for _ in found], code.new("again"), code.new("on")

    def keep(parts: list[str]) -> None:
        for part, place in zip(parts, places):
            code.do(f"store {kind} {part}, ptr {place}")

    keep(found)
    code.branch(code.value(f"and i1 {above}, {below}"), after, again)
    code.start(again)
    with code.scope():
        sign, logarithm = sign_and_logarithm(code, dtype, n, pivot, is_odd)
        size = apply(code, np.exp, real, [registers(logarithm)[0]])
        keep([apply(code, np.multiply, real, [part, size]) for part in registers(sign)])
    code.jump(after)
    code.start(after)
    return [element([code.value(f"load {kind}, ptr {place}") for place in places], dtype)]


@emits_static(np.linalg.cholesky)
def _cholesky(f: FunctionCode, op: Operation) -> None:
    is_upper = "upper" in op.named and bool(op.named["upper"].constant)
    _cholesky_each(f, op, is_upper, lambda status: f.fail_if(failed(f, status), *INDEFINITE))


@emits_static("scipy.linalg._decomp_cholesky.cholesky", is_stackable=False)
def _scipy_cholesky(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)

    def check(status: str) -> None:
        f.fail_if(failed(f, status), *MINOR, [(status, np.dtype(np.int32))])

    _cholesky_each(f, op, "lower" not in op.named or not op.named["lower"].constant, check)


def failed(f: FunctionCode, status: str) -> str:
    return f.code.value(f"icmp sgt i32 {status}, 0")


def _cholesky_each(f: FunctionCode, op: Operation, is_upper: bool, check: Callable[[str], None]) -> None:
    """Emit the factors L with A = L L^H, or their adjoints, from the same triangle of the matrices.

    ``check`` gets LAPACK's status: the order of the first leading minor that is not positive, or 0.
    """
    code, result = f.code, op.results[0]
    dtype, n = result.type.dtype, result.type.shape[-1]
    memory = f.values[result] = f.memory(result)
    entry = entries(f, f.array(op.positional[0]), dtype, result.type.ndim - 2)
    batch = memory.lengths[:-2]

    def in_loops(at: list[str]) -> None:
        block = Block(code, dtype, n)
        block.fill(lambda i, j: entry(at, j, i) if is_upper else entry(at, i, j))
        check(factorise(block))
        _store_triangle(code, memory, at, is_upper, lambda i, j: block.get(j, i) if is_upper else block.get(i, j))

    if _is_small(n, n, dtype):
        code.nest(batch, in_loops)
        return
    lapack = Lapack(f, dtype)
    factor = lapack.matrix(n, n)

    def by_lapack(at: list[str]) -> None:
        factor.fill(code, lambda i, j: entry(at, i, j))
        status = lapack.call("potrf", "U" if is_upper else "L", n, factor, n)
        check(_with_nan(code, dtype, status, factor.load(code, str(n - 1), str(n - 1)), n))

        _store_triangle(code, memory, at, is_upper, lambda i, j: factor.load(code, i, j))

    code.nest(batch, by_lapack)


def _with_nan(code: Code, dtype: np.dtype, status: str, last: Element, n: int) -> str:
    """Return LAPACK's status, or n if the last pivot is NaN, which some implementations do not report."""
    part = registers(last)[0]
    is_nan = code.value(f"fcmp uno {register(dtype.type(0).real.dtype)} {part}, {part}")
    is_found = code.value(f"icmp ne i32 {status}, 0")
    return code.value(
        f"select i1 {code.value(f'or i1 {is_found}, {is_nan}')}, i32 {code.value(f'select i1 {is_found}, i32 {status}, i32 {n}')}, i32 0"
    )


def _store_triangle(
    code: Code, memory: Memory, at: list[str], is_upper: bool, entry: Callable[[str, str], Element]
) -> None:
    """Write a triangular matrix into a stack of them."""
    dtype = memory.dtype

    def put(ij: list[str]) -> None:
        is_inside = code.value(f"icmp {'sle' if is_upper else 'sge'} i64 {ij[0]}, {ij[1]}")
        kind, zeros = register(dtype), registers(literal(0, dtype))
        chosen = [
            code.value(f"select i1 {is_inside}, {kind} {x}, {kind} {zero}")
            for x, zero in zip(registers(entry(ij[0], ij[1])), zeros)
        ]
        memory.store(code, [*at, *ij], element(chosen, dtype))

    code.nest(memory.lengths[-2:], put)


@emits_static("scipy.linalg._basic.solve_triangular", is_stackable=False)
def _solve_triangular(f: FunctionCode, op: Operation) -> None:
    (a, b), result, code = op.positional, op.results[0], f.code
    check_finite(f, op)
    options = {name: v.constant for name, v in op.named.items()}
    is_lower, has_unit_diagonal = bool(options.get("lower")), bool(options.get("unit_diagonal"))
    letter = {0: "N", 1: "T", 2: "C"}.get(options.get("trans", 0)) or str(options["trans"])
    is_vector, dtype, n = b.type.ndim == 1, result.type.dtype, a.type.shape[-1]
    columns = 1 if is_vector else result.type.shape[-1]
    memory = f.values[result] = f.memory(result)
    left, array = entries(f, f.array(a), dtype, 0), f.array(b)

    def right(i: str, j: str) -> Element:
        return convert(code, array.load(code, [i] if is_vector else [i, j]), array.dtype, dtype)

    def put(i: str, j: str, x: Element) -> None:
        memory.store(code, [i] if is_vector else [i, j], x)

    def check(status: str) -> None:
        place = code.value(f"sub i32 {status}, 1")
        f.fail_if(failed(f, status), *DIAGONAL, [(place, np.dtype(np.int32))])

    if _is_small(n, columns, dtype):
        block = Block(code, dtype, n, columns)
        block.fill(lambda i, j: left([], i, j) if letter == "N" else left([], j, i), right)
        if not has_unit_diagonal:
            check(first_zero(block))
        substitute(block, is_lower == (letter == "N"), has_unit_diagonal)
        code.nest([str(n), str(columns)], lambda ij: put(ij[0], ij[1], block.get(ij[0], block.column(ij[1]))))
        return
    lapack = Lapack(f, dtype)
    factor, solution = lapack.matrix(n, n), lapack.matrix(n, columns)
    factor.fill(code, lambda i, j: left([], i, j))
    solution.fill(code, right)
    letters = "L" if is_lower else "U", letter, "U" if has_unit_diagonal else "N"
    check(lapack.call("trtrs", *letters, n, columns, factor, max(n, 1), solution, max(n, 1)))
    code.nest([str(n), str(columns)], lambda ij: put(ij[0], ij[1], solution.load(code, ij[0], ij[1])))


def check_finite(f: FunctionCode, op: Operation, first: int = 0) -> None:
    """Emit the check of SciPy's ``check_finite`` on the operands from the first one on."""
    if "check_finite" in op.named and not op.named["check_finite"].constant:
        return
    for operand in op.positional[first:]:
        array = f.array(operand)
        if array.dtype.kind not in "fc":
            continue
        f.fail_if(has_not_finite(f, array), *NOT_FINITE_IN_SCIPY)


def has_not_finite(f: FunctionCode, array: Array) -> str:
    """Return whether an array of floating-point numbers has an infinity or a NaN, an i1."""
    code = f.code

    def turn(at: list[str], carried: list[str]) -> list[str]:
        (found,) = carried
        is_finite = apply(code, np.isfinite, array.dtype, [array.load(code, at)])
        return [code.value(f"or i1 {found}, {code.value(f'xor i1 {is_finite}, true')}")]

    return fold(code, array.lengths, turn, ["i1"], ["false"])[0]
