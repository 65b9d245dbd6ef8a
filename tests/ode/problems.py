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


def e5(t, y, a, b, m, c):
    first, second, third = a * y[0], b * y[0] * y[2], m * c * y[1] * y[2]
    gain, loss = first - third, second - c * y[3]
    return np.stack([-first - second, gain, gain - loss, loss])


# The species of each reaction of the pollution problem; -1 stands for none.
FIRST = np.array([0, 1, 4, 6, 6, 6, 8, 8, 10, 10, 12, 9, 13, 0, 2, 3, 3, 15, 15, 16, 18, 18, 0, 18, 19])
SECOND = np.array([-1, 3, 1, -1, -1, 5, -1, 5, 1, 0, -1, 1, -1, 5, -1, -1, -1, -1, -1, 5, -1, -1, 3, 0, -1])
GAINS = [
    [1, 2, 8, 10, 11, 21, 24], [0, 20], [0, 16, 18, 21], [14], [3, 3, 5, 6, 12, 19], [2, 17, 17], [12], [3, 4, 5, 6], [],
    [6, 8], [7, 10], [8], [9], [11], [13], [15], [], [19], [22, 24], [23],
]  # fmt: skip
STOICHIOMETRY = np.zeros((20, 25))
for species, reactions in enumerate(GAINS):
    np.add.at(STOICHIOMETRY[species], reactions, 1.0)
for reaction, pair in enumerate(zip(FIRST, SECOND)):
    STOICHIOMETRY[[s for s in pair if s >= 0], reaction] -= 1.0


def pollution(t, y, *k):
    return STOICHIOMETRY @ (np.stack(k) * y[FIRST] * np.where(SECOND < 0, 1.0, y[SECOND]))


def ring_modulator(t, y, C, Cs, Cp, R, Rp, Lh, Ls1, Ls2, Ls3, Rg1, Rg2, Rg3, Ri, Rc, gamma, delta):
    low, high = 0.5 * np.sin(2000 * np.pi * t), 2 * np.sin(20000 * np.pi * t)
    drops = np.stack([
        y[2] - y[4] - y[6] - high, -y[3] + y[5] - y[6] - high, y[3] + y[4] + y[6] + high, -y[2] - y[5] + y[6] + high
    ])  # fmt: skip
    q = gamma * (np.exp(delta * drops) - 1)
    return np.stack([
        (y[7] - 0.5 * y[9] + 0.5 * y[10] + y[13] - y[0] / R) / C,
        (y[8] - 0.5 * y[11] + 0.5 * y[12] + y[14] - y[1] / R) / C,
        (y[9] - q[0] + q[3]) / Cs,
        (-y[10] + q[1] - q[2]) / Cs,
        (y[11] + q[0] - q[2]) / Cs,
        (-y[12] - q[1] + q[3]) / Cs,
        (-y[6] / Rp + q[0] + q[1] - q[2] - q[3]) / Cp,
        -y[0] / Lh,
        -y[1] / Lh,
        (0.5 * y[0] - y[2] - Rg2 * y[9]) / Ls2,
        (-0.5 * y[0] + y[3] - Rg3 * y[10]) / Ls3,
        (0.5 * y[1] - y[4] - Rg2 * y[11]) / Ls2,
        (-0.5 * y[1] + y[5] - Rg3 * y[12]) / Ls3,
        (-y[0] + low - (Ri + Rg1) * y[13]) / Ls1,
        (-y[1] - (Rc + Rg1) * y[14]) / Ls1,
    ])  # fmt: skip


def akzo_nobel(t, y, k1, k2, k3, k4, K, klA, pCO2, H, Ks):
    sixth = Ks * y[0] * y[3]
    r1, r2, r3 = k1 * y[0] ** 4 * np.sqrt(y[1]), k2 * y[2] * y[3], k2 / K * y[0] * y[4]
    r4, r5 = k3 * y[0] * y[3] ** 2, k4 * sixth**2 * np.sqrt(y[1])
    return np.stack([
        -2 * r1 + r2 - r3 - r4,
        -0.5 * r1 - r4 - 0.5 * r5 + klA * (pCO2 / H - y[1]),
        r1 - r2 + r3,
        -r2 + r3 - 2 * r4,
        r2 - r3 + r5,
    ])  # fmt: skip


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
    "e5": (e5, ["A", "B", "M", "C"]),
    "pollution": (pollution, [f"k{i}" for i in range(1, 26)]),
    "ringmod": (
        ring_modulator,
        ["C", "Cs", "Cp", "R", "Rp", "Lh", "Ls1", "Ls2", "Ls3", "Rg1", "Rg2", "Rg3", "Ri", "Rc", "gamma", "delta"],
    ),
    "chemakzo_ode": (akzo_nobel, ["k1", "k2", "k3", "k4", "K", "klA", "pCO2", "H", "Ks"]),
    "bruss1d": (diffusing_brusselator, ["A", "B", "alpha"]),
}


def published(name):
    """f, y0, (t0, t1), args and the end value of a published problem."""
    problem = PUBLISHED[name] if name in PUBLISHED else STIFF[name]
    f, parameters = RIGHT_HAND_SIDES[name]
    args = [problem["params"][p] for p in parameters]
    args = [np.array(a, dtype=float) if isinstance(a, list) else a for a in args]
    return f, np.array(problem["y0"]), problem["tspan"], args, np.array(problem["y_end"])
