"""A stiff reaction, in steps of the implicit Euler method, each solved by Newton's method.

Source: H. H. Robertson, The solution of a set of reaction rate equations, in: J. Walsh (ed.), Numerical Analysis (1966).
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program


def rate(y, k):
    slow, fast, back = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return np.array([back - slow, slow - back - fast, fast])


def jacobian(y, k):
    return np.array(
        [
            [-k[0], k[2] * y[2], k[2] * y[1]],
            [k[0], -k[2] * y[2] - 2.0 * k[1] * y[1], -k[2] * y[1]],
            [0.0, 2.0 * k[1] * y[1], 0.0],
        ]
    )


def robertson(times, measured, y0, log_k):
    """The sum of squared errors of the first and the last species, for rates given by their decimal logarithms."""
    k = 10.0**log_k
    y = y0
    total = 0.0
    for i in range(len(times) - 1):
        h = times[i + 1] - times[i]
        start = y
        change = np.ones(3)
        while np.max(np.abs(change)) > 1e-10:
            change = np.linalg.solve(np.eye(3) - h * jacobian(y, k), y - start - h * rate(y, k))
            y = y - change
        total += (y[0] - measured[i, 0]) ** 2 + (y[2] - measured[i, 1]) ** 2
    return total


def robertson_inputs(steps):
    """Times from 0 to 10,000, ever further apart."""
    rng = np.random.default_rng(39)
    times = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, steps)])
    return times, rng.random((steps, 2)), np.array([1.0, 0.0, 0.0]), np.log10([0.04, 3e7, 1e4])


# The cotangent of a step's equation solves the transposed system at its root.
ROBERTSON = r"""
#include <math.h>
#include <stdlib.h>
typedef double vector[3];
/* I - h J at y */
static void matrix(const double *y, const double *k, double h, double m[3][3]) {
    double a = h * k[0], b = h * k[2] * y[2], c = h * k[2] * y[1], d = 2 * h * k[1] * y[1];
    m[0][0] = 1 + a; m[0][1] = -b; m[0][2] = -c;
    m[1][0] = -a; m[1][1] = 1 + b + d; m[1][2] = c;
    m[2][0] = 0; m[2][1] = -d; m[2][2] = 1;
}
/* x := m^-1 x, where m[2] is 0, q, 1 */
static void solve(double m[3][3], double *x) {
    double q = m[2][1], a = m[0][0], b = m[0][1] - m[0][2] * q, c = m[1][0], d = m[1][1] - m[1][2] * q;
    double u = x[0] - m[0][2] * x[2], v = x[1] - m[1][2] * x[2], inverse = 1 / (a * d - b * c);
    x[0] = (d * u - b * v) * inverse;
    x[1] = (a * v - c * u) * inverse;
    x[2] -= q * x[1];
}
/* x := m^-T x */
static void solve_transposed(double m[3][3], double *x) {
    double q = m[2][1], a = m[0][0], b = m[0][1] - m[0][2] * q, c = m[1][0], d = m[1][1] - m[1][2] * q;
    double u = x[0], v = x[1] - q * x[2], inverse = 1 / (a * d - b * c);
    x[0] = (d * u - c * v) * inverse;
    x[1] = (a * v - b * u) * inverse;
    x[2] -= m[0][2] * x[0] + m[1][2] * x[1];
}
double robertson(long steps, const double *times, const double (*measured)[2], const double *y0, const double *k,
                 double *dk) {
    vector *ys = malloc((steps + 1) * sizeof(vector)), g = {0}, d = {0};
    double value = 0, m[3][3];
    for (int i = 0; i < 3; i++) ys[0][i] = y0[i];
    for (long t = 0; t < steps; t++) {
        double h = times[t + 1] - times[t], *y = ys[t + 1], worst = 1;
        const double *start = ys[t];
        for (int i = 0; i < 3; i++) y[i] = start[i];
        while (worst > 1e-10) {
            double slow = k[0] * y[0], fast = k[1] * y[1] * y[1], back = k[2] * y[1] * y[2];
            vector x = {y[0] - start[0] - h * (back - slow), y[1] - start[1] - h * (slow - back - fast),
                        y[2] - start[2] - h * fast};
            matrix(y, k, h, m);
            solve(m, x);
            worst = 0;
            for (int i = 0; i < 3; i++) { y[i] -= x[i]; worst = fabs(x[i]) > worst ? fabs(x[i]) : worst; }
        }
        double p = y[0] - measured[t][0], q = y[2] - measured[t][1];
        value += p * p + q * q;
    }
    for (long t = steps; t-- > 0;) {
        const double *y = ys[t + 1];
        double h = times[t + 1] - times[t];
        g[0] += 2 * (y[0] - measured[t][0]);
        g[2] += 2 * (y[2] - measured[t][1]);
        matrix(y, k, h, m);
        solve_transposed(m, g);
        d[0] += h * y[0] * (g[1] - g[0]);
        d[1] += h * y[1] * y[1] * (g[2] - g[1]);
        d[2] += h * y[1] * y[2] * (g[0] - g[1]);
    }
    for (int i = 0; i < 3; i++) dk[i] = d[i];
    free(ys);
    return value;
}
"""
_robertson = c_function(ROBERTSON, "robertson", ctypes.c_double)


def robertson_hand(times, measured, y0, log_k):
    k, dk = 10.0**log_k, np.empty(3)
    value = _robertson(len(measured), times, measured, y0, k, dk)
    return value, (dk * k * np.log(10.0),)


def robertson_jax(times, measured, y0, log_k):
    """Newton's method is not differentiated but for its last step, which is exact at the root."""
    import jax.numpy as jnp
    from jax import lax

    k = 10.0**log_k

    def newton(y, start, k, h):
        slow, fast, back = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
        r0, r1 = y[0] - start[0] - h * (back - slow), y[1] - start[1] - h * (slow - back - fast)
        r2 = y[2] - start[2] - h * fast
        # the rows of I - h J; the last one, (0, q, 1), eliminates the third unknown
        p, q = h * k[2] * y[1], -2.0 * h * k[1] * y[1]
        a, b = 1.0 + h * k[0], p * q - h * k[2] * y[2]
        c, d = -h * k[0], 1.0 + h * k[2] * y[2] - q - p * q
        u, v = r0 + p * r2, r1 - p * r2
        det = a * d - b * c
        x1 = (a * v - c * u) / det
        change = (d * u - b * v) / det, x1, r2 - q * x1
        return tuple(z - x for z, x in zip(y, change)), change

    def step(start, at):
        h, goal = at
        fixed = lax.stop_gradient((start, k, h))

        def again(state):
            y, change = newton(state[0], *fixed)
            return y, jnp.max(jnp.abs(jnp.stack(change)))

        y, _ = lax.while_loop(lambda s: s[1] > 1e-7, again, (fixed[0], 1.0))
        y, _ = newton(lax.stop_gradient(y), start, k, h)
        return y, (y[0] - goal[0]) ** 2 + (y[2] - goal[1]) ** 2

    _, errors = lax.scan(step, tuple(y0), (jnp.diff(times), measured))
    return jnp.sum(errors)


PROGRAMS = (
    Program("robertson", robertson, robertson_inputs, 40_000, 12, (3,), robertson_hand, robertson_jax, rtol=1e-7),
)
