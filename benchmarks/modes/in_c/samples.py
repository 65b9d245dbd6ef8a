"""Batches of small programs as loops over samples in C; see ``batches/samples.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compilation.c_code import c_function

CODE = r"""
#include <math.h>
#define STEPS 100

void pendulums(long n, const double *points, double *slopes) {
    for (long s = 0; s < n; s++) {
        const double *p = points + 3 * s;
        double angles[STEPS], angle = p[0], velocity = p[1];
        for (int i = 0; i < STEPS; i++) {
            angles[i] = angle;
            velocity -= 0.01 * (p[2] * sin(angle) + 0.1 * velocity);
            angle += 0.01 * velocity;
        }
        double d_angle = 2.0 * angle, d_velocity = 0.0, d_frequency = 0.0;
        for (int i = STEPS - 1; i >= 0; i--) {
            d_velocity += 0.01 * d_angle;
            d_frequency -= 0.01 * d_velocity * sin(angles[i]);
            d_angle -= 0.01 * d_velocity * p[2] * cos(angles[i]);
            d_velocity *= 0.999;
        }
        slopes[3 * s] = d_angle; slopes[3 * s + 1] = d_velocity; slopes[3 * s + 2] = d_frequency;
    }
}

void roots(long n, const double *numbers, double *found) {
    for (long s = 0; s < n; s++) {
        double x = numbers[s], y = x;
        while (fabs(y * y * y - x) > 1e-12 * x) y -= (y * y * y - x) / (3.0 * y * y);
        found[s] = y;
    }
}

void collatz(long n, const long *numbers, long *found) {
    for (long s = 0; s < n; s++) {
        long x = numbers[s], steps = 0;
        while (x != 1) { x = x % 2 == 0 ? x / 2 : 3 * x + 1; steps++; }
        found[s] = steps;
    }
}
"""


def _of_samples(name: str) -> Any:
    compiled = c_function(CODE, name)

    def call(samples: np.ndarray) -> np.ndarray:
        found = np.empty_like(samples)
        compiled(len(samples), samples, found)
        return found

    return call


DERIVATIVES = {
    "samples, gradients of a pendulum": _of_samples("pendulums"),
    "samples, cube roots": _of_samples("roots"),
    "samples, collatz": _of_samples("collatz"),
}
