"""How many entries an iterable says that it has: asked by code in C that makes a list, a tuple or bytes of it."""

from __future__ import annotations

import contextlib
import operator
from typing import Any

from ...values.numbers import NUMBERS, PASSIVE
from ...values.special_methods import accepted, answer
from .access import iterate, special
from .tape import Tape

UNASKED = PASSIVE | NUMBERS | {list, tuple, dict, set}
"""Classes whose length C knows by itself."""


def listed(tape: Tape, x: Any) -> Any:
    """What runs over ``x`` where its entries become a list: ``list(x)``, ``[*x]``, ``f(*x)``, ``a += x``, ``a[:] = x``."""
    kind = type(x)
    if kind is list or kind is tuple:
        return x
    entries = iterate(tape, x)
    if kind not in UNASKED and (special(kind, "__len__") or special(kind, "__length_hint__")):
        length_hint(tape, x)
    return entries


def length_hint(tape: Tape, x: Any, default: int = 0) -> int:
    """``operator.length_hint``."""
    for method in () if type(x) in UNASKED else ("__len__", "__length_hint__"):
        own = special(type(x), method)
        if own is not None:
            found: Any = NotImplemented
            with contextlib.suppress(TypeError):
                found = answer(tape, own, method, x) if method == "__len__" else tape.call(own, x)
            if found is not NotImplemented:
                return int(accepted(method, x, found))
    return operator.length_hint(x, default)
