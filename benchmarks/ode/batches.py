"""Many solves at once: a small network as the right-hand side, and an ensemble of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .problems import lotka_volterra
from .program import Problem

HIDDEN = 50


def spiral(np: Any) -> Any:
    """A network with one hidden layer, of the cube of the state: y (..., 2)."""

    def rate(t: Any, y: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        return np.tanh(y**3 @ w1 + b1) @ w2 + b2

    return rate


SPIRAL_IN_C = f"""
#define H {HIDDEN}
static void rhs(double t, const double *y, const double *p, double *dy) {{
  const double *a = p, *b = p + 2 * H, *c = p + 3 * H, *d = p + 5 * H;
  double x0 = y[0] * y[0] * y[0], x1 = y[1] * y[1] * y[1], s0 = d[0], s1 = d[1];
  double h[H];
  for (int i = 0; i < H; i++)
    h[i] = tanh(x0 * a[i] + x1 * a[H + i] + b[i]);
  for (int i = 0; i < H; i++)
    s0 += h[i] * c[2 * i], s1 += h[i] * c[2 * i + 1];
  dy[0] = s0, dy[1] = s1;
}}
static void vjp(double t, const double *y, const double *p, const double *w, double *by, double *bp) {{
  const double *a = p, *b = p + 2 * H, *c = p + 3 * H;
  double *da = bp, *db = bp + 2 * H, *dc = bp + 3 * H, *dd = bp + 5 * H;
  double x0 = y[0] * y[0] * y[0], x1 = y[1] * y[1] * y[1], s0 = 0, s1 = 0;
  double h[H];
  for (int i = 0; i < H; i++)
    h[i] = tanh(x0 * a[i] + x1 * a[H + i] + b[i]);
  for (int i = 0; i < H; i++) {{
    dc[2 * i] += h[i] * w[0], dc[2 * i + 1] += h[i] * w[1];
    double g = (c[2 * i] * w[0] + c[2 * i + 1] * w[1]) * (1 - h[i] * h[i]);
    da[i] += g * x0, da[H + i] += g * x1, db[i] += g;
    s0 += g * a[i], s1 += g * a[H + i];
  }}
  dd[0] += w[0], dd[1] += w[1];
  by[0] += 3 * y[0] * y[0] * s0, by[1] += 3 * y[1] * y[1] * s1;
}}
"""


def weights() -> tuple[np.ndarray, ...]:
    """A network that is near a spiral, y' = y^3 A: random features, and the output layer by least squares."""
    draw = np.random.default_rng(0)
    w1, b1 = draw.normal(size=(2, HIDDEN)), draw.normal(size=HIDDEN)
    y = draw.uniform(-2, 2, size=(2000, 2))
    features = np.tanh(y**3 @ w1 + b1)
    target = y**3 @ np.array([[-0.1, 2.0], [-2.0, -0.1]])
    w2 = np.linalg.solve(features.T @ features + 10.0 * np.eye(HIDDEN), features.T @ target)
    return w1, b1, w2, np.zeros(2)


def starts(count: int) -> np.ndarray:
    angles = 2 * np.pi * np.arange(count) / count
    radii = 1.0 + np.arange(count) / count
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


NETWORK = {"span": (0.0, 1.0), "args": weights(), "method": "tsit5", "in_c": SPIRAL_IN_C, "in_scipy": "RK45"}

PROBLEMS = (
    Problem("spiral net", spiral, starts(256)[200], **NETWORK),
    Problem("spiral net, 256 together", spiral, starts(256), is_lockstep=True, **NETWORK),
    Problem("spiral net, 256 apart", spiral, starts(256), is_batch=True, **NETWORK),
    Problem(
        "LV, 1000 parameters", lotka_volterra, np.ones(2), (0.0, 10.0),
        (np.array([1.5, 1.0, 3.0, 1.0]) * np.random.default_rng(1).uniform(0.8, 1.2, size=(1000, 4)),), "tsit5", is_batch=True,
    ),
)  # fmt: skip
