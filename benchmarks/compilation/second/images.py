"""Images and signals: warping by bilinear interpolation, denoising by a lifted wavelet."""

from __future__ import annotations

from ctypes import c_double

import numpy as np

from ..c_code import c_function
from . import Program

# Warping by gathers


def warping(fixed, moving, u, v):
    w = fixed.shape[1]
    i, j = np.floor(u).astype(int), np.floor(v).astype(int)
    a, b = u - i, v - j
    m = moving.ravel()
    k = i * w + j
    warped = (1 - a) * (1 - b) * m[k] + (1 - a) * b * m[k + 1] + a * (1 - b) * m[k + w] + a * b * m[k + w + 1]
    return np.sum((warped - fixed) ** 2)


def _warping_inputs(n):
    rng = np.random.default_rng(9)
    places = rng.uniform(0, n - 2, (n, n)), rng.uniform(0, n - 2, (n, n))
    return rng.normal(size=(n, n)), rng.normal(size=(n, n)), *places


_WARPING = """
#include <math.h>
#include <string.h>
double warping(long n, long w, const double *fixed, const double *m, const double *u, const double *v,
               double *dm, double *du, double *dv) {
    double loss = 0;
    memset(dm, 0, n * sizeof(double));
    for (long p = 0; p < n; p++) {
        double fi = floor(u[p]), fj = floor(v[p]), a = u[p] - fi, b = v[p] - fj;
        long k = (long)fi * w + (long)fj;
        double top = m[k] + b * (m[k + 1] - m[k]), low = m[k + w] + b * (m[k + w + 1] - m[k + w]);
        double r = top + a * (low - top) - fixed[p], g = 2 * r;
        loss += r * r;
        du[p] = g * (low - top);
        dv[p] = g * ((1 - a) * (m[k + 1] - m[k]) + a * (m[k + w + 1] - m[k + w]));
        dm[k] += g * (1 - a) * (1 - b);
        dm[k + 1] += g * (1 - a) * b;
        dm[k + w] += g * a * (1 - b);
        dm[k + w + 1] += g * a * b;
    }
    return loss;
}
"""


def _warping_by_hand(fixed, moving, u, v):
    found = [np.empty(fixed.shape) for _ in range(3)]
    run = c_function(_WARPING, "warping", c_double)
    return run(fixed.size, fixed.shape[1], fixed, moving, u, v, *found), tuple(found)


# The CDF 5/3 wavelet, by lifting


def lifting(signal, threshold):
    details = []
    a = signal
    for _ in range(5):
        even, odd = a[::2], a[1::2]
        d = odd - 0.5 * (even + np.roll(even, -1))
        a = even + 0.25 * (d + np.roll(d, 1))
        details.append(np.sign(d) * np.maximum(np.abs(d) - threshold, 0.0))
    for d in reversed(details):
        even = a - 0.25 * (d + np.roll(d, 1))
        odd = d + 0.5 * (even + np.roll(even, -1))
        b = np.empty(2 * len(a))
        b[::2] = even
        b[1::2] = odd
        a = b
    return np.sum((a - signal) ** 2) + threshold * np.sum(np.abs(a[1:] - a[:-1]))


def _lifting_inputs(n):
    return np.cumsum(np.random.default_rng(12).normal(size=n)), 0.5


PROGRAMS = (
    Program("warping", warping, _warping_inputs, 200, 10, (1, 2, 3), _warping_by_hand),
    Program("lifting", lifting, _lifting_inputs, 2**16, 64, (0, 1)),
)
