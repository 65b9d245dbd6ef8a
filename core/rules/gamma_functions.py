"""Rules of ``scipy.special``: the gamma and beta functions, and the distributions defined by them (DLMF 5 and 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ..errors import NoDerivative
from .incomplete_functions import beta_shape_slopes, f_shape_slopes, gamma_shape_slope, t_shape_slope, zeta_slope
from .table import elementwise, vjp, zero


def rgamma_partial(y: Any, x: Any) -> Any:
    """The slope of 1/gamma, an entire function; on the negative axis by the reflection formula, which avoids poles."""
    left = np.real(x) < 0.5
    mirrored = np.where(left, 1 - x, 1.0)
    reflected = special.gamma(mirrored) * (
        np.cos(np.pi * x) - np.sin(np.pi * x) * special.digamma(mirrored) / np.pi
    )  # fmt: skip
    return np.where(left, reflected, -y * special.digamma(np.where(left, 1.0, x)))


def gamma_density(a: Any, x: Any) -> Any:
    """The slope of ``gammainc(a, x)`` in ``x``; the logarithm avoids overflow, but has no derivatives at 0."""
    logarithm = special.xlogy(a - 1, x) - x - special.gammaln(a)
    return np.where(x == 0, np.power(1.0 * x, a - 1) * np.exp(-x - special.gammaln(a)), np.exp(logarithm))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """The slope of ``betainc(a, b, x)`` in ``x``; the logarithm avoids overflow, but has no derivatives at 0 and 1."""
    logarithm = special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - special.betaln(a, b)
    product = np.power(1.0 * x, a - 1) * np.power(1.0 - x, b - 1) * np.exp(-special.betaln(a, b))
    return np.where((x == 0) | (x == 1), product, np.exp(logarithm))


def t_density(df: Any, t: Any) -> Any:
    """The density of Student's t distribution."""
    return np.exp(-0.5 * (df + 1) * np.log1p(t * t / df) - special.betaln(0.5 * df, 0.5)) / np.sqrt(df)


def f_density(dfn: Any, dfd: Any, x: Any) -> Any:
    """The density of Fisher's F distribution."""
    outside = np.isinf(x)
    x = np.where(outside, 1.0, x)
    d = dfd + dfn * x
    return np.where(outside, 0.0, beta_density(0.5 * dfn, 0.5 * dfd, dfn * x / d) * (dfn / d) * (dfd / d))


def trigamma(x: Any) -> Any:
    if np.iscomplexobj(x):
        raise NoDerivative(
            "the digamma function of complex numbers, which is the derivative of gamma, loggamma and rgamma, has no derivative: SciPy "
            "has polygamma for real arguments only"
        )
    return special.polygamma(1, x)


def hurwitz_pullback(dy: Any, y: Any, x: Any, q: Any = None) -> Any:
    """The pullback of the Hurwitz zeta function in ``q``."""
    return dy * -x * special.zeta(x + 1, q)


elementwise(special.gamma, lambda y, x: y * special.digamma(x))
elementwise((special.gammaln, special.loggamma), lambda y, x: special.digamma(x))
elementwise(special.rgamma, rgamma_partial, finite=True)
elementwise(special.digamma, lambda y, x: trigamma(x))
vjp(special.polygamma, None, lambda dy, y, n, x: dy * special.polygamma(n + 1, x))
vjp(
    special.multigammaln,  # pyright: ignore[reportAttributeAccessIssue]
    lambda dy, y, a, d: dy * sum([special.digamma(a - 0.5 * j) for j in range(int(d))]),
)
vjp(special.zeta, lambda dy, y, x, q=None: dy * zeta_slope(x, 1.0 if q is None else q), hurwitz_pullback)
elementwise(
    special.beta,
    lambda y, a, b: y * (special.digamma(a) - special.digamma(a + b)),
    lambda y, a, b: y * (special.digamma(b) - special.digamma(a + b)),
)
elementwise(
    special.betaln,
    lambda y, a, b: special.digamma(a) - special.digamma(a + b),
    lambda y, a, b: special.digamma(b) - special.digamma(a + b),
)
elementwise(
    special.poch,
    lambda y, z, m: y * (special.digamma(z + m) - special.digamma(z)),
    lambda y, z, m: y * special.digamma(z + m),
)
elementwise(
    special.binom,
    lambda y, n, k: y * (special.digamma(n + 1) - special.digamma(n - k + 1)),
    lambda y, n, k: y * (special.digamma(n - k + 1) - special.digamma(k + 1)),
)
elementwise(special.gammainc, lambda y, a, x: gamma_shape_slope(a, x), lambda y, a, x: gamma_density(a, x))
elementwise(special.gammaincc, lambda y, a, x: -gamma_shape_slope(a, x), lambda y, a, x: -gamma_density(a, x))
elementwise(
    special.gammaincinv,
    lambda y, a, p: -gamma_shape_slope(a, y) / gamma_density(a, y),
    lambda y, a, p: 1 / gamma_density(a, y),
)
elementwise(
    special.gammainccinv,
    lambda y, a, p: -gamma_shape_slope(a, y) / gamma_density(a, y),
    lambda y, a, p: -1 / gamma_density(a, y),
)
for _function, _inverse, _sign in (
    (special.betainc, special.betaincinv, 1),
    (special.betaincc, special.betainccinv, -1),
):
    elementwise(
        _function,
        lambda y, a, b, x, sign=_sign: sign * beta_shape_slopes(a, b, x, 1 - x)[0],
        lambda y, a, b, x, sign=_sign: sign * beta_shape_slopes(a, b, x, 1 - x)[1],
        lambda y, a, b, x, sign=_sign: sign * beta_density(a, b, x),
    )
    elementwise(
        _inverse,
        lambda y, a, b, p: -beta_shape_slopes(a, b, y, 1 - y)[0] / beta_density(a, b, y),
        lambda y, a, b, p: -beta_shape_slopes(a, b, y, 1 - y)[1] / beta_density(a, b, y),
        lambda y, a, b, p, sign=_sign: sign / beta_density(a, b, y),
    )

elementwise(
    special.chdtr,
    lambda y, v, x: 0.5 * gamma_shape_slope(0.5 * v, 0.5 * x),
    lambda y, v, x: 0.5 * gamma_density(0.5 * v, 0.5 * x),
)
elementwise(
    special.chdtrc,
    lambda y, v, x: -0.5 * gamma_shape_slope(0.5 * v, 0.5 * x),
    lambda y, v, x: -0.5 * gamma_density(0.5 * v, 0.5 * x),
)
elementwise(
    special.chdtri,
    lambda y, v, p: -gamma_shape_slope(0.5 * v, 0.5 * y) / gamma_density(0.5 * v, 0.5 * y),
    lambda y, v, p: -2 / gamma_density(0.5 * v, 0.5 * y),
)
elementwise(
    special.gdtr,
    lambda y, a, b, x: x * gamma_density(b, a * x),
    lambda y, a, b, x: gamma_shape_slope(b, a * x),
    lambda y, a, b, x: a * gamma_density(b, a * x),
)
elementwise(
    special.gdtrc,
    lambda y, a, b, x: -x * gamma_density(b, a * x),
    lambda y, a, b, x: -gamma_shape_slope(b, a * x),
    lambda y, a, b, x: -a * gamma_density(b, a * x),
)
elementwise(special.pdtr, 0, lambda y, k, m: -gamma_density(np.floor(k) + 1, m))
elementwise(special.pdtrc, 0, lambda y, k, m: gamma_density(np.floor(k) + 1, m))
elementwise(special.bdtr, 0, 0, lambda y, k, n, p: -beta_density(np.floor(k) + 1, n - np.floor(k), p))
elementwise(special.bdtrc, 0, 0, lambda y, k, n, p: beta_density(np.floor(k) + 1, n - np.floor(k), p))
elementwise(special.nbdtr, 0, 0, lambda y, k, n, p: beta_density(n, np.floor(k) + 1, p))
elementwise(special.nbdtrc, 0, 0, lambda y, k, n, p: -beta_density(n, np.floor(k) + 1, p))
elementwise(special.stdtr, lambda y, df, t: t_shape_slope(df, t), lambda y, df, t: t_density(df, t))
elementwise(
    special.stdtrit,
    lambda y, df, p: -t_shape_slope(df, y) / t_density(df, y),
    lambda y, df, p: 1 / t_density(df, y),
)
elementwise(
    special.fdtr,
    lambda y, dfn, dfd, x: f_shape_slopes(dfn, dfd, x)[0],
    lambda y, dfn, dfd, x: f_shape_slopes(dfn, dfd, x)[1],
    lambda y, dfn, dfd, x: f_density(dfn, dfd, x),
)
elementwise(
    special.fdtrc,
    lambda y, dfn, dfd, x: -f_shape_slopes(dfn, dfd, x)[0],
    lambda y, dfn, dfd, x: -f_shape_slopes(dfn, dfd, x)[1],
    lambda y, dfn, dfd, x: -f_density(dfn, dfd, x),
)
elementwise(
    special.fdtri,
    lambda y, dfn, dfd, p: -f_shape_slopes(dfn, dfd, y)[0] / f_density(dfn, dfd, y),
    lambda y, dfn, dfd, p: -f_shape_slopes(dfn, dfd, y)[1] / f_density(dfn, dfd, y),
    lambda y, dfn, dfd, p: 1 / f_density(dfn, dfd, y),
)

zero(special.gammasgn)
