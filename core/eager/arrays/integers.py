"""NumPy integers that were computed from a differentiated Python int.

The derivative with respect to an ``Int`` passes through Python's integers, and through NumPy's scalars, since each is a
separate object.  Most NumPy integers are constants, so the tape lists those that were computed from an ``Int``.
An array of integers cannot hold a cotangent: it is listed too, and a cotangent that reaches it is an error.  The same
holds for integers that show the bits of other numbers, and for everything computed from them.

A run without an ``Int`` and without such bits has no list and no overhead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rules.table import Rule, pull
from ...source.definitions import user_frame
from ...values.memory import owner
from ...values.numbers import Int
from ..recorded.tape import Cotangents, Record, Tape, enclosing_tapes, pass_on, place_of


def carries(tape: Tape, x: Any) -> bool:
    """Whether ``x``, an integer or an array or sequence of integers, depends on an ``Int`` or on shown bits."""
    if type(x) is Int:
        return True
    if isinstance(x, (tuple, list)):
        return any(carries(tape, e) for e in x)
    if tape.integers is None:
        return False
    return place_of(x) in tape.integers


def is_of_bits(tape: Tape, x: Any) -> bool:
    """Whether a NumPy integer, or an array of integers, was computed from the bits of other numbers."""
    if not isinstance(x, (np.ndarray, np.integer)) or tape.integers is None:
        return False
    listed = tape.integers.get(place_of(x))
    return listed is not None and listed[3] is not None


def enlist(tape: Tape, x: Any, function: Any, args: Any = (), bits: Any = None) -> None:
    """List a NumPy integer or an array of integers, together with the call at which its history in the list begins.

    ``bits`` is the opaque call that showed other numbers as these integers.
    """
    if tape.integers is None:
        tape.integers = {}
    origins = [tape.integers.get(place_of(a)) for a in args]
    first = next((origin[1:] for origin in origins if origin is not None), (function, user_frame(), bits))
    tape.integers[place_of(x)] = (owner(x) if isinstance(x, np.ndarray) else x), *first
    if first[2] is not None and args:
        tape.records.append((depends_on_bits, x, *args))


def depends_on_bits(table: Cotangents, record: Record) -> None:
    """Pass nothing on; the record only says that integers depend on others."""


def enlist_all(tape: Tape, y: Any, function: Any) -> Any:
    """Return ``y``, computed from an ``Int``, with Python's ints in it as ``Int`` and NumPy's integers listed."""
    if type(y) is tuple:
        return tuple([enlist_all(tape, e, function) for e in y])
    if type(y) is int:
        return Int(y)
    if isinstance(y, np.integer) or isinstance(y, np.ndarray) and y.dtype.kind in "iu":
        enlist(tape, y, function)
    return y


def same_integer(tape: Tape, x: int) -> Int:
    """Return an equal integer as a new object, through which the derivative of ``x`` passes on all enclosing tapes."""
    y = Int(x)
    for enclosing in enclosing_tapes(tape if type(x) is Int else None):
        enclosing.records.append((pass_on, y, x))
    return y


def follow(tape: Tape, rule: Rule | None, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a rule on integers, listed if a derivative passes; the caller records a NumPy scalar."""
    if rule is None or rule.is_zero:
        if isinstance(y, (np.ndarray, np.integer)) and y.dtype.kind in "iu":
            of_bits = [a for a in args if is_of_bits(tape, a)]
            if of_bits:
                enlist(tape, y, rule and rule.function, of_bits)
        return y
    sources = args if rule.together is not None else [x for x, p in zip(args, rule.given) if callable(p)]
    if not any(carries(tape, x) for x in sources):
        return y
    if rule.together is not None and isinstance(y, np.ndarray):
        found = pull(rule, np.ones(y.shape), y, args, kwargs)
        if all(g is None or not carries(tape, x) for x, g in zip(args, found)):
            return y  # the operand only gives the length, as in arange(n)
    if isinstance(y, np.integer):
        enlist(tape, y, rule.function, sources)
        return y
    return lose(tape, y, rule.function, sources)


def lose(tape: Tape, y: Any, function: Any, args: Any = ()) -> Any:
    """Return ``y`` with each integer in it listed, so that a cotangent that reaches one is an error."""
    if isinstance(y, (tuple, list)) and not hasattr(y, "_fields"):
        return type(y)([lose(tape, e, function, args) for e in y])
    if type(y) is int:
        y = Int(y)
    if type(y) is Int or isinstance(y, np.integer) or isinstance(y, np.ndarray) and y.dtype.kind in "iu":
        enlist(tape, y, function, args)
        if not isinstance(y, np.ndarray):
            tape.records.append((refuse, y))
    return y


def refuse(table: Cotangents, record: Record) -> None:
    _, y = record
    dy = table.take(y)
    if dy is not None and np.any(dy != 0):
        table.refuse_integer(y)
