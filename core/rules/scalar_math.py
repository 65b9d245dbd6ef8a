"""Rules of the modules ``math`` and ``cmath``, written with their own functions, so that floats stay floats.

Partial derivatives that need no such function, as that of ``exp``, stand with NumPy's in ``ufuncs``.
"""

from __future__ import annotations

import cmath
import math
import sys
from collections.abc import Sequence
from typing import Any

from .operators import exponent_from_one, exponent_partial
from .table import elementwise, joint, pointwise, vjp, zero


def digamma(x: float) -> float:
    """The logarithmic derivative of the gamma function at a real ``x``.

    The recurrence ``digamma(x) = digamma(x + 1) - 1/x`` shifts x to at least 12, where the asymptotic series is
    accurate to rounding; the reflection formula handles the negative axis.  The derivatives of this program, the
    polygamma functions, are as accurate.

    Source: Abramowitz & Stegun 6.3.5, 6.3.7, 6.3.18.

    >>> round(digamma(1.0), 12)
    -0.577215664902
    """
    shift = 0.0
    if x < 0.5:
        # cot(pi x), by the distance to the nearest integer: pi x itself would lose the digits of a small distance.
        shift = -math.pi / math.tan(math.pi * (x - round(x)))
        x = 1.0 - x
    while x < 12.0:
        shift -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    return shift + math.log(x) - 0.5 / x - series


def product_pullback(dy: Any, y: Any, iterable: Sequence[Any], *, start: Any = 1) -> tuple[list[Any]]:
    """The pullback of ``math.prod``: for each factor the product of the others, correct for zeros too."""
    factors = list(iterable)
    before = [start]
    for factor in factors:
        before.append(before[-1] * factor)
    after = [1] * (len(factors) + 1)
    for i in range(len(factors) - 1, -1, -1):
        after[i] = after[i + 1] * factors[i]
    return ([dy * (before[i] * after[i + 1]).conjugate() for i in range(len(factors))],)


def hypotenuse_pullback(dy: Any, y: Any, *coordinates: Any) -> tuple[Any, ...]:
    """The pullback of ``math.hypot``: the unit vector, and 0 at the origin."""
    return tuple(dy * (x / y) if y else 0 * dy for x in coordinates)


def distance_pullback(dy: Any, y: Any, p: Sequence[Any], q: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The pullback of ``math.dist``: the unit vector from ``q`` to ``p``, and 0 where they coincide."""
    pull = [dy * ((a - b) / y) if y else 0 * dy for a, b in zip(p, q)]
    return pull, [-g for g in pull]


def frexp_pullback(dy: Any, y: Any, x: Any) -> tuple[Any]:
    """The pullback of mantissa and exponent; the exponent is constant between its jumps."""
    return (None if dy[0] is None else math.ldexp(dy[0], -y[1]),)


def phase_pullback(dy: Any, y: Any, z: Any) -> Any:
    """The pullback of the phase: NaN at 0, where it is undefined."""
    return dy * 1j / complex(z).conjugate() if z else dy * complex(math.nan, math.nan)


def polar_pullback(dy: Any, y: Any, z: Any) -> tuple[Any]:
    """The pullback of modulus and phase; the slope of the modulus is 0 at 0."""
    r, phi = y
    radial = 0 if dy[0] is None or r == 0 else dy[0] * complex(math.cos(phi), math.sin(phi))
    return (radial if dy[1] is None else radial + phase_pullback(dy[1], phi, z),)


# Powers, exponentials and logarithms.
elementwise(
    math.log,
    lambda y, x, base=None: 1 / x if base is None else 1 / (x * math.log(base)),
    lambda y, x, base: -y / (base * math.log(base)),
)
elementwise(
    math.pow, lambda y, x, n: n * math.pow(x, n - 1 + (n == 0) * (x == 0)), exponent_partial, finite=exponent_from_one
)

# Trigonometry and its hyperbolic counterpart.
elementwise(math.sin, lambda y, x: math.cos(x), finite=True)
elementwise(math.cos, lambda y, x: -math.sin(x), finite=True)
elementwise(math.asin, lambda y, x: (1 - x * x) ** -0.5)
elementwise(math.acos, lambda y, x: -((1 - x * x) ** -0.5))
# At infinities the slopes are their limits, 0, and not the NaN of inf / inf.
elementwise(
    math.atan2,
    lambda y, a, b: (0.0 if math.isinf(b) else b) / (a * a + b * b),
    lambda y, a, b: -(0.0 if math.isinf(a) else a) / (a * a + b * b),
)
elementwise(math.sinh, lambda y, x: math.cosh(x), finite=True)
elementwise(math.cosh, lambda y, x: math.sinh(x), finite=True)
elementwise(math.asinh, lambda y, x: 1 / math.sqrt(1 + x * x), finite=True)
elementwise(math.acosh, lambda y, x: (x * x - 1) ** -0.5)

# The gamma and error functions.
elementwise(math.gamma, lambda y, x: y * digamma(x))
elementwise(math.lgamma, lambda y, x: digamma(x))
elementwise(math.erf, lambda y, x: 1.1283791670955126 * math.exp(-x * x), finite=True)
elementwise(math.erfc, lambda y, x: -1.1283791670955126 * math.exp(-x * x), finite=True)

# Parts, signs and remainders of a float.
vjp(math.fabs, lambda dy, y, x: dy if x > 0 else -dy if x < 0 else 0 * dy)
pointwise(math.fabs)
elementwise(math.copysign, lambda y, x, s: math.copysign(1.0, x) * math.copysign(1.0, s), 0, finite=True)
elementwise((math.fmod, math.remainder), lambda y, a, b: 1, lambda y, a, b: -round((a - y) / b) if y == y else y)
elementwise(math.ldexp, lambda y, x, i: math.ldexp(1.0, i), 0)
joint(math.frexp, frexp_pullback)
joint(math.modf, lambda dy, y, x: (dy[0],))

# Sums and products of many.
joint(math.hypot, hypotenuse_pullback)
joint(math.dist, distance_pullback)
joint(math.prod, product_pullback)
joint(math.fsum, lambda dy, y, seq: ([dy for _ in seq],))
if sys.version_info >= (3, 12):
    joint(math.sumprod, lambda dy, y, p, q: ([dy * b for b in q], [dy * a for a in p]))
if sys.version_info >= (3, 13):
    elementwise(math.fma, lambda y, a, b, c: b, lambda y, a, b, c: a, lambda y, a, b, c: 1)

zero(math.floor, math.ceil, math.trunc, math.ulp, math.isclose, math.isfinite, math.isinf, math.isnan)
zero(math.comb, math.perm, math.factorial, math.gcd, math.lcm, math.isqrt)

# Complex numbers.
elementwise(
    cmath.log,
    lambda y, z, base=None: 1 / z if base is None else 1 / (z * cmath.log(base)),
    lambda y, z, base: -y / (base * cmath.log(base)),
)
elementwise(cmath.sin, lambda y, z: cmath.cos(z), finite=True)
elementwise(cmath.cos, lambda y, z: -cmath.sin(z), finite=True)
elementwise(cmath.sinh, lambda y, z: cmath.cosh(z), finite=True)
elementwise(cmath.cosh, lambda y, z: cmath.sinh(z), finite=True)

# Modulus and phase are not holomorphic: their pullbacks are written out.
joint(cmath.polar, polar_pullback)
vjp(cmath.phase, phase_pullback)
elementwise(cmath.rect, lambda y, r, phi: cmath.rect(1.0, phi), lambda y, r, phi: 1j * y, finite=True)

zero(cmath.isclose, cmath.isfinite, cmath.isinf, cmath.isnan)
