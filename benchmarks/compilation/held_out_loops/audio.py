"""An equaliser: a cascade of second-order sections, fitted to a recording.

Source: R. Bristow-Johnson, Cookbook formulae for audio EQ biquad filter coefficients; transposed direct form II.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

SECTIONS = 6


def equaliser(signal, b, a, target):
    """The mean squared error of the filtered signal; a holds the two last coefficients, the first one is 1."""
    y = signal.copy()
    for k in range(len(b)):
        z1 = z2 = 0.0
        for t in range(len(y)):
            x = y[t]
            y[t] = b[k, 0] * x + z1
            z1 = b[k, 1] * x - a[k, 0] * y[t] + z2
            z2 = b[k, 2] * x - a[k, 1] * y[t]
    return np.mean((y - target) ** 2)


def equaliser_inputs(samples):
    """Peaking filters from 100 Hz to 10 kHz, at 44.1 kHz."""
    rng = np.random.default_rng(35)
    angle = 2.0 * np.pi * np.geomspace(100.0, 10_000.0, SECTIONS) / 44_100.0
    gain, alpha = 10.0 ** (rng.uniform(-6.0, 6.0, SECTIONS) / 40.0), np.sin(angle) / 2.0
    b = np.stack([1.0 + alpha * gain, -2.0 * np.cos(angle), 1.0 - alpha * gain], axis=1)
    a = np.stack([1.0 + alpha / gain, -2.0 * np.cos(angle), 1.0 - alpha / gain], axis=1)
    signal = rng.normal(size=samples)
    return signal, b / a[:, :1], a[:, 1:] / a[:, :1], signal + 0.1 * rng.normal(size=samples)


# All sections advance together, so that their recurrences overlap.  The way back is a recurrence of the same kind; what
# the coefficients are due are correlations, over blocks in the cache.
EQUALISER = f"""
#include <stdlib.h>
#include <string.h>
#define K {SECTIONS}
#define BLOCK 1024
double equaliser(long n, const double *signal, const double *b, const double *a, const double *target, double *dsignal,
                 double *db, double *da) {{
    double *y[K + 1], value = 0, z1[K] = {{0}}, z2[K] = {{0}}, scale = 2.0 / n;
    y[0] = (double *)signal;
    y[1] = malloc(K * n * sizeof(double));
    for (int k = 2; k <= K; k++) y[k] = y[k - 1] + n;
    for (long t = 0; t < n; t++) {{
        double x = signal[t];
        for (int k = 0; k < K; k++) {{
            double out = b[3 * k] * x + z1[k];
            z1[k] = b[3 * k + 1] * x + z2[k] - a[2 * k] * out;
            z2[k] = b[3 * k + 2] * x - a[2 * k + 1] * out;
            y[k + 1][t] = x = out;
        }}
    }}
    memset(db, 0, 3 * K * sizeof(double)); memset(da, 0, 2 * K * sizeof(double));
    /* d[k]: the cotangents of the outputs of section k in a block, and of the two samples after it */
    static double d[K][BLOCK + 2];
    memset(d, 0, sizeof d);
    for (long start = (n - 1) / BLOCK * BLOCK; start >= 0; start -= BLOCK) {{
        long m = n - start < BLOCK ? n - start : BLOCK;
        if (start + m < n) for (int k = 0; k < K; k++) {{ d[k][m] = d[k][0]; d[k][m + 1] = d[k][1]; }}
        double p[K], q[K]; /* the cotangents one and two samples later */
        for (int k = 0; k < K; k++) {{ p[k] = d[k][m]; q[k] = d[k][m + 1]; }}
        for (long t = m - 1; t >= 0; t--) {{
            double r = y[K][start + t] - target[start + t], g = scale * r;
            value += r * r;
            for (int k = K - 1; k >= 0; k--) {{
                double o = (g - a[2 * k + 1] * q[k]) - a[2 * k] * p[k];
                g = b[3 * k] * o + (b[3 * k + 1] * p[k] + b[3 * k + 2] * q[k]);
                q[k] = p[k];
                d[k][t] = p[k] = o;
            }}
            dsignal[start + t] = g;
        }}
        for (int k = 0; k < K; k++) {{
            const double *x = y[k] + start, *o = y[k + 1] + start, *e = d[k];
            double s0 = 0, s1 = 0, s2 = 0, r1 = 0, r2 = 0;
            for (long t = 0; t < m; t++) {{
                s0 += e[t] * x[t]; s1 += e[t + 1] * x[t]; s2 += e[t + 2] * x[t];
                r1 -= e[t + 1] * o[t]; r2 -= e[t + 2] * o[t];
            }}
            db[3 * k] += s0; db[3 * k + 1] += s1; db[3 * k + 2] += s2; da[2 * k] += r1; da[2 * k + 1] += r2;
        }}
    }}
    free(y[1]);
    return value / n;
}}
"""
_equaliser = c_function(EQUALISER, "equaliser", ctypes.c_double)


def equaliser_hand(signal, b, a, target):
    assert len(b) == SECTIONS
    d = tuple(map(np.empty_like, (signal, b, a)))
    return _equaliser(len(signal), signal, b, a, target, *d), d


def equaliser_jax(signal, b, a, target, length=32):
    """Blocks of samples: products with matrices within a block, and a scan over the states between blocks."""
    import jax.numpy as jnp
    from jax import lax

    samples = len(signal)
    blocks = jnp.pad(signal, (0, -samples % length)).reshape(-1, length)
    lag = jnp.arange(length)[:, None] - jnp.arange(length)
    for k in range(SECTIONS):
        # state' = A state + B x, y = C state + b0 x
        A = jnp.array([[-a[k, 0], 1.0], [-a[k, 1], 0.0]])
        B = b[k, 1:] - a[k] * b[k, 0]
        _, from_state = lax.scan(lambda c, _: (c @ A, c), jnp.array([1.0, 0.0]), length=length)  # noqa: B023
        _, to_state = lax.scan(lambda c, _: (A @ c, c), B, length=length)  # noqa: B023
        response = jnp.append(b[k, 0], from_state[:-1] @ B)
        within = jnp.where(lag >= 0, response[lag % length], 0.0)
        power = jnp.linalg.matrix_power(A, length)
        driven = blocks @ to_state[::-1]
        _, states = lax.scan(lambda state, d: (power @ state + d, state), jnp.zeros(2), driven)  # noqa: B023
        blocks = blocks @ within.T + states @ from_state.T
    return jnp.mean((blocks.reshape(-1)[:samples] - target) ** 2)


PROGRAMS = (Program("equaliser", equaliser, equaliser_inputs, 88_200, 25, (0, 1, 2), equaliser_hand, equaliser_jax),)
