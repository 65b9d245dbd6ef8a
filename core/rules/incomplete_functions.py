"""The slopes of the incomplete gamma and beta functions in their shape parameters, by quadrature.

No closed form is known (DLMF 8.8, 8.17). The integrand of d/da is that of the function times (log(t) minus its mean).
In the logarithm of t, or of t/(1 - t), it decays faster than exponentially from the end of the interval. Gauss's rule
on a few panels, up to where it has decayed by exp(-40), is therefore accurate to all digits. The side of the point
without the maximum is integrated, so that nothing cancels.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from scipy import special

from .table import zero

NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2
FALL = 40.0
# Bernoulli's numbers of even index, over their index's factorial.
COEFFICIENTS = [float(b) / factorial(2 * j) for j, b in enumerate(special.bernoulli(20)[::2])]


def root(f: Any, u: Any) -> Any:
    """The zero of a convex increasing function, by Newton's method from ``u`` to its right; ``f`` returns value and slope."""
    with np.errstate(all="ignore"):
        for _ in range(60):
            value, slope = f(u)
            step = value / slope
            u = np.where(np.isfinite(step), u - step, u)
            if np.all(np.abs(step) <= 1e-3 * u):
                break
    return u


def panels(end: Any, backward: bool = False) -> tuple[Any, Any]:
    """Nodes and weights of the panels between 0 and ``end``: four close to the point, and the rest."""
    near = np.minimum(end, FALL)
    edges = [near * k / 4 for k in range(5)] + [end]
    if backward:
        edges = [end - e for e in reversed(edges)]
    nodes = [low[..., None] + (high - low)[..., None] * NODES for low, high in zip(edges, edges[1:])]
    weights = [(high - low)[..., None] * WEIGHTS for low, high in zip(edges, edges[1:])]
    return np.concatenate(nodes, axis=-1), np.concatenate(weights, axis=-1)


def below_gamma(a: Any, x: Any) -> tuple[Any, Any]:
    return panels(root(lambda u: (a * u + x * np.expm1(-u) - FALL, a - x * np.exp(-u)), (FALL + x) / a))


def above_gamma(a: Any, x: Any) -> tuple[Any, Any]:
    start = np.minimum(np.sqrt(2 * FALL / x), np.log1p(2 * FALL / x))
    return panels(root(lambda u: (x * np.expm1(u) - a * u - FALL, x * np.exp(u) - a), start), backward=True)


def below_beta(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    def fall(u: Any) -> tuple[Any, Any]:
        rest = 1 + x * np.expm1(-u)
        return a * u + (a + b) * np.log(rest) - FALL, a - (a + b) * x * np.exp(-u) / rest

    return panels(root(fall, (FALL - (a + b) * np.log(y)) / a))


zero(below_gamma, above_gamma, below_beta)


def gamma_shape_slope(a: Any, x: Any) -> Any:
    """The slope of ``gammainc(a, x)`` in ``a``."""
    a, x = np.asarray(a, float), np.asarray(x, float)
    inside = (x > 0) & (x < np.inf) & (a > 0) & (a < np.inf)
    low = x <= a
    size = np.exp(special.xlogy(a, x) - np.where(inside, x, 0) - special.gammaln(a))
    mean = special.digamma(a)[..., None]
    at, shape = np.where(inside & low, x, 0.5), np.where(inside & low, a, 1.0)
    u, w = below_gamma(*np.broadcast_arrays(shape, at))
    at, shape = at[..., None], shape[..., None]
    below = np.sum(w * np.exp(-shape * u - at * np.expm1(-u)) * (np.log(at) - u - mean), axis=-1)
    at, shape = np.where(inside & ~low, x, 2.0), np.where(inside & ~low, a, 1.0)
    u, w = above_gamma(*np.broadcast_arrays(shape, at))
    at, shape = at[..., None], shape[..., None]
    above = np.sum(w * np.exp(shape * u - at * np.expm1(u)) * (np.log(at) + u - mean), axis=-1)
    return np.where(inside, size * np.where(low, below, -above), np.where((x == 0) | (x == np.inf), 0.0, np.nan))[()]


def beta_shape_slopes(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The slopes of ``betainc(a, b, x)`` in ``a`` and ``b``; ``y`` is 1 - x."""
    a, b, x, y = (np.asarray(v, float) for v in (a, b, x, y))
    low = x * (a + b) <= a
    left = beta_below(np.where(low, a, 1.0), np.where(low, b, 1.0), np.where(low, x, 0.25), np.where(low, y, 0.75))
    right = beta_below(np.where(low, 1.0, b), np.where(low, 1.0, a), np.where(low, 0.25, y), np.where(low, 0.75, x))
    return np.where(low, left[0], -right[1])[()], np.where(low, left[1], -right[0])[()]


def beta_below(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    inside = (x > 0) & (a > 0) & (b > 0)
    at, rest = np.where(inside, x, 0.25), np.where(inside, y, 0.75)
    size = np.exp(a * np.log(at) + b * np.log(rest) - special.betaln(a, b))
    total = special.digamma(a + b)
    u, w = below_beta(*np.broadcast_arrays(a, b, at, rest))
    reach = -np.log1p(at[..., None] * np.expm1(-u))
    w = w * np.exp((a + b)[..., None] * reach - a[..., None] * u)
    of_a = np.sum(w * ((np.log(at) - special.digamma(a) + total)[..., None] - u + reach), axis=-1)
    of_b = np.sum(w * ((np.log(rest) - special.digamma(b) + total)[..., None] + reach), axis=-1)
    outside = np.where(x == 0, 0.0, np.nan)
    return np.where(inside, size * of_a, outside), np.where(inside, size * of_b, outside)


def t_shape_slope(df: Any, t: Any) -> Any:
    """The slope of ``stdtr(df, t)`` in ``df``."""
    square = t * t
    z, rest = df / (df + square), square / (df + square)
    inside = (square > 0) & np.isfinite(square)  # at 0 and at an infinity the value does not depend on df
    z, rest = np.where(inside, z, 0.5), np.where(inside, rest, 0.5)
    density = np.exp(
        (0.5 * df - 1) * np.log(z) - 0.5 * np.log(rest) - special.betaln(0.5 * df, 0.5)
    )  # of the beta distribution
    slope = 0.5 * beta_shape_slopes(0.5 * df, 0.5, z, rest)[0] + density * z * rest / df
    return -0.5 * np.sign(t) * np.where(inside, slope, 0.0)


def f_shape_slopes(dfn: Any, dfd: Any, x: Any) -> tuple[Any, Any]:
    """The slopes of ``fdtr(dfn, dfd, x)`` in ``dfn`` and ``dfd``."""
    inside = np.isfinite(x)
    u, rest = np.where(inside, dfn * x / (dfd + dfn * x), np.where(np.isnan(x), np.nan, 1.0)), dfd / (dfd + dfn * x)
    of_a, of_b = beta_shape_slopes(0.5 * dfn, 0.5 * dfd, u, rest)
    density = np.exp(
        special.xlogy(0.5 * dfn, u) + special.xlogy(0.5 * dfd, rest) - special.betaln(0.5 * dfn, 0.5 * dfd)
    )
    return 0.5 * of_a + density / dfn, 0.5 * of_b - density / dfd


def zeta_slope(x: Any, q: Any = 1.0) -> Any:
    """The slope of the Hurwitz zeta function in its exponent: Euler and Maclaurin's sum (DLMF 25.11.17)."""
    x, q = np.asarray(x, float), np.asarray(q, float)
    k = np.arange(16.0)
    terms = q[..., None] + k
    total = -np.sum(np.log(terms) * terms ** -x[..., None], axis=-1)
    m = q + 16
    log = np.log(m)
    total = total - m ** (1 - x) * (log / (x - 1) + 1 / (x - 1) ** 2) - 0.5 * log * m**-x
    for j in range(1, 11):
        rising, inverse = 1.0, 0.0
        for i in range(2 * j - 1):
            rising, inverse = rising * (x + i), inverse + 1 / (x + i)
        total = total + COEFFICIENTS[j] * rising * m ** (1 - x - 2 * j) * (inverse - log)
    return total[()]
