"""Conversion of the arguments of traced functions: numbers, arrays, shapes and axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir import typed
from ...ir.builder import Builder, Shape, text_of_shape
from ...ir.dynamic import Value
from ...ir.typed import ArrayType, Dim
from ..rows import Rows, rows_of
from ..traced import Array, Scalar, Storage, Trace, Traced

NUMBERS = (bool, int, float, complex, np.bool_, np.number)


def is_number(x: Any) -> bool:
    """Whether x is a number, traced or not; a 0-dimensional array is not one."""
    return isinstance(x, (Scalar, *NUMBERS))


def is_array_like(x: Any) -> bool:
    """Whether NumPy would make an array of numbers from x."""
    if isinstance(x, (Traced, np.ndarray, *NUMBERS)):
        return True
    rows = rows_of(x)
    if rows is not None:
        return is_array_like(rows.item)
    return isinstance(x, (list, tuple)) and all(map(is_array_like, x))


def holds_traced(x: Any) -> bool:
    """Whether x is traced, or is a (nested) list or tuple that contains a traced value."""
    return isinstance(x, (Traced, Rows)) or isinstance(x, (list, tuple)) and any(map(holds_traced, x))


def value(trace: Trace, x: Any) -> Value:
    """Return the IR value of x: anything that NumPy makes an array of numbers from."""
    if rows_of(x) is not None:
        return _of_rows(trace, x)
    if isinstance(x, (list, tuple)) and holds_traced(x):
        return _nested(trace, x)
    return trace.value(np.array(x) if isinstance(x, (list, tuple)) else x)


def _nested(trace: Trace, x: Sequence[Any]) -> Value:
    """Stack a list of numbers and arrays into one array."""
    parts = [value(trace, e) for e in x]
    builder = trace.builder
    shape = parts[0].type.shape
    for part in parts:
        if len(part.type.shape) != len(shape) or part.type.bounds != parts[0].type.bounds:
            shapes = " and ".join(sorted({text_of_shape(p.type.shape) for p in parts}))
            raise BadInput(
                f"a list whose items have the shapes {shapes} cannot become an array; give all items one shape"
            )
    dtype = np.result_type(*(p.type.dtype for p in parts))
    rows = [builder.reshape(full_like(builder, builder.cast(p, dtype), shape), (1, *shape)) for p in parts]
    return builder.concatenate(rows, 0, len(rows))


def _of_rows(trace: Trace, x: Any) -> Value:
    """Stack the items of a list of traced length: numbers, arrays, or tuples or lists of such."""
    rows: Any = rows_of(x)
    builder = trace.builder
    n = builder.cast(trace.value(rows.length), np.int64)
    size: Any = int(n.constant) if n.is_constant else Dim(n, rows.capacity)

    def of(item: Any, columns: Any, axis: int) -> Value:
        if isinstance(item, (Scalar, Array, *NUMBERS)):
            column = next(columns).ir
            spec = (("s", 1), *[":"] * (column.type.ndim - 1))
            return builder.getitem(column, [builder.constant(0, np.int64)], spec, [size])
        if type(item) not in (list, tuple) or not item:
            raise BadInput("a list of objects cannot become an array of numbers; make a list of numbers of them")
        inner = rows_of(item)
        if inner is not None and not inner.is_full:
            raise BadInput("a list of lists whose lengths are known only at run time cannot become an array")
        if inner is not None:
            return of(inner.item, columns, axis + 1)
        parts = [of(e, columns, axis) for e in item]
        dtype = np.result_type(*(p.type.dtype for p in parts))
        shape = parts[0].type.shape
        if any(p.type.shape != shape for p in parts):
            raise BadInput("a list of tuples whose entries have different shapes cannot become an array")
        apart = [builder.reshape(builder.cast(p, dtype), (*shape[:axis], 1, *shape[axis:])) for p in parts]
        return builder.concatenate(apart, axis, len(apart))

    return of(rows.item, iter(rows.columns), 1)


def full_like(builder: Builder, x: Value, shape: Shape) -> Value:
    """Turn a number into an array of one element, which ``reshape`` accepts; return arrays unchanged."""
    return builder.full((1,), x) if not shape else x


def strong(builder: Builder, x: Value) -> Value:
    """Convert a Python number to NumPy's number of the same dtype."""
    return builder.cast(x, x.type.dtype) if x.type.weak else x


def weak(builder: Builder, x: Value, dtype: Any) -> Value:
    """Convert to a Python number of the given kind: bool, int64, float64 or complex128."""
    dtype = np.dtype(dtype)
    kind = ArrayType(dtype, (), True)
    if x.type == kind:
        return x
    if x.is_constant:
        return Value(type=kind, constant=np.asarray(x.constant).astype(dtype)[()])
    if x.type.dtype != dtype and dtype.kind == "b":
        return weak(builder, builder.ufunc(np.not_equal, x, builder.constant(0, x.type.dtype)), dtype)
    return builder.call(typed.cast, [x], [kind], dtype=dtype)[0]


def as_numpy(made: Value) -> Value:
    """Make a NumPy function's new result strongly typed: NumPy never returns a Python number."""
    if made.type.weak:
        kind = ArrayType(made.type.dtype)
        if made.is_constant:
            return Value(type=kind, constant=made.constant)
        made.type = kind
    return made


def new_array(made: Value) -> Array:
    """Wrap a value as an array with storage of its own, even if it has no dimensions."""
    return Array(Storage(made))


def scalar_of(builder: Builder, x: Value) -> Value:
    """Return an argument of ``float`` or ``int``, which must be a number or a 0-dimensional array."""
    if x.type.shape:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return x


def number_of(builder: Builder, x: Value) -> Value:
    """Return the only element of an array, for ``bool`` and ``item``."""
    if not x.type.shape:
        return x
    if x.type.is_static and set(x.type.shape) == {1}:
        zeros = [builder.constant(0, np.int64)] * x.type.ndim
        return builder.getitem(x, zeros, ("i",) * x.type.ndim, [])
    raise BadInput(
        f"one number is needed, but this is an array of shape {text_of_shape(x.type.shape)}; index an element"
    )


# Axes and shapes


def integer(trace: Trace, x: Any, what: str) -> int:
    """Return an int that must be known while compiling."""
    if isinstance(x, Traced):
        return operator.index(trace.concrete(x, what))
    return operator.index(x)


def axis_of(trace: Trace, axis: Any, ndim: int) -> int:
    """Return an axis as a non-negative int.

    Raises:
        numpy.exceptions.AxisError: there is no such axis.
    """
    axis = integer(trace, axis, "an axis")
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def axes_of(trace: Trace, axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the sorted axes for None (all axes), one axis, or several."""
    if axis is None:
        return tuple(range(ndim))
    found = [axis_of(trace, a, ndim) for a in (axis if isinstance(axis, (tuple, list)) else [axis])]
    if len(set(found)) < len(found):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(found))


def reduced_axes(trace: Trace, axis: Any, ndim: int) -> tuple[int, ...]:
    """``axes_of`` for a ufunc's reduction, which accepts axis 0 or -1 of a single number."""
    if ndim == 0 and not isinstance(axis, (tuple, list)) and integer(trace, axis or 0, "an axis") in (0, -1):
        return ()
    return axes_of(trace, axis, ndim)


def dimension(trace: Trace, n: Any, what: str) -> int | Dim:
    """Return a length of a shape: an int if it is known, a ``Dim`` if only a bound of it is known."""
    v = None if not isinstance(n, Traced) else trace.value(n)
    if v is None or v.is_constant:
        known = operator.index(n) if v is None else int(v.constant)
        if known < 0:
            raise ValueError("negative dimensions are not allowed")
        return known
    if v.type.shape or v.type.dtype.kind not in "iu":
        raise TypeError(f"'{v.type.dtype}' object cannot be interpreted as an integer")
    low, high = trace.builder.integers.interval(v)
    if low == high:
        return low
    v = trace.builder.cast(v, np.int64)
    if low >= 0 and (high <= _LONGEST or v in trace.builder.integers.dimensions):
        return Dim(v, high)
    return operator.index(trace.concrete(n, what))


_LONGEST = 2**20  # the largest bound that a Dim takes from a number: arrays are allocated for the bound


def shape_of(trace: Trace, shape: Any, what: str = "the shape of an array") -> Shape:
    """Convert a shape given as one length or several."""
    if not isinstance(shape, (tuple, list)):
        if isinstance(shape, Array) or isinstance(shape, np.ndarray) and shape.ndim:
            shape = [shape[i] for i in range(len(shape))]
        else:
            shape = [shape]
    return tuple(dimension(trace, n, what) for n in shape)


def total(builder: Builder, shape: Shape) -> int | Dim:
    """Return the number of elements of a shape."""
    fixed, bound, found = 1, 1, None
    for n in shape:
        if isinstance(n, Dim):
            found = n.value if found is None else builder.ufunc(np.multiply, found, n.value)
            bound *= n.bound
        else:
            fixed *= n
    if found is None:
        return fixed
    if fixed != 1:
        found = builder.ufunc(np.multiply, found, builder.constant(fixed, np.int64))
    return Dim(found, bound * fixed)


def static(x: Value, function: str) -> Value:
    """Return x, all of whose lengths must be known while compiling.

    Raises:
        BadInput: a length is known only at run time.
    """
    if not x.type.is_static:
        text = text_of_shape(x.type.shape)
        raise BadInput(
            f"{function} of an array of shape {text}, whose length is known only when the program runs, cannot be "
            "compiled; give it a slice of a fixed length"
        )
    return x


def refuse(what: str, remedy: str) -> BadInput:
    """Make the error for something that compiled code cannot do."""
    return BadInput(f"{what} cannot be compiled; {remedy}")


def refuse_given(function: str, **options: Any) -> None:
    """Raise for each option that is given although compiled code does not support it."""
    given = [name for name, x in options.items() if x is not None]
    if given:
        raise BadInput(f"{function}({', '.join(given)}=) cannot be compiled; leave it out")
