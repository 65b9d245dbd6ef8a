"""Rules of the inverse sine, cosine and their hyperbolic relatives, of real and complex numbers.

The slope of a complex one on a branch cut depends on the side that the number is on, which the sign of a zero tells: 1 - x would lose it, and
XLA ignores it. The result is that of one side, so the slope there is written in terms of the result.
"""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np

from .table import elementwise


def is_real(y: Any) -> bool:
    """``np.isrealobj``, which takes longer than the slope of a number."""
    return y.dtype.kind != "c" if hasattr(y, "dtype") else not isinstance(y, complex)


def arcsin_slope(y: Any, x: Any) -> Any:
    x = x + 0j if np.isrealobj(x) else x  # the functions of ``cmath`` take real numbers, too
    is_on_cut = (np.imag(x) == 0) & (np.abs(np.real(x)) > 1)
    return np.where(is_on_cut, 1 / np.cos(y), 1 / (np.sqrt(1 - x) * np.sqrt(1 + x)))


def arccos_slope(y: Any, x: Any) -> Any:
    x = x + 0j if np.isrealobj(x) else x
    is_on_cut = (np.imag(x) == 0) & (np.abs(np.real(x)) > 1)
    return np.where(is_on_cut, -1 / np.sin(y), -1 / (np.sqrt(1 - x) * np.sqrt(1 + x)))


def arcsinh_slope(y: Any, x: Any) -> Any:
    x = x + 0j if np.isrealobj(x) else x
    is_on_cut = (np.real(x) == 0) & (np.abs(np.imag(x)) > 1)
    return np.where(is_on_cut, 1 / np.cosh(y), 1 / np.sqrt(1 + x * x))


def arccosh_slope(y: Any, x: Any) -> Any:
    x = x + 0j if np.isrealobj(x) else x
    is_on_cut = (np.imag(x) == 0) & (np.real(x) < -1)
    return np.where(is_on_cut, 1 / np.sinh(y), 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)))


elementwise(np.arcsin, lambda y, x: 1 / (np.sqrt(1 - x) * np.sqrt(1 + x)) if is_real(y) else arcsin_slope(y, x))
elementwise(np.arccos, lambda y, x: -1 / (np.sqrt(1 - x) * np.sqrt(1 + x)) if is_real(y) else arccos_slope(y, x))
elementwise(np.arcsinh, lambda y, x: 1 / np.sqrt(1 + x * x) if is_real(y) else arcsinh_slope(y, x), finite=True)
elementwise(np.arccosh, lambda y, x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)) if is_real(y) else arccosh_slope(y, x))
elementwise(cmath.asin, arcsin_slope)
elementwise(cmath.acos, arccos_slope)
elementwise(cmath.asinh, arcsinh_slope, finite=True)
elementwise(cmath.acosh, arccosh_slope)
