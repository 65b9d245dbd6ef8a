"""Functions that create arrays from numbers, shapes and other arrays."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.builder import Shape
from ...ir.dynamic import Value
from ...ir.typed import ArrayType, Dim
from ..traced import Array, Scalar, Trace, Traced, traces
from .arguments import dimension, integer, new_array, refuse, shape_of, static, strong, total, value
from .indexing import fitted
from .view_or_copy import maybe_copied, stands_in_order
from .views import derived, permuted, read_only, reshape


@traces(np.array)
def array(
    trace: Trace,
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Any:
    v = value(trace, object)
    if dtype is None and copy in (False, None) and isinstance(object, Array) and v.type.ndim >= ndmin:
        return object
    v = trace.builder.cast(v, v.type.dtype if dtype is None else dtype)
    if v.type.ndim < ndmin:
        v = reshape(trace.builder, v, (*[1] * (ndmin - v.type.ndim), *v.type.shape))
    return new_array(v)


@traces(np.asarray, np.asanyarray, np.asarray_chkfinite)
def asarray(trace: Trace, a: Any, dtype: Any = None, order: Any = None, copy: Any = None, **options: Any) -> Any:
    if not isinstance(a, Array) or copy or dtype is not None and np.dtype(dtype) != a.type.dtype:
        return array(trace, a, dtype)
    if order in ("C", "F"):
        is_in_order = stands_in_order(trace, a, order)
        if is_in_order:
            return a
        made = new_array(trace.value(a))
        return made if is_in_order is False else maybe_copied(a, made)
    return a


@traces(np.ascontiguousarray)
def ascontiguousarray(trace: Trace, a: Any, dtype: Any = None, **options: Any) -> Any:
    return trace.call(np.atleast_1d, asarray(trace, a, dtype, "C"))


@traces(np.asfortranarray)
def asfortranarray(trace: Trace, a: Any, dtype: Any = None, **options: Any) -> Any:
    return trace.call(np.atleast_1d, asarray(trace, a, dtype, "F"))


@traces(np.require)
def require(trace: Trace, a: Any, dtype: Any = None, requirements: Any = None, **options: Any) -> Any:
    wanted = {str(x).upper()[:1] for x in requirements or ()}
    if wanted - {"C", "F"}:
        raise refuse(f"np.require of {requirements}", "use .copy(), which owns its memory and is aligned")
    return asarray(trace, a, dtype, next(iter(wanted), None))


@traces(np.copy)
def copy(trace: Trace, a: Any, *args: Any, **kwargs: Any) -> Any:
    return a if isinstance(a, Scalar) else new_array(value(trace, a))


@traces(np.zeros, np.empty)
def zeros(trace: Trace, shape: Any, dtype: Any = float, order: str = "C", **options: Any) -> Any:
    return _filled(trace, shape, 0, float if dtype is None else dtype)


@traces(np.ones)
def ones(trace: Trace, shape: Any, dtype: Any = None, order: str = "C", **options: Any) -> Any:
    return _filled(trace, shape, 1, dtype or float)


@traces(np.full)
def full(trace: Trace, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **options: Any) -> Any:
    return _filled(trace, shape, fill_value, dtype)


def _filled(trace: Trace, shape: Any, x: Any, dtype: Any) -> Array:
    v = value(trace, x)
    v = trace.builder.cast(v, v.type.dtype if dtype is None else dtype)
    return new_array(fitted(trace.builder, v, shape_of(trace, shape)))


def _like(x: Any) -> Any:
    def apply(
        trace: Trace, a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **options: Any
    ) -> Any:
        v = value(trace, a)
        made = trace.builder.cast(trace.builder.constant(x), dtype or v.type.dtype)
        return new_array(trace.builder.broadcast_to(made, v.type.shape if shape is None else shape_of(trace, shape)))

    return apply


traces(np.zeros_like, np.empty_like)(_like(0))
traces(np.ones_like)(_like(1))


@traces(np.full_like)
def full_like(
    trace: Trace,
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    **options: Any,
) -> Any:
    v = value(trace, a)
    made = trace.builder.cast(value(trace, fill_value), dtype or v.type.dtype)
    return new_array(trace.builder.broadcast_to(made, v.type.shape if shape is None else shape_of(trace, shape)))


@traces(np.arange)
def arange(trace: Trace, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, **options: Any) -> Any:
    builder = trace.builder
    start, stop = (0, start) if stop is None else (start, stop)
    parts = [value(trace, x) for x in (start, stop, step)]
    if all(p.type.dtype.kind in "iu" for p in parts) and not isinstance(step, Traced):
        n = dimension(trace, _trips(trace, start, stop, operator.index(step)), "the length of np.arange")
        found = builder.iota(n)
        if step != 1:
            found = builder.ufunc(np.multiply, found, builder.constant(step))
        if isinstance(start, Traced) or start != 0:
            found = builder.ufunc(np.add, found, parts[0])
    else:
        known = [trace.concrete(x, "a bound of np.arange") if isinstance(x, Traced) else x for x in (start, stop, step)]
        found = builder.constant(np.arange(*known))
    return new_array(found if dtype is None else builder.cast(found, dtype))


def _trips(trace: Trace, start: Any, stop: Any, step: int) -> Any:
    """Return the length of ``range(start, stop, step)``."""
    call = trace.unchecked
    if not isinstance(start, Traced) and not isinstance(stop, Traced):
        return len(range(start, stop, step))
    span = call(operator.sub, stop, start) if step > 0 else call(operator.sub, start, stop)
    n = span if abs(step) == 1 else call(operator.floordiv, call(operator.add, span, abs(step) - 1), abs(step))
    return call(builtins.max, n, 0)


@traces(np.linspace)
def linspace(
    trace: Trace,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    **options: Any,
) -> Any:
    builder = trace.builder
    n = integer(trace, num, "the length of np.linspace")
    a, b = (builder.ufunc(np.multiply, value(trace, x), builder.constant(1.0)) for x in (start, stop))
    a, b = strong(builder, a), strong(builder, b)
    shape = builder.broadcast_shape([a.type.shape, b.type.shape])
    gaps = n - 1 if endpoint else n
    step = builder.ufunc(np.true_divide, builder.ufunc(np.subtract, b, a), builder.constant(float(max(gaps, 1))))
    places = builder.constant(np.arange(n, dtype=step.type.dtype).reshape((n, *[1] * len(shape))))
    found = builder.ufunc(np.add, builder.ufunc(np.multiply, places, step), a)
    if endpoint and n > 1:
        last = [builder.constant(n - 1, np.int64)]
        found = builder.setitem(
            found, last, builder.broadcast_to(builder.cast(b, found.type.dtype), shape), _row(found)
        )
    if dtype is not None:
        found = builder.ufunc(np.floor, found) if np.dtype(dtype).kind in "iu" else found
        found = builder.cast(found, dtype)
    made = trace.wrap(found) if axis == 0 else trace.call(np.moveaxis, trace.wrap(found), 0, axis)
    return (made, trace.wrap(step)) if retstep else made


def _row(x: Value) -> tuple[str, ...]:
    return ("i", *[":"] * (x.type.ndim - 1))


@traces(np.logspace)
def logspace(
    trace: Trace,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    shapes = [value(trace, x).type.shape for x in (start, stop, base)]
    if shapes[2]:
        shape = trace.builder.broadcast_shape(shapes)
        start, stop, base = (trace.call(np.broadcast_to, x, shape) for x in (start, stop, base))
        base = trace.call(np.expand_dims, base, axis)
    found = trace.call(np.power, base, linspace(trace, start, stop, num, endpoint, axis=axis))
    return found if dtype is None else trace.call(np.asarray, found, dtype)


def _frequencies(function: Any) -> Any:
    def apply(trace: Trace, n: Any, d: Any = 1.0, **options: Any) -> Any:
        known = function(integer(trace, n, "the length of a transform"))
        return trace.call(np.true_divide, new_array(trace.builder.constant(known)), d)

    return apply


traces(np.fft.fftfreq)(_frequencies(np.fft.fftfreq))
traces(np.fft.rfftfreq)(_frequencies(np.fft.rfftfreq))


@traces(np.eye)
def eye(trace: Trace, N: Any, M: Any = None, k: Any = 0, dtype: Any = float, **options: Any) -> Any:
    n, m, k = (integer(trace, x, "the shape of np.eye") for x in (N, N if M is None else M, k))
    return new_array(trace.builder.constant(np.eye(n, m, k, dtype)))


@traces(np.identity)
def identity(trace: Trace, n: Any, dtype: Any = None, **options: Any) -> Any:
    return eye(trace, n, dtype=dtype or float)


@traces(np.tri)
def tri(trace: Trace, N: Any, M: Any = None, k: Any = 0, dtype: Any = float, **options: Any) -> Any:
    n, m, k = (integer(trace, x, "the shape of np.tri") for x in (N, N if M is None else M, k))
    return new_array(trace.builder.constant(np.tri(n, m, k, dtype)))


def _triangle(lower: bool) -> Any:
    def apply(trace: Trace, m: Any, k: Any = 0) -> Any:
        builder, x = trace.builder, value(trace, m)
        if not x.type.shape:
            raise TypeError("tri() missing 1 required positional argument: 'N'")
        height, width = (x.type.shape * 2)[-2:]  # a vector gives a square matrix
        rows, columns = builder.reshape(builder.iota(height), (height, 1)), builder.iota(width)
        gap = builder.ufunc(np.subtract, columns, rows)
        k = value(trace, k)
        keep = builder.ufunc(np.less_equal if lower else np.greater_equal, gap, k)
        zero = builder.constant(0, x.type.dtype)
        return trace.wrap(builder.where(keep, x, zero))

    return apply


traces(np.tril)(_triangle(True))
traces(np.triu)(_triangle(False))


@traces(np.diag)
def diag(trace: Trace, v: Any, k: Any = 0) -> Any:
    x, k = value(trace, v), integer(trace, k, "the argument k of np.diag")
    if x.type.ndim == 2:
        return trace.call(np.diagonal, v, k)
    if x.type.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    builder, n = trace.builder, x.type.shape[0]
    if isinstance(n, Dim):
        raise refuse("np.diag of a vector whose length is known only when the program runs", "use a fixed length")
    size = n + abs(k)
    rows, columns = np.arange(n) + max(-k, 0), np.arange(n) + max(k, 0)
    index = [builder.constant(rows), builder.constant(columns)]
    return trace.wrap(builder.setitem(builder.zeros((size, size), x.type.dtype), index, x, ("a", "a")))


@traces(np.diagflat)
def diagflat(trace: Trace, v: Any, k: Any = 0) -> Any:
    return diag(trace, trace.call(np.ravel, v), k)


@traces(np.diagonal)
def diagonal(trace: Trace, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    k = integer(trace, offset, "the offset of np.diagonal")
    moved = trace.call(np.moveaxis, a, (axis1, axis2), (-2, -1))
    *before, n, m = moved.type.shape
    if isinstance(n, Dim) or isinstance(m, Dim):
        raise refuse("np.diagonal of an array whose length is known only when the program runs", "use a fixed length")
    places = np.arange(len(np.diagonal(np.empty((n, m)), k)))
    index = [trace.builder.constant(places + max(-k, 0)), trace.builder.constant(places + max(k, 0))]
    spec = (*[":"] * len(before), "a", "a")
    return read_only(
        trace.builder,
        moved,
        (*before, len(places)),
        ("diagonal", k),
        lambda x: trace.builder.getitem(x, index, spec, []),
        lambda x, _: np.diagonal(x, k, -2, -1),
    )


@traces(np.fill_diagonal)
def fill_diagonal(trace: Trace, a: Any, val: Any, wrap: bool = False) -> None:
    a.check_writeable("underlying array is read-only")
    if wrap or a.type.ndim != 2 or not a.type.is_static:
        raise refuse(
            "np.fill_diagonal with wrap=True, or of anything but a matrix of known shape,",
            "write a[i, i] = x in a loop",
        )
    places = np.arange(min(a.type.shape))
    trace.call(operator.setitem, a, (places, places), val)


@traces(np.trace)
def trace_of(
    trace: Trace, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    return trace.call(np.sum, diagonal(trace, a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


@traces(np.meshgrid)
def meshgrid(trace: Trace, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    builder, n = trace.builder, len(xi)
    parts = [strong(builder, value(trace, x)) for x in xi]
    parts = [reshape(builder, p, (total(builder, p.type.shape),)) if p.type.ndim != 1 else p for p in parts]
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[0], places[1] = 1, 0
    lengths = [parts[places.index(i)].type.shape[0] for i in range(n)]
    found = []
    for place, part in zip(places, parts):
        shape = tuple(part.type.shape[0] if i == place else 1 for i in range(n))
        part = builder.reshape(part, shape)
        found.append(trace.wrap(part if sparse else builder.broadcast_to(part, tuple(lengths))))
    if not copy:
        text = (
            "np.meshgrid(copy=False) returns views, so neither they nor the arrays that they view can be written to; leave out "
            "copy=False"
        )
        for array in (*xi, *found):
            if isinstance(array, Array):
                array.storage.tied = array.storage.tied or text
    return tuple(found)


@traces(np.ix_)
def ix_(trace: Trace, *args: Any) -> Any:
    found = []
    for i, x in enumerate(args):
        part = value(trace, x)
        new: list[int | None] = [None] * len(args)
        new[i] = 0
        found.append(permuted(trace.builder, x if isinstance(x, Array) else new_array(part), new))
    return tuple(found)


@traces(np.vander)
def vander(trace: Trace, x: Any, N: Any = None, increasing: bool = False) -> Any:
    v = value(trace, x)
    n = v.type.shape[0] if N is None else integer(trace, N, "the number of columns of np.vander")
    powers = np.arange(n) if increasing else np.arange(n)[::-1]
    columns = trace.builder.reshape(v, (v.type.shape[0], 1))
    return trace.call(np.power, trace.wrap(columns), trace.wrap(trace.builder.constant(powers)))


def _atleast_of(n: int) -> Any:
    def apply(trace: Trace, *arrays: Any) -> Any:
        found = tuple(_widened(trace, x, n) for x in arrays)
        return found[0] if len(found) == 1 else found

    return apply


def _widened(trace: Trace, x: Any, n: int) -> Any:
    x = asarray(trace, x)
    missing = n - x.type.ndim
    if missing <= 0:
        return x
    before = missing
    if n == 3 and x.type.ndim:
        before = 2 - x.type.ndim  # NumPy turns a vector into shape (1, n, 1), a matrix into (n, m, 1)
    index = (*[None] * before, ..., *[None] * (missing - before))
    return trace.call(operator.getitem, x, index)


for _n, _function in enumerate((np.atleast_1d, np.atleast_2d, np.atleast_3d), 1):
    traces(_function)(_atleast_of(_n))


@traces(np.broadcast_to)
def broadcast_to(trace: Trace, array: Any, shape: Any, subok: bool = False) -> Any:
    x, wanted = strong(trace.builder, value(trace, array)), shape_of(trace, shape)
    found = trace.builder.broadcast_shape([x.type.shape, wanted])
    if len(found) != len(wanted) or any(a != b for a, b in zip(found, wanted)):
        raise BadInput(f"an array of shape {x.type.shape} cannot be broadcast to {wanted}")
    base = array if isinstance(array, Array) else new_array(x)
    there = lambda v: trace.builder.broadcast_to(v, wanted)  # noqa: E731
    return read_only(trace.builder, base, wanted, ("broadcast_to",), there, np.broadcast_to)


@traces(np.broadcast_arrays)
def broadcast_arrays(trace: Trace, *args: Any, subok: bool = False) -> Any:
    arrays = [asarray(trace, x) for x in args]
    shape = trace.builder.broadcast_shape([x.type.shape for x in arrays])
    if all(x.type.shape == shape for x in arrays):
        return tuple(arrays)
    return tuple(_broadcast(trace, x, shape) for x in arrays)


def _broadcast(trace: Trace, x: Array, shape: Shape) -> Array:
    """Return a broadcast view that NumPy lets be written to, with a warning; compiled code refuses the write."""

    def back(old: Value, v: Value) -> Value:
        raise refuse(
            "a write to a result of np.broadcast_arrays, several of whose elements share memory,", "copy it first"
        )

    def in_numpy(a: Any, lengths: tuple[int, ...]) -> Any:
        return np.broadcast_arrays(a, np.empty(lengths))[0]

    kind = ArrayType(x.type.dtype, shape)
    return derived(x, kind, lambda v: trace.builder.broadcast_to(v, shape), back, in_numpy)


def _constant_indices(function: Any) -> Any:
    def apply(trace: Trace, arr: Any, *args: Any, **kwargs: Any) -> Any:
        x = static(value(trace, arr), function.__name__)
        return tuple(new_array(trace.builder.constant(i)) for i in function(np.empty(x.type.bounds), *args, **kwargs))

    return apply


for _function in (np.diag_indices_from, np.triu_indices_from, np.tril_indices_from):
    traces(_function)(_constant_indices(_function))


@traces(np.union1d, np.intersect1d, np.setdiff1d)
def _values_decide(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    raise refuse(
        "a function whose result's length depends on values that are not known while compiling",
        "use a mask: np.where(mask, x, 0), np.sum(x, where=mask)",
    )


@traces(np.histogram)
def _counts(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    raise refuse("np.histogram", "use np.searchsorted and np.add.at")
