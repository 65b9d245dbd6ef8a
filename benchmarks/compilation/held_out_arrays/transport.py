"""The cost of transport between two clouds of points, regularised by entropy: Sinkhorn's iteration.

Source: M. Cuturi, Sinkhorn distances: lightspeed computation of optimal transport, NeurIPS 2013.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program


def sinkhorn(iterations, epsilon, x, y, a, b):
    C = np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2)
    K = np.exp(-C / epsilon)
    u, v = np.ones(len(x)), np.ones(len(y))
    for _ in range(iterations):
        u = a / (K @ v)
        v = b / (K.T @ u)
    return np.sum(u[:, None] * K * v * C)


def sinkhorn_inputs(size):
    """The points of both clouds, in the plane, and iterations."""
    n, m, iterations = size
    rng = np.random.default_rng(58)
    x, y = rng.random((n, 2)), 0.3 + 0.7 * rng.random((m, 2))
    return iterations, 0.05, x, y, np.full(n, 1.0 / n), rng.dirichlet(np.full(m, 5.0))


# An iteration takes one pass over K, four rows at a time: each row's product gives a number of u, with which it adds to
# the product for v.  So does an iteration of the way back; what K is due is one product of matrices at the end.
SINKHORN = r"""
#include <math.h>
/* w = K' u, with u found from the products of K's rows with v; last, where not null, is added to the products */
static void pass(long n, long m, const double *restrict K, const double *restrict v, const double *restrict last,
                 const double *restrict factor, int divide, double *restrict u, double *restrict w) {
    for (long j = 0; j < m; j++) w[j] = 0;
    for (long i = 0; i < n; i += 4) {
        double t[4] = {0};
        long rows = n - i < 4 ? n - i : 4;
        const double *p = K + i * m, *q = p + m, *r = q + m, *s = r + m;
        if (rows == 4) {
            double e = 0, f = 0, g = 0, h = 0;
            for (long j = 0; j < m; j++) { e += p[j] * v[j]; f += q[j] * v[j]; g += r[j] * v[j]; h += s[j] * v[j]; }
            t[0] = e; t[1] = f; t[2] = g; t[3] = h;
        } else
            for (long k = 0; k < rows; k++) for (long j = 0; j < m; j++) t[k] += p[k * m + j] * v[j];
        for (long k = 0; k < rows; k++) {
            if (last) t[k] += last[i + k];
            u[i + k] = t[k] = divide ? factor[i + k] / t[k] : factor[i + k] * t[k];
        }
        if (rows == 4) {
            double e = t[0], f = t[1], g = t[2], h = t[3];
            for (long j = 0; j < m; j++) w[j] += e * p[j] + f * q[j] + g * r[j] + h * s[j];
        } else
            for (long k = 0; k < rows; k++) for (long j = 0; j < m; j++) w[j] += t[k] * p[k * m + j];
    }
}
/* y: the first coordinates, then the second ones.  u, v: of all iterations, v[0] is ones.  Returns the loss; left and
   right: what K @ v and K.T @ u of all iterations are due, and the vectors that they multiply. */
double iterate(long iterations, long n, long m, double epsilon, const double *restrict x, const double *restrict y,
               const double *restrict a, const double *restrict b, double *restrict K, double *restrict left,
               double *restrict right, double *restrict v) {
    double scale = -1 / epsilon, value = 0, w[m], gu[n], gv[m], factor[n], *u = left, *du = left + iterations * n;
    double *dv = right, *before = right + iterations * m;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < m; j++) {
            double d = x[2 * i] - y[j], e = x[2 * i + 1] - y[m + j];
            K[i * m + j] = exp(scale * (d * d + e * e));
        }
    for (long j = 0; j < m; j++) v[j] = 1;
    for (long t = 0; t < iterations; t++) {
        for (long j = 0; j < m; j++) before[t * m + j] = v[j];
        pass(n, m, K, v, 0, a, 1, u + t * n, w);
        for (long j = 0; j < m; j++) v[j] = b[j] / w[j];
    }
    for (long j = 0; j < m; j++) gv[j] = 0;
    for (long i = 0; i < n; i++) {
        double sum = 0, at = u[(iterations - 1) * n + i];
        for (long j = 0; j < m; j++) {
            double d = x[2 * i] - y[j], e = x[2 * i + 1] - y[m + j], c = (d * d + e * e) * K[i * m + j];
            sum += c * v[j];
            gv[j] += c * at;
        }
        gu[i] = sum;
        value += at * sum;
    }
    for (long t = iterations - 1; t >= 0; t--) {
        const double *now = t < iterations - 1 ? before + (t + 1) * m : v, *of = u + t * n;
        double *d = dv + t * m;
        for (long j = 0; j < m; j++) d[j] = -gv[j] * now[j] * now[j] / b[j];
        for (long i = 0; i < n; i++) factor[i] = -of[i] * of[i] / a[i];
        pass(n, m, K, d, t < iterations - 1 ? 0 : gu, factor, 0, du + t * n, gv);
    }
    return value;
}
/* G: what K is due from the iterations */
void points(long n, long m, double epsilon, const double *restrict x, const double *restrict y, const double *restrict K,
            const double *restrict G, const double *restrict u, const double *restrict v, double *restrict dx,
            double *restrict dy) {
    double scale = 1 / epsilon;
    for (long j = 0; j < 2 * m; j++) dy[j] = 0;
    for (long i = 0; i < n; i++) {
        double s = 0, t = 0;
        for (long j = 0; j < m; j++) {
            double d = x[2 * i] - y[j], e = x[2 * i + 1] - y[m + j], flow = u[i] * v[j], c = d * d + e * e;
            double g = 2 * K[i * m + j] * (flow - scale * (G[i * m + j] + flow * c));
            s += g * d; t += g * e;
            dy[j] -= g * d; dy[m + j] -= g * e;
        }
        dx[2 * i] = s; dx[2 * i + 1] = t;
    }
}
"""
_iterate, _points = c_function(SINKHORN, "iterate", ctypes.c_double), c_function(SINKHORN, "points")


def sinkhorn_hand(iterations, epsilon, x, y, a, b):
    n, m = len(x), len(y)
    y = y.T.copy()
    K, left, right, v = np.empty((n, m)), np.empty((2, iterations, n)), np.empty((2, iterations, m)), np.empty(m)
    value = _iterate(iterations, n, m, epsilon, x, y, a, b, K, left, right, v)
    G = left.reshape(-1, n).T @ right.reshape(-1, m)
    dx, dy = np.empty_like(x), np.empty_like(y)
    _points(n, m, epsilon, x, y, K, G, left[0, -1], v, dx, dy)
    return value, (dx, dy.T.copy())


def sinkhorn_jax(iterations, epsilon, x, y, a, b):
    import jax.numpy as jnp
    from jax import lax

    C = (x[:, None, 0] - y[:, 0]) ** 2 + (x[:, None, 1] - y[:, 1]) ** 2
    K = jnp.exp(-C / epsilon)

    def step(state, _):
        _, v = state
        u = a / (K @ v)
        return (u, b / (u @ K)), None

    (u, v), _ = lax.scan(step, (jnp.ones(len(x)), jnp.ones(len(y))), length=iterations)
    return u @ (K * C) @ v


PROGRAMS = (
    Program("sinkhorn", sinkhorn, sinkhorn_inputs, (200, 220, 50), (5, 6, 4), (2, 3), sinkhorn_hand, sinkhorn_jax),
)
