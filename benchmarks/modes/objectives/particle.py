"""A charged particle that passes between two charges, one of which is placed so that it hits the origin.

Source: GradBench, eval "particle"; see ``descent.py``.  The force is the gradient of a potential, the trajectory ends
where it crosses an axis, and descent needs its derivative.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..program import Derivative
from .descent import MODES, argmin, length


def crossing(gradient, w, dt):
    """Where the particle crosses the horizontal axis, by Euler's method with steps ``dt``."""

    def potential(x):
        return 1.0 / length(x - np.array([10.0, 10.0 - w])) + 1.0 / length(x - np.array([10.0, 0.0]))

    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    while True:
        acceleration = -gradient(potential)(x)
        new = x + dt * v
        if new[1] <= 0.0:
            break
        x, v = new, v + dt * acceleration
    return (x - x[1] / v[1] * v)[0]


def particle(modes, start, rate, dt):
    """The place of the charge; ``modes`` has a letter for the descent, and one for the force."""
    outer, inner = MODES[modes[0]], MODES[modes[1]]
    return argmin(outer, lambda w: crossing(inner, w[0], dt) ** 2, start, rate)


def _inputs(size):
    rate, dt = size
    return np.zeros(1), rate, dt


PROGRAMS = tuple(
    Derivative(f"particle, {modes}", partial(particle, modes), _inputs, (1e-5, 0.1), (1e-3, 2.0), 1e-7)
    for modes in ("ff", "fr", "rf", "rr")
)
