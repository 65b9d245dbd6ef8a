"""A chain of linear differential equations by the classical Runge-Kutta method; the gradient of its last component.

Source: GradBench, eval "ode", from B. M. Bell's cmpad, "an_ode".  There the last component underflows for the sizes that
are timed, and all gradients are zero; here the coefficients grow along the chain, and it does not.
"""

from __future__ import annotations

import numpy as np

import morula as mo

from ..program import Derivative


def rate(x, y):
    z = np.empty(len(x))
    z[0] = x[0]
    for i in range(1, len(x)):
        z[i] = x[i] * y[i - 1]
    return z


def last_component(x, steps):
    h = 2.0 / steps
    y = np.zeros(len(x))
    for _ in range(steps):
        k1 = rate(x, y)
        k2 = rate(x, y + h * k1 / 2.0)
        k3 = rate(x, y + h * k2 / 2.0)
        k4 = rate(x, y + h * k3)
        y += h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0
    return y[-1]


gradient = mo.grad(last_component)


def _inputs(size):
    n, steps = size
    return np.random.default_rng(31337).uniform(0.5, 1.5, size=n) * np.arange(1, n + 1) / 2.0, steps


PROGRAMS = (Derivative("ode", gradient, _inputs, (200, 100), (4, 3)),)
