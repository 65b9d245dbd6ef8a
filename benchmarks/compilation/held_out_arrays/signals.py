"""Denoising by wavelets: the discrete transform, soft thresholds, and the transform back, all by lifting.

Sources: A. Cohen, I. Daubechies, J.-C. Feauveau, Commun. Pure Appl. Math. 45 (1992) 485-560, the 5/3 wavelet; I.
Daubechies, W. Sweldens, J. Fourier Anal. Appl. 4 (1998) 247-269; D. L. Donoho, IEEE Trans. Inf. Theory 41 (1995) 613-627.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program


def wavelet(noisy, clean, thresholds):
    """The mean squared error of the denoised signal, whose length is a multiple of a power of two."""
    smooth, details = noisy, []
    for threshold in thresholds:
        even, odd = smooth[0::2], smooth[1::2]
        detail = odd - 0.5 * (even + np.roll(even, -1))
        smooth = even + 0.25 * (detail + np.roll(detail, 1))
        details.append(np.sign(detail) * np.maximum(np.abs(detail) - threshold, 0.0))
    for detail in reversed(details):
        even = smooth - 0.25 * (detail + np.roll(detail, 1))
        odd = detail + 0.5 * (even + np.roll(even, -1))
        smooth = np.empty(2 * len(even))
        smooth[0::2] = even
        smooth[1::2] = odd
    return np.mean((smooth - clean) ** 2)


def wavelet_inputs(size):
    """Points, and levels of the transform."""
    n, levels = size
    rng = np.random.default_rng(57)
    t = np.arange(n) / n
    clean = np.sin(12.0 * t) + np.sign(np.sin(40.0 * t))
    return clean + 0.3 * rng.normal(size=n), clean, 0.5 / 2.0 ** np.arange(levels)


# A level takes one pass each way: the two steps of lifting follow each other block by block, the first one's results in
# ``row``, from the element before the block on.
WAVELET = r"""
#include <math.h>
#define N 256
#define BLOCKS(n) for (long o = 0, m; m = n - o < N ? n - o : N, o < n; o += N)
#define EACH for (long i = 0; i < m; i++)
/* x: 2 n numbers, to n smooth ones and n details; d: the details after the threshold */
static void analyse(long n, double threshold, const double *restrict x, double *restrict smooth, double *restrict d) {
    double row[N + 1];
    row[0] = x[2 * n - 1] - 0.5 * (x[2 * n - 2] + x[0]);
    BLOCKS(n) {
        const double *p = x + 2 * o;
        double *s = smooth + o, *q = d + o;
        long inner = o + m < n ? m : m - 1;
        for (long i = 0; i < inner; i++) row[i + 1] = p[2 * i + 1] - 0.5 * (p[2 * i] + p[2 * i + 2]);
        if (inner < m) row[m] = x[2 * n - 1] - 0.5 * (x[2 * n - 2] + x[0]);
        EACH {
            double detail = row[i + 1], size = fabs(detail) - threshold;
            s[i] = p[2 * i] + 0.25 * (detail + row[i]);
            q[i] = size > 0 ? copysign(size, detail) : 0;
        }
        row[0] = row[m];
    }
}
static void synthesise(long n, const double *restrict smooth, const double *restrict d, double *restrict x) {
    double row[N + 1], first = smooth[0] - 0.25 * (d[0] + d[n - 1]);
    row[0] = first;
    BLOCKS(n) {
        const double *s = smooth + o, *q = d + o;
        double *p = x + 2 * o;
        long inner = o + m < n ? m : m - 1;
        for (long i = 0; i < inner; i++) row[i + 1] = s[i + 1] - 0.25 * (q[i + 1] + q[i]);
        if (inner < m) row[m] = first;
        EACH { p[2 * i] = row[i]; p[2 * i + 1] = q[i] + 0.5 * (row[i] + row[i + 1]); }
        row[0] = row[m];
    }
}
/* the cotangents of smooth and d from that of x */
static void synthesise_back(long n, const double *restrict gx, double *restrict gsmooth, double *restrict gd) {
    double first = gx[0] + 0.5 * (gx[1] + gx[2 * n - 1]), row[N + 1];
    row[0] = first;
    BLOCKS(n) {
        const double *p = gx + 2 * o;
        double *s = gsmooth + o, *q = gd + o;
        long inner = o + m < n ? m : m - 1;
        for (long i = 0; i < inner; i++) row[i + 1] = p[2 * i + 2] + 0.5 * (p[2 * i + 3] + p[2 * i + 1]);
        if (inner < m) row[m] = first;
        EACH { s[i] = row[i]; q[i] = p[2 * i + 1] - 0.25 * (row[i] + row[i + 1]); }
        row[0] = row[m];
    }
}
/* the cotangent of x, from those of smooth and of d, which is not zero where the threshold was passed; returns its sum */
static double analyse_back(long n, const double *restrict gsmooth, const double *restrict gd, const double *restrict d,
                    double *restrict gx) {
    double row[N + 1], sum = 0;
    row[0] = (d[n - 1] != 0 ? gd[n - 1] : 0) + 0.25 * (gsmooth[n - 1] + gsmooth[0]);
    BLOCKS(n) {
        const double *s = gsmooth + o, *q = d + o, *g = gd + o;
        double *p = gx + 2 * o;
        long inner = o + m < n ? m : m - 1;
        EACH {
            double passed = q[i] != 0 ? g[i] : 0;
            row[i + 1] = passed;
            sum -= copysign(1, q[i]) * passed;
        }
        for (long i = 0; i < inner; i++) row[i + 1] += 0.25 * (s[i] + s[i + 1]);
        if (inner < m) row[m] += 0.25 * (gsmooth[n - 1] + gsmooth[0]);
        EACH { p[2 * i] = s[i] - 0.5 * (row[i + 1] + row[i]); p[2 * i + 1] = row[i + 1]; }
        row[0] = row[m];
    }
    return sum;
}
/* room: 4 n numbers; a level's details and their cotangents follow those of the level above it */
double wavelet(long n, long levels, const double *restrict noisy, const double *restrict clean,
               const double *restrict thresholds, double *restrict dnoisy, double *restrict dthresholds,
               double *restrict room) {
    double *a = room, *b = room + n, *details = b + n, *cotangents = details + n, value = 0, *other;
    long m = n, at = 0;
    for (long k = 0; k < levels; k++) {
        m /= 2;
        analyse(m, thresholds[k], k ? a : noisy, b, details + at);
        other = a; a = b; b = other;
        at += m;
    }
    for (long k = levels - 1; k >= 0; k--) {
        at -= m;
        synthesise(m, a, details + at, b);
        other = a; a = b; b = other;
        m *= 2;
    }
    for (long i = 0; i < n; i++) { double r = a[i] - clean[i]; value += r * r; a[i] = 2 * r / n; }
    for (long k = 0; k < levels; k++) {
        m /= 2;
        synthesise_back(m, a, b, cotangents + at);
        other = a; a = b; b = other;
        at += m;
    }
    for (long k = levels - 1; k >= 0; k--) {
        at -= m;
        dthresholds[k] = analyse_back(m, a, cotangents + at, details + at, k ? b : dnoisy);
        other = a; a = b; b = other;
        m *= 2;
    }
    return value / n;
}
"""
_wavelet = c_function(WAVELET, "wavelet", ctypes.c_double)


def wavelet_hand(noisy, clean, thresholds):
    d = np.empty_like(noisy), np.empty_like(thresholds)
    return _wavelet(len(noisy), len(thresholds), noisy, clean, thresholds, *d, np.empty(4 * len(noisy))), d


def wavelet_jax(noisy, clean, thresholds):
    import jax.numpy as jnp

    smooth, details = noisy, []
    for threshold in thresholds:
        even, odd = smooth.reshape(-1, 2).T
        detail = odd - 0.5 * (even + jnp.roll(even, -1))
        smooth = even + 0.25 * (detail + jnp.roll(detail, 1))
        details.append(jnp.sign(detail) * jnp.maximum(jnp.abs(detail) - threshold, 0.0))
    for detail in reversed(details):
        even = smooth - 0.25 * (detail + jnp.roll(detail, 1))
        odd = detail + 0.5 * (even + jnp.roll(even, -1))
        smooth = jnp.stack([even, odd], axis=1).reshape(-1)
    return jnp.mean((smooth - clean) ** 2)


PROGRAMS = (Program("wavelet", wavelet, wavelet_inputs, (2**18, 6), (32, 3), (0, 2), wavelet_hand, wavelet_jax),)
