"""Models of sequences: the likelihood of a hidden Markov model, a gated recurrent unit.

Sources: L. R. Rabiner, A tutorial on hidden Markov models, Proc. IEEE 77 (1989) 257-286; K. Cho et al., Learning phrase
representations using RNN encoder-decoder, EMNLP 2014.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

# ---- hidden Markov model

STATES, SYMBOLS = 12, 20


def hidden_markov(observed, start, transition, emission):
    """The logarithm of the likelihood, by the scaled forward recursion."""
    alpha = start * emission[:, observed[0]]
    likelihood = 0.0
    for symbol in observed[1:]:
        scale = np.sum(alpha)
        likelihood += np.log(scale)
        alpha = (alpha / scale) @ transition * emission[:, symbol]
    return likelihood + np.log(np.sum(alpha))


def hidden_markov_inputs(steps):
    rng = np.random.default_rng(31)
    observed = rng.integers(0, SYMBOLS, steps)
    start = np.full(STATES, 1.0 / STATES)
    return observed, start, rng.dirichlet(np.ones(STATES), STATES), rng.dirichlet(np.ones(SYMBOLS), STATES)


# A step is scaled by the sum of the step before, whose reciprocal is computed beside the product.  With these scales the
# cotangent of a step is that of its scaled vector over its sum: the derivative of the scaling cancels.
MARKOV = f"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define S {STATES}
#define V (S / 4)
#define EACH for (int q = 0; q < V; q++)
typedef double vector __attribute__((vector_size(32), aligned(8)));
typedef union {{ double at[S]; vector v[V]; }} row;
static double total(const row *x) {{
    vector s = x->v[0];
    for (int q = 1; q < V; q++) s += x->v[q];
    return (s[0] + s[2]) + (s[1] + s[3]);
}}
/* a M */
static row product(const row *a, const row *M) {{
    row x, y;
    EACH {{ x.v[q] = a->at[0] * M[0].v[q]; y.v[q] = a->at[1] * M[1].v[q]; }}
    for (int i = 2; i < S; i += 2) EACH {{ x.v[q] += a->at[i] * M[i].v[q]; y.v[q] += a->at[i + 1] * M[i + 1].v[q]; }}
    EACH x.v[q] += y.v[q];
    return x;
}}
double markov(long steps, long symbols, const long *o, const row *pi, const row *A, const double *B, row *dpi, row *dA,
              double *dB) {{
    row E[symbols], dE[symbols], T[S], a, h, as[4], vs[4], d[S];
    row *p = malloc(steps * sizeof(row));
    double *c = malloc(steps * sizeof(double)), value = 0, inverse = 1;
    for (long s = 0; s < symbols; s++) for (int j = 0; j < S; j++) E[s].at[j] = B[j * symbols + s];
    for (int i = 0; i < S; i++) for (int j = 0; j < S; j++) T[i].at[j] = A[j].at[i];
    memset(dE, 0, sizeof dE);
    memset(d, 0, sizeof d);
    for (long t = 0; t < steps; t++) {{
        row x = t ? product(&a, A) : *pi;
        EACH {{ x.v[q] *= inverse; p[t].v[q] = x.v[q]; a.v[q] = x.v[q] * E[o[t]].v[q]; }}
        c[t] = total(&a);
        inverse = 1 / c[t];
    }}
    for (long t = 0; t < steps; t++) value += log(c[t]);
    int held = 0;
    for (int j = 0; j < S; j++) h.at[j] = 1;
    for (long t = steps - 1; t > 0; t--) {{
        const row *e = E + o[t], *b = E + o[t - 1];
        double scale = 1 / c[t], before = 1 / c[t - 1];
        EACH {{
            vector g = h.v[q] * scale;
            dE[o[t]].v[q] += g * p[t].v[q];
            vs[held].v[q] = g * e->v[q];
            as[held].v[q] = p[t - 1].v[q] * b->v[q] * before;
        }}
        h = product(vs + held, T);
        if (++held == 4) {{
            for (int i = 0; i < S; i++) EACH
                d[i].v[q] += as[0].at[i] * vs[0].v[q] + as[1].at[i] * vs[1].v[q]
                    + as[2].at[i] * vs[2].v[q] + as[3].at[i] * vs[3].v[q];
            held = 0;
        }}
    }}
    for (int k = 0; k < held; k++) for (int i = 0; i < S; i++) EACH d[i].v[q] += as[k].at[i] * vs[k].v[q];
    EACH {{
        vector g = h.v[q] / c[0];
        dpi->v[q] = g * E[o[0]].v[q];
        dE[o[0]].v[q] += g * pi->v[q];
    }}
    for (long s = 0; s < symbols; s++) for (int j = 0; j < S; j++) dB[j * symbols + s] = dE[s].at[j];
    memcpy(dA, d, sizeof d);
    free(p); free(c);
    return value;
}}
"""
_markov = c_function(MARKOV, "markov", ctypes.c_double)


def hidden_markov_hand(observed, start, transition, emission):
    d = tuple(map(np.empty_like, (start, transition, emission)))
    return _markov(len(observed), emission.shape[1], observed, start, transition, emission, *d), d


def hidden_markov_jax(observed, start, transition, emission):
    import jax.numpy as jnp
    from jax import lax

    emitted = emission.T[observed]

    def step(alpha, e):
        scale = jnp.sum(alpha)
        return (alpha / scale) @ transition * e, scale

    alpha, scales = lax.scan(step, start * emitted[0], emitted[1:], unroll=4)
    return jnp.sum(jnp.log(scales)) + jnp.log(jnp.sum(alpha))


# ---- gated recurrent unit


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def gru(inputs, W, U, b, V, target):
    """The mean squared error of predictions of a target at each time; gates in the order update, reset, new."""
    h = np.zeros(len(U))
    predictions = []
    for x in inputs:
        update_x, reset_x, new_x = np.split(x @ W + b, 3)
        update_h, reset_h, new_h = np.split(h @ U, 3)
        z = sigmoid(update_x + update_h)
        r = sigmoid(reset_x + reset_h)
        n = np.tanh(new_x + r * new_h)
        h = (1 - z) * n + z * h
        predictions.append(h @ V)
    return np.mean((np.array(predictions) - target) ** 2)


def gru_inputs(size):
    """Steps, features and units."""
    steps, features, units = size
    rng = np.random.default_rng(32)

    def layer(n, *shape):
        return rng.normal(size=(n, *shape)) / np.sqrt(n)

    return (
        rng.normal(size=(steps, features)),
        layer(features, 3 * units),
        layer(units, 3 * units),
        0.1 * rng.normal(size=3 * units),
        layer(units),
        np.sin(0.1 * np.arange(steps)),
    )


# Each row of ``kept`` holds z, r, n and what r multiplies.  The cotangents of the gates are returned, so that those of
# the weights are products of whole matrices.
GRU = r"""
#include <math.h>
#include <string.h>
/* y = x M, for n rows of m: four rows at a time */
static void product(long n, long m, const double *restrict x, const double *restrict M, double *restrict y) {
    memset(y, 0, m * sizeof(double));
    long i = 0;
    for (; i + 4 <= n; i += 4) {
        const double *a = M + i * m, *b = a + m, *c = b + m, *d = c + m;
        double p = x[i], q = x[i + 1], r = x[i + 2], s = x[i + 3];
        for (long j = 0; j < m; j++) y[j] += p * a[j] + q * b[j] + r * c[j] + s * d[j];
    }
    for (; i < n; i++) for (long j = 0; j < m; j++) y[j] += x[i] * M[i * m + j];
}
void forward(long steps, long m, const double *restrict from_x, const double *restrict U, double *restrict h,
             double *restrict kept) {
    double y[3 * m];
    for (long t = 0; t < steps; t++) {
        const double *x = from_x + 3 * m * t, *old = h + m * t;
        double *now = h + m * (t + 1), *z = kept + 4 * m * t, *r = z + m, *n = r + m, *u = n + m;
        product(m, 3 * m, old, U, y);
        for (long j = 0; j < 2 * m; j++) z[j] = 1 / (1 + exp(-(x[j] + y[j])));
        for (long j = 0; j < m; j++) {
            u[j] = y[2 * m + j];
            n[j] = 1 - 2 / (1 + exp(2 * (x[2 * m + j] + r[j] * u[j])));
            now[j] = n[j] + z[j] * (old[j] - n[j]);
        }
    }
}
/* T: the transpose of U; error: the cotangents of the predictions */
void backward(long steps, long m, const double *restrict T, const double *restrict V, const double *restrict error,
              const double *restrict h, const double *restrict kept, double *restrict dx, double *restrict dy) {
    double g[m], next[m];
    memset(g, 0, sizeof g);
    for (long t = steps - 1; t >= 0; t--) {
        const double *old = h + m * t, *z = kept + 4 * m * t, *r = z + m, *n = r + m, *u = n + m;
        double *a = dx + 3 * m * t, *b = dy + 3 * m * t;
        for (long j = 0; j < m; j++) {
            double d = g[j] + error[t] * V[j], dn = d * (1 - z[j]) * (1 - n[j] * n[j]);
            b[j] = a[j] = d * (old[j] - n[j]) * z[j] * (1 - z[j]);
            b[m + j] = a[m + j] = dn * u[j] * r[j] * (1 - r[j]);
            a[2 * m + j] = dn;
            b[2 * m + j] = dn * r[j];
            g[j] = d * z[j];
        }
        product(3 * m, m, b, T, next);
        for (long j = 0; j < m; j++) g[j] += next[j];
    }
}
"""
_gru_forward, _gru_backward = c_function(GRU, "forward"), c_function(GRU, "backward")


def gru_hand(inputs, W, U, b, V, target):
    steps, units = len(inputs), len(U)
    from_x = inputs @ W
    from_x += b
    h, kept = np.empty((steps + 1, units)), np.empty((steps, 4 * units))
    h[0] = 0.0
    _gru_forward(steps, units, from_x, U, h, kept)
    error = h[1:] @ V
    error -= target
    loss = error @ error / steps
    error *= 2.0 / steps
    dx, dy = np.empty_like(from_x), np.empty_like(from_x)
    _gru_backward(steps, units, U.T.copy(), V, error, h, kept, dx, dy)
    return loss, (inputs.T @ dx, h[:-1].T @ dy, dx.sum(0), error @ h[1:])


def gru_jax(inputs, W, U, b, V, target):
    import jax
    import jax.numpy as jnp
    from jax import lax

    units = len(U)

    def step(h, x):
        y = h @ U
        zr = jax.nn.sigmoid(x[: 2 * units] + y[: 2 * units])
        z, r = zr[:units], zr[units:]
        n = jnp.tanh(x[2 * units :] + r * y[2 * units :])
        h = (1 - z) * n + z * h
        return h, h

    _, hs = lax.scan(step, jnp.zeros(units), inputs @ W + b)
    return jnp.mean((hs @ V - target) ** 2)


PROGRAMS = (
    Program(
        "hidden_markov",
        hidden_markov,
        hidden_markov_inputs,
        20_000,
        12,
        (1, 2, 3),
        hidden_markov_hand,
        hidden_markov_jax,
    ),
    Program("gru", gru, gru_inputs, (500, 24, 64), (7, 3, 5), (1, 2, 3, 4), gru_hand, gru_jax),
)
