"""Rules of NumPy's universal functions, and of its other functions that act element by element.

Conventions at kinks and singular points: ``abs``, ``hypot`` and ``sign`` have slope 0 at 0; equal maxima share the
cotangent equally; ``clip`` passes it to the array at the bounds.  ``sqrt`` and ``cbrt`` have slope ``inf`` at 0.

A partial derivative that is the same expression for a function of ``operator``, ``math`` or ``cmath`` is written once.
"""

from __future__ import annotations

import cmath
import math
import operator
from typing import Any

import numpy as np
from numpy._core import umath

from .operators import (
    absolute_pullback,
    divmod_pullback,
    exponent_from_one,
    exponent_partial,
    nonzero_divisor,
    power_below,
)
from .table import elementwise, joint, linear, pointwise, vjp, zero


def larger_share(y: Any, a: Any, b: Any) -> Any:
    """The slope of ``maximum(a, b)``, or of ``minimum``, in ``a``: 1 where it is taken, and half where both are."""
    return (a == y) * (1 - 0.5 * (a == b))


def clip_pullback(dy: Any, y: Any, a: Any, a_min: Any = None, a_max: Any = None, **kwargs: Any) -> tuple[Any, ...]:
    """The pullback of ``clip``; at a bound the cotangent goes to the array.

    Like NumPy, it takes the upper bound wherever it is below the lower bound.
    """
    lower, upper = kwargs.get("min", a_min), kwargs.get("max", a_max)
    kept = y == a
    raised = False if lower is None or lower is np._NoValue else ~kept & (a < lower) & (y == lower)
    lowered = False if upper is None or upper is np._NoValue else ~(kept | raised)
    return dy * kept, dy * raised, dy * lowered


def sign_pullback(dy: Any, y: Any, x: Any) -> Any:
    """The pullback of ``sign``: zero for a real number; for z/|z|, the part perpendicular to z, divided by |z|."""
    if not np.iscomplexobj(x):
        return 0 * dy
    return (dy - y * np.real(np.conj(y) * dy)) / np.where(x == 0, 1, np.abs(x)) * (x != 0)


SINC_TERMS = tuple(2 * k / math.factorial(2 * k + 1) for k in range(16, 0, -1))
"""Of the slope of sinc(x), the sum of (-(pi x)^2)^k / (2k + 1)!: half as many do, but not for high derivatives."""


def sinc_partial(x: Any) -> Any:
    """The slope of ``sin(pi x)/(pi x)``: by its Taylor series where the closed form cancels."""
    u = (np.pi * x) ** 2
    series = 0.0
    for c in SINC_TERMS:
        series = series * -u - c
    small = np.abs(x) < 0.3
    away = np.where(small, 1.0, x)
    return np.where(small, np.pi**2 * x * series, (np.cos(np.pi * away) - np.sinc(away)) / away)


def i0_pullback(dy: Any, y: Any, x: Any) -> Any:
    """The slope of the modified Bessel function of order 0 is that of order 1."""
    from scipy.special import i1  # imported late: only derivatives of np.i0 need SciPy

    return dy * i1(x)


def frexp_pullback(dy: Any, y: Any, x: Any) -> tuple[Any]:
    """The pullback of mantissa and exponent; the exponent is constant between its jumps."""
    return (None if dy[0] is None else np.ldexp(dy[0], -y[1]),)


def finite_pullback(dy: Any, y: Any, x: Any, *args: Any, **kwargs: Any) -> tuple[Any]:
    """The pullback of ``nan_to_num``: replaced parts (real or imaginary) get no cotangent."""
    if np.iscomplexobj(x):
        return (np.real(dy) * np.isfinite(np.real(x)) + 1j * (np.imag(dy) * np.isfinite(np.imag(x))),)
    return (dy * np.isfinite(x),)


# Arithmetic.
elementwise((np.positive, operator.pos), lambda y, x: 1, finite=True)
elementwise((np.negative, operator.neg), lambda y, x: -1, finite=True)
elementwise((np.add, operator.add), lambda y, a, b: 1, lambda y, a, b: 1, finite=True)
elementwise((np.subtract, operator.sub), lambda y, a, b: 1, lambda y, a, b: -1, finite=True)
elementwise((np.multiply, operator.mul), lambda y, a, b: b, lambda y, a, b: a, finite=True)
elementwise((np.divide, operator.truediv), lambda y, a, b: 1 / b, lambda y, a, b: -y / b, finite=nonzero_divisor)
elementwise(
    np.power,
    lambda y, x, n: n * power_below(y, x, n),
    exponent_partial,
    finite=exponent_from_one,
)
elementwise(
    np.float_power,
    lambda y, x, n: n * np.float_power(x, n - 1 + (n == 0) * (x == 0)),
    exponent_partial,
    finite=exponent_from_one,
)
elementwise(np.square, lambda y, x: 2 * x, finite=True)
elementwise(np.reciprocal, lambda y, x: -y * y)
elementwise(np.remainder, lambda y, a, b: 1, lambda y, a, b: -np.floor_divide(a, b))
elementwise(np.fmod, lambda y, a, b: 1, lambda y, a, b: -np.rint((a - y) / b))
joint(np.divmod, divmod_pullback)

# Roots, exponentials and logarithms.
elementwise((np.sqrt, math.sqrt, cmath.sqrt), lambda y, x: 0.5 / y)
elementwise((np.cbrt, math.cbrt), lambda y, x: 1 / (3 * y * y))
elementwise((np.exp, math.exp, cmath.exp), lambda y, x: y, finite=True)
elementwise((np.exp2, math.exp2), lambda y, x: y * 0.6931471805599453, finite=True)
elementwise((np.expm1, math.expm1), lambda y, x: y + 1, finite=True)
elementwise(np.log, lambda y, x: 1 / x)
elementwise((np.log2, math.log2), lambda y, x: 1.4426950408889634 / x)
elementwise((np.log10, math.log10, cmath.log10), lambda y, x: 0.4342944819032518 / x)
elementwise((np.log1p, math.log1p), lambda y, x: 1 / (1 + x))

# Where both operands are -inf, so is the result; both slopes are then 0 and not the NaN of inf - inf.
elementwise(
    np.logaddexp,
    lambda y, a, b: np.exp(a - np.where(y == -np.inf, 0, y)),
    lambda y, a, b: np.exp(b - np.where(y == -np.inf, 0, y)),
    finite=True,
)
elementwise(
    np.logaddexp2,
    lambda y, a, b: np.exp2(a - np.where(y == -np.inf, 0, y)),
    lambda y, a, b: np.exp2(b - np.where(y == -np.inf, 0, y)),
    finite=True,
)

# Trigonometry and its hyperbolic counterpart.  The products of two roots have the branch cuts of the function itself.
elementwise(np.sin, lambda y, x: np.cos(x), finite=True)
elementwise(np.cos, lambda y, x: -np.sin(x), finite=True)
elementwise((np.tan, math.tan, cmath.tan), lambda y, x: 1 + y * y, finite=True)
elementwise((np.arctan, math.atan, cmath.atan), lambda y, x: 1 / (1 + x * x), finite=True)
# At infinities the slopes are their limits, 0, and not the NaN of inf / inf.
elementwise(
    np.arctan2,
    lambda y, a, b: np.where(np.isinf(b), 0, b) / (a * a + b * b),
    lambda y, a, b: -np.where(np.isinf(a), 0, a) / (a * a + b * b),
)
elementwise(np.sinh, lambda y, x: np.cosh(x), finite=True)
elementwise(np.cosh, lambda y, x: np.sinh(x), finite=True)
elementwise((np.tanh, math.tanh, cmath.tanh), lambda y, x: 1 - y * y, finite=True)
elementwise((np.arctanh, math.atanh, cmath.atanh), lambda y, x: 1 / (1 - x * x))
elementwise((np.degrees, np.rad2deg, math.degrees), lambda y, x: 57.29577951308232, finite=True)
elementwise((np.radians, np.deg2rad, math.radians), lambda y, x: 0.017453292519943295, finite=True)
elementwise(
    np.hypot,
    lambda y, a, b: np.where(y == 0, 0, a / np.where(y == 0, 1, y)),
    lambda y, a, b: np.where(y == 0, 0, b / np.where(y == 0, 1, y)),
    finite=True,
)

# Sizes, signs and bounds.
vjp(np.absolute, absolute_pullback)
vjp(np.fabs, absolute_pullback)
vjp(np.sign, sign_pullback)
elementwise(np.copysign, lambda y, x, s: np.copysign(1.0, x) * np.copysign(1.0, s), 0, finite=True)
elementwise(np.heaviside, 0, lambda y, x, h: x == 0, finite=True)
elementwise(
    (np.maximum, np.minimum, np.fmax, np.fmin), larger_share, lambda y, a, b: larger_share(y, b, a), finite=True
)  # fmt: skip
joint((np.clip, umath.clip), clip_pullback)  # type: ignore[attr-defined]

# Parts of a number, real or complex.
vjp(np.real, lambda dy, y, val: dy)
vjp(np.real_if_close, lambda dy, y, a, tol=100: dy)
vjp(np.imag, lambda dy, y, val: dy * 1j)
vjp(np.conjugate, lambda dy, y, x: np.conj(dy))
vjp(np.angle, lambda dy, y, z, deg=False: dy * 1j / np.conj(z) * (57.29577951308232 if deg else 1))
joint(np.modf, lambda dy, y, x: (dy[0],))
joint(np.frexp, frexp_pullback)
elementwise(np.ldexp, lambda y, x, i: np.ldexp(1.0, i), 0)
elementwise((np.nextafter, math.nextafter), lambda y, x, towards: 1, 0, finite=True)
joint(np.nan_to_num, finite_pullback)
pointwise(np.absolute, np.fabs, np.sign, np.clip, umath.clip, np.nan_to_num)  # type: ignore[attr-defined]

# Other functions of one variable.
vjp(np.sinc, lambda dy, y, x: dy * np.conj(sinc_partial(x)))
vjp(np.i0, i0_pullback)
pointwise(np.sinc, np.i0)

# Conversions of a number.
elementwise((np.float16, np.float32, np.float64, np.longdouble), lambda y, x: 1, finite=True)
elementwise((np.complex64, np.complex128, np.clongdouble), lambda y, x: 1, finite=True)

# Steps and predicates.
zero(np.floor, np.ceil, np.trunc, np.rint, np.fix, np.round, np.around, np.floor_divide, np.spacing, np.signbit)
zero(np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal)
zero(np.isfinite, np.isinf, np.isnan, np.isnat, np.isneginf, np.isposinf, np.iscomplex, np.isreal)
zero(np.iscomplexobj, np.isrealobj, np.isscalar, np.isclose, np.allclose, np.array_equal, np.array_equiv)
zero(np.logical_and, np.logical_or, np.logical_not, np.logical_xor)
zero(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.bitwise_count, np.invert, np.left_shift, np.right_shift)
zero(np.gcd, np.lcm)
linear((np.conjugate, np.real, np.imag))
