"""The problems of the tables: from Hairer, Norsett, Wanner, and the Test Set for IVP Solvers (Mazzia, Magherini, Bari)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import Problem


def lotka_volterra(np: Any) -> Any:
    return lambda t, y, a, b, c, d: np.stack([a * y[0] - b * y[0] * y[1], d * y[0] * y[1] - c * y[1]])


def lorenz(np: Any) -> Any:
    def rate(t: Any, y: Any, sigma: Any, rho: Any, beta: Any) -> Any:
        return np.stack([sigma * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - beta * y[2]])

    return rate


def pleiades(np: Any) -> Any:
    """Seven stars in a plane: x, y, x', y'."""

    def rate(t: Any, y: Any, masses: Any) -> Any:
        x, u = y[:7], y[7:14]
        dx, du = x - x[:, None], u - u[:, None]
        cubed = (dx**2 + du**2 + np.eye(7)) ** 1.5
        return np.concatenate([y[14:], (masses * dx / cubed).sum(axis=1), (masses * du / cubed).sum(axis=1)])

    return rate


PLEIADES_IN_C = """
static void rhs(double t, const double *y, const double *p, double *dy) {
  for (int i = 0; i < 14; i++)
    dy[i] = y[14 + i], dy[14 + i] = 0;
  for (int i = 0; i < 7; i++)
    for (int j = 0; j < i; j++) {
      double dx = y[j] - y[i], du = y[7 + j] - y[7 + i], r2 = dx * dx + du * du, f = 1 / (r2 * sqrt(r2));
      dy[14 + i] += p[j] * f * dx, dy[21 + i] += p[j] * f * du;
      dy[14 + j] -= p[i] * f * dx, dy[21 + j] -= p[i] * f * du;
    }
}
static void vjp(double t, const double *y, const double *p, const double *w, double *by, double *bp) {
  for (int i = 0; i < 14; i++)
    by[14 + i] += w[i];
  const double *a = w + 14, *b = w + 21;
  for (int i = 0; i < 7; i++)
    for (int j = 0; j < i; j++) {
      double dx = y[j] - y[i], du = y[7 + j] - y[7 + i], r2 = dx * dx + du * du, f = 1 / (r2 * sqrt(r2));
      double wi = a[i] * dx + b[i] * du, wj = a[j] * dx + b[j] * du;
      bp[j] += f * wi, bp[i] -= f * wj;
      double bf = -3 * f / r2 * (p[j] * wi - p[i] * wj);
      double bx = f * (p[j] * a[i] - p[i] * a[j]) + bf * dx, bu = f * (p[j] * b[i] - p[i] * b[j]) + bf * du;
      by[j] += bx, by[i] -= bx, by[7 + j] += bu, by[7 + i] -= bu;
    }
}
"""


def van_der_pol(np: Any) -> Any:
    return lambda t, y, mu: np.stack([y[1], mu * (1 - y[0] * y[0]) * y[1] - y[0]])


def robertson(np: Any) -> Any:
    def rate(t: Any, y: Any, k1: Any, k2: Any, k3: Any) -> Any:
        slow, fast = k1 * y[0] - k3 * y[1] * y[2], k2 * y[1] * y[1]
        return np.stack([-slow, slow - fast, fast])

    return rate


def brusselator(np: Any) -> Any:
    """u1, v1, u2, v2, ... at the inner points of (0, 1), with fixed values at the ends."""

    def rate(t: Any, y: Any, a: Any, b: Any, alpha: Any) -> Any:
        values = y.reshape(-1, 2)
        edge = np.stack([a, b / a])[None]
        padded = np.concatenate([edge, values, edge])
        spread = alpha * (len(values) + 1) ** 2 * (padded[:-2] - 2 * values + padded[2:])
        u, v = values[:, 0], values[:, 1]
        reaction = np.stack([a + u * u * v - (b + 1) * u, b * u - u * u * v], axis=1)
        return (spread + reaction).reshape(-1)

    return rate


BRUSSELATOR_IN_C = """
#define D (p[2] * (N / 2 + 1.0) * (N / 2 + 1.0))
static void rhs(double t, const double *y, const double *p, double *dy) {
  double d = D;
  for (int i = 0; i < N; i += 2) {
    double u = y[i], v = y[i + 1], r = u * u * v;
    double ul = i ? y[i - 2] : p[0], vl = i ? y[i - 1] : p[1] / p[0];
    double ur = i < N - 2 ? y[i + 2] : p[0], vr = i < N - 2 ? y[i + 3] : p[1] / p[0];
    dy[i] = d * (ul - 2 * u + ur) + p[0] + r - (p[1] + 1) * u;
    dy[i + 1] = d * (vl - 2 * v + vr) + p[1] * u - r;
  }
}
static void vjp(double t, const double *y, const double *p, const double *w, double *by, double *bp) {
  double d = D, bd = 0, bl[2] = {0, 0};
  for (int i = 0; i < N; i += 2) {
    double u = y[i], v = y[i + 1], a = w[i], b = w[i + 1], difference = a - b;
    double ul = i ? y[i - 2] : p[0], vl = i ? y[i - 1] : p[1] / p[0];
    double ur = i < N - 2 ? y[i + 2] : p[0], vr = i < N - 2 ? y[i + 3] : p[1] / p[0];
    bd += a * (ul - 2 * u + ur) + b * (vl - 2 * v + vr);
    bp[0] += a, bp[1] -= difference * u;
    by[i] += difference * (2 * u * v - p[1]) - a - 2 * d * a;
    by[i + 1] += difference * u * u - 2 * d * b;
    if (i) by[i - 2] += d * a, by[i - 1] += d * b; else bl[0] += d * a, bl[1] += d * b;
    if (i < N - 2) by[i + 2] += d * a, by[i + 3] += d * b; else bl[0] += d * a, bl[1] += d * b;
  }
  bp[0] += bl[0] - bl[1] * p[1] / (p[0] * p[0]), bp[1] += bl[1] / p[0], bp[2] += bd * (N / 2 + 1.0) * (N / 2 + 1.0);
}
static void jacobian(const double *y, const double *p, double J[N][WIDTH]) {
  double d = D;
  for (int i = 0; i < N; i += 2) {
    double u = y[i], v = y[i + 1];
    J[i][0] = J[i][4] = J[i + 1][0] = J[i + 1][4] = d;
    J[i][1] = J[i + 1][3] = 0;
    J[i][2] = -2 * d + 2 * u * v - p[1] - 1, J[i][3] = u * u;
    J[i + 1][1] = p[1] - 2 * u * v, J[i + 1][2] = -2 * d - u * u;
  }
}
static void second(const double *y, const double *p, const double *w, const double *x, double *by, double *bp) {
  double bd = 0;
  for (int i = 0; i < N; i += 2) {
    double u = y[i], v = y[i + 1], du = x[i], dv = x[i + 1], difference = w[i] - w[i + 1];
    by[i] += difference * (2 * v * du + 2 * u * dv), by[i + 1] += difference * 2 * u * du;
    bp[1] -= difference * du;
    for (int k = 0; k < 2; k++)
      bd += w[i + k] * ((i ? x[i + k - 2] : 0) - 2 * x[i + k] + (i < N - 2 ? x[i + k + 2] : 0));
  }
  bp[2] += bd * (N / 2 + 1.0) * (N / 2 + 1.0);
}
"""


def brusselator_start(points: int) -> np.ndarray:
    x = np.arange(1.0, points + 1) / (points + 1)
    return np.stack([1 + np.sin(2 * np.pi * x), np.full(points, 3.0)], axis=1).ravel()


def diffusing(points: int) -> Problem:
    return Problem(
        f"Brusselator {points}", brusselator, brusselator_start(points), (0.0, 10.0), (1.0, 3.0, 0.02), "rodas5p",
        bands=(2, 2), in_diffrax="Kvaerno5", in_c=BRUSSELATOR_IN_C,
    )  # fmt: skip


STARS = np.array([3, 3, -1, -3, 2, -2, 2, 3, -3, 2, 0, 0, -4, 4, 0, 0, 0, 0, 0, 1.75, -1.5, 0, 0, 0, -1.25, 1, 0, 0.0])

PROBLEMS = (
    Problem("LV", lotka_volterra, np.ones(2), (0.0, 10.0), (1.5, 1.0, 3.0, 1.0), "tsit5", in_scipy="LSODA"),
    Problem("Lorenz", lorenz, np.array([1.0, 0.0, 0.0]), (0.0, 10.0), (10.0, 28.0, 8 / 3), "tsit5", in_scipy="LSODA"),
    Problem("Pleiades", pleiades, STARS, (0.0, 3.0), (np.arange(1.0, 8.0),), "tsit5", in_scipy="LSODA", in_c=PLEIADES_IN_C),
    Problem(
        "VdP 1000", van_der_pol, np.array([2.0, 0.0]), (0.0, 2000.0), (1000.0,), "rodas5p", in_diffrax="Kvaerno5",
    ),
    Problem(
        "Robertson", robertson, np.array([1.0, 0.0, 0.0]), (0.0, 1e5), (0.04, 3e7, 1e4), "rodas5p", atol=1e-10,
        in_diffrax="Kvaerno5",
    ),
    *(diffusing(points) for points in (128, 512, 2048, 4096)),
)  # fmt: skip
