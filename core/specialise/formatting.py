"""String formatting of unknown numbers: ``str``, ``repr``, ``format``, ``%`` and ``join``."""

from __future__ import annotations

import re
import string
from types import FunctionType
from typing import Any

from ..errors import BadInput
from ..ir.derived import Derived, is_list, own_method, plain
from ..ir.traced_text import Text
from .arguments import has_traced
from .choices import distributed_over, has_choices
from .instances import is_instance
from .texts import SHOWN, field, made, shown
from .traced import Traced

_PERCENT = re.compile(r"%(?:\((\w*)\))?([#0\- +]*)(\*|\d+)?(?:\.(\*|\d*))?[hlL]?(.)", re.DOTALL)


def is_told(x: Any) -> bool:
    """Whether the string of x may contain numbers that are not known while compiling."""
    if isinstance(x, tuple):
        return any(map(is_told, x))
    return has_traced(x) or is_instance(x) or isinstance(x, BaseException)


def _own(x: Any, *names: str) -> Any:
    """Return the first of these methods that x has, if it is written in Python; else None."""
    for name in names if is_instance(x) else ():
        method = getattr(type(x), name)
        if isinstance(method, FunctionType):
            return method
        if method not in (getattr(object, name), getattr(BaseException, name)):
            return None
    return None


def text_of(trace: Any, x: Any) -> Any:
    """``str(x)``: a ``Text``, or a string if everything is known."""
    if isinstance(x, Text):
        return x
    if isinstance(x, Traced):
        return field(trace, x)
    if type(x) is Derived:
        own = own_method(x, "__str__", "__repr__")
        if x.cls is list:
            return repr_of(trace, x.plain)
        return text_of(trace, x.plain) if own is None else trace.call(own)
    method = _own(x, "__str__") if isinstance(x, BaseException) else _own(x, "__str__", "__repr__")
    if method is not None:
        return trace.call(method, x)
    if isinstance(x, BaseException) and type(x).__str__ is BaseException.__str__ and has_traced(x.args):
        return text_of(trace, x.args[0]) if len(x.args) == 1 else shown(trace, x.args)
    return shown(trace, x) if type(x) in SHOWN else str(x)


def repr_of(trace: Any, x: Any) -> Any:
    """``repr(x)``."""
    if type(x) is Derived:
        own = own_method(x, "__repr__")
        return repr_of(trace, x.plain) if own is None else trace.call(own)
    method = None if isinstance(x, (Traced, Text)) else _own(x, "__repr__")
    if method is not None:
        return trace.call(method, x)
    if isinstance(x, BaseException) and type(x).__repr__ is BaseException.__repr__ and has_traced(x.args):
        args = shown(trace, x.args) if len(x.args) > 1 else Text.joined(["(", *[shown(trace, e) for e in x.args], ")"])
        return Text.joined([type(x).__name__, args])
    return shown(trace, x)


def formatted(trace: Any, x: Any, style: Any = "", conversion: str = "") -> Any:
    """``format(x, style)``, after ``str`` or ``repr`` for the conversions ``s`` and ``r``."""
    if isinstance(style, Text):
        style.refuse()
    if isinstance(x, Traced):
        return field(trace, x, style, conversion)
    if type(x) is Derived:
        return of_derived(trace, x, style, conversion)
    if isinstance(x, Text):
        x = x if conversion in ("", "s") else made("ascii" if conversion == "a" else "repr", x)
        return made("format", x, style) if style else x
    if conversion == "a":
        return format(ascii(x), style)
    trace.outside.read_whole(x, is_deep=True)
    own = _own(x, "__format__") if not conversion else None
    if own is not None:
        return trace.call(own, x, style)
    if conversion or is_told(x) or type(x) in SHOWN and not style:
        x = repr_of(trace, x) if conversion == "r" else text_of(trace, x)
    return (made("format", x, style) if style else x) if isinstance(x, Text) else format(x, style)


def of_derived(trace: Any, x: Derived, style: Any, conversion: str) -> Any:
    """``format(x, style)`` of an object of a class derived from a number or text: without a style it is its ``str``."""
    own = None if conversion else own_method(x, "__format__")
    if own is not None:
        return trace.call(own, style)
    if conversion in ("r", "a"):
        return formatted(trace, repr_of(trace, x), style, conversion.strip("r"))
    return formatted(trace, text_of(trace, x) if conversion or not style else x.plain, style)


def by_format(trace: Any, template: str, args: Any, kwargs: Any) -> Any:
    """``template.format(*args, **kwargs)``."""
    numbers = iter(range(len(template)))

    def filled(template: str) -> Any:
        parts: list[Any] = []
        for text, name, style, conversion in string.Formatter().parse(template):
            parts.append(text)
            if name is not None:
                parts.append(formatted(trace, found(name), filled(style or ""), conversion or ""))
        return Text.joined(parts)

    def found(name: str) -> Any:
        first, rest = string._string.formatter_field_name_split(name)  # type: ignore[attr-defined]
        first = next(numbers) if first == "" else first
        if isinstance(first, int) and first >= len(args):
            raise IndexError(f"Replacement index {first} out of range for positional args tuple")
        x = args[first] if isinstance(first, int) else kwargs[first]
        for is_attribute, key in rest:
            x = trace.attribute(x, key) if is_attribute else trace.call(_item, x, key)
        return x

    return filled(template)


def _item(x: Any, key: Any) -> Any:
    return x[key]


def by_percent(trace: Any, template: str, values: Any) -> Any:
    """``template % values``."""
    waiting = list(values) if isinstance(values, tuple) else [values]
    parts: list[Any] = []
    at, is_by_name = 0, False

    def taken() -> Any:
        if not waiting:
            raise TypeError("not enough arguments for format string")
        return waiting.pop(0)

    for found in _PERCENT.finditer(template):
        parts.append(template[at : found.start()])
        at = found.end()
        name, flags, width, digits, kind = found.groups()
        if kind == "%":
            parts.append("%")
            continue
        if name is not None:
            is_by_name = True
            x = trace.call(_item, values, name)
        else:
            width = str(taken()) if width == "*" else width
            digits = str(taken()) if digits == "*" else digits
            x = taken()
        parts.append(_percent(trace, x, flags, width or "", digits, kind))
    parts.append(template[at:])
    if waiting and not is_by_name and not isinstance(values, dict):
        raise TypeError("not all arguments converted during string formatting")
    return Text.joined(parts)


def _percent(trace: Any, x: Any, flags: str, width: str, digits: str | None, kind: str) -> Any:
    """Format one value by a C conversion."""
    precision = "" if digits is None else f".{digits or 0}"
    if not is_told(x):
        return f"%{flags}{width}{precision}{kind}" % (x,)
    if kind in "sr":
        align = "" if not width else "<" if "-" in flags else ">"
        return formatted(trace, x, f"{align}{width}{precision}", kind)
    x = plain(x)
    if isinstance(x, Traced) and not x.type.shape:
        if kind in "diu" and not precision:
            if x.type.dtype.kind not in "iub":
                x = trace.call(int, x)
            kind = "d"
        if kind in "dfFeEgG" or kind in "xXo" and x.type.dtype.kind in "iu" and not precision:
            align = "<" if "-" in flags else "0" if "0" in flags else ""
            sign = "+" if "+" in flags else " " if " " in flags else ""
            fill = "0" if align == "0" else ""
            style = f"{'<' if align == '<' else ''}{sign}{'#' * ('#' in flags)}{fill}{width}{precision}{kind}"
            return formatted(trace, x, style)
    raise BadInput(f"%{kind} of a value that is not known while compiling cannot be compiled; use %s, %d, %f, %e or %g")


def joined(trace: Any, separator: str, items: Any) -> Any:
    """``separator.join(items)``."""
    if is_list(items):
        return made("join_list", separator, items.plain)
    parts = [plain(x) for x in trace.iterate(items)]
    if has_choices(parts):
        return distributed_over(trace, parts, lambda found: joined(trace, separator, found))
    if not any(isinstance(e, Text) for e in (separator, *parts)):
        return separator.join(parts)
    return Text.joined([p for e in parts for p in (separator, e)][1:])
