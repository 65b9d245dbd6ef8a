"""What a list, a tuple or a dict of numbers that are not known while compiling looks like in a text."""

from __future__ import annotations

from typing import Any

from ..ir.traced_text import Text
from .traced import Scalar, Traced

SHOWN = (list, tuple, dict)
"""Classes of containers of which ``shown`` knows the text."""


def shown(x: Any) -> Any:
    """``repr(x)`` of numbers that are not known, and of lists, tuples and dicts of them: a text, or a string if all is known."""
    if isinstance(x, Scalar) and x.ir.type.weak:  # a number of Python's, of which the text is the same
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
