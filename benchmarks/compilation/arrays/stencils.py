"""Stencils on grids: Jacobi 2-D, heat 3-D, FDTD 2-D, as in NPBench (Ziogas et al., ICS 2021, after PolyBench)."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..c_code import c_function
from ..program import Program

# ---- Jacobi 2-D


def jacobi_2d_kernel(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


def jacobi_2d(TSTEPS, A, B, w):
    A, B = A.copy(), B.copy()
    jacobi_2d_kernel(TSTEPS, A, B)
    return np.sum(A * w)


def jacobi_2d_inputs(size):
    """``size`` points a side."""
    random = np.random.default_rng(0)
    return (max(3, size // 6), *(random.standard_normal((size, size)) for _ in range(3)))


# The stencil is symmetric, so that the way back is the same sweep; what falls on the boundary stays there.
JACOBI = r"""
static void sweep(long n, const double *restrict a, double *restrict b) {
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++) {
            const double *p = a + i * n + j;
            b[i * n + j] = 0.2 * (p[0] + p[-1] + p[1] + p[n] + p[-n]);
        }
}
static void edges(long n, const double *restrict x, double *restrict e) {
    for (long j = 1; j < n - 1; j++) {
        e[j] += 0.2 * x[n + j];
        e[(n - 1) * n + j] += 0.2 * x[(n - 2) * n + j];
        e[j * n] += 0.2 * x[j * n + 1];
        e[j * n + n - 1] += 0.2 * x[j * n + n - 2];
    }
}
/* A, B: work space with the initial state; x, y: zero; ea: holds w; eb: zero */
double jacobi_2d(long steps, long n, double *A, double *B, const double *w, double *x, double *y, double *ea, double *eb) {
    double value = 0;
    for (long t = 1; t < steps; t++) { sweep(n, A, B); sweep(n, B, A); }
    for (long i = 0; i < n * n; i++) value += A[i] * w[i];
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++) x[i * n + j] = w[i * n + j];
    for (long t = 1; t < steps; t++) { sweep(n, x, y); edges(n, x, eb); sweep(n, y, x); edges(n, y, ea); }
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++) ea[i * n + j] = x[i * n + j];
    return value;
}
"""
_jacobi_2d = c_function(JACOBI, "jacobi_2d", ctypes.c_double)


def jacobi_2d_hand(TSTEPS, A, B, w):
    x, y, db = np.zeros_like(A), np.zeros_like(A), np.zeros_like(A)
    da = w.copy()
    value = _jacobi_2d(TSTEPS, len(A), A.copy(), B.copy(), w, x, y, da, db)
    return value, (da, db)


def jacobi_2d_jax(TSTEPS, A, B, w):
    import jax.numpy as jnp
    from jax import lax

    def averaged(X):
        return 0.2 * (X[1:-1, 1:-1] + X[1:-1, :-2] + X[1:-1, 2:] + X[2:, 1:-1] + X[:-2, 1:-1])

    def step(state, _):
        A, B = state
        B = B.at[1:-1, 1:-1].set(averaged(A))
        A = A.at[1:-1, 1:-1].set(averaged(B))
        return (A, B), None

    (A, B), _ = lax.scan(step, (A, B), None, length=TSTEPS - 1)
    return jnp.sum(A * w)


# ---- heat 3-D


def heat_3d_kernel(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, 0:-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, 0:-2])
            + B[1:-1, 1:-1, 1:-1]
        )


def heat_3d(TSTEPS, A, B, w):
    A, B = A.copy(), B.copy()
    heat_3d_kernel(TSTEPS, A, B)
    return np.sum(A * w)


def heat_3d_inputs(size):
    """``size`` points a side."""
    random = np.random.default_rng(0)
    return (max(3, size // 2), *(random.standard_normal((size, size, size)) for _ in range(3)))


HEAT = r"""
static void sweep(long n, const double *restrict a, double *restrict b) {
    long m = n * n;
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            for (long k = 1; k < n - 1; k++) {
                const double *p = a + i * m + j * n + k;
                b[i * m + j * n + k] = 0.125 * (p[-m] + p[m] + p[-n] + p[n] + p[-1] + p[1]) + 0.25 * p[0];
            }
}
static void edges(long n, const double *restrict x, double *restrict e) {
    long m = n * n, l = n - 1;
    for (long i = 1; i < l; i++)
        for (long j = 1; j < l; j++) {
            e[i * n + j] += 0.125 * x[m + i * n + j];
            e[l * m + i * n + j] += 0.125 * x[(l - 1) * m + i * n + j];
            e[i * m + j] += 0.125 * x[i * m + n + j];
            e[i * m + l * n + j] += 0.125 * x[i * m + (l - 1) * n + j];
            e[i * m + j * n] += 0.125 * x[i * m + j * n + 1];
            e[i * m + j * n + l] += 0.125 * x[i * m + j * n + l - 1];
        }
}
static void interior(long n, const double *restrict x, double *restrict y) {
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            for (long k = 1; k < n - 1; k++) y[(i * n + j) * n + k] = x[(i * n + j) * n + k];
}
double heat_3d(long steps, long n, double *A, double *B, const double *w, double *x, double *y, double *ea, double *eb) {
    double value = 0;
    for (long t = 1; t < steps; t++) { sweep(n, A, B); sweep(n, B, A); }
    for (long i = 0; i < n * n * n; i++) value += A[i] * w[i];
    interior(n, w, x);
    for (long t = 1; t < steps; t++) { sweep(n, x, y); edges(n, x, eb); sweep(n, y, x); edges(n, y, ea); }
    interior(n, x, ea);
    return value;
}
"""
_heat_3d = c_function(HEAT, "heat_3d", ctypes.c_double)


def heat_3d_hand(TSTEPS, A, B, w):
    x, y, db = np.zeros_like(A), np.zeros_like(A), np.zeros_like(A)
    da = w.copy()
    value = _heat_3d(TSTEPS, len(A), A.copy(), B.copy(), w, x, y, da, db)
    return value, (da, db)


def heat_3d_jax(TSTEPS, A, B, w):
    import jax.numpy as jnp
    from jax import lax

    def spread(X):
        around = X[2:, 1:-1, 1:-1] + X[:-2, 1:-1, 1:-1] + X[1:-1, 2:, 1:-1] + X[1:-1, :-2, 1:-1]
        return 0.125 * (around + X[1:-1, 1:-1, 2:] + X[1:-1, 1:-1, :-2]) + 0.25 * X[1:-1, 1:-1, 1:-1]

    def step(state, _):
        A, B = state
        B = B.at[1:-1, 1:-1, 1:-1].set(spread(A))
        A = A.at[1:-1, 1:-1, 1:-1].set(spread(B))
        return (A, B), None

    (A, B), _ = lax.scan(step, (A, B), None, length=TSTEPS - 1)
    return jnp.sum(A * w)


# ---- FDTD 2-D


def fdtd_2d_kernel(TMAX, ex, ey, hz, _fict_):
    for t in range(TMAX):
        ey[0, :] = _fict_[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def fdtd_2d(TMAX, ex, ey, hz, _fict_, w):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    fdtd_2d_kernel(TMAX, ex, ey, hz, _fict_)
    return np.sum(hz * w) + np.sum(ex * w) + np.sum(ey * w)


def fdtd_2d_inputs(size):
    """``size`` rows, a sixth more columns."""
    random = np.random.default_rng(0)
    steps, shape = max(3, size // 4), (size, size + size // 6)
    fields: list[Any] = [random.standard_normal(shape) for _ in range(4)]
    return steps, *fields[:3], random.standard_normal(steps), fields[3]


FDTD = r"""
static void forward(long nx, long ny, double *restrict ex, double *restrict ey, double *restrict hz, double source) {
    for (long j = 0; j < ny; j++) ey[j] = source;
    for (long i = 0; i < nx; i++) {
        double *x = ex + i * ny, *y = ey + i * ny, *h = hz + i * ny;
        if (i) for (long j = 0; j < ny; j++) y[j] -= 0.5 * (h[j] - h[j - ny]);
        for (long j = 1; j < ny; j++) x[j] -= 0.5 * (h[j] - h[j - 1]);
        /* the row of hz above is complete now */
        if (i) for (long j = 0; j < ny - 1; j++)
            h[j - ny] -= 0.7 * (x[j + 1 - ny] - x[j - ny] + y[j] - y[j - ny]);
    }
}
/* the cotangents of ex, ey, hz before a step from those after it; returns that of the source */
static double backward(long nx, long ny, double *restrict ex, double *restrict ey, double *restrict hz) {
    double source = 0;
    for (long i = 0; i < nx; i++) {
        double *x = ex + i * ny, *y = ey + i * ny, *h = hz + i * ny;
        if (i < nx - 1) {
            x[0] += 0.7 * h[0];
            for (long j = 1; j < ny - 1; j++) x[j] += 0.7 * (h[j] - h[j - 1]);
            x[ny - 1] -= 0.7 * h[ny - 2];
        }
        if (i == 0) for (long j = 0; j < ny - 1; j++) y[j] += 0.7 * h[j];
        else if (i < nx - 1) for (long j = 0; j < ny - 1; j++) y[j] += 0.7 * (h[j] - h[j - ny]);
        else for (long j = 0; j < ny - 1; j++) y[j] -= 0.7 * h[j - ny];
    }
    for (long i = 0; i < nx; i++) {
        double *x = ex + i * ny, *y = ey + i * ny, *h = hz + i * ny;
        h[0] += 0.5 * x[1];
        for (long j = 1; j < ny - 1; j++) h[j] += 0.5 * (x[j + 1] - x[j]);
        h[ny - 1] -= 0.5 * x[ny - 1];
        if (i == 0) for (long j = 0; j < ny; j++) h[j] += 0.5 * y[j + ny];
        else if (i < nx - 1) for (long j = 0; j < ny; j++) h[j] += 0.5 * (y[j + ny] - y[j]);
        else for (long j = 0; j < ny; j++) h[j] -= 0.5 * y[j];
    }
    for (long j = 0; j < ny; j++) { source += ey[j]; ey[j] = 0; }
    return source;
}
double fdtd_2d(long steps, long nx, long ny, double *ex, double *ey, double *hz, const double *fict, const double *w,
               double *dx, double *dy, double *dh, double *dfict) {
    double value = 0;
    for (long t = 0; t < steps; t++) forward(nx, ny, ex, ey, hz, fict[t]);
    for (long i = 0; i < nx * ny; i++) value += (ex[i] + ey[i] + hz[i]) * w[i];
    for (long t = steps - 1; t >= 0; t--) dfict[t] = backward(nx, ny, dx, dy, dh);
    return value;
}
"""
_fdtd_2d = c_function(FDTD, "fdtd_2d", ctypes.c_double)


def fdtd_2d_hand(TMAX, ex, ey, hz, _fict_, w):
    dx, dy, dh = w.copy(), w.copy(), w.copy()
    df = np.zeros_like(_fict_)
    value = _fdtd_2d(TMAX, *ex.shape, ex.copy(), ey.copy(), hz.copy(), _fict_, w, dx, dy, dh, df)
    return value, (dx, dy, dh, df)


def fdtd_2d_jax(TMAX, ex, ey, hz, _fict_, w):
    import jax.numpy as jnp
    from jax import lax

    def step(state, source):
        ex, ey, hz = state
        ey = ey.at[0, :].set(source)
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    (ex, ey, hz), _ = lax.scan(step, (ex, ey, hz), _fict_)
    return jnp.sum(hz * w) + jnp.sum(ex * w) + jnp.sum(ey * w)


PROGRAMS = (
    Program("jacobi_2d", jacobi_2d, jacobi_2d_inputs, 300, 9, (1, 2), jacobi_2d_hand, jacobi_2d_jax),
    Program("heat_3d", heat_3d, heat_3d_inputs, 60, 7, (1, 2), heat_3d_hand, heat_3d_jax),
    Program("fdtd_2d", fdtd_2d, fdtd_2d_inputs, 240, 9, (1, 2, 3, 4), fdtd_2d_hand, fdtd_2d_jax),
)
