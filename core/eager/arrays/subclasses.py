"""Arrays of classes derived from ``ndarray``: overridden methods run on the tape.

Inherited operations can reach the class again from NumPy's C code: operators, reductions and ufuncs through
``__array_ufunc__``, functions through ``__array_function__``.  These calls are made here, on the tape.  The remaining
methods only move or combine entries: they run unmodified, which gives the result its class and attributes, and are
recorded on plain views of the same memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np
from numpy._core import _methods  # NumPy's own Python implementations of the array methods

from ...values.memory import owner
from ...values.numbers import NUMBERS, PASSIVE, differentiable
from ..recorded.access import special
from ..recorded.tape import Cotangents, Record, Tape
from .apply import plain_arrays

PLAIN = NUMBERS | PASSIVE

NUMPYS: Any = _methods
REDUCTIONS: dict[str, Any] = {
    "sum": NUMPYS._sum,
    "prod": NUMPYS._prod,
    "max": NUMPYS._amax,
    "min": NUMPYS._amin,
    "mean": NUMPYS._mean,
    "var": NUMPYS._var,
    "std": NUMPYS._std,
    "all": NUMPYS._all,
    "any": NUMPYS._any,
    "clip": NUMPYS._clip,
}

OPERATOR_UFUNCS: dict[str, np.ufunc] = {}
"""The ufuncs that the operators of arrays call, by the name of the special method."""
for _name, _ufunc in (
    *(("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide)),
    *(("floordiv", np.floor_divide), ("mod", np.remainder), ("pow", np.power), ("matmul", np.matmul)),
    *(("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor), ("divmod", np.divmod)),
    *(("lshift", np.left_shift), ("rshift", np.right_shift)),
):
    OPERATOR_UFUNCS |= {f"__{_name}__": _ufunc, f"__r{_name}__": _ufunc, f"__i{_name}__": _ufunc}
OPERATOR_UFUNCS |= {"__neg__": np.negative, "__pos__": np.positive, "__abs__": np.absolute, "__invert__": np.invert}
OPERATOR_UFUNCS |= {"__lt__": np.less, "__le__": np.less_equal, "__gt__": np.greater, "__ge__": np.greater_equal}
OPERATOR_UFUNCS |= {"__eq__": np.equal, "__ne__": np.not_equal}


def is_subclass(x: Any) -> bool:
    return type(x) is not np.ndarray and isinstance(x, np.ndarray)


def overrides(x: Any) -> bool:
    """Whether the class of ``x`` overrides NumPy's ufuncs in Python."""
    return type(x) not in PLAIN and special(type(x), "__array_ufunc__") is not None


def reaches_class(x: Any, function: Any) -> bool:
    """Whether NumPy's source of a function calls the class of ``x`` again, through ufuncs or a method of that name."""
    if not is_subclass(x):
        return False
    return overrides(x) or isinstance(getattr(type(x), function.__name__, None), FunctionType)


def is_left_to_method(x: Any, function: Any) -> bool:
    """Whether NumPy's source delegates a function to the method of the same name of ``x``, as in ``np.sum(series)``."""
    if type(x) in PLAIN or isinstance(x, (list, tuple)) or not isinstance(function._implementation, FunctionType):
        return False
    return isinstance(getattr(type(x), function.__name__, None), FunctionType)


def inherited_method(tape: Tape, x: np.ndarray, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of ``ndarray`` on an array of a derived class; NotImplemented if the class makes no difference."""
    if name in OPERATOR_UFUNCS:
        return _operator(tape, x, name, *args)
    if name == "__array_ufunc__":
        return _array_ufunc(tape, *args, **kwargs)
    if name == "__array_function__":
        return _array_function(tape, *args)
    if name in REDUCTIONS:
        return tape.call(REDUCTIONS[name], x, *args, **kwargs)
    return NotImplemented


def _operator(tape: Tape, x: Any, name: str, *others: Any) -> Any:
    ufunc = OPERATOR_UFUNCS[name]
    if any(getattr(type(other), "__array_ufunc__", 0) is None for other in others):
        return NotImplemented
    if name.startswith("__i") and others:
        return tape.call(ufunc, x, *others, out=x)
    reflected = name.startswith("__r") and name not in ("__rshift__",)
    return tape.call(ufunc, *others, x) if reflected else tape.call(ufunc, x, *others)


def _array_ufunc(tape: Tape, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Do what ``ndarray.__array_ufunc__`` does: defer to every class that has its own."""
    out = kwargs.get("out", ())
    if any(overrides(e) for e in (*inputs, *(out if isinstance(out, tuple) else (out,)))):
        return NotImplemented
    return tape.call(ufunc if method == "__call__" else getattr(ufunc, method), *inputs, **kwargs)


def _array_function(tape: Tape, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do what ``ndarray.__array_function__`` does: call the function if all types are derived from ``ndarray``."""
    if not all(issubclass(kind, np.ndarray) for kind in types):
        return NotImplemented
    return past_overrides(tape, function, args, kwargs)


def past_overrides(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function past its overrides: by its source, which may call methods of the class, or in C."""
    if all(type(x) in PLAIN for x in flattened((*args, *kwargs.values()))):
        return tape.call(function, *args, **kwargs)
    if isinstance(function._implementation, FunctionType):
        return tape.call(function._implementation, *args, **kwargs)

    def on_plain_arrays(*args: Any, **kwargs: Any) -> Any:
        return tape.call(function, *args, **kwargs)

    def plainly(parent: Tape | None) -> Any:
        if parent is not None:
            return past_overrides(parent, function, args, kwargs)
        return function._implementation(*args, **kwargs)

    return inherited(tape, plainly, on_plain_arrays, args, kwargs)


def inherited(tape: Tape, plainly: Any, recorded: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operation unmodified, to get a result of the right class; record new entries through ``recorded``.

    ``plainly`` gets the tape of the enclosing derivative.  ``recorded`` gets plain arrays; the cotangent goes to its
    result, which equals that of ``plainly``.
    """
    args_of_arrays, kwargs_of_arrays = plain_arrays(args), {k: plain_arrays(v) for k, v in kwargs.items()}
    out = kwargs.get("out")
    if out is not None:
        recorded(*args_of_arrays, **kwargs_of_arrays)
        return out[0] if isinstance(out, tuple) else out
    y = plainly(tape.parent)
    if not differentiable(y):
        return y
    place = owner(y) if isinstance(y, np.ndarray) else None
    if any(isinstance(a, np.ndarray) and owner(a) is place for a in (*args, *kwargs.values())):
        return y
    tape.records.append((of_equal, plain_arrays(y), recorded(*args_of_arrays, **kwargs_of_arrays)))
    return y


def of_equal(table: Cotangents, record: Record) -> None:
    _, y, same = record
    table.add(same, table.take(y))


def flattened(values: Any) -> Iterator[Any]:
    for x in values:
        if isinstance(x, (list, tuple)):
            yield from flattened(x)
        else:
            yield x
