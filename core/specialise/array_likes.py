"""Arrays made from Python objects: objects that have a method ``__array__``, and ``np.fromiter``."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .instances import has_array, is_sequence
from .range_in_python import Range
from .traced import Traced


def from_object(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what ``np.array`` or ``np.asarray`` does with a range, an object with ``__array__``, or a sequence."""

    def convert(trace: Any, x: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, Range):
            return trace.call(function, trace.call(np.arange, x.start, x.stop, x.step), dtype, *args, **kwargs)
        if not has_array(x):
            return (
                trace.call(function, list(trace.iterate(x)), dtype, *args, **kwargs)
                if is_sequence(x)
                else NotImplemented
            )
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
