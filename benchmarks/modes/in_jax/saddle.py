"""A saddle point by gradient descent in JAX; see ``objectives/saddle.py``."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp

from .descent import MODES, argmax, argmin

BOUND = 200
"""For the steps of an inner descent, which takes 170."""


def payoff(x, y):
    return x @ x - y @ y


def saddle(modes, start, rate):
    outer, inner = (MODES[mode] for mode in modes)
    bound = BOUND if modes[0] == "r" else None

    def worst(x):
        return payoff(x, argmax(inner, lambda y: payoff(x, y), start, rate, bound))

    x = argmin(outer, worst, start, rate)
    return jnp.concatenate([x, argmax(outer, lambda y: payoff(x, y), start, rate)])


DERIVATIVES = {f"saddle, {modes}": partial(saddle, modes) for modes in ("ff", "fr", "rf", "rr")}
