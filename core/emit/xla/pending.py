"""Several writes to one array in a row: gathered, and done at once at the end.

XLA fuses what reads an array between two writes with the write before it, and then needs the array as it was: it copies it
whole.  So between the first write and the last nothing is written: the elements are kept apart, reads are answered from
them (an index that may or may not be one of theirs: by selecting), and at the end, when all has been read, they are written
one after the other, or, where they are neighbours, as one slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...ir.dynamic import Block, Operation, Value
from ...ir.typed import Spec, add_at, cast, getitem, setitem
from .overwriting import is_large

MOST = 16
"""The number of elements that are kept apart; of the slice that is written at once, four times that."""

Place = tuple[Any, int]
"""An index as a value (None: a constant) and what is added to it."""


def deferred(block: Block) -> set[Operation]:
    """The writes of a block whose arrays nothing but the next write, and reads of the same kind of part, see."""
    users: dict[Value, list[Operation]] = {}
    for op in block.operations:
        for v in _seen(op):
            users.setdefault(v, []).append(op)
    results, found, lengths = set(block.results), set(), dict[Value, int]()
    for op in block.operations:
        if not _is_write(op) or op.results[0] in results or not is_large(op.results[0]):
            continue
        after = users.get(op.results[0], [])
        spec = op.named["spec"].constant
        writes = [o for o in after if _is_write(o) and o.operands[0] is op.results[0]]
        alike = all(_is_part(o, spec) and op.results[0] not in o.operands[1:] for o in after)
        length = lengths.get(op.operands[0], 0) + 1
        if alike and len(writes) == 1 and after[-1] is writes[0] and length < MOST:
            found.add(op)
            lengths[op.results[0]] = length
    return found


def _seen(op: Operation) -> list[Value]:
    """The values that an operation uses, in its blocks too, each once."""
    found = dict.fromkeys(op.operands)
    for block in op.blocks:
        for inner in block.operations:
            found.update(dict.fromkeys(_seen(inner)))
        found.update(dict.fromkeys(block.results))
    return list(found)


def _is_part(op: Operation, spec: Spec) -> bool:
    is_access = op.kind == "call" and op.callee in (getitem, setitem, add_at)
    return is_access and op.named["spec"].constant == spec


def _is_write(op: Operation) -> bool:
    if op.kind != "call" or op.callee not in (setitem, add_at):
        return False
    spec = op.named["spec"].constant
    return "i" in spec and all(entry in ("i", ":") for entry in spec)


def place_of(op: Operation, places: dict[Value, Place]) -> Place | None:
    """An integer that is another one and a constant."""
    if op.kind != "call" or len(op.results) != 1 or op.results[0].type is None:
        return None
    if op.callee is cast and op.results[0].type.dtype == np.int64 and op.operands[0].type.dtype.kind == "i":
        return place(op.operands[0], places)
    if op.callee not in (np.add, np.subtract) or op.results[0].type.dtype != np.int64 or op.results[0].type.ndim:
        return None
    (a, m), (b, n) = (place(v, places) for v in op.operands)
    if op.callee is np.subtract:
        return (a, m - n) if b is None else None
    return (a, m + n) if b is None else (b, m + n) if a is None else None


def place(value: Value, places: dict[Value, Place]) -> Place:
    return (None, int(value.constant)) if value.is_constant else places.get(value, (value, 0))


@dataclass
class Element:
    """One that is written: where, as JAX's indices and as places, and what."""

    index: list[Any]
    places: list[Place]
    value: Any


@dataclass
class Pending:
    """An array with elements that are not written to it yet; an element may be a row, or any part that indices leave."""

    array: Any
    spec: Spec
    elements: list[Element]

    def starts(self, index: Sequence[Any]) -> list[Any]:
        left = list(index)
        return [left.pop(0) if entry == "i" else np.int64(0) for entry in self.spec]

    def read(self, index: Sequence[Any], places: Sequence[Place]) -> Any:
        """The part, as it is after the writes."""
        sizes = [1 if entry == "i" else n for entry, n in zip(self.spec, self.array.shape)]
        found = lax.dynamic_slice(self.array, self.starts(index), sizes)
        found = found.reshape([n for entry, n in zip(self.spec, sizes) if entry != "i"])
        for element in self.elements:
            if element.places == list(places):
                found = element.value
            elif all(a != b or m == n for (a, m), (b, n) in zip(element.places, places)):
                same = jnp.bool_(True)
                for i, j in zip(element.index, index):
                    same = same & (i == j)
                found = jnp.where(same, element.value, found)
        return found

    def written(self, index: Sequence[Any], places: Sequence[Place], value: Any, add: bool) -> Pending:
        """With one more write."""
        if add:
            old = self.read(index, places)
            value = old | value if value.dtype == bool else old + value
        others = [e for e in self.elements if e.places != list(places)]
        return Pending(self.array, self.spec, [*others, Element(list(index), list(places), value)])

    def box(self) -> list[tuple[int, int]] | None:
        """The lowest and highest offset of each index, if the elements are neighbours of which a slice is worth it."""
        first, *others = self.elements
        if any([a for a, _ in e.places] != [a for a, _ in first.places] for e in others):
            return None
        offsets = list(zip(*([n for _, n in e.places] for e in self.elements)))
        bounds = [(min(ns), max(ns)) for ns in offsets]
        volume = int(np.prod([high - low + 1 for low, high in bounds]))
        return bounds if volume <= min(4 * MOST, 2 * len(self.elements)) else None

    def fill(self) -> None:
        """Keep apart the elements of the slice that nothing was written to, too."""
        bounds = self.box()
        if bounds is None:
            return
        known = {tuple(n for _, n in e.places) for e in self.elements}
        corner = self._corner(bounds)
        for offsets in product(*(range(low, high + 1) for low, high in bounds)):
            if offsets not in known:
                places = [(a, n) for (a, _), n in zip(self.elements[0].places, offsets)]
                index = [i + np.int64(n - low) for i, n, (low, _) in zip(corner, offsets, bounds)]
                base = Pending(self.array, self.spec, [])
                self.elements.append(Element(index, places, base.read(index, places)))

    def _corner(self, bounds: Sequence[tuple[int, int]]) -> list[Any]:
        axes = range(len(bounds))
        return [next(e.index[i] for e in self.elements if e.places[i][1] == bounds[i][0]) for i in axes]

    def done(self) -> Any:
        """The array with the elements written."""
        bounds, array = self.box(), self.array
        if bounds is None:
            for e in self.elements:
                part = [1 if entry == "i" else n for entry, n in zip(self.spec, array.shape)]
                array = lax.dynamic_update_slice(array, e.value.reshape(part), self.starts(e.index))
            return array
        ordered = sorted(self.elements, key=lambda e: [n for _, n in e.places])
        lengths = [high - low + 1 for low, high in bounds]
        slab = jnp.stack([e.value for e in ordered])
        slab = slab.reshape([*lengths, *slab.shape[1:]])
        indexed = [i for i, entry in enumerate(self.spec) if entry == "i"]
        rest = [i for i, entry in enumerate(self.spec) if entry != "i"]
        slab = lax.transpose(slab, list(np.argsort([*indexed, *rest])))
        return lax.dynamic_update_slice(array, slab, self.starts(self._corner(bounds)))
