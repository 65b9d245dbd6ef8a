"""An envelope follower in JAX; see ``programs/envelope.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def envelope(phase, n):
    """Both branches are cheap: computing both is faster than ``lax.cond``."""

    def step(i, level):
        signal = jnp.sin(phase + 0.01 * i)
        rate = jnp.where(level < signal, 0.1, 0.02 * jnp.exp(-level))
        return level + rate * (signal - level)

    return lax.fori_loop(0, n, step, 0.1 * phase)


def pushed(phase, n):
    return jax.jvp(lambda phase: envelope(phase, n), (phase,), (1.0,))


def second(phase, n):
    return jax.jvp(jax.grad(lambda phase: envelope(phase, n)), (phase,), (1.0,))[1]


def five(phase, n):
    """By forward mode nested five times: ``jax.experimental.jet`` has no rule for a loop."""
    found = [lambda phase: envelope(phase, n)]
    for _ in range(5):
        found.append(jax.jacfwd(found[-1]))
    return tuple(f(phase) for f in found)


DERIVATIVES = {"envelope, jvp": pushed, "envelope, hvp": second, "envelope, derivatives to 5": five}
