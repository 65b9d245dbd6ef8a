"""Which reads of an array are proved to miss what a write changes: row ``i - 1`` is read while row ``i`` is written.

Such a write may take place in the array's own memory while the read's elements are still to be computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...ir import typed
from ...ir.dynamic import Operation, Value
from ...ir.typed import part
from ...passes.index_proofs import Proofs, are_apart
from .liveness import Order


class Overlaps:
    """The reads of parts of one function; a *way* of reading an array is one of ``fusion.accesses``."""

    def __init__(self, order: Order, proofs: Proofs) -> None:
        self.bounds, self.made = proofs.bounds, order.maker
        self.reads: dict[Any, list[Operation]] = {}
        for op in order.at:
            if op.callee is typed.getitem and not op.operands[0].is_constant:
                self.reads.setdefault((op.operands[0], part(op)), []).append(op)
        self.known: dict[Any, bool] = {}

    def misses(self, root: Value, way: Any, write: Operation) -> bool:
        """Return whether a way of reading an array reads no element that a write to its memory may change."""
        key = root, way, write
        if key not in self.known:
            reads = self.reads.get((root, way), [])
            same_shape = root.type.shape == write.operands[0].type.shape
            self.known[key] = same_shape and bool(reads) and all(self._are_apart(read, write) for read in reads)
        return self.known[key]

    def in_step(self, root: Value, ways: Iterable[Any], write: Operation) -> bool:
        """Return whether each way reads, for an element that is written, that element or none that is ever written."""
        own = part(write) if "a" not in write.named["spec"].constant else None
        return all(way is not None and (way == own or self.misses(root, way, write)) for way in ways)

    def _are_apart(self, read: Operation, write: Operation) -> bool:
        return are_apart(self.bounds, read, write, self.made)
