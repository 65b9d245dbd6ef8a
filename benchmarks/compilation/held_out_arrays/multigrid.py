"""Poisson's equation on a square by multigrid, with a source that is to bring about a given potential.

Source: W. L. Briggs, V. E. Henson, S. F. McCormick, A Multigrid Tutorial, 2nd ed. (2000), chapters 2 and 3.
"""

from __future__ import annotations

import numpy as np

from ..c_code import c_function
from ..program import Program

DAMPING, SWEEPS = 0.8, 2


def smoothed(u, f, h):
    """Damped sweeps of Jacobi's method."""
    u = u.copy()
    for _ in range(SWEEPS):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += DAMPING * (0.25 * (around + h * h * f[1:-1, 1:-1]) - u[1:-1, 1:-1])
    return u


def residual(u, f, h):
    r = np.zeros_like(u)
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    r[1:-1, 1:-1] = f[1:-1, 1:-1] + (around - 4.0 * u[1:-1, 1:-1]) / (h * h)
    return r


def restricted(r):
    n = (len(r) + 1) // 2
    coarse = np.zeros((n, n))
    sides = r[1:-3:2, 2:-2:2] + r[3:-1:2, 2:-2:2] + r[2:-2:2, 1:-3:2] + r[2:-2:2, 3:-1:2]
    corners = r[1:-3:2, 1:-3:2] + r[1:-3:2, 3:-1:2] + r[3:-1:2, 1:-3:2] + r[3:-1:2, 3:-1:2]
    coarse[1:-1, 1:-1] = (4.0 * r[2:-2:2, 2:-2:2] + 2.0 * sides + corners) / 16.0
    return coarse


def interpolated(coarse):
    n = 2 * len(coarse) - 1
    fine = np.zeros((n, n))
    fine[::2, ::2] = coarse
    fine[1::2, ::2] = 0.5 * (coarse[:-1] + coarse[1:])
    fine[:, 1::2] = 0.5 * (fine[:, :-2:2] + fine[:, 2::2])
    return fine


def v_cycle(u, f, h):
    if len(u) == 3:
        u = u.copy()
        u[1, 1] = 0.25 * h * h * f[1, 1]
        return u
    u = smoothed(u, f, h)
    coarse = restricted(residual(u, f, h))
    u = u + interpolated(v_cycle(np.zeros_like(coarse), coarse, 2.0 * h))
    return smoothed(u, f, h)


def multigrid(cycles, f, target):
    """The misfit of the potential of a source f, which is zero on the boundary."""
    u = np.zeros_like(f)
    for _ in range(cycles):
        u = v_cycle(u, f, 1.0 / (len(f) - 1))
    return 0.5 * np.mean((u - target) ** 2)


def multigrid_inputs(size):
    """Points a side, a power of two and one, and cycles."""
    n, cycles = size
    rng = np.random.default_rng(59)
    y, x = np.mgrid[0:n, 0:n] / (n - 1)
    return cycles, 10.0 * rng.normal(size=(n, n)), np.sin(np.pi * x) * np.sin(2.0 * np.pi * y)


# The cycles are a symmetric operator on sources: restriction is the transpose of interpolation but for a factor, and there
# are as many sweeps after the coarse grid as before it.  So the gradient is what they make of the misfit.
MULTIGRID = f"""
#include <stdlib.h>
#include <string.h>
typedef const double *restrict in;
typedef double *restrict out;
static void sweep(long n, double h, in u, in f, out v) {{
    double keep = 1 - {DAMPING}, take = 0.25 * {DAMPING}, source = take * h * h;
    for (long i = 1; i < n - 1; i++) {{
        const double *a = u + (i - 1) * n, *o = a + n, *b = o + n, *g = f + i * n;
        double *p = v + i * n;
        for (long j = 1; j < n - 1; j++) p[j] = keep * o[j] + take * (a[j] + b[j] + o[j - 1] + o[j + 1]) + source * g[j];
    }}
}}
/* The right-hand side of the coarse grid; a row of the fine residual is computed once, and kept for the next coarse row. */
static void coarsen(long n, double h, in u, in f, out coarse) {{
    long m = (n + 1) / 2;
    double rows[3][n], inverse = 1 / (h * h);
    for (int r = 0; r < 3; r++) rows[r][0] = rows[r][n - 1] = 0;
    for (long i = 1; i < n - 1; i++) {{
        const double *a = u + (i - 1) * n, *o = a + n, *b = o + n, *g = f + i * n;
        double *r = rows[i == 1 ? 0 : i % 2 ? 2 : 1];
        for (long j = 1; j < n - 1; j++) r[j] = g[j] + inverse * (a[j] + b[j] + o[j - 1] + o[j + 1] - 4 * o[j]);
        if (i % 2 && i > 1) {{
            const double *x = rows[0], *y = rows[1], *z = rows[2];
            double *c = coarse + i / 2 * m;
            for (long k = 1; k < m - 1; k++)
                c[k] = 0.25 * y[2 * k] + 0.125 * (x[2 * k] + z[2 * k] + y[2 * k - 1] + y[2 * k + 1])
                    + 0.0625 * (x[2 * k - 1] + x[2 * k + 1] + z[2 * k - 1] + z[2 * k + 1]);
            memcpy(rows[0], rows[2], n * sizeof(double));
        }}
    }}
}}
static void refine(long n, in coarse, out u) {{
    long m = (n + 1) / 2;
    for (long i = 0; i < m; i++) {{
        const double *c = coarse + i * m, *d = c + m;
        double *p = u + 2 * i * n, *q = p + n;
        if (i) for (long k = 0; k < m - 1; k++) {{ p[2 * k] += c[k]; p[2 * k + 1] += 0.5 * (c[k] + c[k + 1]); }}
        if (i < m - 1) for (long k = 0; k < m - 1; k++) {{
            q[2 * k] += 0.5 * (c[k] + d[k]);
            q[2 * k + 1] += 0.25 * (c[k] + c[k + 1] + d[k] + d[k + 1]);
        }}
    }}
}}
/* room: for the grids below, and one more of this size; all with zeros on their boundaries */
static void cycle(long n, double h, int is_zero, double *u, const double *f, double *room) {{
    if (n == 3) {{ u[4] = 0.25 * h * h * f[4]; return; }}
    long m = (n + 1) / 2;
    double *other = room, *coarse = room + n * n, *source = coarse + m * m, *rest = source + m * m;
    if (is_zero)
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++) other[i * n + j] = {0.25 * DAMPING} * h * h * f[i * n + j];
    else sweep(n, h, u, f, other);
    sweep(n, h, other, f, u);
    coarsen(n, h, u, f, source);
    cycle(m, 2 * h, 1, coarse, source, rest);
    refine(n, coarse, u);
    sweep(n, h, u, f, other);
    sweep(n, h, other, f, u);
}}
void solve(long cycles, long n, double *u, const double *f) {{
    double *room = calloc(4 * n * n + 64, sizeof(double));
    for (long c = 0; c < cycles; c++) cycle(n, 1.0 / (n - 1), c == 0, u, f, room);
    free(room);
}}
"""
_solve = c_function(MULTIGRID, "solve")


def multigrid_hand(cycles, f, target):
    assert SWEEPS == 2
    n = len(f)
    u, df = np.zeros_like(f), np.zeros_like(f)
    _solve(cycles, n, u, f)
    u -= target
    value = 0.5 * np.vdot(u, u) / f.size
    u *= 1.0 / f.size
    _solve(cycles, n, df, u)
    return value, (df,)


def multigrid_jax(cycles, f, target):
    """Barriers keep XLA from fusing the stages, whose values it would compute again at each use; sweeps are scans."""
    import jax.numpy as jnp
    from jax import lax

    def around(u):
        return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]

    def smooth(u, f, h):
        def sweep(u, _):
            new = (1.0 - DAMPING) * u[1:-1, 1:-1] + 0.25 * DAMPING * (around(u) + h * h * f)
            return jnp.pad(new, 1), None

        return lax.scan(sweep, u, length=SWEEPS)[0]

    def restrict(r):
        """By rows and columns apart; r without its boundary."""
        r = 0.25 * r[:-2:2] + 0.5 * r[1:-1:2] + 0.25 * r[2::2]
        return 0.25 * r[:, :-2:2] + 0.5 * r[:, 1:-1:2] + 0.25 * r[:, 2::2]

    def interpolate(u):
        m = len(u)
        between = jnp.pad(0.5 * (u[:-1] + u[1:]), ((0, 1), (0, 0)))
        u = jnp.stack([u, between], axis=1).reshape(2 * m, m)[:-1]
        between = jnp.pad(0.5 * (u[:, :-1] + u[:, 1:]), ((0, 0), (0, 1)))
        return jnp.stack([u, between], axis=2).reshape(2 * m - 1, 2 * m)[:, :-1]

    def cycle(u, f, h):
        """f without its boundary."""
        if len(u) == 3:
            return jnp.pad(0.25 * h * h * f, 1)
        u = smooth(u, f, h)
        r = lax.optimization_barrier(f + (around(u) - 4.0 * u[1:-1, 1:-1]) / (h * h))
        coarse = lax.optimization_barrier(restrict(r))
        m = len(coarse) + 2
        correction = interpolate(cycle(jnp.zeros((m, m)), coarse, 2.0 * h))
        return smooth(lax.optimization_barrier(u + lax.optimization_barrier(correction)), f, h)

    inner, h = f[1:-1, 1:-1], 1.0 / (len(f) - 1)
    u, _ = lax.scan(lambda u, _: (cycle(u, inner, h), None), jnp.zeros_like(f), length=cycles)
    return 0.5 * jnp.mean((u - target) ** 2)


PROGRAMS = (Program("multigrid", multigrid, multigrid_inputs, (257, 4), (9, 2), (1,), multigrid_hand, multigrid_jax),)
