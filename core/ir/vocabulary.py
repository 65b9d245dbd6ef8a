"""What lowered code says that Python has no function for: displays, unpacking, and where it leaves its structured form."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

from ..errors import MorulaError


class Unstructured(MorulaError):
    """A construct that the structured form does not have."""


def make_tuple(*elements: Any) -> tuple[Any, ...]:
    """A tuple display."""
    return elements


def make_list(*elements: Any) -> list[Any]:
    """A list display."""
    return list(elements)


def UNPACK(value: Any) -> Any:
    """``a, b = value``: one result for each name."""
    return value


def leave_unless(condition: Any) -> None:
    """Where Python would raise: the run is recorded instead, and raises there, on the user's line."""
    if not condition:
        raise Unstructured("an exception")


def leave_if(condition: Any) -> None:
    """``leave_unless`` of the contrary."""
    if condition:
        raise Unstructured("an exception")


class Defaults:
    """A namespace for guards: the defaults that were filled in for arguments of a call."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function

    def get(self, name: str) -> Any:
        return self.function.__defaults__


def hold(guards: Iterable[tuple[Any, str, Any]]) -> bool:
    """Whether each name is still bound to the object that was found, in (namespace, name, object)."""
    for namespace, name, found in guards:
        if namespace.get(name) is not found:
            return False
    return True


# Equal numbers share the cotangent of the result, which is therefore an object of its own: a tape tells numbers apart by
# identity.  A product with 1 keeps the sign of zero.


def larger(a: Any, b: Any) -> Any:
    """``max`` of two numbers."""
    return b if b > a else a if a > b else a * 1


def smaller(a: Any, b: Any) -> Any:
    """``min`` of two numbers."""
    return b if b < a else a if a < b else a * 1


def largest(*numbers: Any) -> Any:
    """``max`` of any number of numbers."""
    return max(numbers) * 1


def smallest(*numbers: Any) -> Any:
    """``min`` of any number of numbers."""
    return min(numbers) * 1
