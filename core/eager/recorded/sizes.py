"""Length hints of iterables, which C code asks for when it makes a list, a tuple or bytes."""

from __future__ import annotations

import contextlib
import operator
from typing import Any

from ...values.numbers import NUMBERS, PASSIVE
from ...values.special_methods import accepted, answer
from .access import iterate, special
from .tape import Tape

UNASKED = PASSIVE | NUMBERS | {list, tuple, dict, set}
"""Classes whose length C code reads directly."""


def listed(tape: Tape, x: Any) -> Any:
    """Return the iterable for ``x`` where Python builds a list of it: ``list(x)``, ``[*x]``, ``f(*x)``, ``a += x``."""
    kind = type(x)
    if kind is list or kind is tuple:
        return x
    entries = iterate(tape, x)
    if kind not in UNASKED and (special(kind, "__len__") or special(kind, "__length_hint__")):
        length_hint(tape, x)
    return entries


def length_hint(tape: Tape, x: Any, default: int = 0) -> int:
    """Do ``operator.length_hint``, with the class's methods recorded."""
    for method in () if type(x) in UNASKED else ("__len__", "__length_hint__"):
        own = special(type(x), method)
        if own is not None:
            found: Any = NotImplemented
            with contextlib.suppress(TypeError):
                found = answer(tape, own, method, x) if method == "__len__" else tape.call(own, x)
            if found is not NotImplemented:
                return int(accepted(method, x, found))
    return operator.length_hint(x, default)
