"""Recorded calls of the methods of ufuncs: ``reduce``, ``accumulate``, ``reduceat``, ``outer`` and ``at``."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...rules import find_rule
from ...rules.methods import UFUNC_METHODS
from ...values.numbers import call_on
from ..recorded.access import getitem
from ..recorded.stores import array_setitem, setitem
from ..recorded.tape import Tape
from ..unrecorded.opaque_calls import call_opaque
from .destination import memory_apart
from .dispatch import dispatched
from .object_arrays import holds_computing
from .subclasses import inherited, is_subclass

ADD_AT: dict[np.ufunc, Any] = {}
"""Handlers of the method ``at`` (unbuffered in-place operation), by ufunc."""

PARAMETERS = {
    "reduce": ("array", "axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("array", "axis", "dtype", "out"),
    "reduceat": ("array", "indices", "axis", "dtype", "out"),
}


def ufunc_method(tape: Tape, ufunc: np.ufunc, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name == "__call__":
        return tape.call(ufunc, *args, **kwargs)
    if name == "at" and ufunc in ADD_AT:
        return ADD_AT[ufunc](tape, *args)
    y = dispatched(tape, ufunc, args, kwargs, name)
    if y is not NotImplemented:
        return y
    if name == "at":
        return apply_at(tape, ufunc, *args)
    if any(map(is_subclass, args)):

        def on_plain_arrays(*args: Any, **kwargs: Any) -> Any:
            return ufunc_method(tape, ufunc, name, args, kwargs)

        def plainly(parent: Tape | None) -> Any:
            return call_on(parent, getattr(ufunc, name), *args, **kwargs)

        return inherited(tape, plainly, on_plain_arrays, args, kwargs)
    function = UFUNC_METHODS.get((ufunc, name))
    rule = find_rule(ufunc)
    is_zero = rule is not None and rule.is_zero and name != "outer"
    if function is None and not is_zero:
        return call_opaque(tape, getattr(ufunc, name), args, kwargs)
    if name == "outer":
        return tape.call(function, *args, **kwargs)
    return _along_axis(tape, ufunc, name, function, args, kwargs)


def _along_axis(
    tape: Tape, ufunc: np.ufunc, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call ``reduce``, ``accumulate`` or ``reduceat`` through ``function``, which computes the same."""
    method, names = getattr(ufunc, name), PARAMETERS[name]
    given = dict(zip(names, args))
    if len(args) > len(names) or given.keys() & kwargs.keys() or not kwargs.keys() <= set(names):
        return method(*args, **kwargs)  # raises what NumPy raises
    given |= kwargs
    out = given.pop("out", None)
    out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    is_fold = isinstance(function, partial) and function.args == (ufunc,)
    rule = find_rule(ufunc)
    is_zero = rule is not None and rule.is_zero
    plain = given.keys() <= {"array", "axis", "indices"} and type(given.get("axis", 0)) is int
    own = holds_computing(given.get("array"))  # the entries' methods must run only once
    if not own and (is_fold or is_zero or out is not None or not plain):
        y = method(**given, out=memory_apart(out)) if out is not None else method(**given)  # raises what NumPy raises
        if is_zero:
            if out is not None:
                array_setitem(tape, out, ..., y)
            return y if out is None else out
        dtype = given.pop("dtype", None)
        if dtype is not None:
            given["array"] = tape.call(np.asarray, given["array"], dtype=dtype)
        if is_fold and name == "reduce":
            # In NumPy 2.4 the vectorised loops of some ufuncs (power, arctan2) do not fold from the left.
            folded = function(**given)
            if not np.allclose(folded, y, equal_nan=True):
                return call_opaque(tape, method, args, kwargs)
    if name != "reduceat":
        given.setdefault("axis", 0)
    y = tape.call(function, *(given.pop(n) for n in ("array", "indices") if n in given), **given)
    if out is None:
        return y
    array_setitem(tape, out, ..., y)
    return out


def apply_at(tape: Tape, ufunc: np.ufunc, a: np.ndarray, index: Any, *operands: Any) -> None:
    """Call ``ufunc.at(a, index, b)``: an entry that the index names several times is changed as often, in order."""
    named = np.arange(a.size).reshape(a.shape)[index]
    places = named.reshape(-1)
    if places.size == 0:
        return
    operands = tuple(
        tape.call(np.reshape, tape.call(np.broadcast_to, _apart(tape, a, b), named.shape), -1) for b in operands
    )
    by_place = np.argsort(places, kind="stable")
    changes = np.r_[True, np.diff(places[by_place]) != 0]
    since = np.maximum.accumulate(np.where(changes, np.arange(places.size), 0))
    times = np.empty_like(places)
    times[by_place] = np.arange(places.size) - since  # how often the index has named each place before
    for k in range(int(times.max()) + 1):
        (turn,) = np.nonzero(times == k)
        entries = np.unravel_index(places[turn], a.shape)
        new = tape.call(ufunc, getitem(tape, a, entries), *(getitem(tape, b, turn) for b in operands))
        setitem(tape, a, entries, new)


def _apart(tape: Tape, a: np.ndarray, b: Any) -> Any:
    """Return an operand as it is before ``a`` changes: NumPy copies an operand that shares memory with ``a``."""
    b = tape.call(np.asarray, b)
    return tape.call(np.copy, b) if isinstance(b, np.ndarray) and np.may_share_memory(a, b) else b
