"""Objects that are converted to numbers by special methods of their classes, such as ``__float__``."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ..ir.derived import Derived, class_of
from .instances import is_instance, special
from .surface.arguments import NUMBERS
from .traced import Traced

_METHODS: dict[Any, tuple[tuple[str, ...], type]] = {
    float: (("__float__", "__index__"), float),
    int: (("__int__", "__index__", "__trunc__"), int),
    complex: (("__complex__", "__float__", "__index__"), complex),
    operator.index: (("__index__",), int),
    round: (("__round__",), object),
    math.floor: (("__floor__", "__float__"), object),
    math.ceil: (("__ceil__", "__float__"), object),
    math.trunc: (("__trunc__",), object),
}
"""The methods that a function looks for, in this order, and the class of what they must return."""


def method_of(x: Any, function: Any) -> Callable[[], Any] | None:
    """Return the bound method, written in Python, that a function calls to convert an object; None leaves it to Python."""
    if isinstance(x, Traced) or not is_instance(x) and type(x) is not Derived:
        return None
    for name in _METHODS[function][0]:
        if getattr(class_of(x), name, None) is not None:
            return special(x, name)
    return None


def _by_method(function: Any, kind: type, type_of: Callable[[Any], type]) -> Callable[..., Any]:
    def apply(trace: Any, *args: Any, **kwargs: Any) -> Any:
        method = method_of(args[0], function) if args and not kwargs else None
        if method is None:
            return NotImplemented
        found = trace.call(method, *args[1:])
        if not issubclass(type_of(found), kind) and method.__name__ not in ("__index__", "__trunc__"):
            if function is not complex or method.__name__ == "__complex__":
                name, made = type(args[0]).__name__, type_of(found).__name__
                raise TypeError(f"{name}.{method.__name__} returned non-{kind.__name__} (type {made})")
        return found if kind is object and method.__name__ != "__float__" else trace.call(function, found)

    return apply


def conversions(type_of: Callable[[Any], type]) -> dict[Any, Callable[..., Any]]:
    """Return the functions that convert objects; ``type_of`` is the interpreter's ``type``."""
    return {function: _by_method(function, kind, type_of) for function, (_, kind) in _METHODS.items()}


def with_floats(trace: Any, function: Any, args: Any) -> Any:
    """Return the arguments of a function of ``math`` with floats in place of objects that have ``__float__``."""
    if getattr(function, "__module__", "") not in ("math", "cmath"):
        return args
    methods = [None if isinstance(x, NUMBERS) else method_of(x, float) for x in args]
    if not any(methods):
        return args
    return [x if method is None else trace.call(float, x) for x, method in zip(args, methods)]
