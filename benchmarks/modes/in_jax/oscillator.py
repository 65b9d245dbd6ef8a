"""The oscillator of van der Pol in JAX; see ``programs/oscillator.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def rate(u, p):
    x, v = u
    return jnp.stack([v, p[0] * (1.0 - x * x) * v - p[1] * x])


def end(p, steps):
    dt = 6.0 / steps

    def step(u, _):
        k1 = rate(u, p)
        k2 = rate(u + 0.5 * dt * k1, p)
        k3 = rate(u + 0.5 * dt * k2, p)
        k4 = rate(u + dt * k3, p)
        return u + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return lax.scan(step, jnp.stack([p[2], 0.0]), length=steps)[0]


def energy(p, steps):
    u = end(p, steps)
    return 0.5 * jnp.sum(u * u)


def pushed(p, steps):
    return jax.jvp(lambda p: end(p, steps), (p,), (jnp.ones(3),))


def linear(p, steps):
    value, push = jax.linearize(lambda p: end(p, steps), p)
    return value, *jax.vmap(push)(jnp.eye(3))


def product(p, steps):
    return jax.jvp(lambda p: jax.grad(energy)(p, steps), (p,), (jnp.ones(3),))[1]


def series(p, steps):
    """By forward mode nested four times: ``jax.experimental.jet`` has no rule for a loop."""
    found = [lambda t: energy(p + t, steps)]
    for _ in range(4):
        found.append(jax.jacfwd(found[-1]))
    return tuple(f(0.0) / factorial for f, factorial in zip(found, (1, 1, 2, 6, 24)))


DERIVATIVES = {
    "oscillator, jvp": pushed,
    "oscillator, jacfwd": jax.jacfwd(end),
    "oscillator, linearize": linear,
    "oscillator, hvp": product,
    "oscillator, hessian": jax.hessian(energy),
    "oscillator, taylor to 4": series,
}
