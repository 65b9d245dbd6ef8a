"""Factorisations of small real matrices as loops in native code, which take less time than a call of LAPACK.

The matrix stands beside its right-hand sides in one block of memory.  Loops over the columns are unrolled; for matrices of
at most ``UNROLLED_ORDER`` rows all loops are, so that LLVM keeps the elements in registers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .arrays import Memory
from .assembly import Code
from .elements import Element, literal, register
from .real_functions import apply

SMALL_ORDER, UNROLLED_ORDER = 8, 4


class Block:
    """n rows: a square matrix and ``beside`` columns, which the functions of this file overwrite."""

    def __init__(self, code: Code, dtype: np.dtype, n: int, beside: int = 0) -> None:
        self.code, self.dtype, self.kind, self.n = code, dtype, register(dtype), n
        self.width, self.beside = n + beside, range(n, n + beside)
        size = max(n * self.width, 1)
        self.memory = Memory(code, code.slot(self.kind, size), dtype, [str(n), str(self.width)])

    def get(self, i: str, j: str) -> Element:
        return self.memory.compute(self.code, [i, j])

    def put(self, i: str, j: str, x: Element) -> None:
        self.memory.store(self.code, [i, j], x)

    def fill(self, entry: Callable[[str, str], Element], right: Callable[[str, str], Element] | None = None) -> None:
        """Write the matrix and the columns beside it."""
        rows = str(self.n)
        self.code.nest([rows, rows], lambda ij: self.put(ij[0], ij[1], entry(ij[0], ij[1])))
        if right is not None:
            self.code.nest(
                [rows, str(len(self.beside))], lambda ij: self.put(ij[0], self.column(ij[1]), right(ij[0], ij[1]))
            )

    def column(self, j: str) -> str:
        """Return the place of the j-th column beside the matrix."""
        return self.code.add(j, str(self.n))

    def each(self, first: str, stop: str, turn: Callable[[str], None]) -> None:
        """Emit ``for i in range(first, stop): turn(i)``."""
        if self.n <= UNROLLED_ORDER:
            for i in range(int(first), int(stop)):
                turn(str(i))
        else:
            self.code.counted(first, stop, 1, lambda i: turn(i) or (), [], [])

    def each_down(self, turn: Callable[[str], None]) -> None:
        """Emit ``for i in reversed(range(n)): turn(i)``."""
        if self.n <= UNROLLED_ORDER:
            for i in reversed(range(self.n)):
                turn(str(i))
        else:
            self.code.counted(str(self.n - 1), "-1", -1, lambda i: turn(i) or (), [], [])

    def following(self, k: str, turn: Callable[[str], None]) -> None:
        """Emit ``for i in range(k + 1, n): turn(i)``."""
        self.each(self.code.add(k, "1"), str(self.n), turn)

    def subtract(self, i: str, j: str, a: Element, b: Element) -> None:
        """Subtract a b from an element."""
        product = apply(self.code, np.multiply, self.dtype, [a, b])
        self.put(i, j, apply(self.code, np.subtract, self.dtype, [self.get(i, j), product]))

    def quotient(self, a: Element, b: Element) -> Element:
        return apply(self.code, np.divide, self.dtype, [a, b])

    def size(self, i: str, j: str) -> Element:
        return apply(self.code, np.absolute, self.dtype, [self.get(i, j)])


class Variable:
    """A number that changes while native code runs."""

    def __init__(self, code: Code, kind: str, initial: str) -> None:
        self.code, self.kind, self.place = code, kind, code.slot(kind)
        self.set(initial)

    def get(self) -> str:
        return self.code.value(f"load {self.kind}, ptr {self.place}")

    def set(self, x: str) -> None:
        self.code.do(f"store {self.kind} {x}, ptr {self.place}")


def eliminate(block: Block) -> tuple[str, str]:
    """Emit Gaussian elimination with partial pivoting: the upper triangle is U, the columns beside it those of L^-1 P B.

    Returns whether a pivot is zero, and whether the number of exchanges of rows is odd.
    """
    code, kind = block.code, block.kind
    is_singular, is_odd = Variable(code, "i1", "false"), Variable(code, "i1", "false")
    largest = Variable(code, kind, literal(0, block.dtype))

    def step(k: str) -> None:
        columns = range(int(k) if block.n <= UNROLLED_ORDER else 0, block.width)
        largest.set(block.size(k, k))

        def exchange(i: str) -> None:
            """Exchange a row with the k-th one if it has the larger element; finally the largest is there."""
            size, most = block.size(i, k), largest.get()
            is_larger = code.value(f"fcmp ogt {kind} {size}, {most}")
            largest.set(code.value(f"select i1 {is_larger}, {kind} {size}, {kind} {most}"))
            for j in map(str, columns):
                x, y = block.get(k, j), block.get(i, j)
                block.put(k, j, code.value(f"select i1 {is_larger}, {kind} {y}, {kind} {x}"))
                block.put(i, j, code.value(f"select i1 {is_larger}, {kind} {x}, {kind} {y}"))
            is_odd.set(code.value(f"xor i1 {is_odd.get()}, {is_larger}"))

        block.following(k, exchange)
        is_zero = code.value(f"fcmp oeq {kind} {largest.get()}, {literal(0, block.dtype)}")
        is_singular.set(code.value(f"or i1 {is_singular.get()}, {is_zero}"))

        def reduce(i: str) -> None:
            factor = block.quotient(block.get(i, k), block.get(k, k))
            for j in map(str, columns):
                block.subtract(i, j, factor, block.get(k, j))

        block.following(k, reduce)

    block.each("0", str(block.n), step)
    return is_singular.get(), is_odd.get()


def substitute(block: Block, is_lower: bool = False, has_unit_diagonal: bool = False) -> None:
    """Emit the solution of T X = B with the block's triangle T: X replaces the columns beside it."""

    def step(i: str) -> None:
        for column in map(str, block.beside):
            if not has_unit_diagonal:
                block.put(i, column, block.quotient(block.get(i, column), block.get(i, i)))

        def take_out(row: str) -> None:
            factor = block.get(row, i)
            for column in map(str, block.beside):
                block.subtract(row, column, factor, block.get(i, column))

        if is_lower:
            block.following(i, take_out)
        else:
            block.each("0", i, take_out)

    if is_lower:
        block.each("0", str(block.n), step)
    else:
        block.each_down(step)


def factorise(block: Block) -> str:
    """Emit the Cholesky factor L of A = L L^T, in the lower triangle.

    Returns a status as LAPACK's, an i32: the order of the first leading minor that is not positive, or 0.
    """
    code = block.code
    status = Variable(code, "i32", "0")

    def step(k: str) -> None:
        square = block.get(k, k)
        _first(status, code.value(f"fcmp ule {block.kind} {square}, {literal(0, block.dtype)}"), k)
        root = apply(code, np.sqrt, block.dtype, [square])
        block.put(k, k, root)
        block.following(k, lambda i: block.put(i, k, block.quotient(block.get(i, k), root)))

        def reduce(i: str) -> None:
            factor = block.get(i, k)
            block.each(code.add(k, "1"), code.add(i, "1"), lambda j: block.subtract(i, j, factor, block.get(j, k)))

        block.following(k, reduce)

    block.each("0", str(block.n), step)
    return status.get()


def first_zero(block: Block) -> str:
    """Return the number of the first element of the diagonal that is zero, counted from 1, or 0: an i32."""
    code, status = block.code, Variable(block.code, "i32", "0")

    def test(i: str) -> None:
        is_zero = code.value(f"fcmp oeq {block.kind} {block.get(i, i)}, {literal(0, block.dtype)}")
        _first(status, is_zero, i)

    block.each("0", str(block.n), test)
    return status.get()


def _first(status: Variable, condition: str, i: str) -> None:
    """Set the status to i + 1 if the condition holds and it is still 0."""
    code, before = status.code, status.get()
    is_first = code.value(f"and i1 {condition}, {code.value(f'icmp eq i32 {before}, 0')}")
    place = code.add(i, "1")
    place = place if place[0] != "%" else code.value(f"trunc i64 {place} to i32")
    status.set(code.value(f"select i1 {is_first}, i32 {place}, i32 {before}"))
