"""Dense linear algebra of NumPy and SciPy without Python: small matrices in registers, larger ones by LAPACK.

LAPACK's functions are SciPy's, called by their pointers.  Their matrices are column-major, so each operand is copied
into memory of its own, which they overwrite.  Real matrices of at most ``SMALL_ORDER`` rows are factorised element by
element by the same algorithms: a call would take longer than their arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...ir.dynamic import Operation
from ...ir.matrix_errors import DIAGONAL, INDEFINITE, MINOR, NOT_FINITE_IN_SCIPY, SINGULAR
from ...ir.typed import ArrayType
from .arrays import Array, Memory
from .assembly import Code
from .elements import Element, convert, is_complex, literal, register, registers
from .function import EMITTERS, FunctionCode, emits
from .real_functions import apply
from .reductions import fold

SMALL_ORDER = 8
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
Rows = list[list[str]]
"""A matrix of real numbers in registers."""
Entry = Callable[[list[str], str, str], Element]
"""Returns an element of a stack of matrices: the indices in the stack, the row, the column."""


class _Lapack:
    """Calls of LAPACK's functions of one dtype, on memory that they may overwrite."""

    def __init__(self, f: FunctionCode, dtype: np.dtype) -> None:
        self.f, self.code, self.dtype = f, f.code, dtype

    def matrix(self, rows: int, columns: int) -> _Columns:
        size = max(rows * columns, 1)
        pointer = self.f.temporary(ArrayType(self.dtype, (size,)))
        return _Columns(Memory(self.code, pointer, self.dtype, [str(size)]), rows, columns)

    def integers(self, count: int) -> Memory:
        pointer = self.f.temporary(ArrayType(np.dtype(np.int32), (max(count, 1),)))
        return Memory(self.code, pointer, np.dtype(np.int32), [str(count)])

    def call(self, name: str, *arguments: int | str | _Columns | Memory) -> str:
        """Call a function with numbers, letters and arrays; return its status, an i32."""
        code = self.code
        passed = []
        for x in arguments:
            if isinstance(x, int):
                passed.append(code.module.constant(f"i32 {x}"))
            elif isinstance(x, str):
                passed.append(code.module.constant(f'[1 x i8] c"{x}"'))
            else:
                passed.append(x.memory.pointer if isinstance(x, _Columns) else x.pointer)
        status = code.slot("i32")
        passed.append(status)
        full = f"{_LETTERS[self.dtype.char]}{name}"
        symbol = f"lapack.{full}"
        code.module.symbols[symbol] = ("scipy.linalg.cython_lapack", full)
        code.module.declare(symbol, "void", ["ptr"] * len(passed), pure=False)
        code.do(f"call void @{symbol}({', '.join(f'ptr {p}' for p in passed)})")
        return code.value(f"load i32, ptr {status}")


class _Columns:
    """A matrix in column-major memory."""

    def __init__(self, memory: Memory, rows: int, columns: int) -> None:
        self.memory, self.rows, self.columns = memory, rows, columns

    def _at(self, code: Code, i: str, j: str) -> str:
        return code.add(code.multiply(j, str(self.rows)), i)

    def load(self, code: Code, i: str, j: str) -> Element:
        # Not by ``load_flat``, which may give back an element that was there before LAPACK was called.
        return self.memory.compute_flat(code, self._at(code, i, j))

    def fill(self, code: Code, entry: Callable[[str, str], Element]) -> None:
        def one(ji: list[str]) -> None:
            j, i = ji
            self.memory.store_flat(code, self._at(code, i, j), entry(i, j))

        code.nest([str(self.columns), str(self.rows)], one)


def _is_small(n: int, columns: int, dtype: np.dtype) -> bool:
    return n <= SMALL_ORDER and columns <= SMALL_ORDER and not is_complex(dtype)


def _entries(f: FunctionCode, array: Array, dtype: np.dtype, batch: int) -> Entry:
    """Return the elements of a stack of matrices, which is broadcast to ``batch`` dimensions and converted."""
    own = len(array.lengths) - 2

    def entry(at: list[str], i: str, j: str) -> Element:
        stack = ["0" if n == "1" else k for n, k in zip(array.lengths, at[batch - own :])]
        return convert(f.code, array.load(f.code, [*stack, i, j]), array.dtype, dtype)

    return entry


@emits(np.linalg.solve)
def _solve(f: FunctionCode, op: Operation) -> None:
    (a, b), result = op.positional, op.results[0]
    is_vector, dtype = b.type.ndim == 1, result.type.dtype
    memory = f.values[result] = f.memory(result)
    batch = memory.lengths[:-1] if is_vector else memory.lengths[:-2]
    columns = 1 if is_vector else result.type.shape[-1]
    if is_vector:
        vector = f.array(b)
        right: Entry = lambda at, i, j: convert(f.code, vector.load(f.code, [i]), vector.dtype, dtype)  # noqa: E731
    else:
        right = _entries(f, f.array(b), dtype, len(batch))

    def put(at: list[str], i: str, j: str, x: Element) -> None:
        memory.store(f.code, [*at, i] if is_vector else [*at, i, j], x)

    left = _entries(f, f.array(a), dtype, len(batch))
    _solve_each(f, batch, a.type.shape[-1], columns, dtype, left, right, put)


@emits(np.linalg.inv)
def _inverse(f: FunctionCode, op: Operation) -> None:
    result = op.results[0]
    dtype, n = result.type.dtype, result.type.shape[-1]
    memory = f.values[result] = f.memory(result)

    def put(at: list[str], i: str, j: str, x: Element) -> None:
        memory.store(f.code, [*at, i, j], x)

    left = _entries(f, f.array(op.positional[0]), dtype, result.type.ndim - 2)
    _solve_each(f, memory.lengths[:-2], n, n, dtype, left, lambda at, i, j: _identity(f.code, i, j, dtype), put)


def _identity(code: Code, i: str, j: str, dtype: np.dtype) -> Element:
    if i[0] != "%" and j[0] != "%":
        return literal(int(i == j), dtype)
    return convert(code, code.value(f"icmp eq i64 {i}, {j}"), np.dtype(bool), dtype)


def _solve_each(
    f: FunctionCode,
    batch: Sequence[str],
    n: int,
    columns: int,
    dtype: np.dtype,
    left: Entry,
    right: Entry,
    put: Callable[[list[str], str, str, Element], None],
) -> None:
    """Emit the solutions X of A X = B for stacks of matrices, whose elements ``left`` and ``right`` give."""
    code = f.code

    def in_registers(at: list[str]) -> None:
        rows = _rows(left, at, n, n)
        for i, row in enumerate(rows):
            row += [right(at, str(i), str(j)) for j in range(columns)]
        is_singular, _ = _eliminate(f, rows, dtype)
        f.fail_if(is_singular, *SINGULAR)
        for j in range(columns):
            for i, x in enumerate(_back_substituted(f, rows, n + j, dtype)):
                put(at, str(i), str(j), x)

    if _is_small(n, columns, dtype):
        code.nest(batch, in_registers)
        return
    lapack = _Lapack(f, dtype)
    factor, solution, pivots = lapack.matrix(n, n), lapack.matrix(n, columns), lapack.integers(n)

    def by_lapack(at: list[str]) -> None:
        factor.fill(code, lambda i, j: left(at, i, j))
        solution.fill(code, lambda i, j: right(at, i, j))
        status = lapack.call("gesv", n, columns, factor, max(n, 1), pivots, solution, max(n, 1))
        f.fail_if(code.value(f"icmp sgt i32 {status}, 0"), *SINGULAR)
        code.nest([str(n), str(columns)], lambda ij: put(at, *ij, solution.load(code, *ij)))

    code.nest(batch, by_lapack)


def _rows(entry: Entry, at: list[str], n: int, columns: int) -> Rows:
    return [[entry(at, str(i), str(j)) for j in range(columns)] for i in range(n)]


def _eliminate(f: FunctionCode, rows: Rows, dtype: np.dtype) -> tuple[str, str]:
    """Emit Gaussian elimination with partial pivoting on the first columns of ``rows``, as many as there are rows.

    Returns whether a pivot is zero, and whether the number of exchanges of rows is odd.
    """
    code, kind, n = f.code, register(dtype), len(rows)
    is_singular, is_odd = "false", "false"
    for k in range(n):
        largest = apply(code, np.absolute, dtype, [rows[k][k]])
        for i in range(k + 1, n):
            size = apply(code, np.absolute, dtype, [rows[i][k]])
            is_larger = code.value(f"fcmp ogt {kind} {size}, {largest}")
            largest = code.value(f"select i1 {is_larger}, {kind} {size}, {kind} {largest}")
            for j in range(k, len(rows[k])):
                x, y = rows[k][j], rows[i][j]
                rows[k][j] = code.value(f"select i1 {is_larger}, {kind} {y}, {kind} {x}")
                rows[i][j] = code.value(f"select i1 {is_larger}, {kind} {x}, {kind} {y}")
            is_odd = code.value(f"xor i1 {is_odd}, {is_larger}")
        is_zero = code.value(f"fcmp oeq {kind} {largest}, 0.0")
        is_singular = code.value(f"or i1 {is_singular}, {is_zero}")
        for i in range(k + 1, n):
            factor = apply(code, np.divide, dtype, [rows[i][k], rows[k][k]])
            for j in range(k + 1, len(rows[k])):
                rows[i][j] = _less(code, dtype, rows[i][j], factor, rows[k][j])
    return is_singular, is_odd


def _back_substituted(f: FunctionCode, rows: Rows, column: int, dtype: np.dtype) -> list[str]:
    """Return the solution of the upper triangle of ``rows`` for the right-hand side in a column."""
    found: dict[int, str] = {}
    for i in reversed(range(len(rows))):
        x = rows[i][column]
        for j in range(i + 1, len(rows)):
            x = _less(f.code, dtype, x, rows[i][j], found[j])
        found[i] = apply(f.code, np.divide, dtype, [x, rows[i][i]])
    return [found[i] for i in range(len(rows))]


def _less(code: Code, dtype: np.dtype, x: str, a: str, b: str) -> str:
    """Return x - a b."""
    return apply(code, np.subtract, dtype, [x, apply(code, np.multiply, dtype, [a, b])])


@emits(np.linalg.slogdet)
def _slogdet(f: FunctionCode, op: Operation) -> None:
    _of_pivots(f, op, _sign_and_logarithm)


@emits(np.linalg.det)
def _det(f: FunctionCode, op: Operation) -> None:
    _of_pivots(f, op, _product)


def _of_pivots(f: FunctionCode, op: Operation, numbers: Callable[..., list[str]]) -> None:
    """Emit numbers that follow from a matrix's pivots: ``numbers(code, dtype, n, pivot, is_odd)`` returns their registers.

    ``pivot(i)`` gives the i-th pivot, ``is_odd`` is whether an odd number of rows were exchanged.
    """
    (a,), code = op.positional, f.code
    dtype, n = op.results[0].type.dtype, a.type.shape[-1]
    if is_complex(dtype):
        EMITTERS["library"](f, op)
        return
    entry = _entries(f, f.array(a), dtype, a.type.ndim - 2)
    lapack = None if _is_small(n, n, dtype) else _Lapack(f, dtype)
    if lapack is not None:
        factor, exchanged = lapack.matrix(n, n), lapack.integers(n)
    for result in op.results:
        if result.type.shape:
            f.values[result] = f.memory(result)

    def one(at: list[str]) -> None:
        if lapack is None:
            rows = _rows(entry, at, n, n)
            _, is_odd = _eliminate(f, rows, dtype)
            pivot: Callable[[str], str] = lambda i: rows[int(i)][int(i)]  # noqa: E731
        else:
            factor.fill(code, lambda i, j: entry(at, i, j))
            lapack.call("getrf", n, n, factor, n, exchanged)
            is_odd = _is_odd(code, n, exchanged)
            pivot = lambda i: factor.load(code, i, i)  # noqa: E731
        for result, x in zip(op.results, numbers(code, dtype, n, pivot, is_odd)):
            if result.type.shape:
                f.values[result].store(code, at, x)
            else:
                f.values[result] = x

    code.nest(f.lengths(a.type)[:-2], one)


def _is_odd(code: Code, n: int, exchanged: Memory) -> str:
    """Return whether LAPACK has exchanged an odd number of rows: row i with row ``exchanged[i]``, counted from 1."""

    def turn(i: list[str], carried: list[str]) -> list[str]:
        itself = code.value(f"trunc i64 {code.add(i[0], '1')} to i32")
        is_other = code.value(f"icmp ne i32 {exchanged.compute_flat(code, i[0])}, {itself}")
        return [code.value(f"xor i1 {carried[0]}, {is_other}")]

    return fold(code, [str(n)], turn, ["i1"], ["false"])[0]


def _sign_and_logarithm(code: Code, dtype: np.dtype, n: int, pivot: Callable[[str], str], is_odd: str) -> list[str]:
    kind, zero = register(dtype), literal(0, dtype)

    def turn(i: list[str], carried: list[str]) -> list[str]:
        x, (is_negative, total, is_singular) = pivot(i[0]), carried
        below = code.value(f"fcmp olt {kind} {x}, {zero}")
        none = code.value(f"fcmp oeq {kind} {x}, {zero}")
        size = apply(code, np.log, dtype, [apply(code, np.absolute, dtype, [x])])
        return [
            code.value(f"xor i1 {is_negative}, {below}"),
            apply(code, np.add, dtype, [total, size]),
            code.value(f"or i1 {is_singular}, {none}"),
        ]

    is_negative, total, is_singular = fold(code, [str(n)], turn, ["i1", kind, "i1"], [is_odd, zero, "false"])
    sign = code.value(f"select i1 {is_negative}, {kind} {literal(-1, dtype)}, {kind} {literal(1, dtype)}")
    sign = code.value(f"select i1 {is_singular}, {kind} {zero}, {kind} {sign}")
    least = literal(-np.inf, dtype)
    return [sign, code.value(f"select i1 {is_singular}, {kind} {least}, {kind} {total}")]


def _product(code: Code, dtype: np.dtype, n: int, pivot: Callable[[str], str], is_odd: str) -> list[str]:
    """Return the determinant: the product of the pivots, or exp of the sum of their logarithms where it is out of range."""
    kind = register(dtype)
    first = code.value(f"select i1 {is_odd}, {kind} {literal(-1, dtype)}, {kind} {literal(1, dtype)}")

    def turn(i: list[str], carried: list[str]) -> list[str]:
        return [apply(code, np.multiply, dtype, [carried[0], pivot(i[0])])]

    (found,) = fold(code, [str(n)], turn, [kind], [first])
    limits = np.finfo(dtype)
    size = apply(code, np.absolute, dtype, [found])
    above = code.value(f"fcmp oge {kind} {size}, {literal(limits.tiny, dtype)}")
    below = code.value(f"fcmp ole {kind} {size}, {literal(limits.max, dtype)}")
    place, again, after = code.slot(kind), code.new("again"), code.new("on")
    code.do(f"store {kind} {found}, ptr {place}")
    code.branch(code.value(f"and i1 {above}, {below}"), after, again)
    code.start(again)
    with code.scope():
        sign, logarithm = _sign_and_logarithm(code, dtype, n, pivot, is_odd)
        size = apply(code, np.exp, dtype, [logarithm])
        code.do(f"store {kind} {apply(code, np.multiply, dtype, [sign, size])}, ptr {place}")
    code.jump(after)
    code.start(after)
    return [code.value(f"load {kind}, ptr {place}")]


@emits(np.linalg.cholesky)
def _cholesky(f: FunctionCode, op: Operation) -> None:
    is_upper = "upper" in op.named and bool(op.named["upper"].constant)
    _cholesky_each(f, op, is_upper, lambda status: f.fail_if(_failed(f, status), *INDEFINITE))


@emits("scipy.linalg._decomp_cholesky.cholesky")
def _scipy_cholesky(f: FunctionCode, op: Operation) -> None:
    if op.results[0].type.ndim > 2:
        EMITTERS["library"](f, op)
        return
    _check_finite(f, op)

    def check(status: str) -> None:
        f.fail_if(_failed(f, status), *MINOR, [(status, np.dtype(np.int32))])

    _cholesky_each(f, op, "lower" not in op.named or not op.named["lower"].constant, check)


def _failed(f: FunctionCode, status: str) -> str:
    return f.code.value(f"icmp sgt i32 {status}, 0")


def _cholesky_each(f: FunctionCode, op: Operation, is_upper: bool, check: Callable[[str], None]) -> None:
    """Emit the factors L with A = L L^H, or their adjoints, from the same triangle of the matrices.

    ``check`` gets LAPACK's status: the order of the first leading minor that is not positive, or 0.
    """
    code, result = f.code, op.results[0]
    dtype, n = result.type.dtype, result.type.shape[-1]
    memory = f.values[result] = f.memory(result)
    entry = _entries(f, f.array(op.positional[0]), dtype, result.type.ndim - 2)
    batch, zero = memory.lengths[:-2], literal(0, dtype)

    def in_registers(at: list[str]) -> None:
        places = [[(str(j), str(i)) if is_upper else (str(i), str(j)) for j in range(i + 1)] for i in range(n)]
        rows = [[entry(at, *ij) for ij in row] for row in places]
        check(_factorise(code, rows, dtype))
        for i in range(n):
            for j in range(i + 1, n):
                memory.store(code, [*at, str(j), str(i)] if is_upper else [*at, str(i), str(j)], zero)
            for (row, column), x in zip(places[i], rows[i]):
                memory.store(code, [*at, row, column], x)

    if _is_small(n, n, dtype):
        code.nest(batch, in_registers)
        return
    lapack = _Lapack(f, dtype)
    factor = lapack.matrix(n, n)

    def by_lapack(at: list[str]) -> None:
        factor.fill(code, lambda i, j: entry(at, i, j))
        check(lapack.call("potrf", "U" if is_upper else "L", n, factor, n))

        def put(ij: list[str]) -> None:
            i, j = ij
            is_inside = code.value(f"icmp {'sle' if is_upper else 'sge'} i64 {i}, {j}")
            parts = zip(registers(factor.load(code, i, j)), registers(zero))
            kind = register(dtype)
            chosen = [code.value(f"select i1 {is_inside}, {kind} {x}, {kind} {y}") for x, y in parts]
            memory.store(code, [*at, i, j], tuple(chosen) if is_complex(dtype) else chosen[0])

        code.nest([str(n), str(n)], put)

    code.nest(batch, by_lapack)


def _factorise(code: Code, rows: Rows, dtype: np.dtype) -> str:
    """Replace the rows of a lower triangle by those of its Cholesky factor; return LAPACK's status."""
    kind, status = register(dtype), "0"
    for j in range(len(rows)):
        square = rows[j][j]
        for k in range(j):
            square = _less(code, dtype, square, rows[j][k], rows[j][k])
        is_bad = code.value(f"fcmp ule {kind} {square}, {literal(0, dtype)}")
        is_first = code.value(f"icmp eq i32 {status}, 0")
        status = code.value(f"select i1 {code.value(f'and i1 {is_bad}, {is_first}')}, i32 {j + 1}, i32 {status}")
        rows[j][j] = apply(code, np.sqrt, dtype, [square])
        for i in range(j + 1, len(rows)):
            x = rows[i][j]
            for k in range(j):
                x = _less(code, dtype, x, rows[i][k], rows[j][k])
            rows[i][j] = apply(code, np.divide, dtype, [x, rows[j][j]])
    return status


@emits("scipy.linalg._basic.solve_triangular")
def _solve_triangular(f: FunctionCode, op: Operation) -> None:
    (a, b), result, code = op.positional, op.results[0], f.code
    if a.type.ndim > 2 or b.type.ndim > 2:
        EMITTERS["library"](f, op)
        return
    _check_finite(f, op)
    options = {name: v.constant for name, v in op.named.items()}
    is_lower, has_unit_diagonal = bool(options.get("lower")), bool(options.get("unit_diagonal"))
    letter = {0: "N", 1: "T", 2: "C"}.get(options.get("trans", 0), options.get("trans", 0))
    is_vector, dtype, n = b.type.ndim == 1, result.type.dtype, a.type.shape[-1]
    columns = 1 if is_vector else result.type.shape[-1]
    memory = f.values[result] = f.memory(result)
    left, array = _entries(f, f.array(a), dtype, 0), f.array(b)

    def right(i: str, j: str) -> Element:
        return convert(code, array.load(code, [i] if is_vector else [i, j]), array.dtype, dtype)

    def put(i: str, j: str, x: Element) -> None:
        memory.store(code, [i] if is_vector else [i, j], x)

    if _is_small(n, columns, dtype):
        rows = _rows(left, [], n, n)
        rows = rows if letter == "N" else [list(row) for row in zip(*rows)]
        order = list(range(n)) if is_lower == (letter == "N") else list(reversed(range(n)))
        if not has_unit_diagonal:
            for i in range(n):
                is_zero = code.value(f"fcmp oeq {register(dtype)} {rows[i][i]}, {literal(0, dtype)}")
                f.fail_if(is_zero, DIAGONAL[0], DIAGONAL[1].replace("{}", str(i)))
        for j in range(columns):
            found: dict[int, str] = {}
            for i in order:
                x = right(str(i), str(j))
                for k in found:
                    x = _less(code, dtype, x, rows[i][k], found[k])
                found[i] = x if has_unit_diagonal else apply(code, np.divide, dtype, [x, rows[i][i]])
            for i in order:
                put(str(i), str(j), found[i])
        return
    lapack = _Lapack(f, dtype)
    factor, solution = lapack.matrix(n, n), lapack.matrix(n, columns)
    factor.fill(code, lambda i, j: left([], i, j))
    solution.fill(code, right)
    letters = "L" if is_lower else "U", letter, "U" if has_unit_diagonal else "N"
    status = lapack.call("trtrs", *letters, n, columns, factor, max(n, 1), solution, max(n, 1))
    place = code.value(f"sub i32 {status}, 1")
    f.fail_if(_failed(f, status), *DIAGONAL, [(place, np.dtype(np.int32))])
    code.nest([str(n), str(columns)], lambda ij: put(*ij, solution.load(code, *ij)))


def _check_finite(f: FunctionCode, op: Operation) -> None:
    """Emit the check of SciPy's ``check_finite`` on all operands."""
    if "check_finite" in op.named and not op.named["check_finite"].constant:
        return
    code = f.code
    for operand in op.positional:
        array = f.array(operand)
        if array.dtype.kind not in "fc":
            continue

        def turn(at: list[str], carried: list[str], array: Array = array) -> list[str]:
            (found,) = carried
            for part in registers(array.load(code, at)):
                # x - x is zero for a finite number only
                found = code.value(f"or i1 {found}, {_is_not_finite(code, part, array.dtype)}")
            return [found]

        (is_bad,) = fold(code, array.lengths, turn, ["i1"], ["false"])
        f.fail_if(is_bad, *NOT_FINITE_IN_SCIPY)


def _is_not_finite(code: Code, x: str, dtype: np.dtype) -> str:
    kind = register(dtype)
    difference = code.value(f"fsub {kind} {x}, {x}")
    return code.value(f"fcmp une {kind} {difference}, 0.0")
