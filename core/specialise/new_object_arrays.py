"""Functions that make arrays, for the dtype object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..values.items import items_of
from . import object_array_functions  # noqa: F401  it registers what NumPy's functions do with these arrays
from .arguments import depends_on_traced
from .instances import is_array_like, is_instance
from .object_arrays import ObjectArray, array_of, as_numbers, as_objects, is_of_objects, places_of
from .traced import Array, Traced


def _holds_objects(x: Any) -> bool:
    """Whether NumPy makes an array of objects of a list or tuple."""
    if isinstance(x, (list, tuple)):
        return any(map(_holds_objects, items_of(x)))
    if isinstance(x, ObjectArray) or x is None or isinstance(x, dict):
        return True
    is_other = isinstance(x, (Traced, str, bytes, int, float, complex, np.generic, np.ndarray)) or is_array_like(x)
    return not is_other and is_instance(x)


def _converting(always: bool) -> Callable[..., Any]:
    """Return what ``np.array`` (which always copies) or ``np.asarray`` does for objects; NotImplemented for all else."""

    def convert(trace: Any, x: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        is_one = isinstance(x, ObjectArray)
        is_made = isinstance(x, (list, tuple)) and dtype is None and _holds_objects(x)
        if not is_one and not is_made and not is_of_objects(dtype):
            return NotImplemented
        if not is_one and type(x) is not Array and not depends_on_traced(x) and not _is_made(trace, x):
            return NotImplemented
        if not is_of_objects(dtype) and dtype is not None:
            return as_numbers(x, dtype)
        copies = kwargs.get("copy", True) if always else kwargs.get("copy")
        made = as_objects(x)
        made = made.copy() if is_one and copies else made
        missing = kwargs.get("ndmin", 0) - made.ndim
        return made.reshape((*[1] * missing, *made._shape)) if missing > 0 else made

    return convert


def _is_made(trace: Any, x: Any) -> bool:
    """Whether the program has made an object in x, which may still change."""
    if isinstance(x, (list, tuple)):
        return any(_is_made(trace, e) for e in items_of(x))
    return is_instance(x) and id(x) in trace.made


def _filled(x: Any) -> Callable[..., Any]:
    def fill(trace: Any, shape: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        return _full(trace, shape, x, dtype) if is_of_objects(dtype) else NotImplemented

    return fill


def _full(trace: Any, shape: Any, fill_value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    if not is_of_objects(dtype) and not (dtype is None and _holds_objects(fill_value)):
        return NotImplemented
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    known = tuple(int(trace.concrete(n, "the shape of an array of objects")) for n in lengths)
    given = as_objects(fill_value)
    return array_of([given._entries[i] for i in np.broadcast_to(places_of(given), known).flat], known)


def _like(x: Any) -> Callable[..., Any]:
    def fill(trace: Any, a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
        if not is_of_objects(dtype) and (dtype is not None or not isinstance(a, ObjectArray)):
            return NotImplemented
        return _full(trace, trace.call(np.shape, a) if shape is None else shape, x, object)

    return fill


def _full_like(trace: Any, a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:  # fmt: skip
    return _like(fill_value)(trace, a, dtype, order, subok, shape)


def or_else(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body that leaves to ``second`` what ``first`` does not implement."""

    def body(trace: Any, *args: Any, **kwargs: Any) -> Any:
        found = first(trace, *args, **kwargs)
        return second(trace, *args, **kwargs) if found is NotImplemented else found

    return body


MAKING: dict[Any, Callable[..., Any]] = {
    np.array: _converting(True),
    np.asarray: _converting(False),
    np.asanyarray: _converting(False),
    np.empty: _filled(None),
    np.zeros: _filled(0),
    np.ones: _filled(1),
    np.full: _full,
    np.empty_like: _like(None),
    np.zeros_like: _like(0),
    np.ones_like: _like(1),
    np.full_like: _full_like,
}
"""What functions that make arrays do for the dtype object; ``NotImplemented`` for others."""
