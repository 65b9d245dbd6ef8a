"""Initial-value problems that the solver tests share: right-hand sides, closed forms and published end values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

REFERENCE = Path(__file__).parents[1] / "reference"
PUBLISHED = json.loads((REFERENCE / "ivp_nonstiff.json").read_text())["problems"]
STIFF = json.loads((REFERENCE / "ivp_stiff.json").read_text())["problems"]


def lotka(t, y, a, b, c, d):
    return np.stack([a * y[0] - b * y[0] * y[1], d * y[0] * y[1] - c * y[1]])


def lorenz(t, y, sigma, rho, beta):
    return np.stack([sigma * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - beta * y[2]])


def brusselator(t, y, a, b):
    return np.stack([a + y[0] ** 2 * y[1] - (b + 1) * y[0], b * y[0] - y[0] ** 2 * y[1]])


def rigid_body(t, y, i1, i2, i3):
    return np.stack([i1 * y[1] * y[2], i2 * y[0] * y[2], i3 * y[0] * y[1]])


def fitzhugh(t, y, a, b, tau_inv, current):
    return np.stack([y[0] - y[0] ** 3 / 3 - y[1] + current, tau_inv * (y[0] + a - b * y[1])])


def van_der_pol(t, y, mu):
    return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


def arenstorf(t, y, mu):
    x, u, vx, vu = y
    d1 = ((x + mu) ** 2 + u**2) ** 1.5
    d2 = ((x - 1 + mu) ** 2 + u**2) ** 1.5
    return np.stack([
        vx,
        vu,
        x + 2 * vu - (1 - mu) * (x + mu) / d1 - mu * (x - 1 + mu) / d2,
        u - 2 * vx - (1 - mu) * u / d1 - mu * u / d2,
    ])  # fmt: skip


def pleiades(t, y, masses):
    x, u = y[:7], y[7:14]
    dx, du = x - x[:, None], u - u[:, None]
    cubed = (dx**2 + du**2 + np.eye(7)) ** 1.5
    return np.concatenate([y[14:], (masses * dx / cubed).sum(axis=1), (masses * du / cubed).sum(axis=1)])


def kepler(t, y):
    r3 = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return np.stack([y[2], y[3], -y[0] / r3, -y[1] / r3])


def kepler_start(e):
    return np.array([1 - e, 0.0, 0.0, np.sqrt((1 + e) / (1 - e))])


def kepler_exact(t, e):
    """Position and velocity at the times t (m,), shape (m, 4): Kepler's equation by Newton's method."""
    t = np.asarray(t)
    anomaly = t + e * np.sin(t)
    for _ in range(50):
        anomaly = anomaly - (anomaly - e * np.sin(anomaly) - t) / (1 - e * np.cos(anomaly))
    s, c, b = np.sin(anomaly), np.cos(anomaly), np.sqrt(1 - e * e)
    rate = 1 / (1 - e * c)
    return np.stack([c - e, b * s, -s * rate, b * c * rate], axis=-1)


def driven(t, y):
    """Not autonomous, coupled, with the solution `driven_exact`: rows of a tableau with wrong c fail on it."""
    return np.stack([2 * t * y[0] * np.log(max(abs(y[1]), 1e-3)), -2 * t * y[1] * np.log(max(abs(y[0]), 1e-3))])


def driven_exact(t):
    t = np.asarray(t)
    return np.stack([np.exp(np.sin(t * t)), np.exp(np.cos(t * t))], axis=-1)


def van_der_pol_eps(t, y, eps):
    return np.stack([y[1], ((1 - y[0] ** 2) * y[1] - y[0]) / eps])


def robertson(t, y, k1, k2, k3):
    slow, fast = k1 * y[0] - k3 * y[1] * y[2], k2 * y[1] ** 2
    return np.stack([-slow, slow - fast, fast])


def oregonator(t, y, s, q, w):
    return np.stack([
        s * (y[1] + y[0] * (1 - q * y[0] - y[1])), (y[2] - (1 + y[0]) * y[1]) / s, w * (y[0] - y[2])
    ])  # fmt: skip


def hires(t, y):
    bound = 280 * y[5] * y[7]
    return np.stack([
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -bound + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        bound - 1.81 * y[6],
        -bound + 1.81 * y[6],
    ])  # fmt: skip


def diffusing_brusselator(t, y, a, b, alpha):
    """u1, v1, u2, v2, ... at the inner points of (0, 1), with fixed values at the ends."""
    values = y.reshape(-1, 2)
    edge = np.stack([a, b / a])[None]
    padded = np.concatenate([edge, values, edge])
    spread = alpha * (len(values) + 1) ** 2 * (padded[:-2] - 2 * values + padded[2:])
    u, v = values[:, 0], values[:, 1]
    reaction = np.stack([a + u * u * v - (b + 1) * u, b * u - u * u * v], axis=1)
    return (spread + reaction).reshape(-1)


RIGHT_HAND_SIDES = {
    "lotka": (lotka, ["a", "b", "c", "d"]),
    "lorenz": (lorenz, ["sigma", "rho", "beta"]),
    "brusselator0": (brusselator, ["A", "B"]),
    "rigidbody": (rigid_body, ["I1", "I2", "I3"]),
    "fitzhugh": (fitzhugh, ["a", "b", "tau_inv", "I"]),
    "vdpol@mu1": (van_der_pol, ["mu"]),
    "arenstorf": (arenstorf, ["mu"]),
    "pleiades": (pleiades, ["m"]),
    "vdpol": (van_der_pol, ["mu"]),
    "vdpol_eps": (van_der_pol_eps, ["eps"]),
    "rober": (robertson, ["k1", "k2", "k3"]),
    "orego": (oregonator, ["s", "q", "w"]),
    "hires": (hires, []),
    "bruss1d": (diffusing_brusselator, ["A", "B", "alpha"]),
}


def published(name):
    """f, y0, (t0, t1), args and the end value of a published problem."""
    problem = PUBLISHED[name] if name in PUBLISHED else STIFF[name]
    f, parameters = RIGHT_HAND_SIDES[name]
    args = [problem["params"][p] for p in parameters]
    args = [np.array(a, dtype=float) if isinstance(a, list) else a for a in args]
    return f, np.array(problem["y0"]), problem["tspan"], args, np.array(problem["y_end"])
