"""What ufuncs do with the entries of arrays of objects, where no operator does it."""

from __future__ import annotations

from typing import Any


def larger(a: Any, b: Any) -> Any:
    return a if a >= b else b


def smaller(a: Any, b: Any) -> Any:
    return a if a <= b else b


def both(a: Any, b: Any) -> Any:
    return a and b


def either(a: Any, b: Any) -> Any:
    return a or b


def negated(a: Any) -> Any:
    return not a


def square(a: Any) -> Any:
    return a * a


def reciprocal(a: Any) -> Any:
    return 1 / a
