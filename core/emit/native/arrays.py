"""Arrays during code generation: how to obtain an element for any index.

``Memory`` is a strided array in memory; ``Lazy`` an array whose elements are computed where they are used. Lengths and
indices are literals or registers of type i64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.typed import Spec, part_dimensions
from .assembly import Code
from .elements import Element, address, load, store


class Array:
    """The elements of one array value; ``flat``: whether ``load_flat``, by position in C order, is available."""

    dtype: np.dtype
    lengths: list[str]
    flat: bool

    def load(self, code: Code, indices: Sequence[str]) -> Element:
        """Return the element; one that was already computed on every path to here is reused."""
        return self._again(code, tuple(indices), self.compute)

    def load_flat(self, code: Code, i: str) -> Element:
        return self._again(code, i, self.compute_flat)

    def _again(self, code: Code, index: Any, compute: Callable[[Code, Any], Element]) -> Element:
        key = (self, index)
        for known in code.known:
            if key in known:
                return known[key]
        found = code.known[-1][key] = compute(code, index)
        return found

    def compute(self, code: Code, indices: Sequence[str]) -> Element:
        raise NotImplementedError

    def compute_flat(self, code: Code, i: str) -> Element:
        raise NotImplementedError

    def count(self, code: Code) -> str:
        return code.product(self.lengths)


class Memory(Array):
    """Elements at ``pointer``, ``strides`` elements apart; without strides, contiguous in C order."""

    def __init__(
        self, code: Code, pointer: str, dtype: np.dtype, lengths: list[str], strides: list[str] | None = None
    ) -> None:
        self.pointer, self.dtype, self.lengths = pointer, dtype, lengths
        self.flat = strides is None
        self.align: int | None = None
        self.strides = strides if strides is not None else c_strides(code, lengths)

    def offset(self, code: Code, indices: Sequence[str]) -> str:
        found = "0"
        for i, stride in zip(indices, self.strides):
            found = code.add(found, code.multiply(i, stride))
        return found

    def compute(self, code: Code, indices: Sequence[str]) -> Element:
        return load(code, address(code, self.pointer, self.offset(code, indices), self.dtype), self.dtype, self.align)

    def compute_flat(self, code: Code, i: str) -> Element:
        return load(code, address(code, self.pointer, i, self.dtype), self.dtype, self.align)

    def store(self, code: Code, indices: Sequence[str], x: Element) -> None:
        store(code, address(code, self.pointer, self.offset(code, indices), self.dtype), x, self.dtype, self.align)

    def store_flat(self, code: Code, i: str, x: Element) -> None:
        store(code, address(code, self.pointer, i, self.dtype), x, self.dtype, self.align)

    def merged(self, code: Code) -> Memory:
        """Return the same elements with as few dimensions as possible: short loops over neighbouring elements become one."""
        lengths: list[str] = []
        strides: list[str] = []
        for n, step in zip(self.lengths, self.strides):
            if lengths and strides[-1] == code.multiply(n, step):
                lengths[-1], strides[-1] = code.multiply(lengths[-1], n), step
            else:
                lengths.append(n)
                strides.append(step)
        found = Memory(code, self.pointer, self.dtype, lengths, strides)
        found.align = self.align
        return found

    def fill(self, code: Code, source: Array) -> None:
        """Copy all elements of an array of the same lengths into this memory."""
        if self.flat and source.flat:
            one = lambda i: self.store_flat(code, i[0], source.load_flat(code, i[0]))  # noqa: E731
            code.nest([self.count(code)], one, independent=[0])
        elif source.flat and len((into := self.merged(code)).lengths) < len(self.lengths):
            one = lambda at: into.store(code, at, source.load_flat(code, place_of(code, into.lengths, at)))  # noqa: E731
            code.nest(into.lengths, one, independent=range(len(into.lengths)))
        else:
            every = range(len(self.lengths))
            one = lambda indices: self.store(code, indices, source.load(code, indices))  # noqa: E731
            code.nest(self.lengths, one, independent=every)


def place_of(code: Code, lengths: Sequence[str], indices: Sequence[str]) -> str:
    """Return the position of an element in C order."""
    found = "0"
    for n, i in zip(lengths, indices):
        found = code.add(code.multiply(found, n), i)
    return found


def c_strides(code: Code, lengths: Sequence[str]) -> list[str]:
    strides, stride = [], "1"
    for n in reversed(lengths):
        strides.append(stride)
        if len(strides) < len(lengths):
            stride = code.multiply(stride, n)
    return strides[::-1]


class Lazy(Array):
    """Elements that ``at(indices)`` computes; ``at_flat``, if given, takes the position in C order."""

    def __init__(
        self,
        dtype: np.dtype,
        lengths: list[str],
        at: Callable[[Sequence[str]], Element],
        at_flat: Callable[[str], Element] | None = None,
    ) -> None:
        self.dtype, self.lengths, self.at, self.at_flat = dtype, lengths, at, at_flat
        self.flat = at_flat is not None

    def compute(self, code: Code, indices: Sequence[str]) -> Element:
        return self.at(indices)

    def compute_flat(self, code: Code, i: str) -> Element:
        assert self.at_flat is not None
        return self.at_flat(i)


class Part:
    """The part of an array that an index selects (``typed.Spec``): maps indices of the part to indices of the array."""

    def __init__(self, spec: Spec, operands: Sequence[Any]) -> None:
        """Take an i64 for each ``"i"`` and slice, and an ``Array`` of integers (or an i64) for each ``"a"``."""
        self.spec, self.operands = spec, list(operands)
        arrays = [o for e, o in zip([e for e in spec if e != ":"], operands) if e == "a"]
        self.advanced = max((len(a.lengths) for a in arrays if isinstance(a, Array)), default=0)
        self.places = part_dimensions(spec, self.advanced)
        self.free = [d for d in range(len(self.places) + self.advanced) if d not in self.places.values()]

    @property
    def is_gather(self) -> bool:
        return "a" in self.spec

    def indices(self, code: Code, part: Sequence[str]) -> list[str]:
        """Return the array's index for an index of the part."""
        operands, found = list(self.operands), []
        for position, entry in enumerate(self.spec):
            if entry == ":":
                found.append(part[self.places[position]])
                continue
            operand = operands.pop(0)
            if isinstance(operand, Array):
                own = self.free[self.advanced - len(operand.lengths) :]
                index = ["0" if n == "1" else part[d] for n, d in zip(operand.lengths, own)]
                found.append(widened(code, operand.load(code, index), operand.dtype))
            elif isinstance(entry, tuple):
                found.append(code.add(operand, code.multiply(str(entry[1]), part[self.places[position]])))
            else:
                found.append(operand)
        return found

    def of_memory(self, code: Code, base: Memory, lengths: list[str]) -> Memory:
        """Return the part as strided memory; not for index arrays."""
        first = self.indices(code, ["0"] * len(lengths))
        strides = [""] * len(lengths)
        for position, d in self.places.items():
            entry = self.spec[position]
            step = "1" if entry == ":" else str(entry[1])
            strides[d] = code.multiply(step, base.strides[position])
        pointer = address(code, base.pointer, base.offset(code, first), base.dtype)
        is_whole = (
            base.flat and all(e in ("i", ":") for e in self.spec) and "i" not in self.spec[self.spec.count("i") :]
        )
        found = Memory(code, pointer, base.dtype, lengths, None if is_whole else strides)
        found.align = base.align
        return found


def widened(code: Code, x: str, dtype: np.dtype) -> str:
    """Return an integer extended to i64."""
    if dtype.itemsize == 8 or x[0] != "%":
        return x
    return code.value(f"{'sext' if dtype.kind == 'i' else 'zext'} i{8 * dtype.itemsize} {x} to i64")


def broadcast_indices(array: Array, indices: Sequence[str]) -> list[str]:
    """Return the index into an operand for an index of the result that it is broadcast to."""
    own = indices[len(indices) - len(array.lengths) :]
    return ["0" if n == "1" else i for n, i in zip(array.lengths, own)]
