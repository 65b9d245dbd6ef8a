"""Texts that contain run-time numbers: the results of f-strings of traced values, and what methods of texts make of them.

A *template* says how a text is made of the numbers.  It is a string for ``str.format``, or a tuple:

    ("constant", x)             a known value
    ("number",)                 the next number itself
    ("chosen", *templates)      the one at the position that the next number tells; the others are not made
    ("call", name, *templates)  a function of ``FUNCTIONS`` of further values

It consists of strings, numbers, None and tuples only, so that programs that contain it can be cached.
"""

from __future__ import annotations

import operator
import string
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from ..errors import BadInput


class Text:
    """A text made of a template and the numbers of the program that it consumes, in order."""

    __slots__ = ("template", "values")

    def __init__(self, template: Any, values: list[Any]) -> None:
        self.template = template
        self.values = values

    @classmethod
    def joined(cls, parts: list[Any]) -> Any:
        """Concatenate texts and strings; a string if all are strings."""
        if all(isinstance(p, str) for p in parts):
            return "".join(parts)
        templates = [p.template if isinstance(p, Text) else braced(p) for p in parts if isinstance(p, Text) or p]
        values = [x for p in parts if isinstance(p, Text) for x in p.values]
        if all(isinstance(t, str) for t in templates):
            return cls("".join(templates), values)
        return cls(templates[0] if len(templates) == 1 else ("call", "join", *templates), values)

    @classmethod
    def chosen(cls, which: Any, options: list[Any]) -> Text:
        """Return one of several texts and strings."""
        templates = [p.template if isinstance(p, Text) else ("constant", p) for p in options]
        return cls(("chosen", *templates), [which, *(x for p in options if isinstance(p, Text) for x in p.values)])

    def parts(self) -> list[Text]:
        """Return the texts that it consists of: literals, numbers and what is made by calls."""
        values = iter(self.values)
        return [Text(part, list(islice(values, count(part)))) for part in _parts(self.template)]

    @property
    def is_chosen(self) -> bool:
        """Whether it is one of several known strings."""
        return _is_chosen(self.template)

    @property
    def is_nonempty(self) -> bool:
        """Whether it is known to have characters: each number has some."""
        return _is_nonempty(self.template)

    def __add__(self, other: Any) -> Any:
        return Text.joined([self, other]) if isinstance(other, (str, Text)) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Text.joined([other, self]) if isinstance(other, str) else NotImplemented

    def __repr__(self) -> str:
        return f"<text {self.template!r}>"

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise BadInput(
            "a string formatted from numbers that are not known while compiling cannot be used here; compiled code can print it, store "
            "it, return it, compare it, convert it to a number, and use it in messages of exceptions; decide by the numbers, or use "
            "mo.callback"
        )

    __str__ = __format__ = __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __mul__ = __mod__ = refuse  # type: ignore[assignment]
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __float__ = __int__ = __index__ = refuse  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse()


Text.__name__ = "str"  # in Python's messages


def braced(text: str) -> str:
    """Escape the braces of a text, for ``str.format``."""
    return text.replace("{", "{{").replace("}", "}}")


def filled(template: Any, values: Iterable[Any]) -> Any:
    """Return what a template makes of numbers."""
    return _made(template, iter(values))


def _made(template: Any, values: Iterator[Any]) -> Any:
    if isinstance(template, str):
        return template.format(*islice(values, count(template)))
    kind, *rest = template
    if kind == "chosen":
        which = next(values)
        numbers = [list(islice(values, count(part))) for part in rest]
        return filled(rest[int(which)], numbers[int(which)])
    if kind == "constant":
        return rest[0]
    if kind == "number":
        return next(values)
    name, *parts = rest
    return FUNCTIONS[name](*[_made(p, values) for p in parts])


@lru_cache(maxsize=1024)
def count(template: Any) -> int:
    """Return how many numbers a template consumes."""
    if isinstance(template, str):
        return sum(field is not None for _, field, _, _ in string.Formatter().parse(template))
    kind, *rest = template
    if kind in ("constant", "number"):
        return int(kind == "number")
    return (kind == "chosen") + sum(map(count, rest[kind == "call" :]))


def _parts(template: Any) -> Iterator[Any]:
    if template[:2] == ("call", "join"):
        for part in template[2:]:
            yield from _parts(part)
    elif isinstance(template, str):
        for literal, name, style, conversion in string.Formatter().parse(template):
            if literal:
                yield braced(literal)
            if name is not None:
                yield "{" + (f"!{conversion}" if conversion else "") + (f":{style}" if style else "") + "}"
    else:
        yield template


def _is_chosen(template: Any) -> bool:
    return template[0] == "chosen" and all(part[0] == "constant" or _is_chosen(part) for part in template[1:])


def _is_nonempty(template: Any) -> bool:
    if isinstance(template, str):
        return template != ""
    if template[0] == "constant":
        return template[1] != ""
    if template[0] == "chosen":
        return all(map(_is_nonempty, template[1:]))
    return template[:2] == ("call", "join") and any(map(_is_nonempty, template[2:]))


def _number(kind: type, text: str, *base: int) -> tuple[int, Any]:
    """Return 0 and the number that a text stands for, 1 if it stands for none, 2 if it has more than 64 bits."""
    try:
        found = kind(text, *base)
    except ValueError:
        return 1, kind(0)
    return (0, found) if kind is float or -(1 << 63) <= found < 1 << 63 else (2, 0)


def _run(function: Callable[..., Any], kind: type, args: Any, names: Any, named: Any) -> Any:
    found = function(*args, **dict(zip(names, named)))
    if type(found) is not kind:
        raise BadInput(
            f"{function.__name__} returned a {type(found).__name__} in compiled code, where it was compiled for a {kind.__name__}; let it "
            "return one type"
        )
    return found


RESULTS: dict[str, Any] = {
    **dict.fromkeys(("startswith", "endswith", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit"), bool),
    **dict.fromkeys(("isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper"), bool),
    **dict.fromkeys(("count", "find", "rfind"), int),
    **dict.fromkeys(("capitalize", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip", "replace"), str),
    **dict.fromkeys(("removeprefix", "removesuffix", "rjust", "rstrip", "strip", "swapcase", "title", "upper"), str),
    **dict.fromkeys(("zfill",), str),
    **dict.fromkeys(("partition", "rpartition"), tuple),
}
"""Methods of texts, and the types of what they return."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(str, name) for name in RESULTS},
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "contains", "getitem", "mul")},
    **{name: getattr(str, name) for name in ("split", "rsplit", "splitlines")},
    "join_list": str.join,
    "join": lambda *parts: "".join(parts),
    "run": _run,
    "tuple": lambda *items: items,
    "slice": slice,
    "format": format,
    "repr": repr,
    "ascii": ascii,
    "repr_of_array": lambda x: repr(np.asarray(x)),
    "len": len,
    "float": lambda text: _number(float, text),
    "int": lambda text, *base: _number(int, text, *base),
}
"""What a template may call, by name."""
