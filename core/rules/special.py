"""Rules of ``scipy.special``.  This is the one module of rules that imports SciPy; it is loaded when first needed.

Where a closed form cancels or is 0/0 at a point where the derivative exists, the partial is written another way (a
hypergeometric function, a series, a scaled function), since its own derivative must be right there as well.  No
derivative is given in the order of a Bessel function, the degree of a polynomial or the shape parameters of an incomplete
gamma or beta function: none is known in closed form.

Sources: Abramowitz & Stegun (1964); NIST Digital Library of Mathematical Functions (DLMF), chapters 5 to 19.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from scipy import special

from .operators import exponent_partial
from .table import elementwise, joint, vjp, zero

TWO_OVER_SQRT_PI = 1.1283791670955126
SQRT_TWO_PI = 2.5066282746310002
SQRT_HALF = 0.7071067811865476
DEGREE = 0.017453292519943295


def weighted(dy: tuple[Any, ...], *slopes: Any) -> Any:
    """The cotangent of the variable of a function of several results, from the slope of each."""
    terms = [d * np.conj(slope) for d, slope in zip(dy, slopes) if d is not None]
    return sum(terms[1:], terms[0]) if terms else None


def asymptotic_slope(x: Any, sign: int) -> Any:
    """The sum of (2k + 1) (2k - 1)!! (sign / (2 x^2))^k: the slopes of erfcx and dawsn far out, where they cancel."""
    r = sign / (2 * x * x)
    total = 0.0
    for k in range(12, -1, -1):
        total = 1 + (2 * k + 3) * (total * r) if k else 1 + 3 * r * total
    return total


def erfcx_partial(y: Any, x: Any) -> Any:
    """2 x y - 2/sqrt(pi), and its asymptotic series to the far right (DLMF 7.12.1)."""
    far = np.real(x) > 20
    away = np.where(far, x, 20.0)
    return np.where(far, -asymptotic_slope(away, -1) / (away * away) / 2, x * y - 1 / 2) * 2


def exprel_slope(x: Any) -> Any:
    """The slope of (exp(x) - 1)/x: by its Taylor series where the closed form cancels."""
    series = 0.0
    for k in range(17, 0, -1):
        series = series * x + k / factorial(k + 1)
    small = np.abs(x) < 1
    away = np.where(small, 1.0, x)
    # exp(x) (x - 1) + 1 over x^2, arranged so that exp does not overflow before the quotient does.
    return np.where(small, series, (np.exp(away) - special.exprel(away)) / away)
