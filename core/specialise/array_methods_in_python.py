"""Methods of arrays that NumPy's C code composes of ufuncs, which a class derived from ``ndarray`` may override."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy._core import _methods

_NUMPYS: Any = _methods


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    options = {} if dtype is None else {"dtype": dtype}
    x = a.ravel() if axis is None and a.ndim != 1 else a
    return np.add.accumulate(x, axis=0 if axis is None else axis, out=out, **options)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    options = {} if dtype is None else {"dtype": dtype}
    x = a.ravel() if axis is None and a.ndim != 1 else a
    return np.multiply.accumulate(x, axis=0 if axis is None else axis, out=out, **options)


def conjugate(a: Any, out: Any = None) -> Any:
    if a.dtype.kind == "c" or out is not None:
        return np.conjugate(a, out=out)
    return a


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    options = {} if dtype is None else {"dtype": dtype}
    return np.add.reduce(a.diagonal(offset, axis1, axis2), axis=-1, out=out, **options)


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    if a.dtype.kind in "iub" and decimals >= 0:
        return a.copy() if out is None else np.positive(a, out=out)
    if decimals == 0:
        return np.rint(a) if out is None else np.rint(a, out=out)
    made = np.empty(a.shape, a.dtype) if out is None else out
    first, second = (np.multiply, np.true_divide) if decimals > 0 else (np.true_divide, np.multiply)
    made = first(a, 10.0 ** abs(decimals), out=made)
    return second(np.rint(made, out=made), 10.0 ** abs(decimals), out=made)


METHODS: dict[str, Any] = {
    **{name: getattr(_NUMPYS, f"_{name}") for name in "sum prod mean var std all any clip".split()},
    "max": _NUMPYS._amax,
    "min": _NUMPYS._amin,
    "conj": conjugate,
    **{f.__name__: f for f in (cumsum, cumprod, conjugate, trace, round)},
}
"""The definitions by name: NumPy's own, where it has one in Python."""
