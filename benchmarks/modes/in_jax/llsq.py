"""Least squares with a polynomial in JAX; see ``objectives/llsq.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def half_sum_of_squares(x, n):
    t = jnp.linspace(-1.0, 1.0, n)
    residuals = jnp.sign(t) - jnp.vander(t, len(x), increasing=True) @ x
    return jnp.sum(residuals**2) / 2.0


DERIVATIVES = {"llsq": jax.grad(half_sum_of_squares)}
