"""Recorded calls of functions with rules, and of the methods of numbers and arrays."""

from __future__ import annotations

import functools
import math
import statistics
from collections import deque
from collections.abc import Iterator, ValuesView
from types import FunctionType
from typing import Any

import numpy as np

from ...rules.methods import METHODS
from ...rules.registry import Handler
from ...rules.table import RULES, Rule
from ...values.numbers import INEXACT, NO_KEYWORDS, NUMBERS, Int, call_on, differentiable, is_exact
from ...values.special_methods import answer, special
from ..recorded.access import getitem, iterate, place
from ..recorded.operate import OPERATORS, is_sequence
from ..recorded.tape import Tape, pass_on
from ..unrecorded.opaque import note
from ..unrecorded.opaque_calls import call_opaque
from ..unrecorded.watched import answers, calls_back, watched
from .apply import apply_rule, pull_back, record_rule
from .destination import apply_universal, leave_result, named_out
from .dispatch import dispatched
from .integers import carries
from .object_arrays import by_entries, by_operators, computes, is_by_entries, is_computing
from .overwrite import apply_overwriting, overwritten
from .plain_calls import FLOAT, array_of_numbers, shortened
from .raw_memory import array_on, shows_memory
from .subclasses import OPERATOR_UFUNCS, inherited, inherited_method, is_subclass

MUTATORS: dict[str, Any] = {}
"""Methods of ``ndarray`` that need a handler, mostly in-place writes, by name: ``handler(tape, array, *args)``."""

OPERATOR_METHODS: dict[str, Any] = {}
for _name, (_recorded, _function) in OPERATORS.items():
    OPERATOR_METHODS[f"__{_name.strip('_')}__"] = _recorded
    OPERATOR_METHODS.setdefault(f"__r{_name.strip('_')}__", lambda tape, a, b, op=_recorded: op(tape, b, a))


def call_rule(tape: Tape, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run and record a function that has a rule, for arguments of any kind.

    Classes that take over NumPy's functions come first.  Then arguments become numbers and arrays as C code would
    convert them, but on the tape.  ``out``, ``where`` and ``overwrite_*`` are expressed as recorded writes.
    """
    if not kwargs and len(args) == 1 and type(args[0]) in NUMBERS:
        x = args[0]
        if type(x) is not np.ndarray or x.dtype.char != "O" or not calls_back(x):
            return apply_rule(tape, rule, args, kwargs)
    if not kwargs and not rule.may_write and len(args) <= rule.position_of_out and all(map(_is_plain_operand, args)):
        return apply_rule(tape, rule, args, kwargs)
    y = dispatched(tape, rule.function, args, kwargs)
    if y is not NotImplemented:
        return y
    for i, x in enumerate(args):
        if isinstance(x, (tuple, list)):
            if type(x) not in (tuple, list) and answers(type(x)):  # NumPy reads the entries without the class's methods
                entries = list(tuple.__iter__(x) if isinstance(x, tuple) else list.__iter__(x))
                return call_rule(tape, rule, (*args[:i], entries, *args[i + 1 :]), kwargs)
        elif type(x) not in NUMBERS:
            if is_exact(type(x)):
                return call_opaque(tape, rule.function, args, kwargs)
            if not isinstance(x, (np.ndarray, np.generic)) and shows_memory(x):
                return call_rule(tape, rule, (*args[:i], array_on(tape, x), *args[i + 1 :]), kwargs)
            if is_by_entries(rule) and not kwargs and computes(x) and not is_sequence(x):
                return by_entries(tape, rule.function, args)
            converted = _as_number(tape, rule.function, x) if not rule.is_zero or _is_converted(x) else x
            if converted is not x:
                return call_rule(tape, rule, (*args[:i], converted, *args[i + 1 :]), kwargs)
    if rule.reads_arrays:
        args = tuple([_array_of(tape, x, rule, i) if isinstance(x, (list, tuple)) else x for i, x in enumerate(args)])
        sequences = [k for k, x in kwargs.items() if isinstance(x, (list, tuple)) and k not in TAKEN_AS_THEY_ARE]
        kwargs = {**kwargs, **{k: _array_of(tape, kwargs[k], rule) for k in sequences}}
    if len(args) > rule.position_of_out:
        args, kwargs = named_out(rule, args, kwargs)
    if kwargs:
        if kwargs.get("out") is ...:  # asks NumPy for an array even if the result is a scalar
            y = call_rule(tape, rule, args, {k: v for k, v in kwargs.items() if k != "out"})
            return y if isinstance(y, np.ndarray) else tape.call(np.asarray, y)
        if rule.is_universal:
            y = by_operators(tape, rule, args, kwargs)
            return y if y is not NotImplemented else apply_universal(tape, rule, args, kwargs)
        if "out" in kwargs:
            out = kwargs["out"]
            kwargs = {k: v for k, v in kwargs.items() if k != "out"}
            y = call_rule(tape, rule, args, kwargs)
            return y if out is None else leave_result(tape, rule, y, args, kwargs, out)
    if rule.may_write or kwargs:
        flags = overwritten(rule, args, kwargs)
        if flags or rule.writes:
            return apply_overwriting(tape, rule, args, kwargs, flags)
    if any(map(calls_back, args)) or kwargs and any(map(calls_back, kwargs.values())):
        y = by_operators(tape, rule, args, kwargs)
        if y is not NotImplemented:
            return y
        return record_rule(tape, rule, watched(tape, rule.function, *args, **kwargs), args, kwargs)
    return apply_rule(tape, rule, args, kwargs)


@functools.cache
def recorded_call(rule: Rule) -> Handler:
    """Return the recorded form of a function with a rule."""
    if rule.function is np.array or rule.function is np.asarray:
        return array_of_numbers(rule, call_rule)
    return shortened(rule, call_rule)


PLAIN_OPERANDS = NUMBERS | {type(None), str}


def _is_plain_operand(x: Any) -> bool:
    """Whether C code takes an argument unconverted: a number, an array of numbers, a string or None."""
    return type(x) in PLAIN_OPERANDS and (type(x) is not np.ndarray or x.dtype.char != "O")


def _array_of(tape: Tape, x: Any, rule: Any, position: int = 64) -> Any:
    """Return the array that NumPy makes of a nested sequence.

    A sequence of integers stays as it is unless the rule has a derivative in this argument: it may be a shape or axes.
    """
    kinds = set(_kinds(x))
    if kinds & INEXACT and kinds <= NUMBERS or any(map(is_computing, kinds)):
        return tape.call(np.array, x)
    whole = position < len(rule.given) and callable(rule.given[position]) and kinds <= {int, bool}
    return np.array(x) if whole and kinds else x


def _kinds(x: Any) -> Iterator[type]:
    for e in x:
        if isinstance(e, (list, tuple)):
            yield from _kinds(e)
        else:
            yield float if isinstance(e, float) else type(e)


TAKEN_AS_THEY_ARE = {"out", "subset_by_index", "subset_by_value", "select_range"}
"""Keyword arguments that no function reads as an array of numbers: SciPy asks whether a range of eigenvalues is given."""


def _as_number(tape: Tape, function: Any, x: Any) -> Any:
    """Convert an object as C code would implicitly (``__float__``, ``__array__``, iteration), recorded on the tape."""
    if type(x) is memoryview:
        return np.asarray(x)
    if isinstance(x, np.ndarray) and getattr(function, "__module__", None) not in ("math", "cmath"):
        return x
    if isinstance(x, (Iterator, set, frozenset, deque, ValuesView)) or function in ITERATING and _is_iterable(type(x)):
        return list(iterate(tape, x))
    if function in COUNTING:
        return place(tape, x)
    numeric = isinstance(function, np.ufunc) or (getattr(function, "__module__", None) or "").startswith("numpy")
    names = ("__float__", "__complex__")
    if getattr(function, "__module__", None) == "cmath" or isinstance(function, type) and issubclass(function, COMPLEX):
        names = ("__complex__", "__float__")
    for name in ("__array__",) if numeric and not isinstance(function, type) else names:
        own = special(type(x), name)
        if own is not None:
            return tape.call(own, x) if name == "__array__" else answer(tape, own, name, x)
    if numeric and is_sequence(x):
        try:
            tape.call(len, x)  # NumPy asks for the length twice
            return list(iterate(tape, x)) if tape.call(len, x) else []
        except Exception:  # e.g. a sparse matrix, whose len() raises: NumPy does not treat it as a sequence
            return x
    return place(tape, x)


COUNTING = {math.comb, math.perm, math.factorial, math.gcd, math.lcm, math.isqrt}
"""Functions that convert an object by ``__index__``, even if it has other conversions."""

COMPLEX = (complex, np.complexfloating)


def _is_converted(x: Any) -> bool:
    """Whether C code converts an object to a number by a method written in Python."""
    return any(special(type(x), name) is not None for name in ("__index__", "__float__")) and not is_sequence(x)


ITERATING = {math.fsum, math.prod, math.dist, statistics.mean, statistics.fmean, statistics.harmonic_mean}
ITERATING |= {statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev}
"""Numeric functions that take any iterable."""


def _is_iterable(kind: type) -> bool:
    return special(kind, "__iter__") is not None or special(kind, "__getitem__") is not None


def array_method(
    tape: Tape, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], overridden: bool = False
) -> Any:
    """Call ``x.name(*args)`` of an array or NumPy number.

    ``overridden`` skips a method that a subclass defines in Python, as for ``super().name``.
    """
    found = METHODS.get(name)
    if (
        found is not None
        and type(x) is np.ndarray
        and x.dtype is FLOAT
        and not (name in MUTATORS or name in OPERATOR_METHODS)
    ):
        return _by_function(tape, x, name, found, args, kwargs)
    if type(x) is not np.ndarray and not overridden:
        own = getattr(type(x), name, None)
        if isinstance(own, FunctionType):  # a method of a subclass written in Python
            return tape.call(own, x, *args, **kwargs)
    if isinstance(x, np.void) and name in ("getfield", "setfield"):
        y = array_method(tape, np.asarray(x), name, args, kwargs)
        return getitem(tape, y, ()) if isinstance(y, np.ndarray) and y.ndim == 0 else y
    if name in ("__pow__", "__rpow__") and args[1:] == (None,):
        args = args[:1]  # drop the modulus None
    derived = is_subclass(x)
    if derived:
        y = inherited_method(tape, x, name, args, kwargs)
        if y is not NotImplemented or name in (*OPERATOR_UFUNCS, "__array_ufunc__", "__array_function__"):
            return y
    if name in MUTATORS and isinstance(x, np.ndarray):
        return MUTATORS[name](tape, x, *args, **kwargs)
    if name in OPERATOR_METHODS:
        return OPERATOR_METHODS[name](tape, x, *args)
    if name == "__iter__" and not args:
        iter(x)  # raises what NumPy raises
        return iter(iterate(tape, x))
    if isinstance(x, np.generic) and name in ("copy", "__copy__", "__deepcopy__"):
        return x
    if found is None or not (differentiable(x) or any(map(differentiable, args)) or carries(tape, x)):
        if found is not None and x.dtype.kind == "b" and kwargs.get("out") is None:
            return getattr(x, name)(*args, **kwargs)  # booleans have no derivative
        return call_opaque(tape, getattr(x, name), args, kwargs)
    if derived:
        return _inherited(tape, x, name, args, kwargs)
    return _by_function(tape, x, name, found, args, kwargs)


def _by_function(
    tape: Tape, x: Any, name: str, found: tuple[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a method of an array as the function that has its rule."""
    function, adapt = found
    args, kwargs = adapt(x, *args, **kwargs) if adapt is not None else ((x, *args), kwargs)
    rule = RULES.get(function)
    y = tape.call(function, *args, **kwargs) if rule is None else recorded_call(rule)(tape, *args, **kwargs)
    if isinstance(y, np.ndarray) and y is x and name in ("copy", "flatten"):
        return tape.call(np.copy, x)
    return y


def _inherited(tape: Tape, x: np.ndarray, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of ``ndarray`` on an array of a derived class, and record it on plain arrays."""

    def on_plain_arrays(x: Any, *args: Any, **kwargs: Any) -> Any:
        return array_method(tape, x, name, args, kwargs)

    def plainly(parent: Tape | None) -> Any:
        return call_on(parent, getattr(np.ndarray, name), x, *args, **kwargs)

    return inherited(tape, plainly, on_plain_arrays, (x, *args), kwargs)


def plain_number(tape: Tape, x: Any) -> Any:
    """Convert a number of a class derived from ``float`` or ``complex`` to that base class, recorded."""
    if type(x) in NUMBERS or not isinstance(x, (float, complex)):
        return x
    y = stored_number(x) if tape.parent is None else plain_number(tape.parent, x)
    tape.records.append((pass_on, y, x))
    return y


def stored_number(x: float | complex) -> float | complex:
    """Return the value that a number of a derived class holds, regardless of its ``__float__``."""
    if isinstance(x, float):
        return float.__mul__(x, 1.0)
    return complex(complex.real.__get__(x), complex.imag.__get__(x))  # type: ignore[attr-defined]


_DIVISIONS = frozenset(("__divmod__", "__rdivmod__"))


def is_operator(name: str) -> bool:
    return name in OPERATOR_METHODS or name in _DIVISIONS


def operator_method(tape: Tape, x: Any, name: str, operands: tuple[Any, ...]) -> Any:
    """Call an operator's method of a number by its name; it does not accept the operands that Python's does not."""
    if operands and getattr(x, name)(*operands) is NotImplemented:
        return NotImplemented
    if name in _DIVISIONS:
        return tape.call(divmod, *((x, *operands) if name == "__divmod__" else (*operands, x)))
    return OPERATOR_METHODS[name](tape, x, *operands)


def number_method(tape: Tape, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name == "conjugate" and type(x) is complex:
        y = x.conjugate() if tape.parent is None else number_method(tape.parent, x, name, args, kwargs)
        tape.records.append((pull_back, y, RULES[np.conjugate], (x,), NO_KEYWORDS))
        return y
    if is_operator(name):
        return operator_method(tape, x, name, args)
    if name == "to_bytes":
        return tape.call(int.to_bytes, x, *args, **kwargs)
    y = getattr(x, name)(*args, **kwargs)
    if type(x) is Int and not args and name in ("conjugate", "__pos__"):
        return x
    if type(x) is Int and name == "__float__":
        return tape.call(float, x)
    if tape.observer is not None:
        tape.observer.rounded(tape, getattr(type(x), name), (x,), y)
    if name == "as_integer_ratio" and type(x) is not int:
        y = Int(y[0]), Int(y[1])  # the program can compute the number again from these
        note(tape, y, getattr(x, name), (x,))
    return y
