"""Classes that override NumPy's functions by ``__array_ufunc__`` (NEP 13) or ``__array_function__`` (NEP 18).

NumPy calls these methods from C, where their operations would go unrecorded.  Here they are called on the tape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...values.numbers import NUMBERS
from ..recorded.access import special
from ..recorded.tape import Tape
from .subclasses import flattened, is_left_to_method, past_overrides, reaches_class

DISPATCHER = type(np.sum)


def dispatched(
    tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], method: str = "__call__"
) -> Any:
    """Return the result of an argument's override of a NumPy function, or NotImplemented if no class overrides it."""
    if isinstance(function, np.ufunc):
        return _of_ufunc(tape, function, method, args, kwargs)
    if type(function) is not DISPATCHER:
        return NotImplemented
    found = overriding("__array_function__", flattened((*args, *kwargs.values())))
    kinds = tuple(map(type, found))
    for x in found:
        y = tape.call(special(type(x), "__array_function__"), x, function, kinds, args, kwargs)
        if y is not NotImplemented:
            return y
    comes_back = any(reaches_class(x, function) for x in flattened((*args, *kwargs.values())))
    if comes_back or args and is_left_to_method(args[0], function):
        return past_overrides(tape, function, args, kwargs)
    return NotImplemented


def _of_ufunc(tape: Tape, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs.get("out")
    if method == "__call__" and len(inputs) > ufunc.nin:
        inputs, out = inputs[: ufunc.nin], inputs[ufunc.nin :]
    if out is None or out is ...:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        out = None
    else:  # ``__array_ufunc__`` always gets a tuple
        out = out if isinstance(out, tuple) else (out,)
        kwargs = {**kwargs, "out": out}
    for x in overriding("__array_ufunc__", (*inputs, *(out or ()))):
        y = tape.call(special(type(x), "__array_ufunc__"), x, ufunc, method, *inputs, **kwargs)
        if y is not NotImplemented:
            return y
    return NotImplemented


def overriding(name: str, values: Any) -> list[Any]:
    """Return one value per class that defines the method in Python, in NumPy's order: subclasses before their bases."""
    found: list[Any] = []
    for x in values:
        if type(x) not in NUMBERS and type(x) not in map(type, found) and special(type(x), name) is not None:
            bases = [i for i, other in enumerate(found) if issubclass(type(x), type(other))]
            found.insert(bases[0] if bases else len(found), x)
    return found
