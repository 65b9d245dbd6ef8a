"""Ufuncs of NumPy and SciPy (``out=``, ``where=``, ``dtype=``) and their methods reduce, accumulate, reduceat, outer, at."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...values.attributes import bound_to
from ..traced import FUNCTIONS, Array, Trace, traces
from .arguments import as_numpy, axis_of, new_array, reduced_axes, refuse, value
from .operators import numpy_power, share_memory, stored
from .segments import reduceat_trace

_REDUCTIONS = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.fmax: np.nanmax,
    np.fmin: np.nanmin,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_CUMULATIVE = {np.add: np.cumsum, np.multiply: np.cumprod}
GENERALISED = tuple(
    f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is not None
)  # matmul, vecdot, ...: see products


def apply(
    trace: Trace,
    ufunc: np.ufunc,
    *args: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
) -> Any:
    """Write a call of a ufunc on traced values."""
    if all("O" in types for types in ufunc.types):
        raise refuse(
            f"{ufunc.__name__}, which returns arrays of Python objects,",
            "call the function in a loop, or by np.vectorize",
        )
    if ufunc.signature is not None:
        raise refuse(f"the generalized ufunc {ufunc.__name__}", "write it with np.matmul or np.sum")
    operands, outs = args[: ufunc.nin], [*args[ufunc.nin :]]
    if len(operands) != ufunc.nin:
        raise TypeError(f"{ufunc.__name__}() takes {ufunc.nin} positional arguments but {len(args)} were given")
    if out is not None:
        outs = list(out) if isinstance(out, tuple) else [out]
    is_array = any(x is ... for x in outs)  # the results are arrays, also those of no dimensions
    outs = [] if is_array else outs
    values = [value(trace, x) for x in operands]
    found = compute(trace.builder, ufunc, values, dtype)
    results = found if ufunc.nout > 1 else [found]
    if where is not True:
        if any(o is not x and share_memory(o, x) for o in outs for x in operands):
            raise refuse(
                f"{ufunc.__name__}(where=) with out= in the memory of an argument", "pass a separate array as out="
            )
        results = _masked(trace, ufunc, results, outs, value(trace, where))
    outs += [None] * (len(results) - len(outs))
    wrapped = [
        new_array(r) if is_array else stored(trace, r, o, f"ufunc {ufunc.__name__!r}") for r, o in zip(results, outs)
    ]
    return tuple(wrapped) if ufunc.nout > 1 else wrapped[0]


def compute(builder: Builder, ufunc: np.ufunc, values: list[Value], dtype: Any = None) -> Any:
    """Return a ufunc's result, or a list of several, never as Python numbers."""
    if dtype is not None:
        dtype = np.dtype(dtype)
        loop = ufunc.resolve_dtypes(
            (*(v.type.dtype for v in values), *[None] * ufunc.nout),
            signature=(*[None] * ufunc.nin, *[dtype] * ufunc.nout),
            casting="unsafe",
        )
        values = [builder.cast(v, d) for v, d in zip(values, loop)]
    if builder.watch is not None:
        builder.watch.refuse_integers(ufunc, "".join(v.type.dtype.kind for v in values))
    if ufunc is np.power:
        return _as_new(builder, numpy_power(builder, *values))
    found = builder.ufunc(ufunc, *values)
    if ufunc.nout > 1:
        return [_as_new(builder, r) for r in found]
    return _as_new(builder, found)


def _as_new(builder: Builder, found: Value) -> Value:
    """Return a result as a NumPy number; it is cast to a new value if it may be an older one, whose type must stay."""
    return (
        as_numpy(found)
        if found.type.weak and found.type.dtype.kind not in "iub"
        else builder.cast(found, found.type.dtype)
    )


def _masked(trace: Trace, ufunc: np.ufunc, results: list[Value], outs: list[Any], mask: Value) -> list[Value]:
    if not outs:
        raise refuse(
            f"{ufunc.__name__}(where=) without out=, whose unselected elements are undefined,", "pass out= too"
        )
    found = []
    for result, out in zip(results, outs):
        cast = trace.builder.cast(result, out.type.dtype)
        found.append(trace.builder.where(mask, cast, trace.value(out)))
    return found


def ufunc_trace(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return what a ufunc does on traced values."""
    return lambda trace, *args, **kwargs: apply(trace, ufunc, *args, **kwargs)


def reduce_trace(ufunc: np.ufunc) -> Callable[..., Any]:
    def reduce(
        trace: Trace,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        function = _REDUCTIONS.get(ufunc)
        if function is None:
            return _folded(trace, ufunc, array, axis, keepdims, initial, out, where, dtype)
        if function in (np.all, np.any) and dtype is not None and np.dtype(dtype) == bool:
            dtype = None  # it is that of their results
        options = {k: v for k, v in (("dtype", dtype), ("out", out), ("initial", initial)) if v is not None}
        if where is not True:
            options["where"] = where
        return trace.call(function, array, axis=axis, keepdims=keepdims, **options)

    return reduce


def _folded(
    trace: Trace, ufunc: np.ufunc, array: Any, axis: Any, keepdims: bool, initial: Any, out: Any, where: Any, dtype: Any
) -> Any:
    """Write ``ufunc.reduce``, where NumPy has no function for it, as a loop along each reduced axis in turn."""
    if where is not True or out is not None or dtype is not None:
        raise refuse(f"{ufunc.__name__}.reduce(where=, out= or dtype=)", "leave it out")
    if not _folds_from_the_left(ufunc):
        raise refuse(
            f"{ufunc.__name__}.reduce, which this version of NumPy applies in another order than from left to right,",
            "write a loop",
        )
    builder, x = trace.builder, value(trace, array)
    axes = reduced_axes(trace, axis, x.type.ndim)
    for a in reversed(axes):
        x = _along(trace, ufunc, x, a, initial)
        initial = None
    if keepdims:
        shape = tuple(1 if i in axes else n for i, n in enumerate(value(trace, array).type.shape))
        x = builder.reshape(builder.full((1,), x) if not x.type.shape else x, shape)
    return trace.wrap(x)


@cache
def _folds_from_the_left(ufunc: np.ufunc) -> bool:
    """Whether ``ufunc.reduce`` is x[0] op x[1] op ...; in NumPy 2.4 some vectorised loops (power, arctan2) differ."""
    x = np.linspace(0.4, 0.9, 45).reshape(9, 5)
    with np.errstate(all="ignore"):
        lines = (ufunc.accumulate(x, axis)[(slice(None),) * axis + (-1,)] for axis in (0, 1))
        return all(np.allclose(ufunc.reduce(x, axis), y, equal_nan=True) for axis, y in enumerate(lines))


def _along(trace: Trace, ufunc: np.ufunc, x: Value, axis: int, initial: Any) -> Value:
    """Fold along an axis, x[0] op x[1] op ..., and drop the axis."""
    builder = trace.builder
    rest = (":",) * x.type.ndim
    spec = (*rest[:axis], "i", *rest[axis + 1 :])

    def at(i: Value) -> Value:
        return builder.getitem(x, [i], spec, [])

    n = x.type.shape[axis]
    first, begin = (at(builder.constant(0, np.int64)), 1) if initial is None else (None, 0)
    if first is None:
        shape = tuple(m for i, m in enumerate(x.type.shape) if i != axis)
        first = builder.broadcast_to(builder.cast(value(trace, initial), x.type.dtype), shape)
    elif n == 0:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    dtype = compute(builder, ufunc, [first, first]).type.dtype
    start, one = builder.constant(begin, np.int64), builder.constant(1, np.int64)

    def body(i: Value, total: Value) -> list[Value]:
        return [builder.cast(compute(builder, ufunc, [total, at(i)]), dtype)]

    return builder.range_(start, builder.length(n), one, body, [builder.cast(first, dtype)])[0]


def accumulate_trace(ufunc: np.ufunc) -> Callable[..., Any]:
    def accumulate(trace: Trace, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        if not reduced_axes(trace, axis, value(trace, array).type.ndim):
            raise TypeError("cannot accumulate on a scalar")
        if ufunc in _CUMULATIVE:
            return trace.call(_CUMULATIVE[ufunc], array, axis=axis, dtype=dtype, out=out)
        x, builder = value(trace, array), trace.builder
        axis = axis_of(trace, axis, x.type.ndim)
        if ufunc in (np.maximum, np.minimum, np.logaddexp) and dtype is None:
            made = builder.call(ufunc.accumulate, [x], [x.type], axis=axis)[0]
            return stored(trace, made, out, f"ufunc {ufunc.__name__!r}")
        raise refuse(f"{ufunc.__name__}.accumulate", "write a loop")

    return accumulate


def outer_trace(ufunc: np.ufunc) -> Callable[..., Any]:
    def outer(trace: Trace, a: Any, b: Any, **kwargs: Any) -> Any:
        x, y = value(trace, a), value(trace, b)
        wide = (*x.type.shape, *[1] * y.type.ndim)
        return apply(trace, ufunc, trace.wrap(trace.builder.reshape(x, wide)), b, **kwargs)

    return outer


def at_trace(ufunc: np.ufunc) -> Callable[..., Any]:
    def at(trace: Trace, a: Any, indices: Any, b: Any = None) -> None:
        from .indexing import update

        if not isinstance(a, Array):
            raise BadInput(f"{ufunc.__name__}.at changes an array from outside of the compiled function; copy it first")
        if ufunc is np.add:
            update(trace, a, indices, value(trace, b), add=True)
        elif ufunc is np.subtract:
            update(trace, a, indices, trace.builder.ufunc(np.negative, value(trace, b)), add=True)
        else:
            raise refuse(f"{ufunc.__name__}.at", "write a loop")

    return at


def _register() -> None:
    for ufunc in {f for f in vars(np).values() if isinstance(f, np.ufunc)}:
        if ufunc not in GENERALISED:
            traces(ufunc)(ufunc_trace(ufunc))
            traces(ufunc.outer)(outer_trace(ufunc))
            if ufunc.nin == 2 and ufunc.nout == 1:
                traces(ufunc.reduce)(reduce_trace(ufunc))
                traces(ufunc.accumulate)(accumulate_trace(ufunc))
                traces(ufunc.at)(at_trace(ufunc))
                traces(ufunc.reduceat)(reduceat_trace(ufunc))


_register()

_METHODS = {
    "reduce": reduce_trace,
    "accumulate": accumulate_trace,
    "outer": outer_trace,
    "at": at_trace,
    "reduceat": reduceat_trace,
}


def find(function: Any) -> Callable[..., Any] | None:
    """Return what a ufunc (also of ``scipy.special``) or its method does on traced values; None for anything else."""
    if isinstance(function, np.ufunc) and function not in FUNCTIONS:
        return ufunc_trace(function)
    owner = bound_to(function)
    if isinstance(owner, np.ufunc) and function.__name__ in _METHODS:
        return _METHODS[function.__name__](owner)
    return None
