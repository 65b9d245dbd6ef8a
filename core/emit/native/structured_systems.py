"""SciPy's ``solve`` and ``inv`` by LAPACK without Python: by the structure that a matrix is assumed to have, or has.

Where nothing is assumed, the structure is found as SciPy finds it: triangles, three diagonals, Hermitian matrices, whose
Cholesky factorisation is tried first.  Small real matrices are solved by loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.dynamic import Operation
from ...ir.matrix_errors import SINGULAR_IN_SCIPY, SINGULAR_NUMBER, SINGULAR_STRUCTURE
from .assembly import Code
from .elements import Element, is_complex, literal, register, registers
from .factorisations import BLOCK, emits_where, options_of, real_part, select_element
from .function import FunctionCode
from .lapack import Columns, Lapack, Place
from .linear_algebra import System, check_finite, failed
from .small_matrices import Block, factorise, substitute

_STRUCTURES = {
    **dict.fromkeys(("gen", "general", "banded"), "general"),
    **dict.fromkeys(("sym", "symmetric"), "symmetric"),
    **dict.fromkeys(("her", "hermitian"), "hermitian"),
    **dict.fromkeys(("pos", "positive definite"), "definite"),
    **{kind: kind for kind in (None, "diagonal", "tridiagonal", "upper triangular", "lower triangular")},
}
_ANY = 2**31
_BETWEEN = {"diagonal": (0, 0), "tridiagonal": (-1, 1), "upper triangular": (-_ANY, 0), "lower triangular": (0, _ANY)}
"""The least and the largest row below that of the diagonal, of the elements that are read in a column."""
_ALL_NUMBERS = "?bBhHiIlLqQfdFD"


def _applies(op: Operation) -> bool:
    """Whether a call is for square matrices and right-hand sides of LAPACK's dtypes, of as many rows.

    SciPy inverts a matrix that is assumed to be diagonal in place, so that other elements remain: it is left to SciPy.
    """
    (a, *sides), options = op.positional, options_of(op)
    rows = [b.type.shape[max(b.type.ndim - 2, 0)] if b.type.shape else 0 for b in sides]
    n, dtype = a.type.shape[-1], op.results[0].type.dtype
    return (
        a.type.ndim >= 2
        and a.type.shape[-2] == n
        and all(k == n for k in rows)
        and dtype.char in "fdFD"
        and options.get("assume_a") in _STRUCTURES
        and (bool(sides) or options.get("assume_a") != "diagonal")
        and not (options.get("transposed") and is_complex(dtype))
    )


def _emit(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    options = options_of(op)
    given = options.get("assume_a")
    is_inverse, system = len(op.positional) == 1, System.of(f, op)
    is_single = not is_inverse and set(op.positional[0].type.shape) == {1}
    kind = "general" if is_single else _STRUCTURES[given]
    system.error = SINGULAR_STRUCTURE if given == "banded" else SINGULAR_NUMBER if is_single else SINGULAR_IN_SCIPY
    if kind == "hermitian" and not is_complex(system.dtype):
        kind = "symmetric"
    lower = kind == "lower triangular" or bool(options.get("lower")) and kind != "upper triangular"
    _read(system, kind, lower)
    if options.get("transposed"):
        lower = lower != (kind in ("lower triangular", "upper triangular"))
        if kind not in ("symmetric", "definite"):
            entry = system.left
            system.left = lambda at, i, j: entry(at, j, i)
    if system.is_small:
        f.code.nest(system.batch, (lambda at: _by_cholesky(system, at)) if kind == "definite" else system.eliminate)
        return
    emitter = (_Inverse if is_inverse else _Solution)(system, lower)
    f.code.nest(system.batch, lambda at: emitter.emit(kind, at))


for _name in ("solve", "inv"):
    emits_where(f"scipy.linalg._basic.{_name}", _applies, dtypes=_ALL_NUMBERS)(_emit)


def _read(system: System, kind: str | None, lower: bool) -> None:
    """Make the elements those of the matrix that the array represents; LAPACK itself reads one triangle of a complex one."""
    code, entry, dtype = system.f.code, system.left, system.dtype
    if kind in ("symmetric", "definite") and not is_complex(dtype):

        def mirrored(at: list[str], i: str, j: str) -> Element:
            return entry(at, *(reversed(_in_order(code, i, j)) if lower else _in_order(code, i, j)))

        system.left = mirrored
    if kind in _BETWEEN:
        least, most = _BETWEEN[kind]

        def masked(at: list[str], i: str, j: str) -> Element:
            below = code.subtract(i, j)
            first, last = (code.value(f"icmp {x} i64 {below}, {n}") for x, n in (("sge", least), ("sle", most)))
            return select_element(code, code.value(f"and i1 {first}, {last}"), entry(at, i, j), dtype)

        system.left = masked


def _in_order(code: Code, i: str, j: str) -> tuple[str, str]:
    """Return the smaller of two indices, and the larger."""
    if i[0] != "%" and j[0] != "%":
        first, last = sorted((int(i), int(j)))
        return str(first), str(last)
    before = code.value(f"icmp sle i64 {i}, {j}")
    return code.value(f"select i1 {before}, i64 {i}, i64 {j}"), code.value(f"select i1 {before}, i64 {j}, i64 {i}")


def _by_cholesky(system: System, at: list[str]) -> None:
    """Emit the solution by the loops of a Cholesky factorisation, which fails for matrices that are not definite."""
    block: Block = system.block(at)
    system.fail_if(failed(system.f, factorise(block)))
    substitute(block, is_lower=True)
    block.each("0", str(block.n), lambda i: block.following(i, lambda j: block.put(i, j, block.get(j, i))))
    substitute(block)
    system.store(at, lambda i, j: block.get(i, block.column(j)))


class _Lapack:
    """Calls of LAPACK for the matrices of a stack; a subclass says what they compute, and where the result is."""

    def __init__(self, system: System, lower: bool) -> None:
        self.system, self.lower, self.n = system, lower, system.n
        self.code, self.lapack = system.f.code, Lapack(system.f, system.dtype)
        self.matrix, self.pivots = self.lapack.matrix(self.n, self.n), self.lapack.integers(self.n)
        self.letter: Any = "L" if lower else "U"
        self.size = BLOCK * self.n
        self.status = self.code.slot("i32")

    def emit(self, kind: str | None, at: list[str]) -> None:
        self.fill(at)
        if kind is None:
            self.by_own_structure(at)
        else:
            self.run(kind, at)
        self.system.fail_if(failed(self.system.f, self.code.value(f"load i32, ptr {self.status}")))
        found = self.found()
        self.system.store(at, lambda i, j: found.load(self.code, i, j))

    def fill(self, at: list[str]) -> None:
        self.matrix.fill(self.code, lambda i, j: self.system.left(at, i, j))

    def found(self) -> Columns:
        raise NotImplementedError

    def run(self, kind: str, at: list[str]) -> None:
        """Emit the result for a structure, and LAPACK's status."""
        raise NotImplementedError

    def call(self, name: str, *arguments: Any) -> None:
        self.code.do(f"store i32 {self.lapack.call(name, *arguments)}, ptr {self.status}")

    def work(self) -> list[Any]:
        return [self.lapack.vector(self.size, self.system.dtype), self.size]

    # The structure that a matrix has

    def by_own_structure(self, at: list[str]) -> None:
        """A matrix whose two corners differ, and are not zero, has no structure; for others all elements are compared."""
        code, last = self.code, str(self.n - 1)
        corners = [self.matrix.load(code, last, "0"), self.matrix.load(code, "0", last)]
        nonzero = [self.nonzero(x) for x in corners]
        may_be_general = code.value(f"and i1 {nonzero[0]}, {nonzero[1]}")
        is_general = code.value(f"and i1 {may_be_general}, {self.differs(*corners)}")
        self.code.choose([(is_general, lambda: self.run("general", at))], lambda: self.by_elements(at))

    def by_elements(self, at: list[str]) -> None:
        code, n = self.code, str(self.n)

        def column(j: str, *carried: str) -> Sequence[str]:
            diagonal = self.matrix.load(code, j, j)
            carried = (*carried[:3], self.either(carried[3], self.differs(diagonal, diagonal)))

            def row(i: str, below: str, above: str, beyond: str, differs: str) -> Sequence[str]:
                x, y = self.matrix.load(code, i, j), self.matrix.load(code, j, i)
                lower, upper = self.nonzero(x), self.nonzero(y)
                is_far = code.value(f"icmp sgt i64 {code.subtract(i, j)}, 1")
                far = code.value(f"and i1 {is_far}, {self.either(lower, upper)}")
                return [
                    self.either(below, lower),
                    self.either(above, upper),
                    self.either(beyond, far),
                    self.either(differs, self.differs(x, y)),
                ]

            return code.counted(code.add(j, "1"), n, 1, row, ["i1"] * 4, carried)

        below, above, beyond, differs = code.counted("0", n, 1, column, ["i1"] * 4, ["false"] * 4)
        has_both = code.value(f"and i1 {below}, {above}")
        self.code.choose(
            [
                (code.value(f"xor i1 {has_both}, true"), lambda: self.triangular(below)),
                *self.further(beyond, at),
                (code.value(f"xor i1 {differs}, true"), lambda: self.perhaps_definite(at)),
            ],
            lambda: self.run("general", at),
        )

    def further(self, beyond: str, at: list[str]) -> list[tuple[str, Callable[[], None]]]:
        return []

    def triangular(self, is_lower: str) -> None:
        """Emit the result for a triangle, the lower one if the i1 is true."""
        letters = [self.code.module.constant(f'[1 x i8] c"{x}"') for x in "LU"]
        before, self.letter = (
            self.letter,
            Place(self.code.value(f"select i1 {is_lower}, ptr {letters[0]}, ptr {letters[1]}")),
        )
        self.run("upper triangular", [])
        self.letter = before

    def perhaps_definite(self, at: list[str]) -> None:
        """Emit the result for a Hermitian matrix by its Cholesky factors, if it has them."""
        self.run("definite", at)
        failed_ = self.code.value(f"icmp ne i32 {self.code.value(f'load i32, ptr {self.status}')}, 0")

        def again() -> None:
            self.fill(at)
            self.run("general", at)

        self.code.choose([(failed_, again)], lambda: None)

    def either(self, x: str, y: str) -> str:
        return self.code.value(f"or i1 {x}, {y}")

    def nonzero(self, x: Element) -> str:
        return self._any("une", [(part, literal(0, real_part(self.system.dtype))) for part in registers(x)])

    def differs(self, x: Element, y: Element) -> str:
        """Whether two numbers are not conjugate to each other."""
        first, second = registers(x), registers(y)
        kind = register(real_part(self.system.dtype))
        second = [*second[:1], *(self.code.value(f"fneg {kind} {part}") for part in second[1:])]
        return self._any("une", list(zip(first, second)))

    def _any(self, test: str, pairs: Sequence[tuple[str, str]]) -> str:
        kind, found = register(real_part(self.system.dtype)), "false"
        for x, y in pairs:
            found = self.either(found, self.code.value(f"fcmp {test} {kind} {x}, {y}"))
        return found


class _Solution(_Lapack):
    """The solutions of A X = B."""

    def __init__(self, system: System, lower: bool) -> None:
        super().__init__(system, lower)
        self.sides = self.lapack.matrix(self.n, system.columns)

    def fill(self, at: list[str]) -> None:
        super().fill(at)
        self.sides.fill(self.code, lambda i, j: self.system.right(at, i, j))

    def found(self) -> Columns:
        return self.sides

    def further(self, beyond: str, at: list[str]) -> list[tuple[str, Callable[[], None]]]:
        is_band = self.code.value(f"xor i1 {beyond}, true")
        return [(is_band, lambda: self.run("tridiagonal", at))] if self.n > 3 else []

    def run(self, kind: str, at: list[str]) -> None:
        n, matrix, columns = self.n, self.matrix, self.system.columns
        sides = self.sides, n
        if kind == "general":
            self.call("gesv", n, columns, matrix, n, self.pivots, *sides)
        elif kind in ("symmetric", "hermitian"):
            name = "sysv" if kind == "symmetric" else "hesv"
            self.call(name, self.letter, n, columns, matrix, n, self.pivots, *sides, *self.work())
        elif kind == "definite":
            self.call("posv", self.letter, n, columns, matrix, n, *sides)
        elif kind == "tridiagonal":
            self.call("gtsv", n, columns, *self.diagonals(), *sides)
        else:
            self.call("trtrs", self.letter, "N", "N", n, columns, matrix, n, *sides)

    def diagonals(self) -> list[Any]:
        """Emit the three diagonals of the matrix as vectors."""
        code, n, found = self.code, self.n, []
        for i, j, count in (("1", "0", n - 1), ("0", "0", n), ("0", "1", n - 1)):
            vector = self.lapack.vector(count, self.system.dtype)

            def put(k: list[str], vector: Any = vector, i: str = i, j: str = j) -> None:
                vector.store_flat(code, k[0], self.matrix.load(code, code.add(k[0], i), code.add(k[0], j)))

            code.nest([str(count)], put)
            found.append(vector)
        return found


class _Inverse(_Lapack):
    """The inverses of A, in the memory of A."""

    def found(self) -> Columns:
        return self.matrix

    def run(self, kind: str, at: list[str]) -> None:
        n, matrix = self.n, self.matrix
        if kind in ("upper triangular", "lower triangular"):
            self.call("trtri", self.letter, "N", n, matrix, n)
            return
        if kind == "general":
            self.in_two("getrf", [n, n, matrix, n, self.pivots], "getri", [n, matrix, n, self.pivots, *self.work()])
            return
        given = self.letter, n, matrix, n
        if kind == "definite":
            self.in_two("potrf", given, "potri", given)
        else:
            name = "sy" if kind == "symmetric" else "he"
            work = self.work()
            self.in_two(f"{name}trf", [*given, self.pivots, *work], f"{name}tri", [*given, self.pivots, work[0]])
        self.mirror(is_hermitian=kind != "symmetric")

    def in_two(self, first: str, given: Sequence[Any], second: str, of_factors: Sequence[Any]) -> None:
        """Emit a factorisation, and where it does not fail, the inverse by the factors."""
        self.call(first, *given)
        fails = self.code.value(f"icmp ne i32 {self.code.value(f'load i32, ptr {self.status}')}, 0")
        self.code.choose([(fails, lambda: None)], lambda: self.call(second, *of_factors))

    def mirror(self, is_hermitian: bool) -> None:
        """Emit the other triangle."""
        code, kind = self.code, register(real_part(self.system.dtype))

        def row(i: str, j: str) -> tuple[()]:
            x = registers(self.matrix.load(code, *((i, j) if self.lower else (j, i))))
            if is_hermitian and len(x) == 2:
                x = [x[0], code.value(f"fneg {kind} {x[1]}")]
            self.matrix.store(code, *((j, i) if self.lower else (i, j)), tuple(x) if len(x) == 2 else x[0])
            return ()

        def column(j: str) -> tuple[()]:
            code.counted(code.add(j, "1"), str(self.n), 1, lambda i: row(i, j), [], [])
            return ()

        code.counted("0", str(self.n), 1, column, [], [])
