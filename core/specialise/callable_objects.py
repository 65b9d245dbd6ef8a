"""Callable objects of C code or of a library that wrap a Python function: the function is interpreted instead."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from .contents import bound_by
from .surface import memory_order
from .surface.arguments import is_array_like
from .surface.memory_order import note_call
from .traced import Storage


def caller_of(kind: type) -> Callable[..., Any] | None:
    """Return the function ``caller(trace, object, args, kwargs)`` that calls objects of this class, or None."""
    return _CALLERS.get(kind) or _OF_NUMBA.get(f"{kind.__module__}.{kind.__qualname__}")


def _call_partial(trace: Any, function: functools.partial[Any], args: Any, kwargs: Any) -> Any:
    if id(getattr(function.func, "__self__", None)) not in trace.made:
        trace.outside.note_bound(function.func)
    bound = [bound_by(trace, function.args, i, x) for i, x in enumerate(function.args)]
    by_name = {k: bound_by(trace, function.keywords, k, x) for k, x in function.keywords.items()}
    return trace.call(function.func, *bound, *args, **{**by_name, **kwargs})


def _call_cached(trace: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Interpret a cached function at every call; refuse it if it has effects, which the cache would skip."""
    region = trace.run_region(lambda _: trace.call(function.__wrapped__, *args, **kwargs))
    if any(trace.made_in(holder) is not region.changes for holder, _ in region.after.values()):
        raise BadInput(
            f"{function.__name__} caches its results and changes a variable or object outside of it; compiled code runs it at every "
            "call, and would repeat the change. Remove the cache, or the change"
        )
    trace.commit(region)
    return region.result


def _call_dispatcher(trace: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Call a ``numba.jit`` function."""
    return trace.call(function.py_func, *args, **kwargs)


def _call_numba_ufunc(trace: Any, ufunc: Any, args: Any, kwargs: Any) -> Any:
    """Call a ``numba.vectorize`` function."""
    if kwargs or len(args) != ufunc.nin:
        raise BadInput(
            f"{ufunc.__name__} of numba.vectorize cannot be compiled with out= or keyword arguments; pass only the inputs, by "
            "position"
        )
    return _call_elementwise(trace, ufunc._dispatcher.py_func, None, args)


def _call_gufunc(trace: Any, ufunc: Any, args: Any, kwargs: Any) -> Any:
    """Call a ``numba.guvectorize`` function: its kernel becomes the body of a loop."""
    builder, inner = ufunc.gufunc_builder, len(ufunc.gufunc_builder.sin)
    if kwargs or len(args) != inner or len(builder._sigs) != 1 or ufunc._is_dynamic:
        raise BadInput(
            f"{ufunc.__name__} of numba.guvectorize cannot be compiled with out=, keyword arguments or several declared types; pass "
            "only the inputs, by position, and declare one type"
        )
    as_dtype = sys.modules["numba.np.numpy_support"].as_dtype  # numba is not a dependency
    declared = builder._sigs[0].args
    kinds = [as_dtype(getattr(t, "dtype", t)) for t in declared]
    # A scalar may be declared as an array of one element.
    padded = [getattr(t, "ndim", 0) > len(core) for t, core in zip(declared, (*builder.sin, *builder.sout))]
    return trace.calls.interpret(
        over_loops, (ufunc._dispatcher.py_func, builder.sin, builder.sout, kinds, padded, args), {}
    )


def over_loops(function, inputs, outputs, kinds, padded, args):
    arrays = [np.asarray(x, kind) for x, kind in zip(args, kinds)]
    loop = np.broadcast_shapes(*[x.shape[: x.ndim - len(core)] for x, core in zip(arrays, inputs)])
    n = math.prod(loop)
    lengths = {}
    rows = []
    for x, core, one in zip(arrays, inputs, padded):
        shape = x.shape[x.ndim - len(core) :]
        lengths |= dict(zip(core, shape))
        rows.append(np.reshape(np.broadcast_to(x, loop + shape), (n, *shape, 1) if one else (n, *shape)))
    shapes = [tuple([lengths[name] for name in core]) for core in outputs]
    count = len(inputs)
    results = [
        np.zeros((n, *shape, 1) if one else (n, *shape), kind)
        for shape, one, kind in zip(shapes, padded[count:], kinds[count:])
    ]
    for i in range(n):
        function(*[x[i] for x in rows], *[y[i] for y in results])
    found = tuple([np.reshape(y, loop + shape)[()] for y, shape in zip(results, shapes)])
    return found if len(found) > 1 else found[0]  # type: ignore[misc]


def _call_vectorized(trace: Any, vectorized: np.vectorize, args: Any, kwargs: Any) -> Any:
    """Call an ``np.vectorize`` object: its function becomes the body of a loop."""
    if vectorized.signature is not None or vectorized.excluded or kwargs:
        raise BadInput(
            "np.vectorize with signature=, excluded= or keyword arguments cannot be compiled; bind the other arguments with "
            "functools.partial, or write a loop"
        )
    if not args:
        raise TypeError("args can not be empty")
    return _call_elementwise(trace, vectorized.pyfunc, vectorized.otypes, args)


def _call_elementwise(trace: Any, function: Any, otypes: Any, args: Any) -> Any:
    since = next(Storage.count)
    kept = [(place, x) for place, x in enumerate(args) if _is_one_object(x)]
    others = [x for place, x in enumerate(args) if all(place != at for at, _ in kept)]
    made = trace.calls.interpret(elementwise, (function, otypes, kept, *others), {})
    return note_call(made, since, memory_order.elementwise, args, {})


def _is_one_object(x: Any) -> bool:
    """Whether NumPy makes a single object or text of x."""
    several = ("__len__", "__iter__", "__getitem__", "__array__", "__array_interface__")
    return isinstance(x, (str, bytes)) or not is_array_like(x) and not any(hasattr(type(x), name) for name in several)


def elementwise(function, otypes, kept, *args):
    """``kept``: arguments that are no arrays, which are the same at each element, with their positions."""

    def at(numbers):
        for place, x in kept:
            numbers.insert(place, x)
        return function(*numbers)

    arrays = np.broadcast_arrays(*args)
    rows = [np.ravel(a) for a in arrays]
    shape = arrays[0].shape
    n = rows[0].shape[0]
    if otypes is None:
        if n == 0:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        first = at([row[0] for row in rows])  # its dtype is the result's
        is_tuple = isinstance(first, tuple)
        kinds = [np.asarray(y).dtype for y in (first if is_tuple else (first,))]
    else:
        kinds = list(otypes)
        is_tuple = len(kinds) > 1
    outputs = [np.empty(n, kind) for kind in kinds]
    for i in range(n):
        found = at([row.item(i) for row in rows])
        for output, y in zip(outputs, found if is_tuple else (found,)):
            output[i] = y
    shaped = [np.copy(np.reshape(output, shape)) for output in outputs]
    return tuple(shaped) if is_tuple else shaped[0]


_CALLERS: dict[type, Callable[..., Any]] = {
    functools.partial: _call_partial,
    functools._lru_cache_wrapper: _call_cached,
    np.vectorize: _call_vectorized,
}
_OF_NUMBA = {
    "numba.core.registry.CPUDispatcher": _call_dispatcher,
    "numba.np.ufunc.dufunc.DUFunc": _call_numba_ufunc,
    "numba.np.ufunc.gufunc.GUFunc": _call_gufunc,
}
"""Numba's classes, by name: morula does not require numba."""
