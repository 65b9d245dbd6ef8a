"""A charged particle that is to hit the origin in JAX; see ``objectives/particle.py``."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp

from .descent import MODES, argmin, length, repeat

BOUND = 400
"""For the steps of a trajectory, which takes up to 355."""


def crossing(gradient, w, dt, bound):
    def potential(x):
        return 1.0 / length(x - jnp.stack([10.0, 10.0 - w])) + 1.0 / length(x - jnp.array([10.0, 0.0]))

    def step(state):
        x, v, _ = state
        new = x + dt * v
        above = new[1] > 0.0
        faster = v - dt * gradient(potential)(x)
        return jnp.where(above, new, x), jnp.where(above, faster, v), above

    x, v, _ = repeat(step, (jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0]), True), bound)
    return (x - x[1] / v[1] * v)[0]


def particle(modes, start, rate, dt):
    outer, inner = (MODES[mode] for mode in modes)
    bound = BOUND if modes[0] == "r" else None
    return argmin(outer, lambda w: crossing(inner, w[0], dt, bound) ** 2, start, rate)


DERIVATIVES = {f"particle, {modes}": partial(particle, modes) for modes in ("ff", "fr", "rf", "rr")}
