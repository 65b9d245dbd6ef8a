"""First arrival times of seismic waves on a grid, by fast sweeping.

Source: H. Zhao, A fast sweeping method for eikonal equations, Math. Comput. 74 (2005) 603-627.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

FAR = 1e10


def eikonal(rounds, spacing, row, column, slowness, observed):
    """The misfit of the times at all grid points, after rounds of sweeps from the four corners."""
    n, m = slowness.shape
    T = np.full((n + 2, m + 2), FAR)
    T[row + 1, column + 1] = 0.0
    for _ in range(rounds):
        for rows, columns in (
            (range(1, n + 1), range(1, m + 1)),
            (range(n, 0, -1), range(1, m + 1)),
            (range(n, 0, -1), range(m, 0, -1)),
            (range(1, n + 1), range(m, 0, -1)),
        ):
            for i in rows:
                for j in columns:
                    a = min(T[i - 1, j], T[i + 1, j])
                    b = min(T[i, j - 1], T[i, j + 1])
                    f = slowness[i - 1, j - 1] * spacing
                    if abs(a - b) >= f:
                        t = min(a, b) + f
                    else:
                        t = 0.5 * (a + b + np.sqrt(2.0 * f * f - (a - b) ** 2))
                    T[i, j] = min(T[i, j], t)
    return 0.5 * np.mean((T[1:-1, 1:-1] - observed) ** 2)


def eikonal_inputs(size):
    """``size`` points a side; a smooth model in s/km with noise, 0.1 km apart."""
    rng = np.random.default_rng(40)
    y, x = np.mgrid[0:size, 0:size] / size
    slowness = 0.4 - 0.2 * y + 0.05 * np.sin(6.0 * x) + 0.02 * rng.random((size, size))
    observed = 0.1 * size * (0.3 * np.hypot(x - 0.3, y - 0.2) + 0.01 * rng.normal(size=(size, size)))
    return 2, 0.1, size // 5, 3 * size // 10, slowness, observed


# Only updates that lower a time leave a trace: where, from which neighbours, and the three derivatives.
EIKONAL = r"""
#include <math.h>
#include <stdlib.h>
typedef struct { int at, a, b; double ta, tb, tf; } Update;
double eikonal(long rounds, double h, long row, long column, long n, long m, const double *slowness,
               const double *observed, double *T, double *d, double *dslowness) {
    long w = m + 2, count = 0, room = 4 * n * m;
    Update *updates = malloc(room * sizeof(Update));
    double value = 0, scale = 1.0 / (n * m);
    for (long i = 0; i < (n + 2) * w; i++) T[i] = 1e10;
    T[(row + 1) * w + column + 1] = 0;
    for (long sweep = 0; sweep < 4 * rounds; sweep++) {
        int down = sweep % 4 == 1 || sweep % 4 == 2, left = sweep % 4 >= 2;
        long step = left ? -1 : 1, start = left ? m : 1;
        for (long p = 1; p <= n; p++) {
            long i = down ? n + 1 - p : p;
            if (room - count < m) updates = realloc(updates, (room *= 2) * sizeof(Update));
            double *t = T + i * w;
            const double *s = slowness + (i - 1) * m - 1;
            double behind = t[start - step];
            for (long q = 0, j = start; q < m; q++, j += step) {
                double up = t[j - w], below = t[j + w], ahead = t[j + step], f = s[j] * h;
                double a = up < below ? up : below, b = behind < ahead ? behind : ahead, e = a - b;
                double now = t[j], least = a < b ? a : b;
                behind = now;
                if (least >= now) continue; /* a time exceeds those that it comes from */
                Update *u = updates + count;
                double new;
                if (fabs(e) >= f) {
                    new = least + f;
                    u->ta = a < b; u->tb = !(a < b); u->tf = h;
                } else {
                    double r = sqrt(2 * f * f - e * e), k = 0.5 * e / r;
                    new = 0.5 * (a + b + r);
                    u->ta = 0.5 - k; u->tb = 0.5 + k; u->tf = f / r * h;
                }
                if (new < now) {
                    u->at = i * w + j;
                    u->a = up < below ? u->at - w : u->at + w;
                    u->b = t[j - step] < ahead ? u->at - step : u->at + step;
                    count++;
                    t[j] = behind = new;
                }
            }
        }
    }
    for (long i = 0; i < (n + 2) * w; i++) d[i] = 0;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < m; j++) {
            double r = T[(i + 1) * w + j + 1] - observed[i * m + j];
            value += r * r;
            d[(i + 1) * w + j + 1] = scale * r;
            dslowness[i * m + j] = 0;
        }
    for (long k = count; k-- > 0;) {
        const Update *u = updates + k;
        double g = d[u->at];
        d[u->at] = 0;
        d[u->a] += g * u->ta;
        d[u->b] += g * u->tb;
        dslowness[(u->at / w - 1) * m + u->at % w - 1] += g * u->tf;
    }
    free(updates);
    return 0.5 * scale * value;
}
"""
_eikonal = c_function(EIKONAL, "eikonal", ctypes.c_double)


def eikonal_hand(rounds, spacing, row, column, slowness, observed):
    n, m = slowness.shape
    T, d, dslowness = np.empty((n + 2, m + 2)), np.empty((n + 2, m + 2)), np.empty_like(slowness)
    value = _eikonal(rounds, spacing, row, column, n, m, slowness, observed, T, d, dslowness)
    return value, (dslowness,)


def eikonal_jax(rounds, spacing, row, column, slowness, observed):
    """A diagonal at a time: row d of a skewed array holds the points (i, d - i)."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    n, m = slowness.shape
    i = np.arange(n)
    j = np.arange(n + m - 1)[:, None] - i
    inside = jnp.asarray((j >= 0) & (j < m))
    gathered = np.clip(j, 0, m - 1)
    back = (i[:, None] + np.arange(m), i[:, None])

    def shifted(x, by):
        edge = jnp.full(1, FAR)
        return jnp.concatenate([edge, x[:-1]] if by > 0 else [x[1:], edge])

    @jax.checkpoint
    def diagonal(before, at):
        now, after, f, inside = at
        a = jnp.minimum(shifted(before, 1), shifted(after, -1))
        b = jnp.minimum(before, after)
        near = jnp.abs(a - b) < f
        root = jnp.sqrt(jnp.where(near, 2.0 * f * f - (a - b) ** 2, 1.0))
        t = jnp.where(near, 0.5 * (a + b + root), jnp.minimum(a, b) + f)
        new = jnp.where(inside, jnp.minimum(now, t), FAR)
        return new, new

    def sweep(T, f):
        skewed = jnp.where(inside, T[i, gathered], FAR)
        after = jnp.concatenate([skewed[1:], jnp.full((1, n), FAR)])
        _, new = lax.scan(diagonal, jnp.full(n, FAR), (skewed, after, f[i, gathered], inside))
        return new[back]

    f = slowness * spacing
    T = jnp.full((n, m), FAR).at[row, column].set(0.0)
    for _ in range(rounds):
        for rows, columns in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
            T = sweep(T[::rows, ::columns], f[::rows, ::columns])[::rows, ::columns]
    return 0.5 * jnp.mean((T - observed) ** 2)


PROGRAMS = (Program("eikonal", eikonal, eikonal_inputs, 160, 8, (4,), eikonal_hand, eikonal_jax),)
