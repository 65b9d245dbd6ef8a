"""Texts that contain run-time numbers: the results of f-strings of traced values.

They can be printed or be the message of an exception; any other use of their characters is an error.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import BadInput


class Text:
    """``template.format(*values)``, evaluated at run time."""

    __slots__ = ("template", "values")

    def __init__(self, template: str, values: list[Any]) -> None:
        self.template = template
        self.values = values

    @classmethod
    def joined(cls, parts: list[Any]) -> Any:
        """Concatenate texts and strings; a string if all are strings."""
        if all(isinstance(p, str) for p in parts):
            return "".join(parts)
        template = "".join(p.template if isinstance(p, Text) else braced(p) for p in parts)
        return cls(template, [x for p in parts if isinstance(p, Text) for x in p.values])

    def __add__(self, other: Any) -> Any:
        return Text.joined([self, other]) if isinstance(other, (str, Text)) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Text.joined([other, self]) if isinstance(other, str) else NotImplemented

    def __repr__(self) -> str:
        return f"<text {self.template!r}>"

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise BadInput(
            "a string formatted from numbers that are not known while compiling can only be printed or used as the message of "
            "an exception; build other strings outside of the compiled function"
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
