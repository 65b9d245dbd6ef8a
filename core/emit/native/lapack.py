"""Calls of BLAS and LAPACK by SciPy's function pointers, and the column-major matrices that they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np

from ...ir.typed import ArrayType
from .arrays import Memory
from .assembly import Code
from .elements import Element, address, literal, register, registers
from .function import FunctionCode

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
Argument = Union[int, float, str, "Columns", Memory, "Place"]


@dataclass(frozen=True)
class Place:
    """The address of an argument."""

    pointer: str


class Lapack:
    """Calls of LAPACK's functions of one dtype, on memory that they may overwrite."""

    def __init__(self, f: FunctionCode, dtype: np.dtype) -> None:
        self.f, self.code, self.dtype = f, f.code, dtype

    def matrix(self, rows: int, columns: int) -> Columns:
        size = max(rows * columns, 1)
        return Columns(self.vector(size, self.dtype), rows, columns)

    def integers(self, count: int) -> Memory:
        return self.vector(count, np.dtype(np.int32))

    def vector(self, count: int, dtype: np.dtype) -> Memory:
        pointer = self.f.temporary(ArrayType(dtype, (max(count, 1),)))
        return Memory(self.code, pointer, dtype, [str(count)])

    def number(self, x: str) -> Place:
        """Return the address of an integer, an i64."""
        place = self.code.slot("i32")
        self.code.do(f"store i32 {self.code.value(f'trunc i64 {x} to i32')}, ptr {place}")
        return Place(place)

    def call(self, name: str, *arguments: Argument) -> str:
        """Call a function of LAPACK with numbers, letters and arrays; return its status, an i32."""
        status = self.code.slot("i32")
        self._call("lapack", name, [*self._passed(arguments), status])
        return self.code.value(f"load i32, ptr {status}")

    def call_blas(self, name: str, *arguments: Argument) -> None:
        self._call("blas", name, self._passed(arguments))

    def _passed(self, arguments: Sequence[Argument]) -> list[str]:
        code, passed = self.code, []
        for x in arguments:
            if isinstance(x, int):
                passed.append(code.module.constant(f"i32 {x}"))
            elif isinstance(x, float):
                parts = registers(literal(x, self.dtype))
                kind = register(self.dtype)
                values = ", ".join(f"{kind} {part}" for part in parts)
                passed.append(code.module.constant(f"[{len(parts)} x {kind}] [{values}]"))
            elif isinstance(x, str):
                passed.append(code.module.constant(f'[1 x i8] c"{x}"'))
            else:
                passed.append(x.memory.pointer if isinstance(x, Columns) else x.pointer)
        return passed

    def _call(self, library: str, name: str, passed: Sequence[str]) -> None:
        module, full = self.code.module, f"{_LETTERS[self.dtype.char]}{name}"
        symbol = f"{library}.{full}"
        module.symbols[symbol] = (f"scipy.linalg.cython_{library}", full)
        module.declare(symbol, "void", ["ptr"] * len(passed), pure=False)
        self.code.do(f"call void @{symbol}({', '.join(f'ptr {p}' for p in passed)})")


class Columns:
    """A matrix in column-major memory."""

    def __init__(self, memory: Memory, rows: int, columns: int) -> None:
        self.memory, self.rows, self.columns = memory, rows, columns

    def _at(self, code: Code, i: str, j: str) -> str:
        return code.add(code.multiply(j, str(self.rows)), i)

    def load(self, code: Code, i: str, j: str) -> Element:
        # Not by ``load_flat``, which may give back an element that was there before LAPACK was called.
        return self.memory.compute_flat(code, self._at(code, i, j))

    def store(self, code: Code, i: str, j: str, x: Element) -> None:
        self.memory.store_flat(code, self._at(code, i, j), x)

    def place(self, code: Code, i: str, j: str) -> Place:
        """Return the address of an element, at which a part of the matrix begins."""
        return Place(address(code, self.memory.pointer, self._at(code, i, j), self.memory.dtype))

    def fill(self, code: Code, entry: Callable[[str, str], Element]) -> None:
        def one(ji: list[str]) -> None:
            j, i = ji
            self.memory.store_flat(code, self._at(code, i, j), entry(i, j))

        code.nest([str(self.columns), str(self.rows)], one)
