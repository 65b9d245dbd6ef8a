"""Element by element: softmax in single precision and distances on a sphere, as in NPBench (Ziogas et al., ICS 2021)."""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

# ---- softmax


def softmax_kernel(x):
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


def softmax(x, w):
    return np.sum(softmax_kernel(x) * w)


def softmax_inputs(size):
    """16 heads of ``size`` queries and keys, single precision."""
    random = np.random.default_rng(0)
    shape = (2, 8, size, size)
    return random.random(shape, dtype=np.float32), random.random(shape, dtype=np.float32)


SOFTMAX = r"""
#include <math.h>
double softmax(long rows, long n, const float *restrict x, const float *restrict w, float *restrict dx) {
    double value = 0;
    for (long r = 0; r < rows; r++) {
        const float *a = x + r * n, *v = w + r * n;
        float *y = dx + r * n, top = a[0], sum = 0, dot = 0;
        for (long i = 1; i < n; i++) top = a[i] > top ? a[i] : top;
        for (long i = 0; i < n; i++) { float e = expf(a[i] - top); y[i] = e; sum += e; dot += e * v[i]; }
        float scale = 1 / sum, mean = dot * scale;
        for (long i = 0; i < n; i++) y[i] *= scale * (v[i] - mean);
        value += mean;
    }
    return value;
}
"""
_softmax = c_function(SOFTMAX, "softmax", ctypes.c_double)


def softmax_hand(x, w):
    dx = np.empty_like(x)
    value = _softmax(x.size // x.shape[-1], x.shape[-1], x, w, dx)
    return np.float32(value), (dx,)


def softmax_jax(x, w):
    import jax
    import jax.numpy as jnp

    return jnp.sum(jax.nn.softmax(x, axis=-1) * w)


# ---- distances on a sphere


def arc_distance_kernel(theta_1, phi_1, theta_2, phi_2):
    """Pairwise arc distances between all points of two lists (pyseismology, as in NPBench)."""
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    distance_matrix = 2 * (np.arctan2(np.sqrt(temp), np.sqrt(1 - temp)))
    return distance_matrix


def arc_distance(theta_1, phi_1, theta_2, phi_2, w):
    return np.sum(arc_distance_kernel(theta_1, phi_1, theta_2, phi_2) * w)


def arc_distance_inputs(size):
    """``size`` pairs of points."""
    random = np.random.default_rng(0)
    return tuple(random.random(size) for _ in range(5))


# Sines and cosines stand in loops of their own: together the compiler makes calls of sincos, which has no vector form.
ARC = r"""
#include <math.h>
#define N 256
double arc(long n, const double *restrict t1, const double *restrict p1, const double *restrict t2, const double *restrict p2,
           const double *restrict w, double *restrict dt1, double *restrict dp1, double *restrict dt2, double *restrict dp2) {
    double value = 0, st[N], ct[N], sp[N], cp[N], s1[N], c1[N], s2[N], c2[N];
    for (long o = 0; o < n; o += N) {
        int m = n - o < N ? n - o : N;
        for (int i = 0; i < m; i++) st[i] = sin(0.5 * (t2[o + i] - t1[o + i]));
        for (int i = 0; i < m; i++) ct[i] = cos(0.5 * (t2[o + i] - t1[o + i]));
        for (int i = 0; i < m; i++) sp[i] = sin(0.5 * (p2[o + i] - p1[o + i]));
        for (int i = 0; i < m; i++) cp[i] = cos(0.5 * (p2[o + i] - p1[o + i]));
        for (int i = 0; i < m; i++) s1[i] = sin(t1[o + i]);
        for (int i = 0; i < m; i++) c1[i] = cos(t1[o + i]);
        for (int i = 0; i < m; i++) s2[i] = sin(t2[o + i]);
        for (int i = 0; i < m; i++) c2[i] = cos(t2[o + i]);
        for (int i = 0; i < m; i++) {
            double q = sp[i] * sp[i], t = st[i] * st[i] + c1[i] * c2[i] * q;
            double a = sqrt(t), b = sqrt(1 - t), g = w[o + i] / (a * b);
            value += 2 * atan2(a, b) * w[o + i];
            double theta = g * st[i] * ct[i], phi = g * c1[i] * c2[i] * sp[i] * cp[i];
            dt1[o + i] = -theta - g * q * s1[i] * c2[i];
            dt2[o + i] = theta - g * q * c1[i] * s2[i];
            dp1[o + i] = -phi;
            dp2[o + i] = phi;
        }
    }
    return value;
}
"""
_arc = c_function(ARC, "arc", ctypes.c_double)


def arc_distance_hand(theta_1, phi_1, theta_2, phi_2, w):
    d = [np.empty_like(w) for _ in range(4)]
    return _arc(len(w), theta_1, phi_1, theta_2, phi_2, w, *d), tuple(d)


def arc_distance_jax(theta_1, phi_1, theta_2, phi_2, w):
    import jax.numpy as jnp

    temp = (
        jnp.sin((theta_2 - theta_1) / 2) ** 2 + jnp.cos(theta_1) * jnp.cos(theta_2) * jnp.sin((phi_2 - phi_1) / 2) ** 2
    )
    return jnp.sum(2 * jnp.arctan2(jnp.sqrt(temp), jnp.sqrt(1 - temp)) * w)


PROGRAMS = (
    Program("softmax", softmax, softmax_inputs, 384, 8, (0,), softmax_hand, softmax_jax, rtol=1e-4),
    Program(
        "arc_distance",
        arc_distance,
        arc_distance_inputs,
        300_000,
        50,
        (0, 1, 2, 3),
        arc_distance_hand,
        arc_distance_jax,
    ),
)
