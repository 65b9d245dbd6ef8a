"""Python arguments and results <-> the flat numbers and arrays that a typed function takes and returns.

The numbers and arrays in an argument are its *leaves*; the containers and objects around them, and all other contents,
are compile-time constants.
"""

from __future__ import annotations

import re
from collections import deque
from types import MethodType
from typing import Any

import numpy as np

from ..ir.derived import Derived
from ..ir.traced_text import Text
from ..ir.typed import BOOL, ArrayType, in_one_form
from ..values.array_classes import is_traced_array
from ..values.items import items_of
from .after_run import AfterRun
from .instances import held_by_instance, is_array_like, is_instance
from .rows import Rows
from .scopes import Choice, Closure
from .surface.views import Strided
from .traced import Array, ArrayOfObjects, Scalar, Storage, Traced

_WEAK = {int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}


def type_of_argument(x: Any) -> ArrayType | None:
    """Return the type of a number or an array; None for anything else."""
    kind = type(x)
    if kind is np.ndarray:
        return (
            ArrayType(in_one_form(x.dtype), x.shape)
            if x.dtype.kind in "biufc" and x.dtype.isnative and x.dtype.itemsize <= 16
            else None
        )
    if kind in _WEAK:
        return ArrayType(_WEAK[kind], (), True) if kind is not int or -(2**63) <= x < 2**63 else None
    if kind is bool:
        return BOOL
    if isinstance(x, np.generic) and x.dtype.kind in "biufc":
        return ArrayType(in_one_form(x.dtype))
    return None


def traced_leaf(parameter: Any, x: Any, is_read_only: bool) -> Any:
    """Return the traced value for a leaf."""
    if not isinstance(x, np.ndarray):
        return Scalar(parameter)
    return Array(Storage(parameter, is_read_only), None if x.flags.c_contiguous else Strided(x))


def has_traced(x: Any, depth: int = 4) -> bool:
    """Whether an argument is or contains a traced value, or an object that NumPy takes for an array."""
    kinds = (Traced, ArrayOfObjects, Text, Choice, Derived, Rows)
    if isinstance(x, kinds) or type(x) is AfterRun or is_array_like(x) or is_traced_array(x):
        return True
    if depth and isinstance(x, (list, tuple, deque)):
        return any(has_traced(e, depth - 1) for e in items_of(x))
    if depth and isinstance(x, dict):
        return any(has_traced(e, depth - 1) for e in dict.values(x))
    return depth > 0 and isinstance(x, slice) and any(map(has_traced, (x.start, x.stop, x.step)))


def depends_on_traced(x: Any) -> bool:
    """Whether an argument contains a traced value, also in attributes of objects, or is a function that the program defines."""
    seen: set[int] = set()

    def depends(x: Any) -> bool:
        if isinstance(x, (Traced, Text, Choice, Closure, Derived, Rows)) or type(x) is AfterRun:
            return True
        if isinstance(x, MethodType):
            return depends(x.__self__)
        if isinstance(x, (list, tuple, deque)):
            inside: Any = items_of(x)
        elif isinstance(x, dict):
            inside = dict.values(x)
        elif isinstance(x, slice):
            inside = x.start, x.stop, x.step
        elif is_instance(x):
            inside = held_by_instance(x).values()
        else:
            return False
        if id(x) in seen:
            return False
        seen.add(id(x))
        return any(map(depends, list(inside)))

    return depends(x)


def identifier(name: str) -> str:
    """Turn a leaf's name, such as ``params['w'][0]``, into an identifier."""
    return re.sub(r"\W+", "_", name).strip("_")
