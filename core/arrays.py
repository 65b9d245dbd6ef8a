"""Calls that compute on numbers and arrays: functions with rules, and the methods of numbers, arrays and ufuncs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, ValuesView
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from .access import getitem, iterate, special
from .apply import apply_rule, pull_back
from .dispatch import dispatched
from .errors import NoDerivative
from .integers import carries
from .object_arrays import by_entries, computes, is_by_entries, is_computing
from .opaque import call_opaque, is_exact, note
from .operate import OPERATORS
from .overwrite import apply_overwriting, overwritten
from .raw_memory import array_on, shows_memory
from .rules.methods import METHODS, UFUNC_METHODS
from .rules.table import RULES
from .stores import array_setitem, setitem
from .subclasses import OPERATOR_UFUNCS, inherited, inherited_method, is_subclass
from .tape import Int, Tape, pass_on
from .values import INEXACT, NO_KEYWORDS, NUMBERS, differentiable, evaluate

MUTATORS: dict[str, Any] = {}
"""Methods of ``ndarray`` that write into it, by name: ``handler(tape, array, *args)``."""

ADD_AT: dict[np.ufunc, Any] = {}
"""The unbuffered in-place operation of ufuncs (``np.add.at``), where it is known."""

OPERATOR_METHODS: dict[str, Any] = {}
for _name, (_recorded, _function) in OPERATORS.items():
    OPERATOR_METHODS[f"__{_name.strip('_')}__"] = _recorded
    OPERATOR_METHODS.setdefault(f"__r{_name.strip('_')}__", lambda tape, a, b, op=_recorded: op(tape, b, a))


def call_rule(tape: Tape, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function that has a rule on whatever arguments, and record it."""
    if not kwargs and len(args) == 1 and type(args[0]) in NUMBERS:
        return apply_rule(tape, rule, args, kwargs)
    y = dispatched(tape, rule.function, args, kwargs)
    if y is not NotImplemented:
        return y
    for i, x in enumerate(args):
        if type(x) not in NUMBERS and not isinstance(x, (tuple, list)):
            if is_exact(type(x)):
                return call_opaque(tape, rule.function, args, kwargs)
            if not isinstance(x, (np.ndarray, np.generic)) and shows_memory(x):
                return call_rule(tape, rule, (*args[:i], array_on(tape, x), *args[i + 1 :]), kwargs)
            if is_by_entries(rule) and not kwargs and computes(x):
                return by_entries(tape, rule.function, args)
            converted = x if rule.is_zero else _as_number(tape, rule.function, x)
            if converted is not x:
                return call_rule(tape, rule, (*args[:i], converted, *args[i + 1 :]), kwargs)
    if rule.reads_arrays:
        args = tuple([_array_of(tape, x) if isinstance(x, (list, tuple)) else x for x in args])
        sequences = [k for k, x in kwargs.items() if isinstance(x, (list, tuple)) and k != "out"]
        kwargs = {**kwargs, **{k: _array_of(tape, kwargs[k]) for k in sequences}}
    if "out" in rule.parameters and rule.parameters.index("out") < len(args):
        i = rule.parameters.index("out")
        kwargs = {**kwargs, "out": args[i], **dict(zip(rule.parameters[i + 1 :], args[i + 1 :]))}
        return call_rule(tape, rule, args[:i], kwargs)
    out = kwargs.get("out")
    if out is ...:  # an array where a number would be
        y = call_rule(tape, rule, args, {k: v for k, v in kwargs.items() if k != "out"})
        return y if isinstance(y, np.ndarray) else tape.call(np.asarray, y)
    where = kwargs.get("where", True) if isinstance(rule.function, np.ufunc) else True
    if out is None and where is True:
        if isinstance(rule.function, np.ufunc) and len(args) > rule.function.nin:
            kwargs = {**kwargs, "out": args[rule.function.nin :]}
            return call_rule(tape, rule, args[: rule.function.nin], kwargs)
        if rule.may_write or kwargs:
            flags = overwritten(rule, args, kwargs)
            if flags or rule.writes:
                return apply_overwriting(tape, rule, args, kwargs, flags)
        return apply_rule(tape, rule, args, kwargs)
    kept = {k: v for k, v in kwargs.items() if k not in ("out", "where" if where is not True else "out")}
    y = apply_rule(tape, rule, args, {k: v for k, v in kept.items() if k != "casting"})
    parts = y if isinstance(y, tuple) else (y,)
    outs = out if isinstance(out, tuple) else (out,)
    outs = (*outs, *parts)[: len(parts)]
    if where is not True:
        parts = tuple(tape.call(np.where, where, e, 0.0 if o is None else o) for o, e in zip(outs, parts))
    for o, e in zip(outs, parts):
        if o is not None and o is not e and not _can_store(rule.function, o, e, kwargs.get("casting", "same_kind")):
            rule.function(*args, **kwargs)  # raises what NumPy raises
            raise NoDerivative(f"{rule.function.__name__} with out= of another shape or dtype has no derivative")
    if not isinstance(rule.function, np.ufunc) and not _same_in_place(rule.function, args, kwargs, outs[0], parts[0]):
        raise NoDerivative(
            f"{rule.function.__name__} with out= in the memory of an argument overwrites what it has yet to read; give it "
            "an array apart"
        )
    for o, e in zip(outs, parts):
        if o is not None and o is not e:
            array_setitem(tape, o, ..., e)
    found = tuple(e if o is None else o for o, e in zip(outs, parts))
    return found if isinstance(y, tuple) else found[0]


def _same_in_place(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, y: Any) -> bool:
    """Whether a function gives ``y`` in ``out`` though that lies in the memory of an argument."""
    inside = (x for a in args for x in (a if isinstance(a, (tuple, list)) else (a,)) if isinstance(x, np.ndarray))
    if not isinstance(out, np.ndarray) or not any(np.may_share_memory(x, out) for x in inside):
        return True
    before = np.copy(out)
    function(*args, **kwargs)
    same = np.array_equal(out, np.asarray(y, out.dtype), equal_nan=out.dtype.kind in "fc")
    out[...] = before
    return same


def _can_store(function: Any, out: np.ndarray, y: Any, casting: str) -> bool:
    """Whether a function may leave ``y`` in ``out``; a ufunc repeats it along further axes."""
    given, wide = np.shape(y), isinstance(function, np.ufunc)
    ends = out.shape[out.ndim - len(given) :] if wide and len(given) <= out.ndim else out.shape
    same = len(given) == len(ends) and all(n == m or wide and n == 1 for n, m in zip(given, ends))
    return same and np.can_cast(np.result_type(y), out.dtype, casting)  # type: ignore[arg-type]


def _array_of(tape: Tape, x: Any) -> Any:
    """The array that NumPy makes of a nested sequence; a sequence of integers, or of what becomes a number, stays as it is."""
    kinds = set(_kinds(x))
    if kinds & INEXACT and kinds <= NUMBERS or any(map(is_computing, kinds)):
        return tape.call(np.array, x)
    return x


def _kinds(x: Any) -> Iterator[type]:
    for e in x:
        if isinstance(e, (list, tuple)):
            yield from _kinds(e)
        else:
            yield float if isinstance(e, float) else type(e)


def _as_number(tape: Tape, function: Any, x: Any) -> Any:
    """What the conversions that C code makes implicitly (``__float__``, ``__array__``) give for an object."""
    if type(x) is memoryview:
        return np.asarray(x)
    if isinstance(x, np.ndarray) and getattr(function, "__module__", None) not in ("math", "cmath"):
        return x
    if isinstance(x, (Iterator, set, frozenset, deque, ValuesView)) or function in ITERATING and _is_iterable(type(x)):
        return list(iterate(tape, x))
    numeric = isinstance(function, np.ufunc) or (getattr(function, "__module__", None) or "").startswith("numpy")
    for name in ("__array__",) if numeric and not isinstance(function, type) else ("__float__", "__complex__"):
        own = special(type(x), name)
        if own is not None:
            return tape.call(own, x)
    return x


ITERATING = {math.fsum, math.prod, math.dist}
"""Functions of numbers that take any iterable."""


def _is_iterable(kind: type) -> bool:
    return special(kind, "__iter__") is not None or special(kind, "__getitem__") is not None


def array_method(
    tape: Tape, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], overridden: bool = False
) -> Any:
    """``x.name(*args)`` of an array or NumPy number; a method of a subclass in Python is passed by if overridden."""
    if type(x) is not np.ndarray and not overridden:
        own = getattr(type(x), name, None)
        if isinstance(own, FunctionType):  # a method of a subclass written in Python
            return tape.call(own, x, *args, **kwargs)
    if isinstance(x, np.void) and name in ("getfield", "setfield"):
        y = array_method(tape, np.asarray(x), name, args, kwargs)
        return getitem(tape, y, ()) if isinstance(y, np.ndarray) and y.ndim == 0 else y
    derived = is_subclass(x)
    if derived:
        y = inherited_method(tape, x, name, args, kwargs)
        if y is not NotImplemented or name in (*OPERATOR_UFUNCS, "__array_ufunc__", "__array_function__"):
            return y
    if name in MUTATORS and isinstance(x, np.ndarray):
        return MUTATORS[name](tape, x, *args, **kwargs)
    if name in OPERATOR_METHODS:
        return OPERATOR_METHODS[name](tape, x, *args)
    if isinstance(x, np.generic) and name in ("copy", "__copy__", "__deepcopy__"):
        return x
    found = METHODS.get(name)
    if found is None or not (differentiable(x) or any(map(differentiable, args)) or carries(tape, x)):
        if found is not None and x.dtype.kind == "b" and kwargs.get("out") is None:
            return getattr(x, name)(*args, **kwargs)  # truth has no derivative that could be lost
        return call_opaque(tape, getattr(x, name), args, kwargs)
    function, adapt = found
    if derived:
        return _inherited(tape, x, name, args, kwargs)
    args, kwargs = adapt(x, *args, **kwargs) if adapt is not None else ((x, *args), kwargs)
    rule = RULES.get(function)
    y = tape.call(function, *args, **kwargs) if rule is None else call_rule(tape, rule, args, kwargs)
    if isinstance(y, np.ndarray) and y is x and name in ("copy", "flatten"):
        return tape.call(np.copy, x)
    return y


def _inherited(tape: Tape, x: np.ndarray, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of arrays that moves entries, for an array of a derived class."""

    def on_plain_arrays(x: Any, *args: Any, **kwargs: Any) -> Any:
        return array_method(tape, x, name, args, kwargs)

    def plainly(parent: Tape | None) -> Any:
        return evaluate(parent, getattr(np.ndarray, name), x, *args, **kwargs)

    return inherited(tape, plainly, on_plain_arrays, (x, *args), kwargs)


def plain_number(tape: Tape, x: Any) -> Any:
    """A number of a class derived from ``float`` or ``complex`` as one of that class itself."""
    if type(x) in NUMBERS or not isinstance(x, (float, complex)):
        return x
    y = stored_number(x) if tape.parent is None else plain_number(tape.parent, x)
    tape.records.append((pass_on, y, x))
    return y


def stored_number(x: float | complex) -> float | complex:
    """The value that a number of a derived class holds, whatever its ``__float__`` says."""
    if isinstance(x, float):
        return float.__mul__(x, 1.0)
    return complex(complex.real.__get__(x), complex.imag.__get__(x))  # type: ignore[attr-defined]


def number_method(tape: Tape, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name == "conjugate" and type(x) is complex:
        y = x.conjugate() if tape.parent is None else number_method(tape.parent, x, name, args, kwargs)
        tape.records.append((pull_back, y, RULES[np.conjugate], (x,), NO_KEYWORDS))
        return y
    if name in OPERATOR_METHODS:
        return OPERATOR_METHODS[name](tape, x, *args)
    y = getattr(x, name)(*args, **kwargs)
    if type(x) is Int and not args and name in ("conjugate", "__pos__"):
        return x
    if type(x) is Int and name == "__float__":
        return tape.call(float, x)
    if name == "as_integer_ratio" and type(x) is not int:
        y = Int(y[0]), Int(y[1])  # from which the number can be computed again
        note(tape, y, getattr(x, name), (x,))
    return y


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
            return evaluate(parent, getattr(ufunc, name), *args, **kwargs)

        return inherited(tape, plainly, on_plain_arrays, args, kwargs)
    function = UFUNC_METHODS.get((ufunc, name))
    if function is None:
        return call_opaque(tape, getattr(ufunc, name), args, kwargs)
    if name in ("reduce", "accumulate") and len(args) == 1 and "axis" not in kwargs:
        kwargs = {**kwargs, "axis": 0}
    if name.startswith("reduce") and isinstance(function, partial) and function.args == (ufunc,):
        # The vectorised loops of some (power, arctan2) do not fold from the left: NumPy 2.4.
        folded = function(*args, **kwargs)
        if not np.allclose(folded, getattr(ufunc, name)(*args, **kwargs), equal_nan=True):
            return call_opaque(tape, getattr(ufunc, name), args, kwargs)
    return tape.call(function, *args, **kwargs)


def apply_at(tape: Tape, ufunc: np.ufunc, a: np.ndarray, index: Any, *operands: Any) -> None:
    """``ufunc.at(a, index, b)``: an entry that the index names several times is changed as often, in that order."""
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
    times[by_place] = np.arange(places.size) - since  # how often each place was named before
    for k in range(int(times.max()) + 1):
        (turn,) = np.nonzero(times == k)
        entries = np.unravel_index(places[turn], a.shape)
        new = tape.call(ufunc, getitem(tape, a, entries), *(getitem(tape, b, turn) for b in operands))
        setitem(tape, a, entries, new)


def _apart(tape: Tape, a: np.ndarray, b: Any) -> Any:
    """An operand as it is before ``a`` changes: NumPy copies one that shares its memory."""
    b = tape.call(np.asarray, b)
    return tape.call(np.copy, b) if isinstance(b, np.ndarray) and np.may_share_memory(a, b) else b
