"""Handlers for NumPy functions that call user functions, shuffle arrays, or have several names for an argument."""

from __future__ import annotations

import functools
import gc
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ...rules.registry import CALLERS, HANDLERS, handles
from ...rules.table import RULES
from ...values.numbers import differentiable
from ..recorded.call import call
from ..recorded.stores import setitem
from ..recorded.tape import Tape
from ..unrecorded.opaque_calls import Recording, call_opaque
from .arrays import call_rule
from .dispatch import dispatched
from .models import call_compiled
from .object_arrays import as_objects
from .subclasses import past_overrides


def call_ufunc(tape: Tape, ufunc: np.ufunc, *args: Any, **kwargs: Any) -> Any:
    """Call a ufunc without a rule; one from ``np.frompyfunc`` calls its Python function, recorded, on each entry."""
    y = dispatched(tape, ufunc, args, kwargs)
    if y is not NotImplemented:
        return y
    functions = [f for f in gc.get_referents(ufunc) if callable(f)]
    if len(functions) != 1 or len(args) != ufunc.nin or kwargs not in ({}, {"out": ...}):
        return call_compiled(tape, ufunc, args, kwargs)
    recorded = np.frompyfunc(Recording(tape, functions[0]), ufunc.nin, ufunc.nout)
    return recorded(*(as_objects(tape, x) for x in args), **kwargs)


CALLERS[np.ufunc] = call_ufunc


def _implementation(function: Any, tape: Tape, *args: Any, **kwargs: Any) -> Any:
    """Call ``np.concatenate._implementation`` etc., which a class's ``__array_function__`` uses for plain arrays."""
    return past_overrides(tape, function, args, kwargs)


for _function in vars(np).values():
    _in_c = getattr(_function, "_implementation", None)
    if isinstance(_in_c, BuiltinFunctionType):
        HANDLERS[_in_c] = functools.partial(_implementation, _function)


@handles(np.clip)
def clip(tape: Tape, a: Any, *bounds: Any, **kwargs: Any) -> Any:
    """Call ``np.clip``, whose bounds have two keyword names each and may be omitted."""
    if not {"min", "max"}.isdisjoint(kwargs):
        if bounds or not {"a_min", "a_max"}.isdisjoint(kwargs):
            np.clip(a, *bounds, **kwargs)  # raises what NumPy raises
        bounds = kwargs.pop("min", None), kwargs.pop("max", None)
    return call_rule(tape, RULES[np.clip], (a, *bounds), kwargs)


@handles(np.pad)
def pad(tape: Tape, array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Call ``np.pad`` by its rule, or by its source if the padding values may carry a derivative."""
    if callable(mode) or any(differentiable(x) for x in kwargs.values()):
        return call(tape, np.pad._implementation, array, pad_width, mode, **kwargs)  # type: ignore[attr-defined]
    return call_rule(tape, RULES[np.pad], (array, pad_width, mode), kwargs)


def _shuffling(name: str) -> Any:
    """Return a handler for a generator's method that selects entries: it draws positions, then reads the entries."""

    def handler(tape: Tape, generator: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, np.ndarray) or not differentiable(x):
            return call_opaque(tape, getattr(generator, name), (x, *args), kwargs)
        out = kwargs.pop("out", None)
        y = call(tape, np.take, x, getattr(generator, name)(np.arange(x.size).reshape(x.shape), *args, **kwargs))
        if out is None:
            return y
        setitem(tape, out, ..., y)
        return out

    return handler


def _shuffle(tape: Tape, generator: Any, x: Any, *args: Any, **kwargs: Any) -> None:
    if not isinstance(x, np.ndarray) or not differentiable(x):
        call_opaque(tape, generator.shuffle, (x, *args), kwargs)
        return
    places = np.arange(x.size).reshape(x.shape)
    generator.shuffle(places, *args, **kwargs)
    setitem(tape, x, ..., call(tape, np.take, x, places))


for _generator in (np.random.Generator, np.random.RandomState):
    for _name in ("permutation", "permuted", "choice"):
        if hasattr(_generator, _name):
            HANDLERS[getattr(_generator, _name)] = _shuffling(_name)
    HANDLERS[_generator.shuffle] = _shuffle
