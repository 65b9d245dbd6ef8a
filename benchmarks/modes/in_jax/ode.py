"""A chain of linear differential equations in JAX; see ``objectives/ode.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def last_component(x, steps):
    h = 2.0 / steps

    def rate(y):
        return x * jnp.concatenate([jnp.ones(1), y[:-1]])

    def step(y, _):
        k1 = rate(y)
        k2 = rate(y + h * k1 / 2.0)
        k3 = rate(y + h * k2 / 2.0)
        k4 = rate(y + h * k3)
        return y + h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0, None

    return lax.scan(step, jnp.zeros_like(x), length=steps)[0][-1]


DERIVATIVES = {"ode": jax.grad(last_component)}
