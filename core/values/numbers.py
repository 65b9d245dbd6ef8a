"""Which Python values are numbers, which can carry a cotangent, and which never do."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .passing import per_class


class Int(int):
    """A differentiated integer; CPython shares small ``int`` objects, so their cotangents would be mixed up.

    Sums, products and powers stay in this class, also in unrecorded code.  This distinguishes results computed from a
    differentiated integer from constants such as counts.
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
AGAIN = object()  # returned instead of a result: compute it operation by operation
NO_KEYWORDS: dict[str, Any] = {}


def differentiable(x: Any) -> bool:
    """Return whether ``x`` can have a cotangent: an inexact number or array, an ``Int``, or a sequence with one."""
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
    """Call ``function`` on ``parent``, the tape of the enclosing derivative; plainly if there is none."""
    return function(*args, **kwargs) if parent is None else parent.call(function, *args, **kwargs)


PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
"""Weak proxies: ``isinstance`` uses the class of their referent, and raises if it no longer exists."""


def referent(x: Any) -> Any:
    """Return the referent of a weak proxy."""
    return x.__init__.__self__


EXACT = {"fractions", "decimal", "_pydecimal", "mpmath", "sympy", "gmpy2"}
"""Libraries that compute with integers internally, so that no derivative can be propagated through them."""


def is_of_exact(x: type | FunctionType) -> bool:
    """Return whether a class or function belongs to one of the libraries ``EXACT``."""
    return (x.__module__ or "").partition(".")[0] in EXACT


@per_class
def is_exact(kind: type) -> bool:
    """Return whether a class or a base computes with integers internally (``Fraction``, ``Decimal``)."""
    return any(map(is_of_exact, kind.__mro__))
