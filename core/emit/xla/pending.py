"""Deferred writes: several writes to one array in a row are collected and done together.

XLA fuses a read between two writes with the first write. It then needs the array both before and after that write, and
copies all of it. To avoid the copy, nothing is written until the last write of the row: the written elements are held
separately, and reads are answered from them (by a select where the indices may or may not be equal). After the last
read they are written one after the other, or as one slice if they are neighbours.
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
"""The largest number of deferred elements; a slice that is written at once may have four times as many."""

Place = tuple[Any, int]
"""An index as a value plus a constant offset; the value is None for a constant index."""


def deferred(block: Block) -> set[Operation]:
    """Return the writes of a block that can wait for the next write to the same array.

    Their results may only be used by that write, and before it by reads with the same kind of index.
    """
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
    """Return the values that an operation uses, including its blocks, each once."""
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
    """Return the place of an operation's result if it is an integer plus or minus a constant; else None."""
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
    """A deferred element: its index, as JAX arrays and as places, and the value to write."""

    index: list[Any]
    places: list[Place]
    value: Any


@dataclass
class Pending:
    """An array and its deferred elements; an element is the part that an index selects, e.g. a number or a row."""

    array: Any
    spec: Spec
    elements: list[Element]

    def starts(self, index: Sequence[Any]) -> list[Any]:
        left = list(index)
        return [left.pop(0) if entry == "i" else np.int64(0) for entry in self.spec]

    def read(self, index: Sequence[Any], places: Sequence[Place]) -> Any:
        """Return a part of the array as it is after the deferred writes."""
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
        """Return this with one more deferred write."""
        if add:
            old = self.read(index, places)
            value = old | value if value.dtype == bool else old + value
        others = [e for e in self.elements if e.places != list(places)]
        return Pending(self.array, self.spec, [*others, Element(list(index), list(places), value)])

    def box(self) -> list[tuple[int, int]] | None:
        """Return the lowest and highest offset of each index if the elements nearly fill that slice; else None."""
        first, *others = self.elements
        if any([a for a, _ in e.places] != [a for a, _ in first.places] for e in others):
            return None
        offsets = list(zip(*([n for _, n in e.places] for e in self.elements)))
        bounds = [(min(ns), max(ns)) for ns in offsets]
        volume = int(np.prod([high - low + 1 for low, high in bounds]))
        return bounds if volume <= min(4 * MOST, 2 * len(self.elements)) else None

    def fill(self) -> None:
        """Read the unwritten elements of the slice and add them, so that the slice can be written as a whole."""
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
        """Return the array with the deferred elements written."""
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
