"""Rules of ``scipy.special``: the gamma and beta functions, and the distributions made of them (DLMF 5 and 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .table import elementwise, vjp, zero


def rgamma_partial(y: Any, x: Any) -> Any:
    """The slope of 1/gamma, an entire function; on the left by the reflection formula, which has no poles there."""
    left = np.real(x) < 0.5
    mirrored = np.where(left, 1 - x, 1.0)
    reflected = special.gamma(mirrored) * (
        np.cos(np.pi * x) - np.sin(np.pi * x) * special.digamma(mirrored) / np.pi
    )  # fmt: skip
    return np.where(left, reflected, -y * special.digamma(np.where(left, 1.0, x)))


def gamma_density(a: Any, x: Any) -> Any:
    """The slope of ``gammainc(a, x)`` in ``x``."""
    return np.exp(special.xlogy(a - 1, x) - x - special.gammaln(a))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """The slope of ``betainc(a, b, x)`` in ``x``."""
    return np.exp(special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - special.betaln(a, b))


def t_density(df: Any, t: Any) -> Any:
    """The density of Student's t distribution."""
    return np.exp(-0.5 * (df + 1) * np.log1p(t * t / df) - special.betaln(0.5 * df, 0.5)) / np.sqrt(df)


def f_density(dfn: Any, dfd: Any, x: Any) -> Any:
    """The density of Fisher's F distribution."""
    u = dfn * x / (dfd + dfn * x)
    return beta_density(0.5 * dfn, 0.5 * dfd, u) * u * (1 - u) / x


def hurwitz_pullback(dy: Any, y: Any, x: Any, q: Any = None) -> Any:
    """The pullback of the Hurwitz zeta function in ``q``."""
    return dy * -x * special.zeta(x + 1, q)


elementwise(special.gamma, lambda y, x: y * special.digamma(x))
elementwise((special.gammaln, special.loggamma), lambda y, x: special.digamma(x))
elementwise(special.rgamma, rgamma_partial)
elementwise(special.digamma, lambda y, x: special.polygamma(1, x))
vjp(special.polygamma, None, lambda dy, y, n, x: dy * special.polygamma(n + 1, x))
vjp(
    special.multigammaln,  # pyright: ignore[reportAttributeAccessIssue]
    lambda dy, y, a, d: dy * sum([special.digamma(a - 0.5 * j) for j in range(int(d))]),
)
vjp(special.zeta, None, hurwitz_pullback)
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
elementwise(special.gammainc, None, lambda y, a, x: gamma_density(a, x))
elementwise(special.gammaincc, None, lambda y, a, x: -gamma_density(a, x))
elementwise(special.gammaincinv, None, lambda y, a, p: 1 / gamma_density(a, y))
elementwise(special.gammainccinv, None, lambda y, a, p: -1 / gamma_density(a, y))
elementwise(special.betainc, None, None, lambda y, a, b, x: beta_density(a, b, x))
elementwise(special.betaincc, None, None, lambda y, a, b, x: -beta_density(a, b, x))
elementwise(special.betaincinv, None, None, lambda y, a, b, p: 1 / beta_density(a, b, y))
elementwise(special.betainccinv, None, None, lambda y, a, b, p: -1 / beta_density(a, b, y))

elementwise(special.chdtr, None, lambda y, v, x: 0.5 * gamma_density(0.5 * v, 0.5 * x))
elementwise(special.chdtrc, None, lambda y, v, x: -0.5 * gamma_density(0.5 * v, 0.5 * x))
elementwise(special.chdtri, None, lambda y, v, p: -2 / gamma_density(0.5 * v, 0.5 * y))
elementwise(
    special.gdtr, lambda y, a, b, x: x * gamma_density(b, a * x), None, lambda y, a, b, x: a * gamma_density(b, a * x)
)
elementwise(
    special.gdtrc,
    lambda y, a, b, x: -x * gamma_density(b, a * x),
    None,
    lambda y, a, b, x: -a * gamma_density(b, a * x),
)
elementwise(special.pdtr, 0, lambda y, k, m: -gamma_density(np.floor(k) + 1, m))
elementwise(special.pdtrc, 0, lambda y, k, m: gamma_density(np.floor(k) + 1, m))
elementwise(special.bdtr, 0, 0, lambda y, k, n, p: -beta_density(np.floor(k) + 1, n - np.floor(k), p))
elementwise(special.bdtrc, 0, 0, lambda y, k, n, p: beta_density(np.floor(k) + 1, n - np.floor(k), p))
elementwise(special.nbdtr, 0, 0, lambda y, k, n, p: beta_density(n, np.floor(k) + 1, p))
elementwise(special.nbdtrc, 0, 0, lambda y, k, n, p: -beta_density(n, np.floor(k) + 1, p))
elementwise(special.stdtr, None, lambda y, df, t: t_density(df, t))
elementwise(special.stdtrit, None, lambda y, df, p: 1 / t_density(df, y))
elementwise(special.fdtr, None, None, lambda y, dfn, dfd, x: f_density(dfn, dfd, x))
elementwise(special.fdtrc, None, None, lambda y, dfn, dfd, x: -f_density(dfn, dfd, x))
elementwise(special.fdtri, None, None, lambda y, dfn, dfd, p: 1 / f_density(dfn, dfd, y))

zero(special.gammasgn)
