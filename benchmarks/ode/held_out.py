"""Further problems, written before the implementation was tuned on those of ``problems``; it was not tuned on these."""

from __future__ import annotations

from typing import Any

import numpy as np

from .problems import van_der_pol
from .program import Problem


def fitzhugh(np: Any) -> Any:
    def rate(t: Any, y: Any, a: Any, b: Any, tau_inv: Any, current: Any) -> Any:
        return np.stack([y[0] - y[0] * y[0] * y[0] / 3 - y[1] + current, tau_inv * (y[0] + a - b * y[1])])

    return rate


def rigid_body(np: Any) -> Any:
    return lambda t, y, i1, i2, i3: np.stack([i1 * y[1] * y[2], i2 * y[0] * y[2], i3 * y[0] * y[1]])


def brusselator0(np: Any) -> Any:
    return lambda t, y, a, b: np.stack([a + y[0] * y[0] * y[1] - (b + 1) * y[0], b * y[0] - y[0] * y[0] * y[1]])


def arenstorf(np: Any) -> Any:
    def rate(t: Any, y: Any, mu: Any) -> Any:
        x, u, vx, vu = y[0], y[1], y[2], y[3]
        s1, s2 = (x + mu) * (x + mu) + u * u, (x - 1 + mu) * (x - 1 + mu) + u * u
        d1, d2 = s1 * np.sqrt(s1), s2 * np.sqrt(s2)
        ax = x + 2 * vu - (1 - mu) * (x + mu) / d1 - mu * (x - 1 + mu) / d2
        return np.stack([vx, vu, ax, u - 2 * vx - (1 - mu) * u / d1 - mu * u / d2])

    return rate


def oregonator(np: Any) -> Any:
    def rate(t: Any, y: Any, s: Any, q: Any, w: Any) -> Any:
        first = s * (y[1] + y[0] * (1 - q * y[0] - y[1]))
        return np.stack([first, (y[2] - (1 + y[0]) * y[1]) / s, w * (y[0] - y[2])])

    return rate


def hires(np: Any) -> Any:
    def rate(t: Any, y: Any, k: Any) -> Any:
        bound = k[0] * y[5] * y[7]
        return np.stack([
            -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
            1.71 * y[0] - 8.75 * y[1],
            -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
            8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
            -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
            -bound + k[1] * y[3] + 1.71 * y[4] - 0.43 * y[5] + k[1] * y[6],
            bound - k[2] * y[6],
            -bound + k[2] * y[6],
        ])  # fmt: skip

    return rate


def akzo_nobel(np: Any) -> Any:
    def rate(t: Any, y: Any, k: Any) -> Any:
        sixth = 115.83 * y[0] * y[3]
        square = y[0] * y[0]
        r1, r2, r3 = k[0] * square * square * np.sqrt(y[1]), k[1] * y[2] * y[3], k[1] / 34.4 * y[0] * y[4]
        r4, r5 = k[2] * y[0] * y[3] * y[3], k[3] * sixth * sixth * np.sqrt(y[1])
        return np.stack([
            -2 * r1 + r2 - r3 - r4,
            -0.5 * r1 - r4 - 0.5 * r5 + 3.3 * (0.9 / 737 - y[1]),
            r1 - r2 + r3,
            -r2 + r3 - 2 * r4,
            r2 - r3 + r5,
        ])  # fmt: skip

    return rate


ORBIT = np.array([0.994, 0.0, 0.0, -2.0015851063790824])
SEEDS = np.array([1.0, 0, 0, 0, 0, 0, 0, 0.0057])

PROBLEMS = (
    Problem("FitzHugh-Nagumo", fitzhugh, np.ones(2), (0.0, 100.0), (0.7, 0.8, 0.08, 0.5), "tsit5"),
    Problem("rigid body", rigid_body, np.array([1.0, 0.0, 0.9]), (0.0, 20.0), (-2.0, 1.25, -0.5), "tsit5"),
    Problem("Brusselator, two species", brusselator0, np.array([1.5, 3.0]), (0.0, 20.0), (1.0, 3.0), "tsit5"),
    Problem("VdP 1", van_der_pol, np.array([2.0, 0.0]), (0.0, 20.0), (1.0,), "tsit5"),
    Problem("Arenstorf", arenstorf, ORBIT, (0.0, 17.065216560157964), (0.012277471,), "tsit5", 1e-9, 1e-9),
    Problem(
        "Oregonator", oregonator, np.array([1.0, 2.0, 3.0]), (0.0, 360.0), (77.27, 8.375e-6, 0.161), "rodas5p",
        in_diffrax="Kvaerno5",
    ),
    Problem(
        "HIRES", hires, SEEDS, (0.0, 321.8122), (np.array([280.0, 0.69, 1.81]),), "rodas5p", atol=1e-9, in_diffrax="Kvaerno5",
    ),
    Problem(
        "Akzo Nobel", akzo_nobel, np.array([0.444, 0.00123, 0.0, 0.007, 0.0]), (0.0, 180.0),
        (np.array([18.7, 0.58, 0.09, 0.42]),), "rodas5p", atol=1e-9, in_diffrax="Kvaerno5",
    ),
)  # fmt: skip
