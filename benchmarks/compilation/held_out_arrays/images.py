"""The registration of an image with another one: an affine map with bilinear interpolation.

Source: B. Zitova, J. Flusser, Image registration methods: a survey, Image Vis. Comput. 21 (2003) 977-1000, section 5.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program


def registration(image, reference, affine):
    """The mean squared difference of the reference from the image seen at mapped points; beyond the edge is the edge."""
    n, m = reference.shape
    y, x = np.mgrid[0:n, 0:m]
    across = np.clip(affine[0, 0] * x + affine[0, 1] * y + affine[0, 2], 0.0, m - 1.001)
    down = np.clip(affine[1, 0] * x + affine[1, 1] * y + affine[1, 2], 0.0, n - 1.001)
    j, i = across.astype(int), down.astype(int)
    fx, fy = across - j, down - i
    top = (1.0 - fx) * image[i, j] + fx * image[i, j + 1]
    bottom = (1.0 - fx) * image[i + 1, j] + fx * image[i + 1, j + 1]
    warped = (1.0 - fy) * top + fy * bottom
    return np.mean((warped - reference) ** 2)


def registration_inputs(size):
    """``size`` rows, a quarter more columns; a small turn, stretch and shift."""
    rng = np.random.default_rng(53)
    n, m = size, size + size // 4
    y, x = np.mgrid[0:n, 0:m] / n
    image = np.sin(9.0 * x) * np.cos(7.0 * y) + 0.1 * rng.normal(size=(n, m))
    reference = np.sin(9.0 * x + 0.1) * np.cos(7.0 * y - 0.1) + 0.1 * rng.normal(size=(n, m))
    affine = np.array([[1.01, 0.03, 0.21], [-0.02, 0.98, 0.37]]) + 1e-3 * rng.normal(size=(2, 3))
    return image, reference, affine


# The residual is local: value and gradient take one pass over the rows of pixels, in loops of which all but the first
# and the last touch of the image are vectors.
IMAGES = r"""
#include <string.h>
/* neighbours written as one vector would be waited for when the next pixel reads one of them */
#define APART asm volatile("" ::: "memory");
double registration(long n, long m, const double *restrict image, const double *restrict reference,
                    const double *restrict affine, double *restrict dimage, double *restrict daffine) {
    double value = 0, scale = 2.0 / (n * m), sums[6] = {0}, right = m - 1.001, low = n - 1.001;
    double fx[m], fy[m], wx[m], wy[m], p[m], q[m], r[m], s[m];
    int at[m], stride = m;
    memset(dimage, 0, n * m * sizeof(double));
    for (long y = 0; y < n; y++) {
        double sx = 0, sy = 0, tx = 0, ty = 0, start = affine[1] * y + affine[2], begin = affine[4] * y + affine[5];
        const double *goal = reference + y * m;
        for (int x = 0; x < m; x++) {
            double a = affine[0] * x + start, b = affine[3] * x + begin;
            double across = a < 0 ? 0 : a > right ? right : a, down = b < 0 ? 0 : b > low ? low : b;
            int j = (int)across, i = (int)down;
            at[x] = i * stride + j;
            fx[x] = across - j; fy[x] = down - i;
            wx[x] = across == a; wy[x] = down == b;
        }
        for (int x = 0; x < m; x++) {
            const double *o = image + at[x];
            p[x] = o[0]; q[x] = o[1]; r[x] = o[m]; s[x] = o[m + 1];
        }
        for (int x = 0; x < m; x++) {
            double dt = q[x] - p[x], db = s[x] - r[x], top = p[x] + fx[x] * dt, rise = r[x] + fx[x] * db - top;
            double e = top + fy[x] * rise - goal[x], g = scale * e, gb = g * fy[x], gt = g - gb;
            double gx = (gt * dt + gb * db) * wx[x], gy = g * rise * wy[x];
            value += e * e;
            sx += gx; tx += gx * x; sy += gy; ty += gy * x;
            q[x] = gt * fx[x]; p[x] = gt - q[x];
            s[x] = gb * fx[x]; r[x] = gb - s[x];
        }
        for (int x = 0; x < m; x++) {
            double *o = dimage + at[x];
            o[0] += p[x]; APART o[1] += q[x]; APART o[m] += r[x]; APART o[m + 1] += s[x];
        }
        sums[0] += tx; sums[1] += sx * y; sums[2] += sx;
        sums[3] += ty; sums[4] += sy * y; sums[5] += sy;
    }
    memcpy(daffine, sums, sizeof sums);
    return value / (n * m);
}
"""
_registration = c_function(IMAGES, "registration", ctypes.c_double)


def registration_hand(image, reference, affine):
    d = np.empty_like(image), np.empty_like(affine)
    return _registration(*image.shape, image, reference, affine, *d), d


def registration_jax(image, reference, affine):
    import jax.numpy as jnp

    n, m = reference.shape
    y, x = jnp.arange(n)[:, None], jnp.arange(m)
    across = jnp.clip(affine[0, 0] * x + affine[0, 1] * y + affine[0, 2], 0.0, m - 1.001)
    down = jnp.clip(affine[1, 0] * x + affine[1, 1] * y + affine[1, 2], 0.0, n - 1.001)
    j, i = across.astype(int), down.astype(int)
    fx, fy = across - j, down - i
    flat, at = image.reshape(-1), i * m + j
    top = (1.0 - fx) * flat[at] + fx * flat[at + 1]
    bottom = (1.0 - fx) * flat[at + m] + fx * flat[at + m + 1]
    return jnp.mean(((1.0 - fy) * top + fy * bottom - reference) ** 2)


PROGRAMS = (
    Program("registration", registration, registration_inputs, 512, 7, (0, 2), registration_hand, registration_jax),
)
