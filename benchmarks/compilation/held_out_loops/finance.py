"""An American put option, priced by a binomial tree, with its sensitivities.

Source: J. C. Cox, S. A. Ross, M. Rubinstein, Option pricing: a simplified approach, J. Financ. Econ. 7 (1979) 229-263.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program


def american_put(steps, spot, strike, rate, volatility, maturity):
    dt = maturity / steps
    up = np.exp(volatility * np.sqrt(dt))
    down = 1.0 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    price = spot * up ** np.arange(steps, -steps - 1, -2)
    value = np.maximum(strike - price, 0.0)
    for i in range(steps - 1, -1, -1):
        price[: i + 1] *= down
        held = discount * (p * value[: i + 1] + (1.0 - p) * value[1 : i + 2])
        value[: i + 1] = np.maximum(held, strike - price[: i + 1])
    return value[0]


def american_put_inputs(steps):
    return steps, 100.0, 105.3, 0.04, 0.25, 1.5


# Row i of the tree holds i + 1 values.  Every BLOCK-th row is kept, the rows between are computed again on the way
# back, which starts at the root: the prices of a row are those at maturity times a power of ``down``.
OPTION = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define BLOCK 32
static void row(long i, double strike, double pu, double pd, double scale, const double *restrict last,
                const double *restrict below, double *restrict v) {
    for (long j = 0; j <= i; j++) {
        double held = pu * below[j] + pd * below[j + 1], exercised = strike - last[j] * scale;
        v[j] = held > exercised ? held : exercised;
    }
}
/* the sums of the cotangents: for pu, pd, strike, price * cotangent, price * cotangent * exponent of up */
double option(long n, double spot, double strike, double up, double pu, double pd, double *sums) {
    long blocks = (n + BLOCK - 1) / BLOCK, m = n + 2;
    double *last = malloc(m * sizeof(double)), *scales = malloc(m * sizeof(double)), *number = malloc(m * sizeof(double));
    double *rows = malloc((BLOCK + 1) * m * sizeof(double)), *kept = malloc((blocks + 1) * m * sizeof(double));
    double *g = calloc(m, sizeof(double)), *room = calloc(m + 1, sizeof(double)), *c = room + 1, log_up = log(up);
    for (long j = 0; j <= n; j++) last[j] = spot * exp(log_up * (n - 2 * j));
    for (long i = 0; i <= n; i++) scales[i] = exp(log_up * (i - n));
    for (long j = 0; j <= n; j++) number[j] = j;
    /* block b holds the rows b BLOCK to (b + 1) BLOCK - 1, and kept[b + 1] the row below them */
    const double *v = kept + blocks * m;
    for (long j = 0; j <= n; j++) kept[blocks * m + j] = strike > last[j] ? strike - last[j] : 0;
    for (long i = n - 1; i >= 0; i--) {
        double *made = i % BLOCK ? rows + i % 2 * m : kept + i / BLOCK * m;
        row(i, strike, pu, pd, scales[i], last, v, made);
        v = made;
    }
    double value = v[0], du = 0, dd = 0, dk = 0, s0 = 0, s1 = 0;
    g[0] = 1;
    for (long start = 0; start < n; start += BLOCK) {
        long end = start + BLOCK < n ? start + BLOCK : n;
        const double *at[BLOCK + 1];
        at[end - start] = kept + (start / BLOCK + 1) * m;
        for (long i = end - 1; i > start; i--) {
            double *made = rows + (i - start) * m;
            row(i, strike, pu, pd, scales[i], last, at[i + 1 - start], made);
            at[i - start] = made;
        }
        for (long i = start; i < end; i++) {
            const double *below = at[i + 1 - start];
            double scale = scales[i], sk = 0, sp = 0, sj = 0;
            for (long j = 0; j <= i; j++) {
                double price = last[j] * scale, held = pu * below[j] + pd * below[j + 1];
                double e = held > strike - price ? 0 : g[j], f = g[j] - e, h = e * price;
                c[j] = f;
                du += f * below[j];
                dd += f * below[j + 1];
                sk += e;
                sp += h;
                sj += h * number[j];
            }
            dk += sk; s0 += sp; s1 += i * sp - 2 * sj;
            c[i + 1] = 0;
            for (long j = 0; j <= i + 1; j++) g[j] = pu * c[j] + pd * c[j - 1];
        }
    }
    for (long j = 0; j <= n; j++) {
        double e = strike > last[j] ? g[j] : 0;
        dk += e; s0 += e * last[j]; s1 += e * last[j] * (n - 2 * number[j]);
    }
    sums[0] = du; sums[1] = dd; sums[2] = dk; sums[3] = s0; sums[4] = s1;
    free(last); free(scales); free(number); free(rows); free(kept); free(g); free(room);
    return value;
}
"""
_option = c_function(OPTION, "option", ctypes.c_double)


def american_put_hand(steps, spot, strike, rate, volatility, maturity):
    dt = maturity / steps
    root = np.sqrt(dt)
    up, growth = np.exp(volatility * root), np.exp(rate * dt)
    down = 1.0 / up
    p = (growth - down) / (up - down)
    sums = np.empty(5)
    value = _option(steps, spot, strike, float(up), float(p / growth), float((1.0 - p) / growth), sums)
    du, dd, dstrike, prices, exponents = sums
    dp = (du - dd) / growth
    dgrowth = dp / (up - down) - (p * du + (1.0 - p) * dd) / growth**2
    # p is (growth up - 1) / (up^2 - 1)
    dup = -exponents / up + dp * (growth - 2.0 * up * p) / (up**2 - 1.0)
    ddt = dgrowth * growth * rate + dup * up * volatility * 0.5 / root
    return value, (-prices / spot, dstrike, dgrowth * growth * dt, dup * up * root, ddt / steps)


def american_put_jax(steps, spot, strike, rate, volatility, maturity):
    """Rows of full length: what lies beyond a row's end does not reach the root."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    dt = maturity / steps
    up = jnp.exp(volatility * jnp.sqrt(dt))
    down = 1.0 / up
    p = (jnp.exp(rate * dt) - down) / (up - down)
    discount = jnp.exp(-rate * dt)
    rising, falling = discount * p, discount * (1.0 - p)
    last = spot * up ** jnp.arange(steps, -steps - 1, -2)

    @jax.checkpoint
    def step(value, scale):
        held = rising * value + falling * jnp.append(value[1:], 0.0)
        return jnp.maximum(held, strike - last * scale), None

    value, _ = lax.scan(step, jnp.maximum(strike - last, 0.0), down ** jnp.arange(1, steps + 1))
    return value[0]


PROGRAMS = (
    Program(
        "american_put",
        american_put,
        american_put_inputs,
        2000,
        12,
        (1, 2, 3, 4, 5),
        american_put_hand,
        american_put_jax,
    ),
)
