"""Parts of arrays: which elements are read or written, in each lane.

An index that is not known stands for every index: its dimension is read as a whole, and a write there leaves what was there before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import typed
from ...ir.dynamic import Operation
from ...ir.typed import ArrayType, Dim, part_dimensions
from .abstract import Abstract, Shared, check_rows
from .interpreter import Interpreter, depends_by
from .patterns import empty, gather, grouped, stacked, union

MOST_ROWS = 20_000_000
"""The most elements, over all lanes, of an array of which each lane has its own."""


class Part:
    """The numbers of the elements of a part of an array: ``places``, of shape (lanes, size of the part), -1 where there are none.

    They are numbers in an array of the shape ``shape``, in which dimensions with an index that is not known have length 1.
    """

    def __init__(self, interpreter: Interpreter, op: Operation, kind: ArrayType) -> None:
        x, *operands = op.positional
        spec = op.named["spec"].constant
        (whole, _), (part, _) = interpreter.shape(x.type), interpreter.shape(kind)
        index = operands[: sum(e != ":" for e in spec)]
        lengths = [interpreter.lengths(n.value) if isinstance(n, Dim) else np.array([n]) for n in kind.shape]
        self.is_exact = all(n is not None for n in lengths)
        self.spec, self.whole, self.shape, self.part = spec, whole, list(whole), part
        found: dict[int, np.ndarray] = {}
        array_ndim = max((v.type.ndim for e, v in zip([e for e in spec if e != ":"], index) if e == "a"), default=0)
        dimensions = part_dimensions(spec, array_ndim)
        before = self._first_of_arrays(dimensions)
        left = iter(index)
        for i, entry in enumerate(spec):
            if entry == ":":
                found[i] = self._along(dimensions[i], np.arange(whole[i])[None])
                continue
            v = next(left)
            a = interpreter.get(v)
            if a.known is None:
                self.shape[i] = 1
                continue
            interpreter.consult(a)
            if isinstance(entry, tuple):
                places = np.arange(part[dimensions[i]])
                ends = lengths[dimensions[i]]
                is_within = places < (np.array([[whole[i]]]) if ends is None else ends[:, None])
                found[i] = self._along(dimensions[i], np.where(is_within, a.known + entry[1] * places, -1))
            else:
                shape = interpreter.shape(v.type)[0]
                after = len(part) - before - array_ndim if entry == "a" else 0
                ones = [1] * (len(part) - len(shape) - after)
                found[i] = a.known.reshape(len(a.known), *ones, *shape, *[1] * after)
        self.unknown = [i for i in range(len(spec)) if i not in found]
        lanes = max([len(f) for f in found.values()], default=1)
        check_rows(lanes * int(np.prod(part)))
        places: Any = np.zeros((lanes, *part), np.int64)
        valid: Any = True
        stride = 1
        for i in reversed(range(len(spec))):
            if i in found:
                places += found[i] * stride
                valid = valid & (found[i] >= 0) & (found[i] < whole[i])
            stride *= self.shape[i]
        if not np.all(valid):
            places = np.where(valid, places, -1)
        self.places = places.reshape(lanes, -1)

    def _along(self, dimension: int, values: np.ndarray) -> np.ndarray:
        shape = [1] * len(self.part)
        shape[dimension] = values.shape[1]
        return values.reshape(len(values), *shape)

    def _first_of_arrays(self, dimensions: dict[int, int]) -> int:
        """Return the dimension of the part at which those of index arrays begin."""
        advanced = [i for i, e in enumerate(self.spec) if e in ("i", "a")]
        if not advanced or advanced != list(range(advanced[0], advanced[-1] + 1)):
            return 0
        return sum(i < advanced[0] for i in dimensions)

    def groups(self) -> np.ndarray:
        """Return, for each element of the array, its number in the array of ``shape``."""
        return np.broadcast_to(np.arange(self.size).reshape(self.shape), self.whole).ravel()

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def rows(self, lanes: np.ndarray, count: int = 1) -> np.ndarray:
        """Return the rows of the elements in a pattern of the array of ``shape``.

        ``lanes`` gives the lane of the array for each lane, or for all; there are at least ``count`` lanes.
        """
        found = np.where(self.places < 0, -1, lanes[:, None] * self.size + self.places)
        return (found if len(found) >= count else np.broadcast_to(found, (count, found.shape[1]))).ravel()


@depends_by(typed.getitem)
def getitem(self: Interpreter, op: Operation) -> list[Any]:
    part = Part(self, op, op.results[0].type)
    x, at = self.raw(op.operands[0])
    if isinstance(x, Shared):
        x, at = x.snapshot(), x.lanes
    size = part.places.shape[1]
    known = sources = None
    if x.known is not None and not part.unknown and (part.places.size == 0 or part.places.min() >= 0):
        lanes = self.lanes.within(at) if len(x.known) > 1 else np.zeros(1, np.int64)
        known = x.known[lanes[:, None], part.places]
        sources = x.sources
    if not x.depends or not op.results[0].type.is_inexact:
        return [self.of(size, known, sources or frozenset())]
    if part.unknown:
        x = self.unions(x, part.groups(), part.size)
    lanes = self.lanes.within(at) if x.lanes > 1 else np.zeros(1, np.int64)
    return [Abstract(size, None, x.rows(part.rows(lanes)))]


@depends_by(typed.setitem, typed.add_at)
def write(self: Interpreter, op: Operation) -> list[Any]:
    v = self.get(op.positional[-1])
    part = Part(self, op, op.positional[-1].type)
    x, _ = self.raw(op.operands[0])
    is_certain = op.callee is typed.setitem and part.is_exact and not part.unknown
    if isinstance(x, Shared):
        rows = part.rows(self.lanes.within(x.lanes) if x.lanes.count > 1 else np.zeros(1, np.int64), v.lanes)
        if v.depends:
            x.write(_spread(part, v, rows, x.lanes.count))
        if is_certain and not self.lanes.maybe and op in x.writes:
            x.certain[rows[rows >= 0]] = True
        return [x]
    x = self.fetch(op.operands[0])
    known = _written(x, part, v) if op.callee is typed.setitem else None
    if not (x.depends or v.depends):
        return [self.of(x.size, known, x.sources | v.sources if known is not None else frozenset())]
    lanes = max(x.lanes, len(part.places), v.lanes)
    if lanes * x.size > MOST_ROWS:
        rows = part.rows(np.zeros(1, np.int64), v.lanes)
        x, is_certain, lanes = x.of_all_lanes(), False, 1
    else:
        rows = part.rows(np.arange(lanes))
    if is_certain and "a" in part.spec:
        is_certain = len(np.unique(rows)) == len(rows)
    if is_certain:
        return [_replaced(x, v, rows, lanes)]
    found = _spread(part, v, rows, lanes) if v.depends else self.none
    return [Abstract(x.size, None, tuple(map(union, zip(x.filled(lanes), found))))]


def _replaced(x: Abstract, v: Abstract, rows: np.ndarray, lanes: int) -> Abstract:
    """Return x with the elements in these rows replaced by those of v."""
    count = lanes * x.size
    order = np.arange(count)
    at = rows >= 0
    order[rows[at]] = count + np.flatnonzero(at)
    found = []
    for p, q in zip(x.filled(lanes), v.filled(lanes)):
        given = p if p is not None else q
        if given is None:
            found.append(None)
            continue
        width = given.shape[1]
        parts = [empty(count, width) if p is None else p, empty(len(rows), width) if q is None else q]
        found.append(gather(stacked(parts), order))
    return Abstract(x.size, None, tuple(found))


def _spread(part: Part, v: Abstract, rows: np.ndarray, lanes: int) -> list[Any]:
    """Return the patterns of an array of so many lanes whose elements depend on what is written there."""
    found = []
    for p in v.filled(len(rows) // v.size if v.size else 1):
        p = None if p is None else grouped(p, rows, lanes * part.size)
        if p is not None and part.unknown:
            p = gather(p, (np.arange(lanes)[:, None] * part.size + part.groups()).ravel())
        found.append(p)
    return found


def _written(x: Abstract, part: Part, v: Abstract) -> np.ndarray | None:
    """Return the numbers of an array after a write, if they are known."""
    if x.known is None or v.known is None or part.unknown or not part.is_exact or x.known.dtype.kind not in "iub":
        return None
    lanes = max(len(x.known), len(v.known), len(part.places))
    if lanes * x.size > MOST_ROWS or part.places.size and part.places.min() < 0:
        return None
    found = np.array(np.broadcast_to(x.known, (lanes, x.size)))
    found[np.arange(lanes)[:, None], part.places] = v.known
    return found
