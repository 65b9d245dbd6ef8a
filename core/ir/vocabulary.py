"""Callees of lowered code for constructs without a Python function: displays, unpacking, exits from structured code."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

from ..errors import MorulaError


class Unstructured(MorulaError):
    """A construct that structured IR cannot express."""


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
    """Leave structured code where Python would raise: a recorded run then raises on the user's line."""
    if not condition:
        raise Unstructured("an exception")


def leave_if(condition: Any) -> None:
    """Leave structured code where the condition holds; see ``leave_unless``."""
    if condition:
        raise Unstructured("an exception")


class Defaults:
    """A namespace for guards: the default arguments that a call relied on."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function

    def get(self, name: str) -> Any:
        return self.function.__defaults__


def hold(guards: Iterable[tuple[Any, str, Any]]) -> bool:
    """Return whether all guards (namespace, name, object) hold: each name is still bound to its object."""
    for namespace, name, found in guards:
        if namespace.get(name) is not found:
            return False
    return True


# Equal numbers share the cotangent.  The result must therefore be a new object, because a tape identifies numbers by
# identity; multiplying by 1 makes one and keeps the sign of zero.


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
