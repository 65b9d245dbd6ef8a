"""A network of two layers in JAX; see ``programs/network.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.jet import jet


def outputs(x, U, V):
    return jnp.tanh(V @ jnp.tanh(U @ x))


def loss(b, U, V, inputs):
    hidden = jnp.tanh(inputs @ U.T + b)
    return jnp.mean(jnp.log1p(jnp.exp(-hidden @ V.T)))


def pushed(b, U, V, inputs):
    return jax.jvp(lambda b: loss(b, U, V, inputs), (b,), (jnp.ones_like(b),))


def product(b, U, V, inputs):
    return jax.jvp(lambda b: jax.grad(loss)(b, U, V, inputs), (b,), (jnp.ones_like(b),))[1]


def series(b, U, V, inputs):
    """The results of ``jet`` are derivatives."""
    zero = jnp.zeros_like(b)
    value, found = jet(lambda b: loss(b, U, V, inputs), (b,), ([jnp.ones_like(b), zero, zero, zero],))
    return value, *(d / f for d, f in zip(found, np.cumprod([1.0, 2.0, 3.0, 4.0])))


DERIVATIVES = {
    "network, jvp": pushed,
    "network, jacfwd": jax.jacfwd(outputs),
    "network, hvp": product,
    "network, hessian": jax.hessian(loss),
    "network, taylor to 4": series,
}
