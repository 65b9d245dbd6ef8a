"""Rules of the distributions that SciPy takes from Boost, most of which only ``scipy.stats`` calls.

The slope of a distribution function in its variable is the density.  The slope of its inverse in a parameter is minus
the slope of the distribution function in that parameter, divided by the density (the implicit function theorem).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .gamma_functions import beta_density
from .incomplete_functions import beta_shape_slopes
from .table import elementwise

ufuncs: Any = special._ufuncs  # type: ignore[attr-defined]
SQRT_TWO_PI = 2.5066282746310002


def of(name: str, *partials: Any) -> None:
    """Register the partials of a ufunc if the installed SciPy has it."""
    if hasattr(ufuncs, name):
        elementwise(getattr(ufuncs, name), *partials)


def beta_logs(a: Any, b: Any) -> tuple[Any, Any]:
    total = special.digamma(a + b)
    return total - special.digamma(a), total - special.digamma(b)


of(
    "_beta_pdf",
    lambda y, x, a, b: y * ((a - 1) / x - (b - 1) / (1 - x)),
    lambda y, x, a, b: y * (np.log(x) + beta_logs(a, b)[0]),
    lambda y, x, a, b: y * (np.log1p(-x) + beta_logs(a, b)[1]),
)
of(
    "_beta_ppf",
    lambda y, p, a, b: 1 / beta_density(a, b, y),
    lambda y, p, a, b: -beta_shape_slopes(a, b, y, 1 - y)[0] / beta_density(a, b, y),
    lambda y, p, a, b: -beta_shape_slopes(a, b, y, 1 - y)[1] / beta_density(a, b, y),
)

of(
    "_binom_pmf",
    0,
    lambda y, k, n, p: y * (special.digamma(n + 1) - special.digamma(n - k + 1) + np.log1p(-p)),
    lambda y, k, n, p: y * (k - n * p) / (p * (1 - p)),
)
for _name, _sign in (("_binom_cdf", -1), ("_binom_sf", 1)):
    of(_name, 0, None, lambda y, k, n, p, sign=_sign: (
        sign * np.where((k >= 0) & (k < n), beta_density(np.floor(k) + 1, np.maximum(n - np.floor(k), 1), p), 0.0)
    ))  # fmt: skip
of("_binom_ppf", 0, 0, 0)
of("_binom_isf", 0, 0, 0)

of(
    "_nbinom_pmf",
    0,
    lambda y, k, n, p: y * (special.digamma(k + n) - special.digamma(n) + np.log(p)),
    lambda y, k, n, p: y * (n / p - k / (1 - p)),
)
for _name, _sign in (("_nbinom_cdf", 1), ("_nbinom_sf", -1)):
    of(
        _name,
        0,
        lambda y, k, n, p, sign=_sign: sign * beta_shape_slopes(n, np.floor(k) + 1, p, 1 - p)[0],
        lambda y, k, n, p, sign=_sign: sign * beta_density(n, np.floor(k) + 1, p),
    )
of("_nbinom_ppf", 0, 0, 0)
of("_nbinom_isf", 0, 0, 0)
of("_nbinom_mean", lambda y, n, p: (1 - p) / p, lambda y, n, p: -n / p**2)
of("_nbinom_variance", lambda y, n, p: (1 - p) / p**2, lambda y, n, p: n * (p - 2) / p**3)

for _name, _sign in (("_cauchy_ppf", 1), ("_cauchy_isf", -1)):
    of(
        _name,
        lambda y, p, loc, scale, sign=_sign: sign * np.pi * (scale + (y - loc) ** 2 / scale),
        lambda y, p, loc, scale: 1,
        lambda y, p, loc, scale: (y - loc) / scale,
    )


# The inverse Gaussian distribution with mean mu and shape s (Chhikara & Folks, 1989, section 2.2)


def invgauss_density(x: Any, mu: Any, s: Any) -> Any:
    return np.sqrt(s / (2 * np.pi * x**3)) * np.exp(-s * (x - mu) ** 2 / (2 * mu * mu * x))


def invgauss_tail(x: Any, mu: Any, s: Any) -> Any:
    return np.exp(2 * s / mu + special.log_ndtr(-np.sqrt(s / x) * (x / mu + 1)))


for _name, _sign in (("_invgauss_ppf", 1), ("_invgauss_isf", -1)):
    of(
        _name,
        lambda y, p, mu, s, sign=_sign: sign / invgauss_density(y, mu, s),
        lambda y, p, mu, s: 2 * s / mu**2 * invgauss_tail(y, mu, s) / invgauss_density(y, mu, s),
        lambda y, p, mu, s: y / s - 2 / mu * invgauss_tail(y, mu, s) / invgauss_density(y, mu, s),
    )


# The skew normal distribution (Azzalini, Scand. J. Statist. 12, 1985): its distribution function uses Owen's T


def skewnorm_density(z: Any, a: Any) -> Any:
    return 2 * np.exp(-0.5 * z * z) / SQRT_TWO_PI * special.ndtr(a * z)


def skewnorm_shape_slope(z: Any, a: Any) -> Any:
    return -np.exp(-0.5 * z * z * (1 + a * a)) / (np.pi * (1 + a * a))


of(
    "_skewnorm_cdf",
    lambda y, x, loc, scale, a: skewnorm_density((x - loc) / scale, a) / scale,
    lambda y, x, loc, scale, a: -skewnorm_density((x - loc) / scale, a) / scale,
    lambda y, x, loc, scale, a: -skewnorm_density((x - loc) / scale, a) * (x - loc) / scale**2,
    lambda y, x, loc, scale, a: skewnorm_shape_slope((x - loc) / scale, a),
)
for _name, _sign in (("_skewnorm_ppf", 1), ("_skewnorm_isf", -1)):
    of(
        _name,
        lambda y, p, loc, scale, a, sign=_sign: sign * scale / skewnorm_density((y - loc) / scale, a),
        lambda y, p, loc, scale, a: 1,
        lambda y, p, loc, scale, a: (y - loc) / scale,
        lambda y, p, loc, scale, a: (
            -scale * skewnorm_shape_slope((y - loc) / scale, a) / skewnorm_density((y - loc) / scale, a)
        ),
    )


# The noncentral chi-squared distribution: its slopes are its functions for k + 2 degrees of freedom (Cohen, 1988)

if hasattr(ufuncs, "_ncx2_pdf"):
    of(
        "_ncx2_pdf",
        lambda y, x, k, nc: 0.5 * (2 * ncx2_lower(y, x, k, nc) - y),
        None,
        lambda y, x, k, nc: 0.5 * (ufuncs._ncx2_pdf(x, k + 2, nc) - y),
    )
    elementwise(
        special.chndtr,
        lambda y, x, k, nc: ufuncs._ncx2_pdf(x, k, nc),
        None,
        lambda y, x, k, nc: -ufuncs._ncx2_pdf(x, k + 2, nc),
    )
    of(
        "_ncx2_sf",
        lambda y, x, k, nc: -ufuncs._ncx2_pdf(x, k, nc),
        None,
        lambda y, x, k, nc: ufuncs._ncx2_pdf(x, k + 2, nc),
    )
    elementwise(
        special.chndtrix,
        lambda y, p, k, nc: 1 / ufuncs._ncx2_pdf(y, k, nc),
        None,
        lambda y, p, k, nc: ufuncs._ncx2_pdf(y, k + 2, nc) / ufuncs._ncx2_pdf(y, k, nc),
    )
    of(
        "_ncx2_isf",
        lambda y, p, k, nc: -1 / ufuncs._ncx2_pdf(y, k, nc),
        None,
        lambda y, p, k, nc: ufuncs._ncx2_pdf(y, k + 2, nc) / ufuncs._ncx2_pdf(y, k, nc),
    )


def ncx2_lower(y: Any, x: Any, k: Any, nc: Any) -> Any:
    """Half the density for k - 2 degrees of freedom, by the recurrence of Bessel functions: k may be less than 2."""
    return 0.5 * (nc * ufuncs._ncx2_pdf(x, k + 2, nc) + (k - 2) * y) / x


# The noncentral t distribution: the density follows from the distribution function for two more degrees of freedom
# (Johnson, Kotz & Balakrishnan, 1995, chapter 31)


def nct_slope(y: Any, t: Any, df: Any, nc: Any) -> Any:
    stretch = np.sqrt(1 + 2 / df)
    return (df * stretch * ufuncs._nct_pdf(t * stretch, df + 2, nc) - (df + 1) * y) / t


if hasattr(ufuncs, "_nct_pdf"):
    of("_nct_pdf", nct_slope, None, None)
    elementwise(special.nctdtr, None, None, lambda y, df, nc, t: ufuncs._nct_pdf(t, df, nc))
    of("_nct_sf", lambda y, t, df, nc: -ufuncs._nct_pdf(t, df, nc), None, None)
    elementwise(special.nctdtrit, None, None, lambda y, df, nc, p: 1 / ufuncs._nct_pdf(y, df, nc))
    of("_nct_isf", lambda y, p, df, nc: -1 / ufuncs._nct_pdf(y, df, nc), None, None)

of("_scaled_exp1", lambda y, x: y * (1 + x) / x - 1)
