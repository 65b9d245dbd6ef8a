"""Rules of ``scipy.special``.  This is the one module of rules that imports SciPy; it is loaded when first needed.

Where a closed form cancels, or is 0/0 at a point where the derivative exists, the partial is written in another way (a
hypergeometric function, a series, a scaled function), since its own derivative must be right there as well.  In the
order of a Bessel function and the degree of a polynomial no derivative is known in closed form, and none is defined.
In the shape parameters of the incomplete gamma and beta functions it is an integral (``incomplete_functions``).

Sources: Abramowitz & Stegun (1964); NIST Digital Library of Mathematical Functions (DLMF), chapters 5 to 19.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from scipy import special

from . import bessel, distribution_functions, gamma_functions, hypergeometric, special_equations  # noqa: F401
from .bessel import weighted
from .operators import exponent_partial
from .table import elementwise, joint, vjp, zero

TWO_OVER_SQRT_PI = 1.1283791670955126
SQRT_TWO_PI = 2.5066282746310002
SQRT_HALF = 0.7071067811865476
LOG_2 = 0.6931471805599453
DEGREE = 0.017453292519943295


# The error function and its relatives.


def asymptotic_slope(r: Any) -> Any:
    """The sum of (2k + 1)!! r^k."""
    total = 1.0
    for k in range(12, 0, -1):
        total = 1 + (2 * k + 1) * (r * total)
    return total


def erfcx_partial(y: Any, x: Any) -> Any:
    """2 x y - 2/sqrt(pi); to the far right, where that cancels, its asymptotic series (DLMF 7.12.1)."""
    far = np.real(x) > 20
    away = np.where(far, x, 20.0)
    series = -0.5 * TWO_OVER_SQRT_PI / away**2 * asymptotic_slope(-0.5 / away**2)
    return np.where(far, series, 2 * x * y - TWO_OVER_SQRT_PI)


def dawsn_partial(y: Any, x: Any) -> Any:
    """1 - 2 x y; far out near the real axis, where that cancels, its asymptotic series (A&S 7.1.23)."""
    far = np.abs(np.real(x)) > 20 + 2 * np.abs(np.imag(x))
    away = np.where(far, x, 20.0)
    return np.where(far, -0.5 / away**2 * asymptotic_slope(0.5 / away**2), 1 - 2 * x * y)


def voigt_pullback(dy: Any, y: Any, x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any, Any]:
    """The pullback of the Voigt profile, Re w(z) / (sigma sqrt(2 pi)) with z = (x + i gamma) / (sigma sqrt(2))."""
    z = (x + 1j * gamma) * SQRT_HALF / sigma
    slope = (1j * TWO_OVER_SQRT_PI - 2 * z * special.wofz(z)) / (SQRT_TWO_PI * sigma * sigma)
    return (
        dy * np.real(slope) * SQRT_HALF,
        -dy * (y / sigma + np.real(slope * z)),
        -dy * np.imag(slope) * SQRT_HALF,
    )


elementwise(special.erf, lambda y, x: TWO_OVER_SQRT_PI * np.exp(-x * x), finite=True)
elementwise(special.erfc, lambda y, x: -TWO_OVER_SQRT_PI * np.exp(-x * x), finite=True)
elementwise(special.erfi, lambda y, x: TWO_OVER_SQRT_PI * np.exp(x * x), finite=True)
elementwise(special.erfcx, erfcx_partial, finite=True)
elementwise(special.dawsn, dawsn_partial, finite=True)
elementwise(special.wofz, lambda y, z: 1j * TWO_OVER_SQRT_PI - 2 * z * y, finite=True)
elementwise(special.erfinv, lambda y, x: np.exp(y * y) / TWO_OVER_SQRT_PI)
elementwise(special.erfcinv, lambda y, x: -np.exp(y * y) / TWO_OVER_SQRT_PI)
elementwise(special.ndtr, lambda y, x: np.exp(-0.5 * x * x) / SQRT_TWO_PI, finite=True)
elementwise(special.ndtri, lambda y, p: SQRT_TWO_PI * np.exp(0.5 * y * y))
elementwise(special.log_ndtr, lambda y, x: 2 / (SQRT_TWO_PI * special.erfcx(-SQRT_HALF * x)), finite=True)
elementwise(special.ndtri_exp, lambda y, p: 0.5 * SQRT_TWO_PI * special.erfcx(-SQRT_HALF * y))
elementwise(
    special.owens_t,
    lambda y, h, a: -0.5 * np.exp(-0.5 * h * h) * special.erf(SQRT_HALF * a * h) / SQRT_TWO_PI,
    lambda y, h, a: np.exp(-0.5 * h * h * (1 + a * a)) / (2 * np.pi * (1 + a * a)),
    finite=True,
)
joint(special.voigt_profile, voigt_pullback)


# Exponentials, logarithms and entropies.


def exprel_partial(x: Any) -> Any:
    """The slope of (exp(x) - 1)/x: by its Taylor series where the closed form cancels."""
    series = 0.0
    for k in range(17, 0, -1):
        series = series * x + k / factorial(k + 1)
    small = np.abs(x) < 1
    away = np.where(small, 1.0, x)
    return np.where(small, series, (np.exp(away) - special.exprel(away)) / away)


def spence_partial(y: Any, z: Any) -> Any:
    """log(z)/(1 - z), which is -1 at 1; for real z as the reciprocal of exprel, which is smooth there."""
    if not np.iscomplexobj(z):
        return -1 / special.exprel(np.log(z))
    return np.log(z) / np.where(z == 1, 1, 1 - z) - (z == 1)


def logsumexp_pullback(
    dy: Any, y: Any, a: Any, axis: Any = None, b: Any = None, keepdims: Any = False, return_sign: Any = False
) -> tuple[Any, Any, Any]:
    """The pullback of log(sum(b exp(a))): each term's share of the sum; for ``b``, without the factor b.

    For complex terms the sign is complex; its phase is the imaginary part of the logarithm.
    """
    if return_sign:
        (y, sign), (dy, turn) = y, dy
        if turn is not None and np.iscomplexobj(sign):
            dy = (0 if dy is None else dy) + 1j * np.imag(np.conj(sign) * turn)
        if dy is None:
            return None, None, None
    else:
        sign = None
    if axis is not None and not keepdims:
        y, dy = np.expand_dims(y, axis), np.expand_dims(dy, axis)
        sign = None if sign is None else np.expand_dims(sign, axis)
    share = np.exp(a - np.where(np.real(y) == -np.inf, 0, y))
    share = dy * np.conj(share) * (1 if sign is None else sign)
    return (share, None, None) if b is None else (share * np.conj(b), None, share)


def softmax_pullback(dy: Any, y: Any, x: Any, axis: Any = None) -> Any:
    """y (dy - <dy, y>)."""
    y = np.conj(y)
    return y * (dy - np.sum(dy * y, axis=axis, keepdims=True))


def log_softmax_pullback(dy: Any, y: Any, x: Any, axis: Any = None) -> Any:
    """dy - softmax(x) sum(dy)."""
    return dy - np.conj(np.exp(y)) * np.sum(dy, axis=axis, keepdims=True)


elementwise(special.exp2, lambda y, x: y * LOG_2, finite=True)
elementwise(special.exp10, lambda y, x: y * 2.302585092994046, finite=True)
elementwise(special.expm1, lambda y, x: y + 1, finite=True)
elementwise(special.cosm1, lambda y, x: -np.sin(x), finite=True)
elementwise(special.log1p, lambda y, x: 1 / (1 + x))
elementwise(special.cbrt, lambda y, x: 1 / (3 * y * y))
elementwise(special.exprel, lambda y, x: exprel_partial(x), finite=True)
elementwise(
    special.powm1,
    lambda y, x, n: n * np.power(x, n - 1 + (n == 0)),
    lambda y, x, n: exponent_partial(y + 1, x, n),
)
elementwise(special.expit, lambda y, x: y * special.expit(-x), finite=True)
elementwise(special.logit, lambda y, p: 1 / (p * (1 - p)))
elementwise(special.log_expit, lambda y, x: special.expit(-x), finite=True)
if hasattr(special, "softplus"):  # SciPy 1.17
    elementwise(special.softplus, lambda y, x: special.expit(x), finite=True)
joint(special.logsumexp, logsumexp_pullback)
vjp(special.softmax, softmax_pullback)
vjp(special.log_softmax, log_softmax_pullback)

elementwise(special.xlogy, lambda y, a, b: np.log(b), lambda y, a, b: a / np.where((a == 0) & (b == 0), 1, b))
elementwise(special.xlog1py, lambda y, a, b: np.log1p(b), lambda y, a, b: a / np.where((a == 0) & (b == -1), 1, 1 + b))
elementwise(special.entr, lambda y, x: -1 - np.log(x))
elementwise(special.rel_entr, lambda y, a, b: 1 + np.log(a / b), lambda y, a, b: -a / b)
elementwise(special.kl_div, lambda y, a, b: np.log(a / b), lambda y, a, b: 1 - a / b)

# With t = lambda log(x), Box and Cox's (x^lambda - 1)/lambda is log(x) exprel(t), smooth at lambda = 0; the inverse's
# slopes are those of the inverse function.
elementwise(
    special.boxcox,
    lambda y, x, lmbda: np.power(x, lmbda - 1),
    lambda y, x, lmbda: np.log(x) ** 2 * exprel_partial(lmbda * np.log(x)),
)
elementwise(
    special.boxcox1p,
    lambda y, x, lmbda: np.power(1 + x, lmbda - 1),
    lambda y, x, lmbda: np.log1p(x) ** 2 * exprel_partial(lmbda * np.log1p(x)),
)
elementwise(
    special.inv_boxcox,
    lambda y, x, lmbda: np.power(y, 1 - lmbda),
    lambda y, x, lmbda: -np.power(y, 1 - lmbda) * np.log(y) ** 2 * exprel_partial(lmbda * np.log(y)),
)
elementwise(
    special.inv_boxcox1p,
    lambda y, x, lmbda: np.power(1 + y, 1 - lmbda),
    lambda y, x, lmbda: -np.power(1 + y, 1 - lmbda) * np.log1p(y) ** 2 * exprel_partial(lmbda * np.log1p(y)),
)
elementwise(
    special.tklmbda,
    # A positive lmbda has the support [-1 / lmbda, 1 / lmbda].
    lambda y, x, lmbda: np.where(np.abs(x) * lmbda > 1, 0.0, 1 / (np.power(y, lmbda - 1) + np.power(1 - y, lmbda - 1))),
    None,
)
elementwise(
    special.huber,
    lambda y, delta, r: np.where(np.abs(r) <= delta, 0, np.abs(r) - delta),
    lambda y, delta, r: np.clip(r, -delta, delta),
    finite=True,
)
elementwise(
    special.pseudo_huber,
    lambda y, delta, r: 2 * y / delta - r * r / (delta * np.hypot(1, r / delta)),
    lambda y, delta, r: r / np.hypot(1, r / delta),
)

vjp(special.lambertw, lambda dy, y, z, k=0, tol=1e-8: dy * np.conj(np.exp(-y) / (1 + y)))
elementwise(special.wrightomega, lambda y, z: y / (1 + y), finite=True)
elementwise(special.spence, spence_partial)

# Integrals of elementary functions.


def expn_partial(y: Any, n: Any, x: Any) -> Any:
    """-E(n - 1, x), where E(0, x) = exp(-x)/x must be differentiated by hand."""
    return -np.where(n > 0, special.expn(np.maximum(n - 1, 0), x), np.exp(-x) / x * (1 + 1 / x))


elementwise(special.exp1, lambda y, x: -np.exp(-x) / x)
elementwise(special.expi, lambda y, x: np.exp(x) / x)
elementwise(special.expn, None, expn_partial)
joint(special.sici, lambda dy, y, x: (weighted(dy, np.sinc(x / np.pi), np.cos(x) / x),))
joint(special.shichi, lambda dy, y, x: (weighted(dy, np.sinc(1j * x / np.pi), np.cosh(x) / x),))
joint(special.fresnel, lambda dy, y, z: (weighted(dy, np.sin(np.pi / 2 * z * z), np.cos(np.pi / 2 * z * z)),))

# Angles in degrees.
elementwise(special.sindg, lambda y, x: DEGREE * special.cosdg(x), finite=True)
elementwise(special.cosdg, lambda y, x: -DEGREE * special.sindg(x), finite=True)
elementwise(special.tandg, lambda y, x: DEGREE * (1 + y * y), finite=True)
elementwise(special.cotdg, lambda y, x: -DEGREE * (1 + y * y))
elementwise(
    special.radian,
    lambda y, d, m, s: DEGREE,
    lambda y, d, m, s: DEGREE / 60,
    lambda y, d, m, s: DEGREE / 3600,
    finite=True,
)


zero(special.round)
