"""The oscillator of van der Pol in autograd; see ``programs/oscillator.py``."""

from __future__ import annotations

import autograd.numpy as np

from . import grad, hessian, jacobian, make_jvp


def rate(u, p):
    x, v = u
    return np.array([v, p[0] * (1.0 - x * x) * v - p[1] * x])


def end(p, steps):
    dt = 6.0 / steps
    u = np.array([p[2], 0.0])
    for _ in range(steps):
        k1 = rate(u, p)
        k2 = rate(u + 0.5 * dt * k1, p)
        k3 = rate(u + 0.5 * dt * k2, p)
        k4 = rate(u + dt * k3, p)
        u = u + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return u


def energy(p, steps):
    u = end(p, steps)
    return 0.5 * np.sum(u * u)


def pushed(p, steps):
    return make_jvp(lambda p: end(p, steps))(p)(np.ones(3))


def product(p, steps):
    return make_jvp(lambda p: grad(energy)(p, steps))(p)(np.ones(3))[1]


def series(p, steps):
    """By forward mode nested four times."""
    found = [lambda t: energy(p + t, steps)]
    for _ in range(4):
        found.append(lambda t, f=found[-1]: make_jvp(f)(t)(1.0)[1])
    return tuple(f(0.0) / factorial for f, factorial in zip(found, (1, 1, 2, 6, 24)))


DERIVATIVES = {
    "oscillator, jvp": pushed,
    "oscillator, jacfwd": jacobian(end),  # by rows: it has no other
    "oscillator, hvp": product,
    "oscillator, hessian": hessian(energy),
    "oscillator, taylor to 4": series,
}
