"""Reads, writes and additions to parts of arrays (``typed.Spec``).

A contiguous part is a dynamic slice, which XLA reads and writes in place. A part with a stride uses the slice that
spans it. Only index arrays need gather and scatter. Typed IR guarantees that indices are within the array, except in
code that runs after the program has failed; there XLA clamps them, so that no access leaves the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...ir.dynamic import Operation
from ...ir.typed import ArrayType, Dim, Spec, add_at, getitem, part_dimensions, setitem
from .lengths import dimension, fit, length, mask
from .lower import Walk, int_or_none, lowers


@dataclass
class Window:
    """A range of one dimension: ``n`` elements from ``start``, ``step`` apart."""

    start: Any
    step: int
    n: int | Dim

    @property
    def span(self) -> int:
        return (dimension(self.n) - 1) * abs(self.step) + 1

    def low(self) -> Any:
        """Return the smallest index; only for a window of known length."""
        return self.start if self.step > 0 else self.start - np.int64(self.span - 1)

    def indices(self, size: int) -> Any:
        return self.start + self.step * lax.iota(np.int64, size)


@lowers(getitem)
def _getitem(walk: Walk, op: Operation, x: Any, *index: Any, spec: Spec) -> Any:
    kind, index_types = op.results[0].type, [v.type for v in op.positional[1:]]
    part = read(walk, jnp.asarray(x), windows(spec, index, op.operands[0].type, kind, index_types))
    if "a" in spec:
        if 0 in part.shape:  # nothing can be read: a check has failed, or this branch is not taken
            return jnp.zeros(kind.bounds, part.dtype)
        places = _index(spec, index, index_types)
        part = part.at[places].get(mode="promise_in_bounds", wrap_negative_indices=False)
        return fit(part, kind.bounds)
    return lax.reshape(part, kind.bounds)


@lowers(setitem)
def _setitem(walk: Walk, op: Operation, x: Any, *index_and_value: Any, spec: Spec) -> Any:
    return _update(walk, op, x, index_and_value, spec, add=False)


@lowers(add_at)
def _add_at(walk: Walk, op: Operation, x: Any, *index_and_value: Any, spec: Spec) -> Any:
    return _update(walk, op, x, index_and_value, spec, add=True)


def _update(walk: Walk, op: Operation, x: Any, index_and_value: Sequence[Any], spec: Spec, add: bool) -> Any:
    *index, v = index_and_value
    kind, index_types = op.positional[-1].type, [o.type for o in op.positional[1:-1]]
    x, v = jnp.asarray(x), jnp.asarray(v)
    parts = windows(spec, index, op.operands[0].type, kind, index_types)
    if "a" not in spec:
        return write(walk, x, parts, lax.reshape(v, [dimension(w.n) for w in parts]), add)
    block = read(walk, x, parts)
    if 0 in block.shape:  # there is nothing to write
        return x
    places, mode = _index(spec, index, index_types), "promise_in_bounds"
    array_ndim = max(t.ndim for e, t in zip(_asking(spec), index_types) if e == "a")
    sliced = part_dimensions(spec, array_ndim).values()
    inside = mask(walk, kind, [i for i in range(kind.ndim) if i not in sliced])
    bounds = [n for i, n in enumerate(kind.bounds) if i not in sliced]
    if inside is None:
        # The value has known lengths, and a check has shown that the index, padded to its bounds, has the same.
        places = tuple(p[tuple(map(slice, bounds))] if np.ndim(p) == len(bounds) else p for p in places)
    else:
        # Elements beyond a length get an index outside of the array, where the scatter drops them.
        inside = inside[tuple(0 if i in sliced else slice(None) for i in range(kind.ndim))]
        first = spec.index("a")
        places = tuple(jnp.broadcast_to(fit_index(p, bounds), bounds) if np.ndim(p) else p for p in places)
        outside = np.int64(np.shape(block)[first])
        places = (*places[:first], jnp.where(inside, places[first], outside), *places[first + 1 :])
        mode = "drop"
    where = block.at[places]
    change = (where.max if x.dtype == bool else where.add) if add else where.set
    block = change(v, mode=mode, wrap_negative_indices=False)
    return write(walk, x, parts, block, add=False)


def _asking(spec: Spec) -> list[Any]:
    """Return the entries of a spec that take an operand."""
    return [e for e in spec if e != ":"]


def windows(
    spec: Spec, index: Sequence[Any], kind: ArrayType, part: ArrayType, index_types: Sequence[ArrayType]
) -> list[Window]:
    """Return the window of each dimension: the whole dimension for index arrays, and for integers beside them."""
    operands = iter(index)
    array_ndim = max((t.ndim for e, t in zip(_asking(spec), index_types) if e == "a"), default=0)
    places = part_dimensions(spec, array_ndim)
    found = []
    for axis, entry in enumerate(spec):
        whole = Window(np.int64(0), 1, kind.bounds[axis])
        start = next(operands) if entry != ":" else None
        if isinstance(entry, tuple):
            found.append(Window(start, entry[1], part.shape[places[axis]]))
        elif entry == "i" and "a" not in spec:
            found.append(Window(start, 1, 1))
        else:
            found.append(whole)
    return found


def _index(spec: Spec, index: Sequence[Any], types: Sequence[ArrayType]) -> tuple[Any, ...]:
    """Return the index into the block that the windows select."""
    arrays = [t for e, t in zip(_asking(spec), types) if e == "a"]
    bounds = np.broadcast_shapes(*(tuple(1 for _ in t.shape) for t in arrays))
    for t in arrays:
        bounds = tuple(max(n, m) for n, m in zip(bounds, (*bounds[: len(bounds) - t.ndim], *t.bounds)))
    operands = iter(index)
    found: list[Any] = []
    for entry in spec:
        operand = next(operands) if entry != ":" else None
        if entry == "a":
            found.append(fit_index(jnp.asarray(operand), bounds))
        else:
            found.append(operand if entry == "i" else slice(None))
    return tuple(found)


def fit_index(x: Any, bounds: Sequence[int]) -> Any:
    """Return an index array padded to these bounds, except in dimensions where it is broadcast."""
    wanted = bounds[len(bounds) - np.ndim(x) :]
    return fit(x, [n if n == 1 else m for n, m in zip(np.shape(x), wanted)])


def read(walk: Walk, x: Any, parts: Sequence[Window]) -> Any:
    """Return the part of x that the windows select, with all dimensions."""
    if all(w.n == m and int_or_none(w.start) == 0 and w.step == 1 for w, m in zip(parts, x.shape)):
        return x
    if 0 in x.shape or any(w.n == 0 for w in parts):
        return jnp.zeros([dimension(w.n) for w in parts], x.dtype)
    static = [w if not isinstance(w.n, Dim) else Window(np.int64(0), 1, m) for w, m in zip(parts, x.shape)]
    lows, spans = [w.low() for w in static], [w.span for w in static]
    steps = [abs(w.step) for w in static]
    if all(int_or_none(low) is not None for low in lows):
        x = lax.slice(x, [int(low) for low in lows], [int(low) + n for low, n in zip(lows, spans)], steps)
    else:
        x = lax.dynamic_slice(x, lows, spans)
        x = lax.slice(x, [0] * len(spans), spans, steps) if any(k > 1 for k in steps) else x
    back = [axis for axis, w in enumerate(static) if w.step < 0]
    x = lax.rev(x, back) if back else x
    for axis, w in enumerate(parts):
        if isinstance(w.n, Dim):
            x = _read_at_most(x, axis, w)
    return x


def _read_at_most(x: Any, axis: int, w: Window) -> Any:
    """Return a window of one dimension, padded to its bound; elements beyond the array are arbitrary."""
    n, bound = x.shape[axis], dimension(w.n)
    if abs(w.step) != 1:
        return jnp.take(x, jnp.clip(w.indices(bound), 0, n - 1), axis=axis, mode="clip")
    start = w.start
    if w.step < 0:
        x, start = lax.rev(x, [axis]), n - 1 - start
    if int_or_none(start) == 0:
        return fit(x, [bound if i == axis else m for i, m in enumerate(x.shape)])
    # XLA would shift a slice that exceeds the array. So slice within the array, pad the result, and slice that.
    size = min(n, bound)
    low = jnp.clip(start, 0, n - size)
    part = lax.dynamic_slice_in_dim(x, low, size, axis)
    return lax.dynamic_slice_in_dim(_padded(part, axis, 0, bound), start - low, bound, axis)


def _padded(x: Any, axis: int, before: int, after: int) -> Any:
    widths = [(before, after, 0) if i == axis else (0, 0, 0) for i in range(x.ndim)]
    return lax.pad(x, np.zeros((), x.dtype), widths)


def write(walk: Walk, x: Any, parts: Sequence[Window], v: Any, add: bool) -> Any:
    """Return x with v written or added to the windows' part; v has all dimensions, padded to their bounds."""
    if 0 in x.shape or 0 in v.shape:
        return x
    if any(isinstance(w.n, Dim) and abs(w.step) != 1 for w in parts):
        return _scattered(walk, x, parts, v, add)
    back = [axis for axis, w in enumerate(parts) if w.step < 0]
    v = lax.rev(v, back) if back else v
    lows: list[Any] = []
    inside: Any = None
    for axis, w in enumerate(parts):
        low, size, within = w.low(), w.span, None
        if isinstance(w.n, Dim):
            v, low, within = _moved(walk, v, axis, w, x.shape[axis])
        elif abs(w.step) > 1:
            widths = [(0, 0, abs(w.step) - 1 if i == axis else 0) for i in range(v.ndim)]
            v = lax.pad(v, np.zeros((), v.dtype), widths)
            within = np.arange(size) % abs(w.step) == 0
        lows.append(low)
        if within is not None:
            within = jnp.reshape(within, [-1 if i == axis else 1 for i in range(v.ndim)])
            inside = within if inside is None else inside & within
    is_whole = v.shape == x.shape and all(int_or_none(low) == 0 for low in lows)
    if add or inside is not None:
        old = x if is_whole else lax.dynamic_slice(x, lows, v.shape)
        v = (old | v if x.dtype == bool else old + v) if add else v
        v = v if inside is None else jnp.where(inside, v, old)
    return v if is_whole else lax.dynamic_update_slice(x, v, lows)


def _moved(walk: Walk, v: Any, axis: int, w: Window, n: int) -> tuple[Any, Any, Any]:
    """Shift a part of varying length to its position in a slice that lies within the array.

    Returns the slice, its start, and a mask of the slice's elements that belong to the part.
    """
    size, taken = min(n, v.shape[axis]), length(walk, w.n)
    first = w.start if w.step > 0 else w.start - (taken - 1)
    low = jnp.clip(first, 0, n - size)
    offset = first - low
    beyond = v.shape[axis] - taken if w.step < 0 else np.int64(0)  # reversing has put the padding first
    if int_or_none(offset) != 0 or int_or_none(beyond) != 0:
        v = lax.dynamic_slice_in_dim(_padded(v, axis, size, size), size - offset + beyond, size, axis)
    else:
        v = lax.slice_in_dim(v, 0, size, axis=axis)
    place = lax.iota(np.int64, size)
    return v, low, (place >= offset) & (place < offset + taken)


def _scattered(walk: Walk, x: Any, parts: Sequence[Window], v: Any, add: bool) -> Any:
    """Write by a scatter with an index for each element; elements beyond a length get one outside of the array."""
    indices = []
    for axis, w in enumerate(parts):
        place = w.indices(v.shape[axis])
        if isinstance(w.n, Dim):
            beyond = lax.iota(np.int64, v.shape[axis]) >= length(walk, w.n)
            place = jnp.where(beyond, np.int64(x.shape[axis]), place)
        indices.append(place.reshape([-1 if i == axis else 1 for i in range(v.ndim)]))
    where = x.at[tuple(indices)]
    change = (where.max if x.dtype == bool else where.add) if add else where.set
    return change(v, mode="drop", wrap_negative_indices=False)
