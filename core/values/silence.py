"""NumPy's floating-point warnings are those of the program: the arithmetic of a backward sweep gives none.

A slope may be infinite where the program is not (a square root at zero), and meets there a cotangent of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numpy._core import umath

# What np.errstate does at each entry, done once: a sweep may take no longer than that.
_STATE = umath._extobj_contextvar  # type: ignore[attr-defined]
_SILENT = umath._make_extobj(all="ignore")  # type: ignore[attr-defined]


def silently(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)``, where NumPy neither warns of infinities and NaNs nor raises.

    >>> import numpy as np
    >>> silently(np.divide, 1.0, 0.0)
    np.float64(inf)
    """
    before = _STATE.get()
    try:
        _STATE.set(_SILENT)  # within, since a signal may raise as soon as that is done
        return function(*args)
    finally:
        _STATE.set(before)


def warnings_now() -> Any:
    """What the program wants to be told, as ``np.errstate`` has it."""
    return _STATE.get()


@contextmanager
def warning_as(state: Any) -> Iterator[None]:
    """For functions of the program that a sweep calls: NumPy warns as it did where they were given."""
    before = _STATE.get()
    try:
        _STATE.set(state)
        yield
    finally:
        _STATE.set(before)
