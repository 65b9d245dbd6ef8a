"""The types of values in structured IR, as coarse as the adjoint allows.

A *real* is an immutable real scalar, an *array* a float64 array with at least one axis, a *number* any inexact number or
array, and a *passive* value has no derivative.  A type may know more: the shape of an array, the value of an integer.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Type:
    kind: str
    ndim: int | None = None
    elements: tuple[Type, ...] = ()
    shape: tuple[int, ...] | None = None
    is_list: bool = False
    value: int | None = None  # of an integer that is the same in every run
    names: tuple[str, ...] = ()  # of the elements of a named tuple

    def __str__(self) -> str:
        if self.kind == "tuple":
            return f"({', '.join(map(str, self.elements))})"
        return self.kind if self.ndim is None else f"{self.kind}{list(self.shape) if self.shape else self.ndim}"


def array_type(shape: tuple[int, ...]) -> Type:
    return Type("array", len(shape), shape=shape)


REAL = Type("real")
NUMBER = Type("number")
PASSIVE = Type("passive")
BOOL = Type("bool")
RANGE = Type("range")
SHAPE = Type("shape")
OBJECT = Type("object")

COMPARISONS = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}


def integer_type(n: int) -> Type:
    return Type("real", value=n)


def type_of_result(shape: tuple[int, ...]) -> Type:
    """Return the type of what a function of float64 arrays returns: an array of this shape, a number for the empty shape."""
    return array_type(shape) if shape else REAL


def tuple_type(*elements: Type, names: tuple[str, ...] = ()) -> Type:
    return Type("tuple", elements=elements, names=names)


def type_of(x: Any) -> Type:
    """Return the type of a Python object that is an argument or a constant."""
    kind = type(x)
    if kind is float or kind is int or kind is np.float64 or issubclass(kind, int) and kind.__name__ == "Int":
        return REAL
    if kind is bool or kind is np.bool_:
        return BOOL
    if kind is np.ndarray:
        if x.dtype == np.float64 and x.ndim:
            return array_type(x.shape)
        return NUMBER if x.dtype.kind in "fc" else PASSIVE if x.dtype.kind in "iub" else OBJECT
    if kind is complex or isinstance(x, np.inexact):
        return NUMBER
    return PASSIVE if isinstance(x, np.integer) else OBJECT


def type_of_constant(x: Any) -> Type:
    """Return the type of an object of the program's text, whose value is known as well."""
    return integer_type(x) if type(x) is int else type_of(x)


def joined(a: Type, b: Type) -> Type | None:
    """Return the type of a value that is of type ``a`` on one path and ``b`` on another; None if it has none."""
    if a == b:
        return a
    if a.kind == b.kind == "real":
        return REAL
    if {a.kind, b.kind} <= {"real", "array", "number", "passive"}:
        if a.kind == b.kind == "array":
            return Type("array", a.ndim if a.ndim == b.ndim else None)
        return NUMBER
    return PASSIVE if {a.kind, b.kind} == {"bool", "passive"} else None
