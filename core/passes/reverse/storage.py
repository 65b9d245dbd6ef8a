"""Storage of values of variable length where the length is not in scope: as the leading part of a larger array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.typed import ArrayType, Dim


@dataclass
class Slot:
    """A result of an ``if`` that saves one value of each branch (``given``, by number of the branch)."""

    result: Value
    given: dict[int, Value] = field(default_factory=dict)


class Part:
    """A value and the type ``whole`` of an array that holds it: the type with ``local`` lengths set to their bounds."""

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
        """Write the value into the array ``into``, or into row ``row`` of an array of such arrays."""
        if not row and not self.varies:
            return self.value
        index, spec = self._index(b, row)
        return b.setitem(into, index, self.value, spec)

    def read(self, b: Builder, whole: Value, row: Sequence[Value]) -> Value:
        """Read the value back; its lengths must be in scope."""
        if not row and not self.varies:
            return whole
        index, spec = self._index(b, row)
        return b.getitem(whole, index, spec, [n for n, on in zip(self.value.type.shape, self.local) if on])
