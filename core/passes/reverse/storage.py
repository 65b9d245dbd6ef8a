"""How values with lengths of their own are kept where the length is not in scope: as the first part of a larger array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.typed import ArrayType, Dim


@dataclass
class Slot:
    """A result of an ``if`` that gives what its branches keep: by branch, the value."""

    result: Value
    given: dict[int, Value] = field(default_factory=dict)


class Part:
    """A value, and its place in an array of type ``whole``, in which the lengths that are ``local`` have their bounds."""

    def __init__(self, value: Value, local: Callable[[Value], bool]) -> None:
        self.value = value
        self.local = [isinstance(n, Dim) and local(n.value) for n in value.type.shape]
        kind = value.type
        shape = tuple(n.bound if on else n for n, on in zip(kind.shape, self.local))  # type: ignore[union-attr]
        self.whole = ArrayType(kind.dtype, shape, kind.weak)

    @property
    def varies(self) -> bool:
        return any(self.local)

    def _index(self, b: Builder, row: Sequence[Value]) -> tuple[list[Value], tuple[object, ...]]:
        zero = b.constant(0, np.int64)
        spec = (*("i" for _ in row), *(("s", 1) if on else ":" for on in self.local))
        return [*row, *(zero for on in self.local if on)], spec

    def written(self, b: Builder, into: Value, row: Sequence[Value]) -> Value:
        """The array ``into``, or row ``row`` of an array of such, with the value written into it."""
        if not row and not self.varies:
            return self.value
        index, spec = self._index(b, row)
        return b.setitem(into, index, self.value, spec)

    def read(self, b: Builder, whole: Value, row: Sequence[Value]) -> Value:
        """The value again; its lengths are there."""
        if not row and not self.varies:
            return whole
        index, spec = self._index(b, row)
        return b.getitem(whole, index, spec, [n for n, on in zip(self.value.type.shape, self.local) if on])
