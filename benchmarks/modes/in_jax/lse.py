"""The logarithm of a sum of exponentials in JAX; see ``objectives/lse.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def log_sum_exp(x):
    top = jnp.max(x)
    return jnp.log(jnp.sum(jnp.exp(x - top))) + top


DERIVATIVES = {"lse": jax.grad(log_sum_exp)}
