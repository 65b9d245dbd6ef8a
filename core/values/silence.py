"""Change what NumPy does at floating-point errors: in backward sweeps nothing, as only the program's own arithmetic warns.

A slope may be infinite where the program's values are finite (a square root at zero) and be multiplied by a zero
cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy._core import umath

# Built once: np.errstate builds it at each entry, which can take as long as a short sweep.
_STATE = umath._extobj_contextvar  # type: ignore[attr-defined]
_SILENT = umath._make_extobj(all="ignore")  # type: ignore[attr-defined]
_RAISING = umath._make_extobj(all="raise", under="ignore")  # type: ignore[attr-defined]
_USUAL = _STATE.get() if np.geterr()["under"] == "ignore" else None


def silently(function: Callable[..., Any], *args: Any) -> Any:
    """Return ``function(*args)`` with NumPy's floating-point warnings and errors off.

    >>> import numpy as np
    >>> silently(np.divide, 1.0, 0.0)
    np.float64(inf)
    """
    before = _STATE.get()
    try:
        _STATE.set(_SILENT)  # inside "try": a signal may raise right after it
        return function(*args)
    finally:
        _STATE.set(before)


def raising(function: Callable[..., Any], *args: Any) -> Any:
    """Return ``function(*args)`` with NumPy's floating-point errors raised, but for underflow.

    It returns None without a call if the program has asked for underflow to be reported.

    >>> import numpy as np
    >>> raising(np.divide, 1.0, 0.0)
    Traceback (most recent call last):
    FloatingPointError: divide by zero encountered in divide
    """
    before = _STATE.get()
    if before is not _USUAL and np.geterr()["under"] != "ignore":
        return None
    try:
        _STATE.set(_RAISING)
        return function(*args)
    finally:
        _STATE.set(before)


def warnings_now() -> Any:
    """Return the current state of ``np.errstate``."""
    return _STATE.get()


@contextmanager
def warning_as(state: Any) -> Iterator[None]:
    """Restore a saved ``np.errstate``, for the program's own functions that a sweep calls."""
    before = _STATE.get()
    try:
        _STATE.set(state)
        yield
    finally:
        _STATE.set(before)
