"""Printing from compiled code: ``debug.print`` shows values when the program runs, not when it is compiled."""

from __future__ import annotations

import builtins
import string
import warnings
from typing import Any

from .errors import BadInput
from .ir.traced_text import Text, braced
from .ir.typed import debug_print
from .rules.registry import handles
from .source.definitions import user_frame
from .specialise.traced import EFFECTS, Trace, Traced, traces

__all__ = ["print"]


def __dir__() -> list[str]:
    return sorted(__all__)


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
    if isinstance(text, Text):
        text, values = "{}", (text,)
    written, operands = format_of(text, values, named)
    if not operands:
        trace.builder.call(debug_print, [], [], text=written)
        return
    trace.builder.call(debug_print, [trace.value(x) for x in operands], [], text=written)


def format_of(text: str, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[str, list[Any]]:
    """Return a format with one field per traced value, and these values in order; constants are formatted now.

    Raises:
        BadInput: a field names a part of a value, or a value is missing.
    """
    written: list[str] = []
    operands: list[Any] = []
    automatic = iter(range(len(values)))
    for literal, field, spec, conversion in string.Formatter().parse(text):
        written.append(braced(literal))
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
        written.append(_field(x, spec or "", conversion, operands))
    return "".join(written), operands


def _field(x: Any, spec: str, conversion: str | None, operands: list[Any]) -> str:
    if isinstance(x, Traced):
        operands.append(x)
        return f"{{{':' + spec if spec else ''}}}"
    if isinstance(x, Text):
        operands.extend(x.values)
        return x.template
    if isinstance(x, (list, tuple)) and _holds_traced(x):
        inner = ", ".join(_field(e, spec, None, operands) for e in x)
        return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' if len(x) == 1 else ''})"
    if isinstance(x, dict) and _holds_traced(x):
        inner = ", ".join(f"{braced(repr(k))}: {_field(e, spec, None, operands)}" for k, e in x.items())
        return f"{{{{{inner}}}}}"
    return braced(f"{{{'!' + conversion if conversion else ''}{':' + spec if spec else ''}}}".format(x))


def _holds_traced(x: Any) -> bool:
    if isinstance(x, dict):
        return any(map(_holds_traced, x.values()))
    return isinstance(x, (Traced, Text)) or isinstance(x, (list, tuple)) and any(map(_holds_traced, x))


@traces(builtins.print)
def plain_print(trace: Trace, *values: Any, **options: Any) -> None:
    """Record a ``print`` that runs with the program; warn if it prints traced values."""
    if _holds_traced(values):
        _warn_once(trace)
    sep, end = options.get("sep"), options.get("end")
    if options.get("file") is not None or end not in (None, "\n"):
        raise BadInput(
            "print with file= or with an end other than a newline is not supported in compiled code; leave these out, or use "
            "morula.debug.print"
        )
    fields = braced(" " if sep is None else sep).join("{}" for _ in values)
    _traced(trace, fields, *values)


def _warn_once(trace: Any) -> None:
    filename, line = user_frame()
    line = trace.builder.line or line
    if getattr(trace, "scopes", None):  # else ``print`` itself is what is compiled
        filename = trace.scope.filename
    warned = vars(trace).setdefault("prints_warned_of", set())
    if (filename, line) not in warned:
        warned.add((filename, line))
        text = (
            f"print in compiled code (line {line}) prints values that are not known while compiling: it prints at each call of "
            "the program, not once while compiling; use morula.debug.print to format such values and to avoid this warning"
        )
        warnings.warn_explicit(text, RuntimeWarning, filename, line)


EFFECTS.update((print, builtins.print))
