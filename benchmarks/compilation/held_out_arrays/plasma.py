"""Electrons in a periodic plasma in one dimension: particles in cells, with the field by Fourier transforms.

Source: C. K. Birdsall, A. B. Langdon, Plasma Physics via Computer Simulation (1991), chapters 2 and 4; linear weights.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program


def plasma(steps, cells, dt, length, x, v, w):
    """A weighted sum of the last velocities."""
    dx = length / cells
    k = 2.0 * np.pi * np.fft.rfftfreq(cells, dx)
    for _ in range(steps):
        left = np.floor(x / dx).astype(int)
        share = x / dx - left
        right = (left + 1) % cells
        electrons = np.zeros(cells)
        np.add.at(electrons, left, 1.0 - share)
        np.add.at(electrons, right, share)
        charge = 1.0 - electrons * (cells / len(x))
        transform = np.fft.rfft(charge)
        transform[0] = 0.0
        transform[1:] /= 1j * k[1:]
        field = np.fft.irfft(transform, cells)
        v = v - dt * ((1.0 - share) * field[left] + share * field[right])
        x = (x + dt * v) % length
    return np.mean(w * v)


def plasma_inputs(size):
    """Particles, cells and steps; two streams."""
    count, cells, steps = size
    rng = np.random.default_rng(52)
    length = 4.0 * np.pi
    x = (np.linspace(0.0, length, count, endpoint=False) + 0.1 * rng.normal(size=count)) % length
    v = np.where(np.arange(count) % 2, 1.0, -1.0) + 0.1 * rng.normal(size=count)
    return steps, cells, 0.1, length, x, v, rng.normal(size=count)


# One pass over the particles for a step, there and back: what pushes a particle also deposits it for the next step, and
# what takes a deposit back also takes back the push before it.  Four copies of the grid in turn, so that a particle does
# not wait for the one before it.  For so few cells the transforms are a convolution.  A cell and a share are kept for each
# particle and step, and the fields.
PLASMA = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define BLOCK 512
#define EACH for (int i = 0; i < m; i++)
static void scatter(int m, long cells, const int *restrict left, const double *restrict a, const double *restrict b,
                    double *restrict grid) {
    for (int i = 0; i < m; i++) {
        double *g = grid + i % 4 * (cells + 1) + left[i];
        g[0] += a[i];
        asm volatile("" ::: "memory"); /* both as one vector would be waited for when the next particle reads one of them */
        g[1] += b[i];
    }
}
/* The field of a charge on the four grids, with its first number again at the end; kernel: 2 cells numbers. */
static void solve(long cells, double sign, const double *restrict kernel, const double *restrict grid, double *restrict field) {
    const double *a = grid, *b = a + cells + 1, *c = b + cells + 1, *d = c + cells + 1;
    double charge[cells];
    for (long j = 0; j < cells; j++) charge[j] = sign * ((a[j] + b[j]) + (c[j] + d[j]));
    charge[0] += sign * ((a[cells] + b[cells]) + (c[cells] + d[cells]));
    for (long i = 0; i < cells; i++) field[i] = 0;
    for (long j = 0; j < cells; j += 4) {
        const double *k = kernel + cells - j;
        double p = charge[j], q = charge[j + 1], r = charge[j + 2], s = charge[j + 3];
        for (long i = 0; i < cells; i++) field[i] += p * k[i] + q * k[i - 1] + r * k[i - 2] + s * k[i - 3];
    }
    field[cells] = field[0];
}
/* Push with the field, or not if dt is 0, and deposit; x and v are kept up to date. */
static void advance(long count, long cells, double dt, double length, double per_dx, const double *restrict field,
                    const int *restrict left, const double *restrict share, double *restrict x, double *restrict v,
                    int *restrict new_left, double *restrict new_share, double *restrict grid) {
    double rest[BLOCK], per_length = 1 / length;
    memset(grid, 0, 4 * (cells + 1) * sizeof(double));
    for (long o = 0; o < count; o += BLOCK) {
        int m = count - o < BLOCK ? count - o : BLOCK;
        const int *l = left + o;
        const double *f = share + o;
        int *nl = new_left + o;
        double *nf = new_share + o, *p = x + o, *u = v + o;
        if (dt) EACH {
            double a = field[l[i]], b = field[l[i] + 1];
            u[i] -= dt * (a + f[i] * (b - a));
            double to = p[i] + dt * u[i];
            p[i] = to - length * floor(to * per_length);
        }
        EACH {
            double at = p[i] * per_dx, low = floor(at);
            nl[i] = (int)low;
            nf[i] = at - low;
            rest[i] = 1 - nf[i];
        }
        scatter(m, cells, nl, rest, nf, grid);
    }
}
/* dx, dv: the cotangents after a push; ``later``: of the deposit that followed it, or not if it is null */
static void retreat(long count, long cells, double dt, double per_dx, const int *restrict later_left,
                    const double *restrict later_field, const double *restrict later, const int *restrict left,
                    const double *restrict share, double *restrict dx, double *restrict dv, double *restrict grid) {
    double a[BLOCK], b[BLOCK];
    memset(grid, 0, 4 * (cells + 1) * sizeof(double));
    for (long o = 0; o < count; o += BLOCK) {
        int m = count - o < BLOCK ? count - o : BLOCK;
        const int *c = later_left + o;
        const double *f = share + o;
        double *p = dx + o, *u = dv + o;
        if (later) EACH
            p[i] += per_dx * (later[c[i] + 1] - later[c[i]] - dt * u[i] * (later_field[c[i] + 1] - later_field[c[i]]));
        if (left) {
            EACH {
                double g = u[i] += dt * p[i];
                b[i] = -dt * g * f[i];
                a[i] = -dt * g - b[i];
            }
            scatter(m, cells, left + o, a, b, grid);
        }
    }
}
/* x, v: changed to the last ones; dx is zero, dv the cotangent of the last velocities */
double plasma(long steps, long count, long cells, double dt, double length, const double *restrict kernel, double *restrict x,
              double *restrict v, const double *restrict w, double *restrict dx, double *restrict dv) {
    int *left = malloc((steps + 1) * count * sizeof(int));
    double *share = malloc((steps + 1) * count * sizeof(double)), value = 0, per_dx = cells / length;
    double fields[steps][cells + 1], grid[4 * (cells + 1)], due[cells + 1];
    advance(count, cells, 0, length, per_dx, 0, left, share, x, v, left, share, grid);
    for (long s = 0; s < steps; s++) {
        int *l = left + s * count;
        double *f = share + s * count;
        solve(cells, -1, kernel, grid, fields[s]);
        advance(count, cells, dt, length, per_dx, fields[s], l, f, x, v, l + count, f + count, grid);
    }
    for (long i = 0; i < count; i++) value += w[i] * v[i];
    for (long s = steps - 1; s >= -1; s--) {
        const int *l = left + s * count, *later = l + count;
        const double *f = share + s * count, *d = 0, *field = 0;
        if (s < steps - 1) {
            solve(cells, 1, kernel, grid, due); /* the transpose of an odd convolution is its negative */
            d = due; field = fields[s + 1];
        }
        retreat(count, cells, dt, per_dx, later, field, d, s < 0 ? 0 : l, f, dx, dv, grid);
    }
    free(left); free(share);
    return value;
}
"""
_plasma = c_function(PLASMA, "plasma", ctypes.c_double)


def plasma_hand(steps, cells, dt, length, x, v, w):
    assert cells % 4 == 0
    count = len(x)
    k = 2.0 * np.pi * np.fft.rfftfreq(cells, length / cells)
    integral = np.zeros(len(k), complex)
    integral[1:] = -1j * cells / count / k[1:]
    kernel = np.tile(np.fft.irfft(integral, cells), 2)
    d = np.zeros(count), w / count
    return _plasma(steps, count, cells, dt, length, kernel, x.copy(), v.copy(), w, *d) / count, d


def plasma_jax(steps, cells, dt, length, x, v, w):
    import jax
    import jax.numpy as jnp
    from jax import lax

    dx = length / cells
    k = 2.0 * jnp.pi * jnp.fft.rfftfreq(cells, dx)
    integral = jnp.concatenate([jnp.zeros(1), -1j / k[1:]])

    @jax.checkpoint
    def step(state, _):
        x, v = state
        at = x / dx
        low = jnp.floor(lax.stop_gradient(at))
        left, share = low.astype(int), at - low
        right = (left + 1) % cells
        electrons = jnp.zeros(cells).at[left].add(1.0 - share).at[right].add(share)
        field = jnp.fft.irfft(jnp.fft.rfft(1.0 - electrons * (cells / len(x))) * integral, cells)
        v = v - dt * ((1.0 - share) * field[left] + share * field[right])
        return ((x + dt * v) % length, v), None

    (_, v), _ = lax.scan(step, (x, v), length=steps)
    return jnp.mean(w * v)


PROGRAMS = (Program("plasma", plasma, plasma_inputs, (40_000, 128, 10), (12, 8, 3), (4, 5), plasma_hand, plasma_jax),)
