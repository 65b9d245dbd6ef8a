"""The oscillator of van der Pol by the classical Runge-Kutta method; derivatives of its end in three parameters."""

from __future__ import annotations

import numpy as np

import morula as mo

from ..program import Derivative


def rate(u, p):
    x, v = u
    return np.array([v, p[0] * (1.0 - x * x) * v - p[1] * x])


def end(p, steps):
    """The state after a time of 6; p: damping, stiffness, the first position."""
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
    return mo.jvp(lambda p: end(p, steps), (p,), (np.ones(3),))


def columns(p, steps):
    return mo.jacfwd(end)(p, steps)


def linear(p, steps):
    """The value and three directions, by one run of the program."""
    value, push = mo.linearize(lambda p: end(p, steps), p)
    directions = np.eye(3)
    return value, push(directions[0]), push(directions[1]), push(directions[2])


def product(p, steps):
    return mo.hvp(lambda p: energy(p, steps), p, np.ones(3))


def curvature(p, steps):
    return mo.hessian(energy)(p, steps)


def series(p, steps):
    return tuple(mo.taylor(lambda p: energy(p, steps), p, 4, [np.ones(3)]))


def _inputs(steps):
    return np.array([1.2, 0.9, 1.5]), steps


PROGRAMS = (
    Derivative("oscillator, jvp", pushed, _inputs, 200, 30),
    Derivative("oscillator, jacfwd", columns, _inputs, 200, 30),
    Derivative("oscillator, linearize", linear, _inputs, 200, 30),
    Derivative("oscillator, hvp", product, _inputs, 200, 30),
    Derivative("oscillator, hessian", curvature, _inputs, 200, 30),
    Derivative("oscillator, taylor to 4", series, _inputs, 200, 30),
)
