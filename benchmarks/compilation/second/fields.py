"""Fields on grids: first arrivals by fast sweeping, a thin film, shallow water on a staggered grid."""

from __future__ import annotations

import math
from ctypes import c_double

import numpy as np

from ..c_code import c_function
from . import Program

# The eikonal equation by fast sweeping


def first_arrivals(slowness, dx, source, receivers):
    n, m = slowness.shape
    T = np.full((n, m), 1e6)
    T[source[0], source[1]] = 0.0
    for sweep in range(4):
        rows = range(n) if sweep % 2 == 0 else range(n - 1, -1, -1)
        columns = range(m) if sweep < 2 else range(m - 1, -1, -1)
        for i in rows:
            for j in columns:
                if i == source[0] and j == source[1]:
                    continue
                if i == 0:
                    a = T[1, j]
                elif i == n - 1:
                    a = T[n - 2, j]
                else:
                    a = min(T[i - 1, j], T[i + 1, j])
                if j == 0:
                    b = T[i, 1]
                elif j == m - 1:
                    b = T[i, m - 2]
                else:
                    b = min(T[i, j - 1], T[i, j + 1])
                s = slowness[i, j] * dx
                if abs(a - b) >= s:
                    t = min(a, b) + s
                else:
                    t = 0.5 * (a + b + math.sqrt(2 * s * s - (a - b) ** 2))
                if t < T[i, j]:
                    T[i, j] = t
    total = 0.0
    for r in receivers:
        total += T[r[0], r[1]]
    return total


def _arrivals_inputs(n):
    rng = np.random.default_rng(7)
    return rng.uniform(0.5, 1.5, (n, n)), 0.1, (n // 3, n // 2), rng.integers(0, n, (10, 2))


_ARRIVALS = """
#include <math.h>
/* For each update that is taken: its element, its two neighbours (or one, twice), and the slopes in both and in the slowness. */
typedef struct { int at, a, b; double da, db, ds; } Update;
double arrivals(long n, long m, const double *slowness, double dx, long row, long column, long count, const long *receivers,
                double *T, double *dT, Update *updates, double *dslowness) {
    long kept = 0;
    for (long i = 0; i < n * m; i++) {
        T[i] = 1e6;
        dT[i] = dslowness[i] = 0;
    }
    T[row * m + column] = 0;
    for (int sweep = 0; sweep < 4; sweep++)
        for (long p = 0; p < n; p++)
            for (long q = 0; q < m; q++) {
                long i = sweep % 2 == 0 ? p : n - 1 - p, j = sweep < 2 ? q : m - 1 - q, at = i * m + j;
                if (i == row && j == column) continue;
                long a = i == 0 ? at + m : i == n - 1 ? at - m : T[at - m] <= T[at + m] ? at - m : at + m;
                long b = j == 0 ? at + 1 : j == m - 1 ? at - 1 : T[at - 1] <= T[at + 1] ? at - 1 : at + 1;
                double s = slowness[at] * dx, x = T[a], y = T[b], t;
                Update u = {at, a, b, 0, 0, dx};
                if (fabs(x - y) >= s) {
                    t = fmin(x, y) + s;
                    *(x <= y ? &u.da : &u.db) = 1;
                } else {
                    double root = sqrt(2 * s * s - (x - y) * (x - y));
                    t = 0.5 * (x + y + root);
                    u.da = 0.5 * (1 - (x - y) / root);
                    u.db = 0.5 * (1 + (x - y) / root);
                    u.ds = dx * s / root;
                }
                if (t < T[at]) {
                    T[at] = t;
                    updates[kept++] = u;
                }
            }
    double total = 0;
    for (long r = 0; r < count; r++) {
        long at = receivers[2 * r] * m + receivers[2 * r + 1];
        total += T[at];
        dT[at] += 1;
    }
    while (kept) {
        Update u = updates[--kept];
        double g = dT[u.at];
        dT[u.at] = 0;
        dT[u.a] += u.da * g;
        dT[u.b] += u.db * g;
        dslowness[u.at] += u.ds * g;
    }
    return total;
}
"""


def _arrivals_by_hand(slowness, dx, source, receivers):
    n, m = slowness.shape
    dslowness = np.empty((n, m))
    work = np.empty((n, m)), np.empty((n, m)), np.empty((4 * n * m, 5))
    run = c_function(_ARRIVALS, "arrivals", c_double)
    return run(n, m, slowness, dx, *source, len(receivers), receivers, *work, dslowness), (dslowness,)


# A thin film, explicit


def film(h0, steps, dt, dx):
    h = h0.copy()
    for _ in range(steps):
        hx = np.roll(h, -1) - h
        hxxx = (np.roll(h, -2) - 3 * np.roll(h, -1) + 3 * h - np.roll(h, 1)) / dx**3
        mobility = ((h + np.roll(h, -1)) / 2) ** 3 / 3
        flux = mobility * (hxxx - hx / dx)
        h = h - dt * (flux - np.roll(flux, 1)) / dx
    return np.sum(h**2)


def _film_inputs(size):
    n, steps = size
    return 1 + 0.1 * np.sin(2 * np.pi * np.arange(n) / n), steps, 0.05 / n**4, 1 / n


_FILM = """
#include <string.h>
/* Rows have three more elements on both sides, which repeat those of the other end. */
static void wrap(double *x, long n) {
    for (int k = 0; k < 3; k++) {
        x[-1 - k] = x[n - 1 - k];
        x[n + k] = x[k];
    }
}
double film(const double *h0, long n, long steps, double dt, double dx, double *rows, double *flux, double *g, double *dh) {
    double cube = 1 / (dx * dx * dx), per = 1 / dx, loss = 0;
    double *h = rows + 3, *f = flux + 3;
    memcpy(h, h0, n * sizeof(double));
    for (long s = 0; s < steps; s++) {
        wrap(h, n);
        for (long i = 0; i < n; i++) {
            double m = (h[i] + h[i + 1]) * 0.5, slope = (h[i + 1] - h[i]) * per;
            f[i] = m * m * m * (1.0 / 3) * ((h[i + 2] - 3 * h[i + 1] + 3 * h[i] - h[i - 1]) * cube - slope);
        }
        wrap(f, n);
        double *next = h + n + 6;
        for (long i = 0; i < n; i++) next[i] = h[i] - dt * per * (f[i] - f[i - 1]);
        h = next;
    }
    double *a = g + 3, *b = a + n + 6, *c = b + n + 6;
    for (long i = 0; i < n; i++) {
        loss += h[i] * h[i];
        a[i] = 2 * h[i];
    }
    for (long s = 0; s < steps; s++) {
        h -= n + 6;
        wrap(a, n);
        for (long i = 0; i < n; i++) {
            double df = dt * per * (a[i + 1] - a[i]), m = (h[i] + h[i + 1]) * 0.5, slope = (h[i + 1] - h[i]) * per;
            double drive = (h[i + 2] - 3 * h[i + 1] + 3 * h[i] - h[i - 1]) * cube - slope;
            b[i] = df * m * m * 0.5 * drive;
            c[i] = df * m * m * m * (1.0 / 3);
        }
        wrap(b, n);
        wrap(c, n);
        for (long i = 0; i < n; i++)
            a[i] += b[i] + b[i - 1] + cube * (c[i - 2] - 3 * c[i - 1] + 3 * c[i] - c[i + 1]) + per * (c[i] - c[i - 1]);
    }
    memcpy(dh, a, n * sizeof(double));
    return loss;
}
"""


def _film_by_hand(h0, steps, dt, dx):
    n, dh = len(h0), np.empty_like(h0)
    work = np.empty((steps + 1, n + 6)), np.empty(n + 6), np.empty((3, n + 6))
    return c_function(_FILM, "film", c_double)(h0, n, steps, dt, dx, *work, dh), (dh,)


# Shallow water, staggered, with upwind depths


def staggered_water(eta, u, v, depth, dt, dx, steps):
    eta, u, v = eta.copy(), u.copy(), v.copy()
    for _ in range(steps):
        u[:, 1:-1] -= dt * 9.81 / dx * (eta[:, 1:] - eta[:, :-1])
        v[1:-1, :] -= dt * 9.81 / dx * (eta[1:, :] - eta[:-1, :])
        H = depth + eta
        fx, fy = np.zeros_like(u), np.zeros_like(v)
        fx[:, 1:-1] = np.where(u[:, 1:-1] > 0, H[:, :-1], H[:, 1:]) * u[:, 1:-1]
        fy[1:-1, :] = np.where(v[1:-1, :] > 0, H[:-1, :], H[1:, :]) * v[1:-1, :]
        eta -= dt / dx * (fx[:, 1:] - fx[:, :-1] + fy[1:, :] - fy[:-1, :])
    return np.sum(eta**2)


def _water_inputs(size):
    n, steps = size
    rng = np.random.default_rng(2)
    eta, depth = 0.1 * rng.normal(size=(n, n)), 1.0 + rng.uniform(size=(n, n))
    return eta, np.zeros((n, n + 1)), np.zeros((n + 1, n)), depth, 0.01, 1.0, steps


PROGRAMS = (
    Program("first_arrivals", first_arrivals, _arrivals_inputs, 120, 8, (0,), _arrivals_by_hand),
    Program("film", film, _film_inputs, (200, 300), (16, 3), (0,), _film_by_hand),
    Program("staggered_water", staggered_water, _water_inputs, (64, 50), (8, 2), (0, 3)),
)
