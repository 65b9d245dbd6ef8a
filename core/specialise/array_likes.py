"""Arrays made from Python objects: objects that have a method ``__array__``, and ``np.fromiter``."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ..faults import kind_of
from ..values.items import items_of
from .instances import has_array, is_instance
from .range_in_python import Range
from .scopes import Conflict
from .traced import Traced


def from_object(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what ``np.array`` or ``np.asarray`` does with a range, or an object whose class defines ``__array__``."""

    def convert(trace: Any, x: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, Range):
            return trace.call(function, trace.call(np.arange, x.start, x.stop, x.step), dtype, *args, **kwargs)
        if not has_array(x):
            return NotImplemented
        method: Any = getattr(type(x), "__array__")  # noqa: B009
        wanted = kwargs.pop("copy", True if function is np.array else None)
        given = () if dtype is None else (np.dtype(dtype),)
        if wanted is None or not _takes_copy(method):
            made = trace.call(method, x, *given)
        else:  # the method is responsible for the copy
            made, wanted = trace.call(method, x, *given, copy=wanted), None
        if not isinstance(made, (Traced, np.ndarray)):
            raise ValueError("object __array__ method not producing an array")
        made = trace.call(np.asarray, made, dtype, copy=wanted)
        if function is np.array:
            return trace.call(function, made, *args, copy=None, **kwargs)
        return trace.call(function, made, None, *args, **kwargs)

    return convert


OVERRIDABLE = (np.ufunc, type(np.sum))
"""The classes of NumPy's functions that an object's ``__array_ufunc__`` or ``__array_function__`` may replace."""


def overridden(trace: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Return what the methods ``__array_ufunc__`` or ``__array_function__`` of the arguments give for a function of NumPy.

    NotImplemented if no argument has one. As in NumPy, classes come from left to right, derived ones before their bases.
    """
    is_ufunc = isinstance(function, np.ufunc)
    name = "__array_ufunc__" if is_ufunc else "__array_function__"
    given = [*args, *kwargs.values()]
    if not is_ufunc:
        given = [e for x in given for e in (items_of(x) if isinstance(x, (list, tuple)) else (x,))]
    order: list[Any] = []
    for x in given:
        if _overrides(x, name) and type(x) not in map(type, order):
            place = next((i for i, y in enumerate(order) if issubclass(type(x), type(y))), len(order))
            order.insert(place, x)
    for x in order:
        method = getattr(type(x), name)
        if is_ufunc and method is None:
            break
        found = trace.call(method, x, *((function, "__call__", *args) if is_ufunc else (function, tuple(map(type, order)), args, kwargs)),
                           **(kwargs if is_ufunc else {}))  # fmt: skip
        if found is not NotImplemented:
            return found
    if order:
        kinds = ", ".join(repr(kind_of(x)) for x in order)
        raise TypeError(f"operand type(s) all returned NotImplemented from {name}({function!r}, ...): {kinds}")
    return NotImplemented


def _overrides(x: Any, name: str) -> bool:
    method = getattr(type(x), name, None)
    is_own = isinstance(method, FunctionType) or method is None and hasattr(type(x), name)
    return is_own and not isinstance(x, (Traced, Conflict)) and is_instance(x)


def _takes_copy(method: Callable[..., Any]) -> bool:
    parameters = inspect.signature(method).parameters
    return "copy" in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def fromiter(trace: Any, iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """``np.fromiter``."""
    items = list(itertools.islice(trace.iterate(iter), count if count >= 0 else None))
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return trace.call(np.array, items, dtype)


ARRAYS = {
    np.fromiter: fromiter,
    **{function: from_object(function) for function in (np.array, np.asarray, np.asanyarray)},
}
"""The bodies of these functions, by function, for ``builtin_functions.SPECIAL``."""
