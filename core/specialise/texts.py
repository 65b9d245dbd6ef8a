"""Texts of numbers that are not known while compiling: the fields of f-strings, and ``repr`` of containers."""

from __future__ import annotations

from typing import Any

from ..ir.derived import Derived
from ..ir.traced_text import Text
from .traced import Array, Scalar, Traced

SHOWN = (list, tuple, dict)
"""Containers whose ``repr`` is written by ``shown``."""


def field(trace: Any, x: Traced, style: str = "", conversion: str = "") -> Text:
    """Return the text of a number or an array as it is now: an array may change later."""
    value = Scalar(trace.value(x))
    if conversion == "r" and isinstance(x, Array) and not x.type.shape:
        return made("format", made("repr_of_array", value), style)
    if conversion == "r" and value.type.weak:
        conversion = ""  # a Python number's repr is its str; NumPy's repr differs
    return Text("{" + (f"!{conversion}" if conversion else "") + (f":{style}" if style else "") + "}", [value])


def made(name: str, *operands: Any) -> Text:
    """Return the text that a function of ``traced_text.FUNCTIONS`` makes of texts, numbers and constants."""
    values: list[Any] = []
    return Text(("call", name, *(template_of(x, values) for x in operands)), values)


def template_of(x: Any, values: list[Any]) -> Any:
    """Return the template of a part of a text, and append the numbers that it consumes to ``values``.

    Raises:
        BadInput: it is neither a text, nor a number or a constant, nor a slice or a tuple of these.
    """
    if type(x) is Derived:
        return template_of(x.plain, values)
    if isinstance(x, Text):
        values += x.values
        return x.template
    if isinstance(x, Scalar):
        values.append(x)
        return ("number",)
    if isinstance(x, str):
        return "constant", str.__str__(x)
    if x is None or type(x) in (bool, int, float):
        return "constant", x
    if type(x) is tuple:
        return "call", "tuple", *(template_of(e, values) for e in x)
    if type(x) is slice:
        return "call", "slice", *(template_of(e, values) for e in (x.start, x.stop, x.step))
    Text("", []).refuse()


def shown(trace: Any, x: Any) -> Any:
    """``repr(x)``, where x may contain unknown numbers: a ``Text``, or a string if everything is known."""
    if isinstance(x, Traced):
        return field(trace, x, conversion="r")
    if type(x) is Derived:
        return trace.call(repr, x)
    if isinstance(x, Text):
        return made("repr", x)
    if type(x) is dict:
        entries = [e for key, value in x.items() for e in (", ", shown(trace, key), ": ", shown(trace, value))]
        return Text.joined(["{", *entries[1:], "}"])
    if type(x) is list or type(x) is tuple:
        entries = [e for value in x for e in (", ", shown(trace, value))]
        begin, end = ("[", "]") if type(x) is list else ("(", ",)" if len(x) == 1 else ")")
        return Text.joined([begin, *entries[1:], end])
    return repr(x)
