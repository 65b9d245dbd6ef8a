"""Functions that change shapes: views where NumPy gives views, copies where it copies."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import BadInput
from ...faults import kind_of
from ...ir.builder import Builder, Shape
from ...ir.typed import Dim
from ..traced import Array, Trace, Traced, length, traces
from .arguments import axes_of, axis_of, integer, new_array, refuse, shape_of, strong, total, value
from .creation import asarray
from .view_or_copy import is_c_array, known_layout, maybe_copied, note_view, stands_in_order
from .views import permuted, reshaped


def as_array(trace: Trace, x: Any) -> Array:
    """Return x as an array."""
    return asarray(trace, x) if not isinstance(x, Array) else x


@traces(np.reshape)
def reshape(
    trace: Trace, a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    array = as_array(trace, a)
    new = wanted_shape(trace, array.type.shape, newshape if shape is None else shape)
    if order == "F":
        flipped = trace.call(np.transpose, array)
        return trace.call(np.transpose, reshape(trace, flipped, tuple(map(length, new[::-1]))))
    if order == "A":
        return _by_its_order(trace, array, new, copy)
    is_view = not copy and shares_memory(trace, array, new)
    if is_view:
        return reshaped(trace.builder, array, new)
    if copy is False:
        _refuse_copy(is_view)
    made = trace.builder.reshape(_one(trace.builder, array, trace), new) if new else trace.value(array)
    return new_array(made) if is_view is False else maybe_copied(array, new_array(made))


def _by_its_order(trace: Trace, array: Array, shape: Shape, copy: Any) -> Any:
    """``reshape`` with order="A": by columns if the array is in Fortran order, else by rows."""

    def apply(x: Array) -> Any:
        return reshape(trace, array, tuple(map(length, shape)), "C" if x is array else "F", copy=copy)

    return in_its_order(trace, array, "A", apply)


def _refuse_copy(is_view: bool | None) -> None:
    if is_view is None:
        raise refuse(
            "reshape(copy=False) of an array whose order in memory is not known while compiling",
            "take np.ascontiguousarray of it first",
        )
    raise ValueError("Unable to avoid creating a copy while reshaping.")


def _one(builder: Builder, array: Array, trace: Trace) -> Any:
    v = trace.value(array)
    return v if v.type.shape else builder.full((1,), v)


def _no_shape(size: int, items: Any) -> BadInput:
    written = ",".join("newaxis" if n == -1 else str(n) for n in items)
    text = f"cannot reshape array of size {size} into shape ({written}{',' if len(items) == 1 else ''})"
    return BadInput(text, in_python=ValueError(text))


def wanted_shape(trace: Trace, shape: Shape, new: Any) -> Shape:
    """Return the shape that ``reshape`` is asked for, with -1 replaced."""
    items = list(new) if isinstance(new, (tuple, list)) else [new]
    if isinstance(new, Array):
        items = [new[i] for i in range(len(new))]
    unknown = [i for i, n in enumerate(items) if not isinstance(n, Traced) and operator.index(n) == -1]
    known = [n for i, n in enumerate(items) if i not in unknown]
    found = list(shape_of(trace, known))
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    builder = trace.builder
    size, rest = total(builder, shape), total(builder, tuple(found))
    if unknown:
        if isinstance(size, int) and isinstance(rest, int):
            if rest == 0 or size % rest:
                raise _no_shape(size, items)
            missing: int | Dim = size // rest
        elif rest == 1:
            missing = size
        else:
            quotient = builder.ufunc(np.floor_divide, builder.length(size), builder.length(rest))
            bound = size.bound if isinstance(size, Dim) else size
            missing = Dim(quotient, bound // max(rest if isinstance(rest, int) else 1, 1))
        found.insert(unknown[0], missing)
    elif isinstance(size, int) and isinstance(rest, int):
        if size != rest:
            raise _no_shape(size, found)
    if tuple(found) != shape and not (isinstance(size, int) and isinstance(rest, int)) and not unknown:
        builder.same_length(size, rest)
    return tuple(found)


def shares_memory(trace: Trace, array: Array, shape: Shape) -> bool | None:
    """Whether NumPy's reshape of an array gives a view; None if that is not known while compiling."""
    if shape == array.type.shape or 0 in array.type.shape:
        return True
    if is_c_array(trace, array):
        return note_view(array, True)
    like = known_layout(trace, array)
    if like is None:
        return None
    bounds = tuple(max(d.bound if isinstance(d, Dim) else d, 1) for d in shape)
    return note_view(array, np.shares_memory(like, like.reshape(bounds)))


@traces(np.ravel)
def ravel(trace: Trace, a: Any, order: str = "C") -> Any:
    array = as_array(trace, a)
    if order == "F":
        return reshape(trace, trace.call(np.transpose, array), -1)
    if order in ("A", "K"):
        return in_its_order(trace, array, order, lambda x: ravel(trace, x))
    is_in_order = stands_in_order(trace, array)
    if is_in_order is None:
        return maybe_copied(array, flatten(trace, array))
    return reshape(trace, array, -1) if is_in_order else flatten(trace, array)


def in_its_order(trace: Trace, array: Array, order: str, apply: Any) -> Any:
    """Apply a function to the array, transposed if it is in Fortran order ("A") or into its memory order ("K")."""
    if array.type.ndim < 2 or is_c_array(trace, array):
        note_view(array, False)
        return apply(array)
    like = known_layout(trace, array)
    note_view(array, False)
    axes = None
    if like is not None and order == "A":
        is_by_columns = like.flags.f_contiguous and not like.flags.c_contiguous
        axes = tuple(range(like.ndim))[::-1] if is_by_columns else tuple(range(like.ndim))
    elif like is not None and all(s >= 0 for s in like.strides):
        axes = tuple(sorted(range(like.ndim), key=lambda i: -like.strides[i]))
        given = [like.strides[i] for i in axes if like.shape[i] > 1]
        axes = axes if len({*given}) == len(given) and 0 not in given else None
    if axes is None:
        raise refuse(
            f"order={order!r} of an array whose order in memory is not known while compiling",
            "give order='C' or 'F', or take np.ascontiguousarray of it first",
        )
    return apply(array if axes == tuple(range(array.type.ndim)) else trace.call(np.transpose, array, axes))


def flatten(trace: Trace, a: Any, order: str = "C") -> Any:
    array = as_array(trace, trace.call(np.transpose, a) if order == "F" else a)
    if order in ("A", "K"):
        return in_its_order(trace, array, order, lambda x: flatten(trace, x))
    return reshape(trace, new_array(trace.value(array)), -1)


@traces(np.transpose, np.permute_dims)
def transpose(trace: Trace, a: Any, axes: Any = None) -> Any:
    array = as_array(trace, a)
    ndim = array.type.ndim
    order = range(ndim)[::-1] if axes is None else [axis_of(trace, i, ndim) for i in axes]
    if sorted(order) != list(range(ndim)):
        raise ValueError("axes don't match array")
    return permuted(trace.builder, array, list(order))


@traces(np.matrix_transpose)
def matrix_transpose(trace: Trace, x: Any, /) -> Any:
    return swapaxes(trace, x, -1, -2)


@traces(np.swapaxes)
def swapaxes(trace: Trace, a: Any, axis1: Any, axis2: Any) -> Any:
    array = as_array(trace, a)
    order = list(range(array.type.ndim))
    i, j = (axis_of(trace, x, len(order)) for x in (axis1, axis2))
    order[i], order[j] = order[j], order[i]
    return permuted(trace.builder, array, order)


@traces(np.moveaxis)
def moveaxis(trace: Trace, a: Any, source: Any, destination: Any) -> Any:
    array = as_array(trace, a)
    ndim = array.type.ndim
    from_, to = (
        [axis_of(trace, i, ndim) for i in (x if isinstance(x, (tuple, list, range)) else [x])]
        for x in (source, destination)
    )
    order = [i for i in range(ndim) if i not in from_]
    for place, i in sorted(zip(to, from_)):
        order.insert(place, i)
    return permuted(trace.builder, array, order)


@traces(np.rollaxis)
def rollaxis(trace: Trace, a: Any, axis: Any, start: Any = 0) -> Any:
    ndim = as_array(trace, a).type.ndim
    axis = axis_of(trace, axis, ndim)
    start = start + ndim if start < 0 else start
    return moveaxis(trace, a, axis, start - 1 if axis < start else start)


@traces(np.squeeze)
def squeeze(trace: Trace, a: Any, axis: Any = None) -> Any:
    array = as_array(trace, a)
    shape = array.type.shape
    if axis is None and not array.type.is_static:
        raise refuse("np.squeeze of an array with a length that is known only when the program runs", "pass axis=")
    gone = [i for i, n in enumerate(shape) if n == 1] if axis is None else axes_of(trace, axis, len(shape))
    if axis is None and not gone:
        return array
    if any(shape[i] != 1 for i in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return permuted(trace.builder, array, [i for i in range(len(shape)) if i not in gone])


@traces(np.expand_dims)
def expand_dims(trace: Trace, a: Any, axis: Any) -> Any:
    array = as_array(trace, a)
    new = axis if isinstance(axis, (tuple, list)) else [axis]
    ndim = array.type.ndim + len(new)
    places = {axis_of(trace, i, ndim) for i in new}
    old = iter(range(array.type.ndim))
    return permuted(trace.builder, array, [None if i in places else next(old) for i in range(ndim)])


@traces(np.flip)
def flip(trace: Trace, m: Any, axis: Any = None) -> Any:
    array = as_array(trace, m)
    axes = axes_of(trace, axis, array.type.ndim)
    index = tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(array.type.ndim))
    return trace.call(operator.getitem, array, index)


@traces(np.flipud)
def flipud(trace: Trace, m: Any) -> Any:
    return flip(trace, m, 0)


@traces(np.fliplr)
def fliplr(trace: Trace, m: Any) -> Any:
    return flip(trace, m, 1)


@traces(np.rot90)
def rot90(trace: Trace, m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    k = integer(trace, k, "the number of turns of np.rot90") % 4
    a, b = axes
    if k == 0:
        return trace.call(operator.getitem, m, ...)
    if k == 2:
        return flip(trace, m, (a, b))
    return swapaxes(trace, flip(trace, m, b), a, b) if k == 1 else flip(trace, swapaxes(trace, m, a, b), b)


@traces(np.roll)
def roll(trace: Trace, a: Any, shift: Any, axis: Any = None) -> Any:
    array = as_array(trace, a)
    if axis is None:
        flat = roll(trace, reshape(trace, new_array(trace.value(array)), -1), shift, 0)
        return reshape(trace, flat, tuple(map(length, array.type.shape)))
    shifts, axes = (list(x) if isinstance(x, (tuple, list)) else [x] for x in (shift, axis))
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    axes = axes * len(shifts) if len(axes) == 1 else axes
    for s, i in zip(shifts, axes, strict=True):
        array = _rolled(trace, array, s, axis_of(trace, i, array.type.ndim))
    return array


def _rolled(trace: Trace, array: Array, shift: Any, axis: int) -> Array:
    n, before = array.type.shape[axis], (slice(None),) * axis
    if isinstance(shift, Traced) or isinstance(n, Dim):
        places = trace.call(np.arange, length(n))
        index = trace.call(np.remainder, trace.call(operator.sub, places, shift), length(n))
        return trace.call(operator.getitem, array, (*before, index))
    if n == 0 or operator.index(shift) % n == 0:
        return new_array(trace.value(array))
    cut = n - operator.index(shift) % n
    parts = [trace.call(operator.getitem, array, (*before, s)) for s in (slice(cut, None), slice(None, cut))]
    return trace.call(np.concatenate, parts, axis)


@traces(np.shape)
def shape(trace: Trace, a: Any) -> Any:
    return tuple(map(length, value(trace, a).type.shape))


@traces(np.ndim)
def ndim(trace: Trace, a: Any) -> int:
    return value(trace, a).type.ndim


@traces(np.size)
def size(trace: Trace, a: Any, axis: Any = None) -> Any:
    shape = value(trace, a).type.shape
    if axis is not None:
        return length(shape[axis_of(trace, axis, len(shape))])
    return length(total(trace.builder, shape))


@traces(len)
def length_of(trace: Trace, a: Any) -> Any:
    shape = value(trace, a).type.shape
    if not shape:
        raise TypeError(
            "len() of unsized object" if isinstance(a, Array) else f"object of type {kind_of(a)!r} has no len()"
        )
    return length(shape[0])


def astype(
    trace: Trace,
    x: Any,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
    device: Any = None,
) -> Any:
    if np.dtype(dtype).kind == "O":
        return trace.call(np.array, x, dtype)
    v = value(trace, x)
    if not np.can_cast(v.type.dtype, dtype, casting):  # type: ignore[arg-type]
        raise BadInput(
            f"Cannot cast array data from {v.type.dtype!r} to {np.dtype(dtype)!r} according to the rule '{casting}'"
        )
    if isinstance(x, Array) and not copy and v.type.dtype == np.dtype(dtype):
        return x
    made = trace.builder.cast(strong(trace.builder, v), dtype)
    return new_array(made) if isinstance(x, Array) else trace.wrap(made)


traces(np.astype)(astype)
