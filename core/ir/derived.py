"""Objects of classes derived from ``float``, ``int``, ``complex`` or ``str`` that are made of a number or text of the program.

Python computes with such an object as with the number or text in it, unless its class overrides the operation: the result of
``Degrees(x) / 2`` is a plain float.

A list of texts whose length is known only at run time (``text.split()``) is one too: its text makes a list.  It is never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import FunctionType, MethodType
from typing import Any, NoReturn

from ..errors import BadInput
from ..values.attributes import class_attribute, dict_of
from ..values.holders import blank, layout_of_class

BASES = (float, int, complex, str)


class Derived:
    """An object of ``cls``: the traced number or text in it, which never changes, and its ``__dict__``."""

    __slots__ = ("cls", "held", "plain")

    def __init__(self, cls: type, plain: Any, held: dict[str, Any]) -> None:
        self.cls = cls
        self.plain = plain
        self.held = held

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        if self.cls is list:
            raise BadInput(
                "a list of the parts of a text of numbers that are not known while compiling can only be indexed, measured, unpacked and "
                "joined; decide by the numbers, or use mo.callback"
            )
        raise BadInput(
            f"a {self.cls.__name__} made of a {layout_of_class(self.cls).__name__} that is not known while compiling cannot be used here; "
            f"use the {layout_of_class(self.cls).__name__} itself, or mo.callback"
        )

    __hash__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __len__ = __iter__ = refuse  # type: ignore[assignment]
    __str__ = __repr__ = __format__ = __float__ = __int__ = __index__ = __complex__ = __getitem__ = refuse  # type: ignore[assignment]


def is_list(x: Any) -> bool:
    """Whether x is the list of texts that a method of a text makes, such as ``split``: its text makes a list."""
    return type(x) is Derived and x.cls is list


class Parent:
    """``super(cls, x)`` for a ``Derived`` object."""

    __slots__ = ("mro", "x")

    def __init__(self, cls: type, x: Derived) -> None:
        self.x = x
        self.mro = x.cls.__mro__[x.cls.__mro__.index(cls) + 1 :]


def class_of(x: Any) -> type:
    return x.cls if type(x) is Derived else type(x)


def plain(x: Any) -> Any:
    """Return the number or text in an object of a derived class; anything else as it is."""
    return x.plain if type(x) is Derived else x


def is_known(x: Any) -> bool:
    """Whether x is an object of a class derived from a number or str, of a known one; members of enumerations are constants."""
    if not isinstance(x, BASES) or not type(x).__flags__ & 1 << 9 or isinstance(x, Enum):
        return False
    return layout_of_class(type(x)) in BASES  # NumPy's numbers are others


def derived_of(x: Any) -> Derived:
    """Return a known object as one of the program."""
    kind = layout_of_class(type(x))
    number = complex(x.real, x.imag) if kind is complex else kind.__getnewargs__(x)[0]
    return Derived(type(x), number, dict(dict_of(x)))


def own_method(x: Derived, *names: str) -> Callable[..., Any] | None:
    """Return the first of these special methods that the class of an object defines, if it is written in Python.

    A method that ``float`` or ``str`` has itself hides the later ones, one of ``object`` does not.
    """
    for name in names:
        found = class_attribute(x.cls.__mro__, name)
        if isinstance(found, FunctionType):
            return MethodType(found, x)
        if found is not vars(object).get(name):
            return None
    return None


def plain_unless(x: Any, name: str) -> Any:
    """Return the number or text in an object, unless its class has a method of this name that is written in Python."""
    return x.plain if type(x) is Derived and own_method(x, name) is None else x


def as_key(x: Any) -> Any:
    """Return what a dict finds under an object that it is asked for: what it finds under the number or text in it."""
    if type(x) is not Derived or own_method(x, "__hash__") is not None or own_method(x, "__eq__") is not None:
        return x
    return x.plain


def example(x: Derived) -> Any:
    """Return an object of the same class, of another number or text."""
    return blank(x.cls)


def real(cls: type, x: Any, held: dict[str, Any]) -> Any:
    """Return the Python object of a known number or text."""
    made = x if cls is list else layout_of_class(cls).__new__(cls, x)
    if held:
        object.__getattribute__(made, "__dict__").update(held)
    return made
