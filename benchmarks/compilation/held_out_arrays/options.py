"""A book of European options: prices by the Black-Scholes formula, and the misfit to the market's.

Source: F. Black, M. Scholes, The pricing of options and corporate liabilities, J. Polit. Econ. 81 (1973) 637-654.
"""

from __future__ import annotations

import ctypes

import numpy as np
from scipy.special import ndtr

from ..c_code import c_function
from ..program import Program


def black_scholes(is_call, market, spot, strike, rate, volatility, maturity):
    root = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / root
    d2 = d1 - root
    discounted = strike * np.exp(-rate * maturity)
    call = spot * ndtr(d1) - discounted * ndtr(d2)
    put = discounted * ndtr(-d2) - spot * ndtr(-d1)
    price = np.where(is_call, call, put)
    return np.sum((price - market) ** 2)


def black_scholes_inputs(n):
    rng = np.random.default_rng(56)
    spot = rng.uniform(80.0, 120.0, n)
    strike = spot * rng.uniform(0.8, 1.25, n)
    return (
        rng.random(n) < 0.5,
        rng.uniform(1.0, 20.0, n),
        spot,
        strike,
        0.03,
        rng.uniform(0.1, 0.5, n),
        rng.uniform(0.1, 2.0, n),
    )


# The derivatives by d1 and d2 cancel, so that one density is enough; a put is a call less a forward contract.
BLACK = r"""
#include <math.h>
#define N 256
#define EACH for (int i = 0; i < m; i++)
double black(long n, const char *restrict is_call, const double *restrict market, const double *restrict spot,
             const double *restrict strike, double rate, const double *restrict volatility, const double *restrict maturity,
             double *restrict dspot, double *restrict dstrike, double *drate, double *restrict dvolatility,
             double *restrict dmaturity) {
    double value = 0, sum = 0, a[N], b[N], c[N], p[N], q[N], r[N], e[N];
    for (long o = 0; o < n; o += N) {
        int m = n - o < N ? n - o : N;
        EACH a[i] = log(spot[o + i] / strike[o + i]);
        EACH {
            double s = volatility[o + i], t = maturity[o + i];
            r[i] = sqrt(t);
            double root = s * r[i];
            a[i] = (a[i] + (rate + 0.5 * s * s) * t) / root;
            b[i] = (a[i] - root) * M_SQRT1_2;
            p[i] = -0.5 * a[i] * a[i];
            a[i] *= M_SQRT1_2;
            e[i] = -rate * t;
        }
        EACH a[i] = 0.5 + 0.5 * erf(a[i]);
        EACH b[i] = 0.5 + 0.5 * erf(b[i]);
        EACH p[i] = exp(p[i]);
        EACH e[i] = exp(e[i]);
        EACH c[i] = is_call[o + i] ? 0 : 1;
        EACH {
            double s = spot[o + i], k = strike[o + i] * e[i], t = maturity[o + i];
            double delta = a[i] - c[i], y = b[i] - c[i], error = s * delta - k * y - market[o + i], g = 2 * error;
            double vega = s * p[i] * 0.3989422804014327 * r[i], rho = k * y * t;
            value += error * error;
            sum += g * rho;
            dspot[o + i] = g * delta;
            dstrike[o + i] = -g * e[i] * y;
            dvolatility[o + i] = g * vega;
            dmaturity[o + i] = g * (0.5 * vega * volatility[o + i] / t + rate * k * y);
        }
    }
    *drate = sum;
    return value;
}
"""
_black = c_function(BLACK, "black", ctypes.c_double)


def black_scholes_hand(is_call, market, spot, strike, rate, volatility, maturity):
    dspot, dstrike, dvolatility, dmaturity = (np.empty_like(spot) for _ in range(4))
    drate = np.empty(1)
    value = _black(
        len(spot), is_call, market, spot, strike, rate, volatility, maturity, dspot, dstrike, drate, dvolatility, dmaturity
    )  # fmt: skip
    return value, (dspot, dstrike, drate[0], dvolatility, dmaturity)


def black_scholes_jax(is_call, market, spot, strike, rate, volatility, maturity):
    import jax.numpy as jnp
    from jax.scipy.special import ndtr

    root = volatility * jnp.sqrt(maturity)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / root
    discounted = strike * jnp.exp(-rate * maturity)
    # a put is a call less a forward contract
    put = jnp.where(is_call, 0.0, 1.0)
    price = spot * (ndtr(d1) - put) - discounted * (ndtr(d1 - root) - put)
    return jnp.sum((price - market) ** 2)


PROGRAMS = (
    Program(
        "black_scholes",
        black_scholes,
        black_scholes_inputs,
        100_000,
        20,
        (2, 3, 4, 5, 6),
        black_scholes_hand,
        black_scholes_jax,
    ),
)
