"""Which Python values are numbers, which can carry a cotangent, and which never do."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .tape import Int, Tape

PASSIVE = {int, bool, str, bytes, type(None), np.bool_, slice, range, type, type(...), FunctionType, ModuleType}
PASSIVE |= {np.dtype(c).type for c in "bhilqpBHILQP"}
NUMBERS = {float, complex, Int, np.ndarray} | {np.dtype(c).type for c in "efdgFDG"} | (PASSIVE & {int, bool, np.bool_})
NUMBERS |= {np.dtype(c).type for c in "bhilqpBHILQP"}
INEXACT = {float, complex, np.ndarray} | {np.dtype(c).type for c in "efdgFDG"}
REAL = {float, np.float64}
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


def evaluate(parent: Tape | None, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``function`` on the tape of the enclosing derivative, or plainly where there is none."""
    return function(*args, **kwargs) if parent is None else parent.call(function, *args, **kwargs)
