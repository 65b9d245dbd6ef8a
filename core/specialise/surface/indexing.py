"""Reading and writing parts of arrays, ``a[...]`` and ``a[...] = v``, with NumPy's meaning of every kind of index."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.builder import Builder, Shape, part_shape, text_of_shape
from ...ir.dynamic import Value
from ...ir.typed import ArrayType, Dim
from ..constants import known_content
from ..traced import Array, Scalar, Trace, Traced, traces
from . import masks
from .arguments import is_array_like, new_array, refuse, value
from .slices import element, elements, slice_entry
from .views import Part, reshape, view_of


@dataclass
class Index:
    """An index parsed against a shape.

    ``dims`` gives for each entry the dimension of the array that it indexes, or -1 for a new one (``np.newaxis``).
    Each of ``entries`` is ":", ("i", index), ("s", start, step, length) or ("a", index array).
    """

    dims: list[int]
    entries: list[Any]
    ellipsis: bool = False
    gap: int | None = None  # the position of an ellipsis that covers no dimension

    @property
    def is_basic(self) -> bool:
        return all(e == ":" or e[0] != "a" for e in self.entries)


def parse(trace: Trace, index: Any, shape: Shape) -> Index:
    """Parse an index into an array of this shape.

    Raises:
        IndexError: there are too many indices, one is out of range, or one is not an index.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_item(trace, x) for x in items]
    taken = sum(_consumed(x) for x in items)
    if taken > len(shape):
        given = f"array is {len(shape)}-dimensional, but {taken} were indexed"
        raise IndexError(f"too many indices for array: {given}")
    has_ellipsis = any(x is Ellipsis for x in items)
    if sum(x is Ellipsis for x in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not has_ellipsis:
        items.append(Ellipsis)
    found = Index([], [], has_ellipsis)
    d = 0
    for x in items:
        if x is Ellipsis:
            rest = len(shape) - taken
            found.gap = len(found.entries) if has_ellipsis and not rest else None
            found.dims += range(d, d + rest)
            found.entries += [":"] * rest
            d += rest
        elif x is None:
            found.dims.append(-1)
            found.entries.append(":")
        elif isinstance(x, tuple):  # the index arrays of a mask
            assert isinstance(x, _Mask)
            check_mask(trace, x.shape, shape, d)
            if not x.shape:  # a bool indexes a new dimension of length 1
                found.dims.append(-1)
                found.entries.append(("a", x[0]))
                continue
            for part in x:
                found.dims.append(d)
                found.entries.append(("a", elements(trace.builder, part, shape[d], d)))
                d += 1
        else:
            found.dims.append(d)
            found.entries.append(_entry(trace, x, shape, d))
            d += 1
    _check_together(trace, [e[1].type.shape for e in found.entries if e != ":" and e[0] in ("i", "a")])
    return found


def _check_together(trace: Trace, shapes: list[Shape]) -> None:
    """Raise IndexError, now or at run time, if index arrays of these shapes cannot be broadcast together."""
    arrays = [shape for shape in shapes if shape]
    if all(shape == arrays[0] for shape in arrays):
        return
    if any(isinstance(n, Dim) and n.bound == 1 for shape in arrays for n in shape):
        raise refuse(
            "an index that combines a bool not known while compiling with index arrays",
            "index by the arrays first, then by the bool",
        )
    try:
        trace.builder.broadcast_shape(arrays)
    except BadInput:
        text = "shape mismatch: indexing arrays could not be broadcast together with shapes "
        raise IndexError(text + "".join(f"{text_of_shape(shape)} " for shape in arrays)) from None


def _item(trace: Trace, x: Any) -> Any:
    """Convert an index item to Ellipsis, None, a slice, a value of integers, or the index arrays of a mask."""
    if x is Ellipsis or x is None or isinstance(x, slice):
        return x
    if isinstance(x, Sequence) and not isinstance(x, (str, bytes)):
        x = list(x)
    if not is_array_like(x):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
        )
    v = value(trace, np.asarray(x, np.int64) if isinstance(x, (list, tuple)) and not len(x) else x)
    if v.type.dtype.kind == "b":
        if not v.type.shape:  # a mask of one element
            one = (
                trace.builder.constant(np.atleast_1d(v.constant)) if v.is_constant else reshape(trace.builder, v, (1,))
            )
            return _Mask(_item(trace, new_array(one)), ())
        known = known_content(trace, v)
        if known is None:
            return _Mask(masks.index_arrays(trace, v), v.type.shape)
        return _Mask(map(trace.builder.constant, np.nonzero(known)), known.shape)
    if v.type.dtype.kind not in "iu":
        raise IndexError(
            "arrays used as indices must be of integer (or boolean) type"
            if v.type.shape
            else "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
        )
    return v


class _Mask(tuple):
    """The index arrays of a mask, with the mask's shape."""

    shape: Shape

    def __new__(cls, parts: Any, shape: Shape) -> _Mask:
        made = super().__new__(cls, parts)
        made.shape = shape
        return made


def check_mask(trace: Trace, mask: Shape, shape: Shape, first: int) -> None:
    """Raise IndexError, now or at run time, if a mask does not fit the dimensions from ``first`` on."""
    text = "boolean index did not match indexed array along axis {}; size of axis is {} but size of corresponding boolean axis is {}"
    for axis, m in enumerate(mask, first):
        n = shape[axis]
        if isinstance(m, int) and isinstance(n, int):
            if m != n:
                raise IndexError(text.format(axis, n, m))
        elif n is not m:
            builder = trace.builder
            lengths = [builder.length(n), builder.length(m)]
            differ = builder.ufunc(np.not_equal, *lengths)
            builder.raise_if(differ, IndexError, text, builder.constant(axis), *lengths)


def _consumed(x: Any) -> int:
    if x is Ellipsis or x is None:
        return 0
    return len(x.shape) if isinstance(x, _Mask) else 1


def _entry(trace: Trace, x: Any, shape: Shape, d: int) -> Any:
    if isinstance(x, slice):
        return slice_entry(trace, x, shape[d])
    if x.type.shape:
        return "a", elements(trace.builder, x, shape[d], d)
    return "i", element(trace.builder, x, shape[d], d)


def _mask_of(trace: Trace, index: Any) -> Value | None:
    """Return the mask if the index is a single mask that is known only at run time (or has no dimensions)."""
    if isinstance(index, tuple) and len(index) == 1:
        (index,) = index
    if isinstance(index, Traced) and index.type.dtype.kind == "b":
        v = trace.value(index)
        return None if v.is_constant and v.type.shape else v
    return None


# Reading


@traces(operator.getitem)
def getitem(trace: Trace, x: Any, index: Any) -> Any:
    if not isinstance(x, (Array, np.ndarray)):
        return _from_container(trace, x, index)
    array = x if isinstance(x, Array) else trace.wrap(trace.value(x))
    found = parse(trace, index, array.type.shape)
    if found.is_basic:
        made = basic_view(trace.builder, array, found)
        is_number = not made.type.shape and not found.ellipsis
        return trace.wrap(trace.value(made)) if is_number else made
    x_, operands, spec, lengths = advanced(trace.builder, trace.value(array), found)
    part = trace.builder.getitem(x_, operands, spec, lengths)
    return trace.wrap(trace.builder.transpose(part, front_first(found, spec, operands, part.type.ndim)))


def _from_container(trace: Trace, x: Any, index: Any) -> Any:
    """Index a NumPy number, or a container at an index that must be known."""
    if isinstance(x, Scalar):
        if x.type.weak:
            raise TypeError(f"{str(x.type)!r} object is not subscriptable")
        return getitem(trace, trace.call(np.asarray, x), index)  # NumPy numbers are indexed like 0-dimensional arrays
    if isinstance(index, slice):
        bounds = [
            trace.concrete(i, "a bound of a slice of a list") if isinstance(i, Traced) else i for i in _parts(index)
        ]
        return x[slice(*bounds)]
    return x[trace.concrete(index, f"an index into a {type(x).__name__}")]


def _parts(s: slice) -> tuple[Any, Any, Any]:
    return s.start, s.stop, s.step


def basic_view(builder: Builder, array: Array, index: Index) -> Array:
    """Return the view that a basic index selects."""
    entries: list[Any] = [":"] * array.type.ndim
    dims: list[int | None] = []
    for d, entry in zip(index.dims, index.entries):
        if d >= 0:
            entries[d] = entry
        if entry == ":" or entry[0] == "s":
            dims.append(d if d >= 0 else None)
    if all(e == ":" for e in entries) and dims == list(range(array.type.ndim)):
        return array.viewed(array.view, array.type)
    return view_of(builder, array, entries, dims)


def advanced(builder: Builder, x: Value, index: Index) -> tuple[Value, list[Value], tuple[Any, ...], list[Any]]:
    """Return the array with the index's new dimensions, the index's operands, its spec, and the slices' lengths."""
    if -1 in index.dims:
        x = reshape(builder, x, tuple(1 if d < 0 else x.type.shape[d] for d in index.dims))
    operands = [e[1] for e in index.entries if e != ":"]
    spec = tuple(e if e == ":" else ("s", e[2]) if e[0] == "s" else e[0] for e in index.entries)
    return x, operands, spec, [e[3] for e in index.entries if e != ":" and e[0] == "s"]


def front_first(index: Index, spec: tuple[Any, ...], operands: list[Value], ndim: int) -> list[int]:
    """Return the permutation that puts an indexed part's dimensions in NumPy's order.

    NumPy moves the dimensions of index arrays to the front if an ellipsis separates them, even one that covers no
    dimension; ``spec`` does not show such an ellipsis.
    """
    places = [i for i, e in enumerate(spec) if e in ("i", "a")]
    gap, together = index.gap, places == list(range(places[0], places[-1] + 1))
    if gap is None or not together or not places[0] < gap <= places[-1]:
        return list(range(ndim))
    count = max(v.type.ndim for e, v in zip([e for e in spec if e != ":"], operands) if e == "a")
    before = places[0]
    return [*range(before, before + count), *range(before), *range(before + count, ndim)]


# Writing


@traces(operator.setitem)
def setitem(trace: Trace, x: Any, index: Any, v: Any) -> None:
    if not isinstance(x, Array):
        _into_container(trace, x, index, v)
        return
    x.check_writeable("assignment destination is read-only")
    mask = _mask_of(trace, index)
    if mask is not None and _is_for_each(value(trace, v).type.shape, x.type.ndim - mask.type.ndim):
        _write_where(trace, x, mask, value(trace, v))
        return
    if isinstance(v, Array) and v.storage is x.storage and _is_same_part(trace, x, index, v):
        return
    if isinstance(v, Array) and v.storage is x.storage and _is_whole_mask(x, index):
        raise BadInput(
            "entries selected by a mask are assigned from an array in the same memory, which the write may overwrite before it is "
            "read; copy it first"
        )
    v = value(trace, v)
    _check_element(x, index, v.type)
    update(trace, x, index, v)


def _is_whole_mask(x: Array, index: Any) -> bool:
    """Whether an index is one mask of all dimensions: NumPy then writes without first copying the values."""
    (mask,) = index if isinstance(index, tuple) and len(index) == 1 else (index,)
    if isinstance(mask, list):
        return x.type.ndim == 1 and all(isinstance(e, bool) for e in mask)
    if isinstance(mask, Traced):
        mask = mask.type
    return isinstance(mask, (np.ndarray, ArrayType)) and mask.dtype == bool and mask.ndim == x.type.ndim


def _check_element(x: Array, index: Any, given: ArrayType) -> None:
    """Refuse an array that NumPy does not accept for one element, in NumPy's words: the rule depends on its version."""
    entries = index if isinstance(index, tuple) else (index,)
    of_one = len(entries) == x.type.ndim and all(
        type(e) is int or isinstance(e, np.integer) or isinstance(e, Scalar) and e.type.dtype.kind in "iu"
        for e in entries
    )
    if not of_one or not given.ndim or not all(isinstance(n, int) for n in given.shape):
        return
    try:
        np.zeros(1, x.type.dtype)[0] = np.zeros(tuple(given.shape), given.dtype)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise BadInput(f"{error}: an array is assigned to one element; assign a number", in_python=error) from None


def _is_same_part(trace: Trace, x: Array, index: Any, v: Array) -> bool:
    """Whether ``v`` is the view ``x[index]``, as after ``x[index] += ...``; then nothing needs to be written."""
    found = parse(trace, index, x.type.shape)
    if not found.is_basic:
        return False
    view = basic_view(trace.builder, x, found).view
    if view is v.view:
        return True
    return isinstance(view, Part) and isinstance(v.view, Part) and view.key == v.view.key


def _into_container(trace: Trace, x: Any, index: Any, v: Any) -> None:
    if isinstance(x, np.ndarray):
        raise BadInput(
            "compiled code writes to an array that is a compile-time constant; copy it first: a = np.array(a)"
        )
    if isinstance(x, Scalar):
        raise TypeError(f"{str(x.type)!r} object does not support item assignment")
    if isinstance(index, Traced):
        index = trace.concrete(index, f"an index into a {type(x).__name__}")
    x[index] = v


def update(trace: Trace, x: Array, index: Any, v: Value, add: bool = False) -> None:
    """Write a part of an array, or add to it; with ``add`` an element named twice is added to twice."""
    builder = trace.builder
    found = parse(trace, index, x.type.shape)
    v = _converted(builder, v, x.type)
    if found.is_basic:
        part = basic_view(builder, x, found)
        v = fitted(builder, v, part.type.shape)
        if add:
            v = builder.ufunc(np.add, trace.value(part), v)
        trace.write(part, v)
        return
    base, operands, spec, lengths = advanced(builder, trace.value(x), found)
    shape = part_shape(base.type.shape, [o.type.shape for o in operands], spec, lengths)
    order = front_first(found, spec, operands, len(shape))
    v = fitted(builder, v, tuple(shape[i] for i in order))
    v = builder.transpose(v, [order.index(i) for i in range(len(order))])
    made = (builder.add_at if add else builder.setitem)(base, operands, v, spec)
    trace.write(x, reshape(builder, made, x.type.shape))


def _converted(builder: Builder, v: Value, kind: ArrayType) -> Value:
    if v.type.dtype.kind == "c" and kind.dtype.kind != "c":
        raise BadInput(
            f"a complex value cannot be written to an array of {kind.dtype}; make the array complex, or write its .real"
        )
    return builder.cast(v, kind.dtype)


def fitted(builder: Builder, v: Value, shape: Shape) -> Value:
    """Broadcast a value to the shape of the part that it replaces.

    Raises:
        BadInput: the shapes do not fit.
    """
    while v.type.ndim > len(shape) and v.type.shape[0] == 1:
        v = reshape(builder, v, v.type.shape[1:])
    if len(v.type.shape) > len(shape) or any(
        isinstance(n, int) and isinstance(m, int) and n not in (1, m)
        for n, m in zip(v.type.shape[::-1], tuple(shape)[::-1])
    ):
        given, wanted = text_of_shape(v.type.shape), text_of_shape(shape)
        text = f"could not broadcast input array from shape {given} into shape {wanted}"
        raise BadInput(text, in_python=ValueError(text))
    builder.broadcast_shape([shape, v.type.shape])
    return builder.broadcast_to(v, tuple(shape))


def _is_for_each(shape: Shape, rest: int) -> bool:
    """Whether a value of this shape is broadcast to a mask's elements, which have ``rest`` dimensions."""
    return all(n == 1 for n in shape[: max(len(shape) - rest, 0)])


def _write_where(trace: Trace, x: Array, mask: Value, v: Value) -> None:
    """Write ``x[mask] = v`` for a mask known only at run time and a value broadcast to the chosen elements."""
    builder, shape = trace.builder, x.type.shape
    n = mask.type.ndim
    rest = shape[n:]
    v = _converted(builder, v, x.type)
    while v.type.ndim > len(rest):
        v = reshape(builder, v, v.type.shape[1:])
    check_mask(trace, mask.type.shape, shape, 0)
    mask = reshape(builder, mask, (*mask.type.shape, *[1] * len(rest)))
    kept = trace.value(x)
    chosen = builder.where(builder.broadcast_to(mask, shape), builder.broadcast_to(v, shape), kept)
    trace.write(x, chosen)
