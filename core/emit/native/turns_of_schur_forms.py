"""Equations of the derivatives of Schur forms, whose unknowns are zero on and above the diagonal blocks, without Python.

They are solved one block of columns at a time, see ``rules.scipy_schur`` and ``rules.scipy_generalised_schur``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...errors import NoDerivative
from ...ir.dynamic import Operation
from ...rules.kept_decompositions import EQUAL_EIGENVALUES, EQUAL_PAIRS
from .elements import Element, element, is_complex, literal, register, registers
from .factorisations import emits_where, put_matrix, real_part
from .function import FunctionCode
from .lapack import Lapack
from .linear_algebra import entries, failed
from .real_functions import apply
from .reductions import fold
from .schur_forms import copied


class _Blocks:
    """A sweep over the blocks of columns of a (quasi-)triangular matrix; for adjoint equations, backward.

    The columns of a block depend on those before it (after it, for the adjoint).
    """

    def __init__(self, f: FunctionCode, op: Operation, is_adjoint: bool) -> None:
        self.f, self.code, self.is_adjoint = f, f.code, is_adjoint
        self.dtype, self.n = op.results[0].type.dtype, op.positional[0].type.shape[0]
        self.real = real_part(self.dtype)
        self.out = [f.memory(v) for v in op.results]
        f.values.update(zip(op.results, self.out))
        self.lapack = Lapack(f, self.dtype)
        self.form = copied(f, self.lapack, op.positional[0])
        self.found = [self.lapack.matrix(self.n, self.n) for _ in op.results]
        self.scale = self.lapack.vector(1, self.real)
        self.turn = "N" if not is_adjoint else "C" if is_complex(self.dtype) else "T"

    def below(self, first: str, end: str, rows: str) -> None:
        """Solve for so many rows, from ``end``, of the columns from ``first`` to ``end``."""
        raise NotImplementedError

    def emit(self) -> None:
        code, n, nothing = self.code, str(self.n), literal(0, self.dtype)
        for found in self.found:
            found.fill(code, lambda i, j: nothing)

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
        for out, found in zip(self.out, self.found):
            put_matrix(code, out, [], found)

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

    def fill_negative(self, k: int, entry: Callable[[list[str], list[str]], Element], first: str, end: str) -> None:
        """Store the negative entries below a block in the k-th result."""

        def fill(i: str, j: str) -> list[str]:
            parts = [self.code.value(f"fneg {register(self.real)} {part}") for part in registers(entry([], [i, j]))]
            self.found[k].store(self.code, i, j, element(parts, self.dtype))
            return []

        self.over(first, end, fill, [])

    def divide(self, k: int, first: str, end: str, is_zero: str | None = None) -> None:
        """Divide the entries below a block by LAPACK's scale, or set them to zero."""
        code, kind, scale = self.code, register(self.real), self.scale.compute_flat(self.code, "0")

        def settle(i: str, j: str) -> list[str]:
            parts = [code.value(f"fdiv {kind} {part}, {scale}") for part in registers(self.found[k].load(code, i, j))]
            if is_zero is not None:
                zero = literal(0, self.real)
                parts = [code.value(f"select i1 {is_zero}, {kind} {zero}, {kind} {part}") for part in parts]
            self.found[k].store(code, i, j, element(parts, self.dtype))
            return []

        self.over(first, end, settle, [])


class _Turn(_Blocks):
    """The X below the diagonal blocks of T for which X T - T X is M there; for the adjoint, Y T^H - T^H Y."""

    def __init__(self, f: FunctionCode, op: Operation, is_adjoint: bool) -> None:
        super().__init__(f, op, is_adjoint)
        self.entry = entries(f, f.array(op.positional[1]), self.dtype, 0)
        n, kind, real = str(self.n), register(self.real), self.real
        larger = lambda at, x: self.larger(x[0], self.entry([], *at))  # noqa: E731
        (largest,) = fold(self.code, [n, n], larger, [kind], [literal(0, real)])
        spacing = apply(self.code, np.spacing, real, [largest])
        self.limit = apply(self.code, np.multiply, real, [spacing, literal(1e4, real)])

    def larger(self, size: str, x: Element) -> list[str]:
        for part in registers(x):
            size = apply(self.code, np.maximum, self.real, [size, apply(self.code, np.absolute, self.real, [part])])
        return [size]

    def below(self, first: str, end: str, rows: str) -> None:
        """LAPACK solves T2 X - X T1 = C, where C is what is known of T X - X T in other columns, less M."""
        code, n, lapack, form, (found,) = self.code, self.n, self.lapack, self.form, self.found
        self.fill_negative(0, lambda at, ij: self.entry(at, *ij), first, end)
        height, width = lapack.number(rows), lapack.number(code.value(f"sub i64 {end}, {first}"))
        inner, others = lapack.number(first), (found.place(code, end, "0"), n, form.place(code, "0", first))
        if self.is_adjoint:
            inner, others = height, (found.place(code, end, end), n, form.place(code, first, end))
        here = found.place(code, end, first)
        lapack.call_blas("gemm", "N", self.turn, height, width, inner, 1.0, *others, n, 1.0, here, n)
        (size,) = self.over(first, end, lambda i, j, x: self.larger(x, found.load(code, i, j)), [literal(0, self.real)])
        pair = form.place(code, end, end), n, form.place(code, first, first), n
        status = lapack.call("trsyl", self.turn, self.turn, -1, height, width, *pair, here, n, self.scale)
        is_equal = code.value(f"icmp ne i32 {status}, 0")
        is_above = code.value(f"fcmp ogt {register(self.real)} {size}, {self.limit}")
        self.f.fail_if(code.value(f"and i1 {is_equal}, {is_above}"), NoDerivative, EQUAL_EIGENVALUES)
        self.divide(0, first, end, is_equal)


class _PairOfTurns(_Blocks):
    """The X and W below the diagonal blocks of S for which X S - S W is M there, and X T - T W is K.

    For the adjoint, X S^H + W T^H is M and S^H X + T^H W is -K.
    """

    def __init__(self, f: FunctionCode, op: Operation, is_adjoint: bool) -> None:
        super().__init__(f, op, is_adjoint)
        self.other = copied(f, self.lapack, op.positional[1])
        self.given = [entries(f, f.array(v), self.dtype, 0) for v in op.positional[2:]]
        self.number, self.whole = self.lapack.vector(1, self.real), self.lapack.integers(self.n + 6)
        self.work = self.lapack.vector(1, self.dtype)

    def below(self, first: str, end: str, rows: str) -> None:
        """LAPACK solves S2 W - W S1 = C and T2 W - X T1 = F, or the adjoint equations: M less what is known is -C, or -F."""
        code, n, lapack = self.code, self.n, self.lapack
        x, w = self.found
        self.fill_negative(1, lambda at, ij: self.given[0](at, *ij), first, end)
        self.fill_negative(0, lambda at, ij: self.given[1](at, *ij), first, end)
        height, width = lapack.number(rows), lapack.number(code.value(f"sub i64 {end}, {first}"))
        at_x, at_w = x.place(code, end, first), w.place(code, end, first)
        if self.is_adjoint:
            for known, form in ((x, self.form), (w, self.other)):
                pair = known.place(code, end, end), n, form.place(code, first, end), n
                lapack.call_blas("gemm", "N", self.turn, height, width, height, 1.0, *pair, 1.0, at_w, n)
        else:
            for right, form in ((at_w, self.form), (at_x, self.other)):
                pair = x.place(code, end, "0"), n, form.place(code, "0", first), n
                lapack.call_blas("gemm", "N", "N", height, width, lapack.number(first), 1.0, *pair, 1.0, right, n)
        pairs = [(form.place(code, end, end), n, form.place(code, first, first), n) for form in (self.form, self.other)]
        one, two = (at_x, at_w) if self.is_adjoint else (at_w, at_x)
        given = *pairs[0], one, n, *pairs[1], two, n, self.scale, self.number, self.work, 1, self.whole
        status = lapack.call("tgsyl", self.turn, 0, height, width, *given)
        self.f.fail_if(failed(self.f, status), NoDerivative, EQUAL_PAIRS)
        for k in range(2):
            self.divide(k, first, end)


def _sweep(equation: type[_Blocks], is_adjoint: bool) -> Callable[[FunctionCode, Operation], None]:
    return lambda f, op: equation(f, op, is_adjoint).emit()


for _name, _equation in (("scipy_schur.lower_turn", _Turn), ("scipy_generalised_schur.lower_turns", _PairOfTurns)):
    emits_where(f"morula.core.rules.{_name}", lambda op: True, False)(_sweep(_equation, False))
    emits_where(f"morula.core.rules.{_name}_adjoint", lambda op: True, False)(_sweep(_equation, True))
