"""Schur forms by LAPACK, and equations between matrices of that form, without Python.

The equations X T - T X = M of adjoints are solved one block of columns at a time, see ``rules.scipy_schur``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...errors import NoDerivative
from ...ir.dynamic import Operation, Value
from ...ir.matrix_errors import NO_SCHUR_FORM, REORDERED, REORDERED_PAIR
from ...rules import kept_decompositions
from ...rules.kept_decompositions import EQUAL_EIGENVALUES
from .assembly import Code
from .elements import Element, convert, element, is_complex, literal, register, registers
from .factorisations import BLOCK, emits_where, options_of, put_matrix, put_vector, real_part
from .function import FunctionCode
from .lapack import Columns, Lapack
from .linear_algebra import check_finite, entries, failed
from .real_functions import apply
from .reductions import fold

BOOL, INTEGER = np.dtype(bool), np.dtype(np.int32)


def _is_unsorted(op: Operation) -> bool:
    return options_of(op).get("sort") is None


@emits_where("scipy.linalg._decomp_schur.schur", _is_unsorted, False)
def _schur(f: FunctionCode, op: Operation) -> None:
    (a,), code = op.positional, f.code
    check_finite(f, op)
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    dtype, n = op.results[0].type.dtype, a.type.shape[0]
    lapack, real = Lapack(f, dtype), real_part(dtype)
    form, vectors, dimension = lapack.matrix(n, n), lapack.matrix(n, n), lapack.integers(1)
    size = (3 + BLOCK) * n
    work = lapack.vector(size, dtype)
    if is_complex(dtype):
        values, last = [lapack.vector(n, dtype)], [lapack.vector(n, real)]
    else:
        values, last = [lapack.vector(n, dtype), lapack.vector(n, dtype)], []
    entry = entries(f, f.array(a), dtype, 0)
    form.fill(code, lambda i, j: entry([], i, j))
    unused = dimension  # a function that selects eigenvalues, and a vector of truth values
    status = lapack.call(
        "gees", "V", "N", unused, n, form, n, dimension, *values, vectors, n, work, size, *last, unused
    )
    f.fail_if(failed(f, status), *NO_SCHUR_FORM)
    put_matrix(code, out[0], [], form)
    put_matrix(code, out[1], [], vectors)


def _copied(f: FunctionCode, lapack: Lapack, value: Value) -> Columns:
    n = value.type.shape[0]
    found, entry = lapack.matrix(n, n), entries(f, f.array(value), lapack.dtype, 0)
    found.fill(f.code, lambda i, j: entry([], i, j))
    return found


@emits_where("morula.core.rules.scipy_schur.reordered_schur", lambda op: True, False, "fdFD?")
def _reordered_schur(f: FunctionCode, op: Operation) -> None:
    _, t, z, selected = op.positional
    code, (dtype, n) = f.code, (t.type.dtype, t.type.shape[0])
    out = [f.memory(v) for v in op.results[:2]]
    f.values.update(zip(op.results, out))
    lapack = Lapack(f, dtype)
    form, vectors = _copied(f, lapack, t), _copied(f, lapack, z)
    chosen, given, count = lapack.integers(n), f.array(selected), lapack.integers(1)
    code.nest([str(n)], lambda i: chosen.store_flat(code, i[0], convert(code, given.load(code, i), BOOL, INTEGER)))
    number = lapack.vector(1, real_part(dtype))
    values = [lapack.vector(n, dtype)] * (1 if is_complex(dtype) else 2)
    work, last = lapack.vector(n, dtype), [] if is_complex(dtype) else [lapack.integers(1), 1]
    status = lapack.call(
        "trsen", "N", "V", chosen, n, form, n, vectors, n, *values, count, number, number, work, n, *last
    )
    f.fail_if(failed(f, status), *REORDERED)
    put_matrix(code, out[0], [], form)
    put_matrix(code, out[1], [], vectors)
    kind = op.results[2].type.dtype
    f.values[op.results[2]] = convert(code, count.compute_flat(code, "0"), INTEGER, kind)


def _letter(turn: str, dtype: np.dtype) -> str:
    return "N" if turn == "N" else "C" if is_complex(dtype) else "T"


@emits_where(kept_decompositions.triangular_equation, lambda op: True, False)
def _triangular_equation(f: FunctionCode, op: Operation) -> None:
    t, s, q = op.positional
    code, dtype, options = f.code, q.type.dtype, options_of(op)
    (m, n), out = q.type.shape, f.memory(op.results[0])
    f.values[op.results[0]] = out
    lapack = Lapack(f, dtype)
    left, right, solution = _copied(f, lapack, t), _copied(f, lapack, s), lapack.matrix(m, n)
    entry, scale = entries(f, f.array(q), dtype, 0), lapack.vector(1, real_part(dtype))
    solution.fill(code, lambda i, j: entry([], i, j))
    turns = [_letter(options[name], dtype) for name in ("turn_t", "turn_s")]
    lapack.call("trsyl", *turns, 1, m, n, left, m, right, n, solution, m, scale)
    factor = scale.compute_flat(code, "0")
    code.nest([str(m), str(n)], lambda ij: out.store(code, ij, _scaled(code, solution.load(code, *ij), factor, dtype)))


def _scaled(code: Code, x: Element, factor: str, dtype: np.dtype) -> Element:
    kind = register(real_part(dtype))
    return element([code.value(f"fmul {kind} {part}, {factor}") for part in registers(x)], dtype)


# Generalised Schur forms


def _qz(f: FunctionCode, op: Operation) -> None:
    """``qz``, and ``ordqz``, which moves the eigenvalues that its ``sort`` selects to the first places."""
    a, b = op.positional
    check_finite(f, op)
    code, n, is_sorted = f.code, a.type.shape[0], op.callee.__name__ == "ordqz"
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    dtype = op.results[0].type.dtype
    lapack, real = Lapack(f, dtype), real_part(dtype)
    forms = [lapack.matrix(n, n) for _ in range(2)]
    for form, given in zip(forms, (a, b)):
        entry = entries(f, f.array(given), dtype, 0)
        form.fill(code, lambda i, j, entry=entry: entry([], i, j))
    left, right, count = lapack.matrix(n, n), lapack.matrix(n, n), lapack.integers(1)
    alpha = [lapack.vector(n, dtype) for _ in range(1 if is_complex(dtype) else 2)]
    beta, size = lapack.vector(n, dtype), (8 + BLOCK) * n + 16
    work, last = lapack.vector(size, dtype), [lapack.vector(8 * n, real)] if is_complex(dtype) else []
    pair = forms[0], n, forms[1], n
    vectors = left, n, right, n
    status = lapack.call(
        "gges", "V", "V", "N", count, n, *pair, count, *alpha, beta, *vectors, work, size, *last, count
    )
    f.fail_if(failed(f, status), *NO_SCHUR_FORM)
    if is_sorted:
        chosen, numbers = lapack.integers(n), lapack.vector(4, real)
        sort = str(options_of(op).get("sort", "lhp"))

        def choose(i: list[str]) -> None:
            parts = [part for x in alpha for part in registers(x.compute_flat(code, i[0]))]
            is_chosen = _is_selected(code, real, sort, parts, registers(beta.compute_flat(code, i[0]))[0])
            chosen.store_flat(code, i[0], convert(code, is_chosen, BOOL, INTEGER))

        code.nest([str(n)], choose)
        given = 0, 1, 1, chosen, n, *pair, *alpha, beta, *vectors, count, numbers, numbers, numbers
        status = lapack.call("tgsen", *given, work, size, lapack.integers(n + 6), n + 6)
        f.fail_if(failed(f, status), *REORDERED_PAIR)
        values = [part for part in alpha]
        first = lambda i: values[0].compute_flat(code, i[0])  # noqa: E731
        pairs = first if is_complex(dtype) else lambda i: (first(i), values[1].compute_flat(code, i[0]))
        code.nest([str(n)], lambda i: out[2].store(code, i, pairs(i)))
        code.nest([str(n)], lambda i: out[3].store(code, i, beta.compute_flat(code, i[0])))
    for memory, found in zip((*out[:2], *out[-2:]), (*forms, left, right)):
        put_matrix(code, memory, [], found)


def _is_selected(code: Code, real: np.dtype, sort: str, alpha: Sequence[str], beta: str) -> str:
    """Whether an eigenvalue alpha / beta is one of those that SciPy's ``sort`` names; LAPACK's beta is not negative."""
    kind, zero, one = register(real), literal(0, real), literal(1, real)
    is_finite = code.value(f"fcmp une {kind} {beta}, {zero}")
    parts = [code.value(f"fdiv {kind} {part}, {beta}") for part in alpha]
    if sort in ("lhp", "rhp"):
        found = code.value(f"fcmp {'olt' if sort == 'lhp' else 'ogt'} {kind} {parts[0]}, {zero}")
    else:
        found = code.value(
            f"fcmp {'olt' if sort == 'iuc' else 'ogt'} {kind} {apply(code, np.hypot, real, parts)}, {one}"
        )
    if sort != "ouc":
        return code.value(f"and i1 {is_finite}, {found}")
    is_zero = [code.value(f"fcmp oeq {kind} {part}, {zero}") for part in alpha]
    nothing = code.value(f"and i1 {is_zero[0]}, {is_zero[1]}")
    infinite = code.value(f"xor i1 {nothing}, true")
    return code.value(f"select i1 {is_finite}, i1 {found}, i1 {infinite}")


def _is_named(op: Operation) -> bool:
    kinds, options = [v.type.dtype for v in op.positional], options_of(op)
    return kinds[0] == kinds[1] and options.get("sort", "lhp") in (None, "lhp", "rhp", "iuc", "ouc")


for _name in ("qz", "ordqz"):
    emits_where(f"scipy.linalg._decomp_qz.{_name}", _is_named, False)(_qz)


# Balancing by powers of two


@emits_where(
    "scipy.linalg._basic.matrix_balance",
    lambda op: options_of(op).get("separate") and not options_of(op).get("permute", True) and len(op.results) == 3,
    False,
)
def _matrix_balance(f: FunctionCode, op: Operation) -> None:
    code, a = f.code, op.positional[0]
    check_finite(f, op)
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    lapack, n = Lapack(f, a.type.dtype), a.type.shape[0]
    matrix, scale = _copied(f, lapack, a), lapack.vector(n, real_part(a.type.dtype))
    job = "S" if options_of(op).get("scale", True) else "N"
    lapack.call("gebal", job, n, matrix, n, lapack.integers(1), lapack.integers(1), scale)
    put_matrix(code, out[0], [], matrix)
    put_vector(code, out[1], [], scale, n)
    kind = op.results[2].type.dtype
    code.nest([str(n)], lambda i: out[2].store(code, i, convert(code, i[0], np.dtype(np.int64), kind)))


# The lower part of X T - T X = M


def _lower_turn(is_adjoint: bool) -> Callable[[FunctionCode, Operation], None]:
    return lambda f, op: _Turn(f, op, is_adjoint).emit()


emits_where("morula.core.rules.scipy_schur.lower_turn", lambda op: True, False)(_lower_turn(False))
emits_where("morula.core.rules.scipy_schur.lower_turn_adjoint", lambda op: True, False)(_lower_turn(True))


class _Turn:
    """The X below the diagonal blocks of T for which X T - T X is M there; for the adjoint, Y T^H - T^H Y.

    The columns of a block depend on those before it (after it, for the adjoint).
    """

    def __init__(self, f: FunctionCode, op: Operation, is_adjoint: bool) -> None:
        t, m = op.positional
        self.f, self.code, self.is_adjoint = f, f.code, is_adjoint
        self.dtype, self.n = op.results[0].type.dtype, t.type.shape[0]
        self.real = real_part(self.dtype)
        self.out = f.values[op.results[0]] = f.memory(op.results[0])
        self.lapack = Lapack(f, self.dtype)
        self.form, self.found = _copied(f, self.lapack, t), self.lapack.matrix(self.n, self.n)
        self.entry, self.scale = entries(f, f.array(m), self.dtype, 0), self.lapack.vector(1, self.real)

    def emit(self) -> None:
        code, n = self.code, str(self.n)
        nothing = literal(0, self.dtype)
        self.found.fill(code, lambda i, j: nothing)
        larger = lambda at, x: self.larger(x[0], self.entry([], *at))  # noqa: E731
        (largest,) = fold(code, [n, n], larger, [register(self.real)], [literal(0, self.real)])
        self.limit = apply(
            code, np.multiply, self.real, [apply(code, np.spacing, self.real, [largest]), literal(1e4, self.real)]
        )

        def forward(first: str) -> tuple[tuple[()], str]:
            after = code.add(first, "1")
            is_inside = code.value(f"icmp slt i64 {after}, {n}")
            row = code.value(f"select i1 {is_inside}, i64 {after}, i64 {first}")
            end = code.add(after, self.bound(is_inside, row, first))
            self.columns(first, end)
            return (), end

        def backward(end: str) -> tuple[tuple[()], str]:
            last = code.subtract(end, "1")
            is_inside = code.value(f"icmp sgt i64 {last}, 0")
            column = code.value(f"select i1 {is_inside}, i64 {code.subtract(last, '1')}, i64 {last}")
            first = code.subtract(last, self.bound(is_inside, last, column))
            self.columns(first, end)
            return (), first

        if self.is_adjoint:
            code.turns(n, "0", -1, backward, [], [])
        else:
            code.turns("0", n, 1, forward, [], [])
        put_matrix(code, self.out, [], self.found)

    def larger(self, size: str, x: Element) -> list[str]:
        for part in registers(x):
            size = apply(self.code, np.maximum, self.real, [size, apply(self.code, np.absolute, self.real, [part])])
        return [size]

    def bound(self, is_inside: str, row: str, column: str) -> str:
        """Return 1 if an entry below the diagonal joins two columns to a block, else 0; an i64."""
        code, found = self.code, "false"
        for part in registers(self.form.load(code, row, column)):
            nonzero = code.value(f"fcmp une {register(self.real)} {part}, {literal(0, self.real)}")
            found = code.value(f"or i1 {found}, {nonzero}")
        return code.value(f"zext i1 {code.value(f'and i1 {is_inside}, {found}')} to i64")

    def columns(self, first: str, end: str) -> None:
        """Solve for the rows below the block of the columns from ``first`` to ``end``, if there are any."""
        code = self.code
        rows = code.value(f"sub i64 {self.n}, {end}")
        some, after = code.new("some"), code.new("on")
        code.branch(code.value(f"icmp sgt i64 {rows}, 0"), some, after)
        code.start(some)
        with code.scope():
            self.below(first, end, rows)
        code.jump(after)
        code.start(after)

    def over(self, first: str, end: str, turn: Callable[..., list[str]], initial: list[str]) -> list[str]:
        """Emit a loop over the entries below a block, in which ``turn(i, j, *carried)`` returns what it carries on."""
        kinds = [register(self.real)] * len(initial)

        def column(j: str, *carried: str) -> list[str]:
            return self.code.counted(end, str(self.n), 1, lambda i, *x: turn(i, j, *x), kinds, carried)  # type: ignore[arg-type]

        return self.code.counted(first, end, 1, column, kinds, initial)

    def below(self, first: str, end: str, rows: str) -> None:
        """LAPACK solves T2 X - X T1 = C, where C is what is known of T X - X T in other columns, less M."""
        code, n, lapack = self.code, self.n, self.lapack
        form, found, kind = self.form, self.found, register(self.real)

        def fill(i: str, j: str) -> list[str]:
            parts = [code.value(f"fneg {kind} {part}") for part in registers(self.entry([], i, j))]
            found.store(code, i, j, element(parts, self.dtype))
            return []

        self.over(first, end, fill, [])
        height, width = lapack.number(rows), lapack.number(code.value(f"sub i64 {end}, {first}"))
        turn, inner, others = "N", lapack.number(first), (found.place(code, end, "0"), n, form.place(code, "0", first))
        if self.is_adjoint:
            turn, inner = "C" if is_complex(self.dtype) else "T", height
            others = found.place(code, end, end), n, form.place(code, first, end)
        here = found.place(code, end, first)
        lapack.call_blas("gemm", "N", turn, height, width, inner, 1.0, *others, n, 1.0, here, n)
        (size,) = self.over(first, end, lambda i, j, x: self.larger(x, found.load(code, i, j)), [literal(0, self.real)])
        pair = form.place(code, end, end), n, form.place(code, first, first), n
        status = lapack.call("trsyl", turn, turn, -1, height, width, *pair, here, n, self.scale)
        is_equal = code.value(f"icmp ne i32 {status}, 0")
        is_above = code.value(f"fcmp ogt {kind} {size}, {self.limit}")
        self.f.fail_if(code.value(f"and i1 {is_equal}, {is_above}"), NoDerivative, EQUAL_EIGENVALUES)
        scale = self.scale.compute_flat(code, "0")

        def settle(i: str, j: str) -> list[str]:
            parts = [code.value(f"fdiv {kind} {part}, {scale}") for part in registers(found.load(code, i, j))]
            zero = literal(0, self.real)
            parts = [code.value(f"select i1 {is_equal}, {kind} {zero}, {kind} {part}") for part in parts]
            found.store(code, i, j, element(parts, self.dtype))
            return []

        self.over(first, end, settle, [])
