"""Python arguments and results <-> the flat numbers and arrays that a typed function takes and gives.

The numbers and arrays in an argument are *leaves*; the containers and objects around them, and everything else in them, are
known while compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..traced import Array, Scalar, Storage, Traced
from ..traced_text import Text
from ..typed import BOOL, ArrayType
from .merging import is_instance

_PYTHON = {bool: BOOL}
_WEAK = {int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}


def type_of(x: Any) -> ArrayType | None:
    """The type of a number or an array; None for anything else."""
    kind = type(x)
    if kind is np.ndarray:
        return (
            ArrayType(x.dtype, x.shape)
            if x.dtype.kind in "biufc" and x.dtype.isnative and x.dtype.itemsize <= 16
            else None
        )
    if kind in _WEAK:
        return ArrayType(_WEAK[kind], (), True) if kind is not int or -(2**63) <= x < 2**63 else None
    if kind is bool:
        return BOOL
    if isinstance(x, np.generic) and x.dtype.kind in "biufc":
        return ArrayType(x.dtype)
    return None


def mapped(x: Any, leaf: Callable[[Any], Any], seen: dict[int, Any]) -> Any:
    """A copy of a structure with every number and array replaced; what is shared stays shared."""
    if id(x) in seen:
        return seen[id(x)][1]
    if type_of(x) is not None:
        found = leaf(x)
        if type(x) is np.ndarray:
            seen[id(x)] = x, found
        return found
    if isinstance(x, (list, tuple)):
        if type(x) is list:
            made: Any = []
            seen[id(x)] = x, made
            made += [mapped(e, leaf, seen) for e in x]
            return made
        parts = [mapped(e, leaf, seen) for e in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if type(x) is dict:
        made = {}
        seen[id(x)] = x, made
        for k, e in x.items():
            made[k] = mapped(e, leaf, seen)
        return made
    if is_instance(x) and not callable_only(x):
        made = object.__new__(type(x))
        seen[id(x)] = x, made
        for k, e in x.__dict__.items():
            made.__dict__[k] = mapped(e, leaf, seen)
        return made
    return x


def callable_only(x: Any) -> bool:
    """Whether an object is a function of some kind, whose attributes are nobody's arguments."""
    return hasattr(x, "__wrapped__") or hasattr(x, "__code__") or hasattr(x, "__morula_trace__")


def leaves_of(x: Any) -> list[Any]:
    """The numbers and arrays of a structure in order; an array that occurs twice counts once."""
    found: list[Any] = []
    mapped(x, lambda e: found.append(e), {})
    return found


def traced_leaf(parameter: Any, x: Any) -> Any:
    """What stands for a leaf."""
    return Array(Storage(parameter)) if isinstance(x, np.ndarray) else Scalar(parameter)


def has_traced(x: Any, depth: int = 4) -> bool:
    """Whether a traced number or array is in an argument."""
    if isinstance(x, (Traced, Text)):
        return True
    if depth and isinstance(x, (list, tuple)):
        return any(has_traced(e, depth - 1) for e in x)
    if depth and isinstance(x, dict):
        return any(has_traced(e, depth - 1) for e in x.values())
    return depth > 0 and isinstance(x, slice) and any(map(has_traced, (x.start, x.stop, x.step)))
