"""Functions of NumPy that the class of an argument replaces: by ``__array_ufunc__`` or ``__array_function__``, in NumPy's order."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..faults import kind_of
from ..values.items import items_of
from .instances import is_instance
from .scopes import Conflict
from .traced import Array, Traced

_POSITIONAL = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
    "reduceat": ("axis", "dtype", "out"),
}
"""The options of a ufunc's methods that may be given by position, after the inputs."""

_FUNCTION = type(np.sum)


def ufunc_of(function: Any) -> tuple[np.ufunc, str] | None:
    """Return a ufunc and the name of its method, if ``function`` is one of these; ``__call__`` for the ufunc itself."""
    if isinstance(function, np.ufunc):
        return function, "__call__"
    if type(function) is types.BuiltinFunctionType and isinstance(function.__self__, np.ufunc):
        return function.__self__, function.__name__
    return None


def is_overridable(function: Any) -> bool:
    """Whether the class of an argument may replace a function."""
    return type(function) is _FUNCTION or ufunc_of(function) is not None


def replaced(trace: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Return what the classes of the arguments give for a function of NumPy; NotImplemented if none replaces it."""
    if type(function) is _FUNCTION:
        return _function(trace, function, args, kwargs)
    found = ufunc_of(function)
    return NotImplemented if found is None else of_ufunc(trace, *found, *normalised(*found, args, kwargs))


def overrides(x: Any, name: str = "__array_ufunc__") -> bool:
    """Whether the class of x replaces functions: by a method in Python, or by None, which refuses ufuncs."""
    method = getattr(type(x), name, None)
    is_own = isinstance(method, types.FunctionType) or method is None and hasattr(type(x), name)
    return is_own and not isinstance(x, (Traced, Conflict)) and is_instance(x)


def normalised(ufunc: np.ufunc, method: str, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the inputs and the options of a call as NumPy hands them to ``__array_ufunc__``: ``out`` is a tuple."""
    count = {"__call__": ufunc.nin, "outer": 2, "at": len(args), "reduceat": 2}.get(method, 1)
    kwargs = dict(kwargs)
    if method == "__call__" and len(args) > count:
        kwargs["out"] = args[count:]
    else:
        given = zip(_POSITIONAL.get(method, ()), args[count:])
        kwargs |= {name: x for name, x in given if x is not np._NoValue}
    out = kwargs.pop("out", None)
    out = out if isinstance(out, tuple) else (out,)
    if any(x is not None for x in out):
        kwargs["out"] = out
    return tuple(args[:count]), kwargs


def of_ufunc(trace: Any, ufunc: np.ufunc, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    order = _in_order(filter(overrides, (*inputs, *options.get("out", ()))), type)
    refusing = next((x for x in order if type(x).__array_ufunc__ is None), None)
    if refusing is not None:
        raise TypeError(f"operand {kind_of(refusing)!r} does not support ufuncs (__array_ufunc__=None)")
    if any(x is ... for x in options.get("out", ())):  # NumPy's own way to ask for an array of no dimensions
        options = {k: x for k, x in options.items() if k != "out"}
    for x in order:
        found = trace.call(type(x).__array_ufunc__, x, ufunc, method, *inputs, **options)
        if found is not NotImplemented:
            return found
    if order:
        kinds = ", ".join(repr(kind_of(x)) for x in order)
        text = f"operand type(s) all returned NotImplemented from __array_ufunc__({ufunc!r}, {method!r}, ...): {kinds}"
        raise TypeError(text)
    return NotImplemented


def _function(trace: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Call the methods ``__array_function__``; that of ``ndarray`` goes past them if all classes are derived from it."""
    name = "__array_function__"
    given = [e for x in (*args, *kwargs.values()) for e in (items_of(x) if isinstance(x, (list, tuple)) else (x,))]
    if not any(overrides(x, name) for x in given):
        return NotImplemented
    order = _in_order((x for x in given if hasattr(_class(x), name)), _class)
    kinds = tuple(map(_class, order))
    for x in order:
        if overrides(x, name):
            found = trace.call(getattr(type(x), name), x, function, kinds, args, kwargs)
            if found is not NotImplemented:
                return found
        elif all(issubclass(kind, np.ndarray) for kind in kinds):
            return trace.arrays.of_function(function, args, kwargs)
    raise TypeError(
        f"no implementation found for '{function.__module__}.{function.__name__}' on types that implement {name}: {list(kinds)}"
    )


def _class(x: Any) -> type:
    return np.ndarray if isinstance(x, Array) else type(x)


def _in_order(given: Iterable[Any], class_of: Callable[[Any], type]) -> list[Any]:
    """Return one object for each class, from left to right, those of derived classes before those of their bases."""
    order: list[Any] = []
    for x in given:
        if class_of(x) not in map(class_of, order):
            bases = (i for i, y in enumerate(order) if issubclass(class_of(x), class_of(y)))
            order.insert(next(bases, len(order)), x)
    return order
