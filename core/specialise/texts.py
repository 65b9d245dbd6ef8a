"""The ``repr`` of numbers that are not known while compiling, and of lists, tuples and dicts of them."""

from __future__ import annotations

from typing import Any

from ..ir.traced_text import Text
from .traced import Scalar, Traced

SHOWN = (list, tuple, dict)
"""Containers whose ``repr`` is written by ``shown``."""


def shown(x: Any) -> Any:
    """``repr(x)``, where x may contain unknown numbers: a ``Text``, or a string if everything is known."""
    if isinstance(x, Scalar) and x.ir.type.weak:  # the repr and str of a Python number are the same
        return Text("{}", [x])
    if isinstance(x, Traced):
        return Text("{!r}", [x])
    if isinstance(x, Text):
        return x.refuse() if "'" in x.template else Text(f"'{x.template}'", x.values)
    if type(x) is dict:
        entries = [e for key, value in x.items() for e in (", ", shown(key), ": ", shown(value))]
        return Text.joined(["{", *entries[1:], "}"])
    if type(x) is list or type(x) is tuple:
        entries = [e for value in x for e in (", ", shown(value))]
        begin, end = ("[", "]") if type(x) is list else ("(", ",)" if len(x) == 1 else ")")
        return Text.joined([begin, *entries[1:], end])
    return repr(x)
