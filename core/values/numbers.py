"""Which Python values are numbers, which can carry a cotangent, and which never do."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .passing import per_class


class Int(int):
    """An integer that is differentiated; CPython shares its small ones, which would mix up their cotangents.

    Its sums, products and powers are of this class too, also where nothing is recorded: so what unrecorded code computes
    from a differentiated integer is told from the constants that it stores, such as counts.
    """

    __slots__ = ()

    real = numerator = property(lambda self: self)  # type: ignore[assignment]

    def conjugate(self) -> Int:
        return self


def _keeps_class(name: str) -> None:
    plain = getattr(int, name)

    def operation(self: Int, *others: Any) -> Any:
        y = plain(self, *others)
        return Int(y) if type(y) is int else tuple(map(Int, y)) if type(y) is tuple else y

    setattr(Int, name, operation)


for _name in ("add", "sub", "mul", "mod", "pow", "divmod"):
    _keeps_class(f"__{_name}__")
    _keeps_class(f"__r{_name}__")
for _name in ("neg", "pos", "abs"):
    _keeps_class(f"__{_name}__")


PASSIVE = {int, bool, str, bytes, type(None), np.bool_, slice, range, type, type(...), FunctionType, ModuleType}
PASSIVE |= {np.dtype(c).type for c in "bhilqpBHILQP"}
NUMBERS = {float, complex, Int, np.ndarray} | {np.dtype(c).type for c in "efdgFDG"} | (PASSIVE & {int, bool, np.bool_})
NUMBERS |= {np.dtype(c).type for c in "bhilqpBHILQP"}
INEXACT = {float, complex, np.ndarray} | {np.dtype(c).type for c in "efdgFDG"}
REAL = {float, np.float64}
NUMBER_TYPES = {float, complex, Int} | {np.dtype(c).type for c in "efdgFDGbhilqpBHILQP"}
AGAIN = object()  # in place of a result: to be computed operation by operation
NO_KEYWORDS: dict[str, Any] = {}


def differentiable(x: Any) -> bool:
    """Whether a cotangent can belong to ``x``: an inexact number or array, an ``Int``, or a sequence of such."""
    kind = type(x)
    if kind in PASSIVE:
        return False
    if kind is np.ndarray or isinstance(x, np.ndarray):
        return x.dtype.kind in "fcOV"
    if kind in NUMBERS:
        return True
    if isinstance(x, (tuple, list)):
        return any(map(differentiable, x))
    return isinstance(x, (float, complex, np.inexact))


def call_on(parent: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``function`` on the tape of the enclosing derivative, or plainly where there is none."""
    return function(*args, **kwargs) if parent is None else parent.call(function, *args, **kwargs)


PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
"""Weak proxies: ``isinstance`` asks them for the class of their object, and fails where it has died."""


def referent(x: Any) -> Any:
    """The object that a weak proxy stands for."""
    return x.__init__.__self__


EXACT = {"fractions", "decimal", "_pydecimal", "mpmath", "sympy", "gmpy2"}
"""Libraries that compute in integers and make numbers of them at last: no derivative can be followed there."""


def is_of_exact(x: type | FunctionType) -> bool:
    """Whether a class or a function belongs to a library that computes in integers."""
    return (x.__module__ or "").partition(".")[0] in EXACT


@per_class
def is_exact(kind: type) -> bool:
    """Whether a class computes in integers (``Fraction``, ``Decimal``), where no derivative can be followed."""
    return any(map(is_of_exact, kind.__mro__))
