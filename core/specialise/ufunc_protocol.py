"""Ufuncs on arrays of classes: ``__array_ufunc__``, ``__array_wrap__`` and ``__array_priority__``, as in NumPy's C code."""

from __future__ import annotations

import inspect
import types
from functools import cache
from typing import Any

import numpy as np

from ..values.array_classes import array_in, is_subclass_array
from .instances import is_instance
from .surface.arguments import is_number
from .traced import Array, Scalar, Traced

OF_SCALARS = -1000000.0
"""``__array_priority__`` of NumPy's numbers, and of objects that do not define it."""


def apply(of: Any, ufunc: np.ufunc, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    """Apply a ufunc that no class overrides: to the plain arrays, with the result wrapped by the operand of highest priority."""
    inputs = tuple(map(of.inside, inputs))
    plain = {k: of.plain(x) for k, x in options.items()}
    is_wrapped = plain.pop("subok", True)
    outs = tuple(map(of.inside, options.get("out", ())))
    is_array = any(x is ... for x in outs)
    if is_array:
        outs = ()
        del plain["out"]
    if outs and method != "__call__":
        plain["out"] = plain["out"][0]
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    found = of.trace.call(function, *map(of.plain, inputs), **plain)
    if found is None:
        return None
    wrapper = wrapping(of.trace, inputs) if is_wrapped else None
    results = found if isinstance(found, tuple) else (found,)
    made = []
    for i, x in enumerate(results):
        out = outs[i] if i < len(outs) else None
        context = (ufunc, (*inputs, *outs), i) if method == "__call__" else None
        x = of.as_array(x) if is_array else x
        made.append(x if out is None and wrapper is None else wrapped(of, x, out, wrapper, context, is_array))
    return tuple(made) if isinstance(found, tuple) else made[0]


def wrapped(of: Any, x: Any, out: Any, wrapper: Any, context: Any, is_array: bool) -> Any:
    """Return a result as the class of ``out``, or else of ``wrapper``, wants it; ``is_array``: never as a number."""
    owner = wrapper if out is None else out
    if not is_subclass_array(owner) and (out is not None or not is_instance(owner)):
        return x
    method = type(owner).__array_wrap__
    if not isinstance(method, types.FunctionType):
        return out if out is not None else of.made(type(owner), of.as_array(x), owner)
    array = of.as_array(x)
    given = (
        out if out is not None and is_subclass_array(out) else array,
        context,
        not array.type.ndim and out is None and not is_array,
    )
    try:
        inspect.signature(method).bind(owner, *given)
    except TypeError:  # written for NumPy 1
        given = given[:2]
    return of.trace.call(method, owner, *given)


def wrapping(trace: Any, inputs: Any) -> Any:
    """Return the operand whose ``__array_wrap__`` makes the result, or None."""
    best, priority = None, -np.inf
    for x in inputs:
        if isinstance(x, Array):
            own, candidate = 0.0, None
        elif is_number(x) or isinstance(x, Scalar) or not hasattr(type(x), "__array_wrap__"):
            own, candidate = OF_SCALARS, None
        else:
            own, candidate = priority_of(trace, x), x
        if own > priority or candidate is not None and best is None and own == priority == 0.0:
            best, priority = candidate, own
    return best


def priority_of(trace: Any, x: Any) -> float:
    found = getattr(type(x), "__array_priority__", OF_SCALARS)
    return 0.0 if isinstance(found, types.GetSetDescriptorType) else trace.attribute(x, "__array_priority__")


def defers(trace: Any, x: Any, other: Any, name: str) -> bool:
    """Whether an operator of ``ndarray`` on ``x`` leaves the operation to the class of the other operand."""
    kind = type(other)
    if isinstance(other, (Traced, np.generic)) or kind in (np.ndarray, int, float, complex, bool, type(x)):
        return False
    is_in_place = name[2] == "i" and name != "__invert__"
    if hasattr(kind, "__array_ufunc__"):
        return not is_in_place and kind.__array_ufunc__ is None
    if not is_in_place and issubclass(kind, type(x)) or not hasattr(kind, name if is_in_place else _reflected(name)):
        return False
    return priority_of(trace, x) < priority_of(trace, other)


_MIRRORED = {
    "__lt__": "__gt__",
    "__gt__": "__lt__",
    "__le__": "__ge__",
    "__ge__": "__le__",
    "__eq__": "__eq__",
    "__ne__": "__ne__",
}


def _reflected(name: str) -> str:
    return _MIRRORED.get(name) or f"__r{name[2:]}"


class _Asked(np.ndarray):
    """Tells which ufunc an operator of NumPy calls."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc


@cache
def _of_power(dtype: np.dtype, exponent: Any, kind: type) -> Any:
    return np.ndarray.__pow__(np.ones(1, dtype).view(_Asked), exponent)


def of_power(x: Any, exponent: Any) -> np.ufunc | None:
    """Return the ufunc that NumPy calls for a power with this exponent, such as ``np.square``; None if ``np.power``."""
    found = _of_power(array_in(x).type.dtype, exponent, type(exponent))
    return found if isinstance(found, np.ufunc) and found is not np.power else None
