"""Printing from compiled code: ``debug.print`` shows values when the program runs, not when it is compiled."""

from __future__ import annotations

import builtins
import string
from typing import Any

from ..errors import BadInput
from ..ir.traced_text import Text
from ..rules.registry import handles
from ..specialise.formatting import formatted, is_told
from ..specialise.printed import write
from ..specialise.traced import EFFECTS, Trace, Traced, traces


def print(text: str, *values: Any, **named: Any) -> None:
    """Print ``text.format(*values, **named)``; compiled code prints each time it runs.

    Args:
        text: a format string with plain fields: ``{}``, ``{0}``, ``{x:.3f}``.
        *values: numbers, arrays, strings, and lists, tuples or dicts of these.
        **named: the same, for named fields.

    Raises:
        BadInput: in compiled code, a field names a part of a value, or a value is missing.

    >>> print("x = {}, y = {y:.2f}", 1.5, y=2.0)
    x = 1.5, y = 2.00
    """
    builtins.print(text.format(*values, **named))


@handles(print)
def _recorded(tape: Any, text: str, *values: Any, **named: Any) -> None:
    print(text, *values, **named)


@traces(print)
def _traced(trace: Trace, text: str, *values: Any, **named: Any) -> None:
    written = Text.joined([text] if isinstance(text, Text) else parts_of(trace, text, values, named))
    write(trace, written)


def parts_of(trace: Any, text: str, values: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """Return the texts and strings that a format with plain fields consists of.

    Raises:
        BadInput: a field names a part of a value, or a value is missing.
    """
    written: list[Any] = []
    automatic = iter(range(len(values)))
    for literal, field, spec, conversion in string.Formatter().parse(text):
        written.append(literal)
        if field is None:
            continue
        if spec and "{" in spec or field and not (field.isdigit() or field.isidentifier()):
            raise BadInput(
                f"debug.print accepts plain fields such as {{}}, {{0}} and {{x:.3f}}, not {{{field}}}; pass the attribute or item "
                "itself as a value"
            )
        try:
            x = values[next(automatic) if not field else int(field)] if not field.isidentifier() else named[field]
        except (StopIteration, IndexError, KeyError):
            raise BadInput(f"debug.print was given no value for {{{field}}} in {text!r}") from None
        written.append(_field(trace, x, spec or "", conversion or ""))
    return written


def _field(trace: Any, x: Any, spec: str, conversion: str) -> Any:
    """Return the text of a value; a format of a container holds for each number in it."""
    if isinstance(x, (list, tuple)) and _holds_traced(x):
        inner = Text.joined([part for e in x for part in (", ", _field(trace, e, spec, ""))][1:])
        begin, end = ("[", "]") if isinstance(x, list) else ("(", ",)" if len(x) == 1 else ")")
        return Text.joined([begin, inner, end])
    if isinstance(x, dict) and _holds_traced(x):
        entries = [part for k, e in x.items() for part in (", ", f"{k!r}: ", _field(trace, e, spec, ""))]
        return Text.joined(["{", *entries[1:], "}"])
    if is_told(x):
        return formatted(trace, x, spec, conversion)
    return f"{{{'!' + conversion if conversion else ''}{':' + spec if spec else ''}}}".format(x)


def _holds_traced(x: Any) -> bool:
    if isinstance(x, dict):
        return any(map(_holds_traced, x.values()))
    return isinstance(x, (Traced, Text)) or isinstance(x, (list, tuple)) and any(map(_holds_traced, x))


EFFECTS.add(print)
