"""Calls with a destination (``out=``) and a mask of elements to compute (``where=``).

On the tape such a call becomes the call without ``out``, then ``np.where`` between its elements and the former contents
of the destination, then a write into the destination.  NumPy itself runs with a copy of the destination, so that it
raises its own errors and computes no masked element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.table import Rule
from ...values.numbers import call_on
from ..recorded.stores import array_setitem
from ..recorded.tape import Tape
from .apply import record_rule

SHAPING = ("axes", "axis", "keepdims", "min", "max", "a_min", "a_max")
"""The keywords of ufuncs and of ``clip`` on which the derivative depends."""

EXACT = {np.sum, np.prod, np.max, np.min, np.mean, np.cumsum, np.cumprod, np.dot, np.einsum, np.take, np.concatenate}
"""Functions known to leave in ``out`` what they would return, if ``out`` has the shape and dtype of the result."""


def named_out(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with a positional ``out`` and all later arguments moved to keywords."""
    place = rule.position_of_out
    if isinstance(rule.function, np.ufunc):
        names: tuple[str, ...] = ("out",)
        outs = args[place:]
        values: tuple[Any, ...] = ((*outs, *(None,) * (rule.function.nout - len(outs))),)
        fits = len(outs) <= rule.function.nout
    else:
        names, values = rule.names[place:], args[place:]
        fits = len(values) <= len(names)
    if not fits or any(name in kwargs for name in names[: len(values)]):
        rule.function(*args, **kwargs)  # raises what NumPy raises
    return args[:place], {**dict(zip(names, values)), **kwargs}


def apply_universal(tape: Tape, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run and record a ufunc with keywords."""
    function: Any = rule.function
    out, where = kwargs.get("out"), kwargs.get("where", True)
    outs = out if isinstance(out, tuple) else (out,)
    options = {k: v for k, v in kwargs.items() if k in SHAPING}
    given = {k: v for k, v in kwargs.items() if k != "out"}
    apart: tuple[Any, ...] = ()
    if any(o is not None for o in outs):
        apart = tuple(call_on(tape.parent, memory_apart, o) for o in outs)
        given["out"] = apart if isinstance(out, tuple) else apart[0]
    y = call_on(tape.parent, function, *args, **given)
    loop = _loop_dtype(kwargs)
    if loop is not None:
        args = tuple(_converted(tape, x, loop) for x in args)
    if "out" in given:
        if (where is not True or getattr(function, "signature", None) is not None) and any(
            map(_overlaps, outs, (args,) * len(outs))
        ):
            _check_in_place(function, args, kwargs, outs, apart)
        if len(outs) > 1 or any(isinstance(o, np.ndarray) and o.dtype not in _dtypes(args) for o in outs):
            # The rule needs the result before its conversion to the dtype of the destination.
            again = options if where is True else {**options, "where": where}
            y = call_on(tape.parent, function, *args, **again)
    y = record_rule(tape, rule, y, args, options)
    parts = y if isinstance(y, tuple) else (y,)
    found = []
    for o, e in zip((*outs, *(None,) * len(parts)), parts):
        if where is not True:
            kept = np.zeros((), np.result_type(e))[()] if o is None else o
            chosen = tape.call(np.where, where, e, kept)
            e = chosen if o is not None or isinstance(e, np.ndarray) else tape.call(np.ndarray.item, chosen)
        if o is not None:
            array_setitem(tape, o, ..., e)
        found.append(e if o is None else o)
    return tuple(found) if isinstance(y, tuple) else found[0]


def _check_in_place(function: Any, args: Any, kwargs: dict[str, Any], outs: Any, apart: tuple[Any, ...]) -> None:
    """Refuse a ufunc whose result differs when ``out`` shares memory with an argument: it reads what it has written."""
    arrays = [o for o in outs if isinstance(o, np.ndarray)]
    before = [np.copy(o) for o in arrays]
    function(*args, **kwargs)
    after = [np.copy(o) for o in arrays]
    for o, old in zip(arrays, before):
        o[...] = old
    expected = [e for e in apart if isinstance(e, np.ndarray)]
    if not all(np.array_equal(a, e, equal_nan=a.dtype.kind in "fc") for a, e in zip(after, expected)):
        raise NoDerivative(IN_ITS_MEMORY.format(function.__name__))


IN_ITS_MEMORY = "{} with out= in the memory of an argument overwrites entries that it has not read yet; pass a separate array as out="


def memory_apart(out: Any) -> Any:
    """Return a copy of ``out`` that is contiguous if and only if ``out`` is."""
    if not isinstance(out, np.ndarray):
        return out
    if out.flags.c_contiguous or out.flags.f_contiguous:
        return np.copy(out, "K")
    apart = np.empty((*out.shape, 2), out.dtype)[..., 0]
    apart[...] = out
    return apart


def _loop_dtype(kwargs: dict[str, Any]) -> np.dtype[Any] | None:
    """Return the dtype in which a ufunc was asked to compute, or None."""
    signature = kwargs.get("signature", kwargs.get("sig"))
    asked = kwargs.get("dtype") if signature is None else signature[-1]
    return None if asked is None else np.dtype(asked)


def _converted(tape: Tape, x: Any, dtype: np.dtype[Any]) -> Any:
    """Convert an operand to the ``dtype`` of the ufunc; a complex operand stays, as its loop may give real results."""
    kind = np.result_type(x)
    if kind.kind not in "fc" or dtype.kind not in "fc" or kind == dtype or kind.kind == "c" and dtype.kind == "f":
        return x
    return tape.call(np.asarray, x, dtype=dtype)


def _dtypes(args: tuple[Any, ...]) -> set[Any]:
    found = {x.dtype for x in args if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"}
    return found if len(found) == 1 else {np.result_type(*args)} if found else {np.dtype(float)}


def leave_result(tape: Tape, rule: Rule, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
    """Write the result ``y`` of a function into ``out``."""
    exact = rule.function in EXACT and not {"dtype", "casting", "order"} & kwargs.keys()
    if (
        not exact
        or type(out) is not np.ndarray
        or not (out.flags.c_contiguous and out.dtype == np.result_type(y) and out.shape == np.shape(y))
        or _overlaps(out, args)
    ):
        kept = {k: v for k, v in kwargs.items() if not k.startswith("overwrite_")}
        if not left_by(rule.function, args, kept, out, y):
            return y
    array_setitem(tape, out, ..., y)
    return out


def left_by(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, y: Any) -> bool:
    """Whether a function leaves ``y`` in ``out``; some accept ``out`` and ignore it."""
    before = np.copy(out) if isinstance(out, np.ndarray) else None
    result = function(*args, **kwargs, out=out)  # raises what NumPy raises
    after = np.copy(out)
    out[...] = before
    if result is not out and np.array_equal(after, before, equal_nan=out.dtype.kind in "fc"):  # type: ignore[arg-type]
        return False
    rounding = 8 * np.finfo(out.dtype).eps if out.dtype.kind in "fc" else 0
    if not np.allclose(after, np.asarray(y), rounding, rounding, equal_nan=out.dtype.kind in "fc"):
        raise NoDerivative(
            IN_ITS_MEMORY.format(function.__name__)
            if _overlaps(out, args)
            else f"{function.__name__} has no derivative for an out= whose shape or dtype changes the result; pass an array "
            "with the shape and dtype of the result"
        )
    return True


def _overlaps(out: Any, args: tuple[Any, ...]) -> bool:
    if not isinstance(out, np.ndarray):
        return False
    inside = (x for a in args for x in (a if isinstance(a, (tuple, list)) else (a,)) if isinstance(x, np.ndarray))
    return any(np.may_share_memory(x, out) for x in inside)
