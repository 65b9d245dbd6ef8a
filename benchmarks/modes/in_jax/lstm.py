"""The loss of a recurrent network in JAX; see ``objectives/lstm.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def layer(weight, bias, hidden, cell, x):
    forget = jax.nn.sigmoid(x * weight[0] + bias[0])
    ingate = jax.nn.sigmoid(hidden * weight[1] + bias[1])
    outgate = jax.nn.sigmoid(x * weight[2] + bias[2])
    change = jnp.tanh(hidden * weight[3] + bias[3])
    cell = cell * forget + ingate * change
    return outgate * jnp.tanh(cell), cell


def loss(main, extra, state, sequence):
    gates = main.reshape(len(main), 4, -1)

    def step(state, given_and_wanted):
        x, wanted = given_and_wanted
        x = x * extra[0]
        states = []
        for i in range(0, len(state), 2):
            x, cell = layer(gates[i], gates[i + 1], state[i], state[i + 1], x)
            states += [x, cell]
        y = x * extra[1] + extra[2]
        normalised = y - jnp.log(jnp.sum(jnp.exp(y)) + 2.0)
        return tuple(states), jnp.sum(wanted * normalised)

    _, losses = lax.scan(step, tuple(state), (sequence[:-1], sequence[1:]))
    return -jnp.sum(losses) / sequence[1:].size


DERIVATIVES = {"lstm": jax.grad(loss, (0, 1))}
