"""Batches of small programs in JAX; see ``batches/samples.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

STEPS = 100


def pendulum(p):
    def step(_, state):
        angle, velocity = state
        velocity = velocity - 0.01 * (p[2] * jnp.sin(angle) + 0.1 * velocity)
        return angle + 0.01 * velocity, velocity

    angle, _ = lax.fori_loop(0, STEPS, step, (p[0], p[1]))
    return angle * angle


def cube_root(x):
    return lax.while_loop(
        lambda y: jnp.abs(y * y * y - x) > 1e-12 * x, lambda y: y - (y * y * y - x) / (3.0 * y * y), x
    )


def collatz(n):
    def step(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]


def loss(weights, x):
    return jnp.sum(jnp.tanh(jnp.tanh(x @ weights[0]) @ weights[1]) ** 2)


def mahalanobis(matrix, x):
    return x @ jnp.linalg.solve(matrix @ matrix.T + len(x) * jnp.eye(len(x)), x)


def per_sample(u, v, inputs):
    return jax.vmap(jax.grad(loss), in_axes=(None, 0))((u, v), inputs)


def of_the_batch(u, v, inputs):
    return jax.grad(lambda weights: jnp.mean(jax.vmap(loss, in_axes=(None, 0))(weights, inputs)))((u, v))


DERIVATIVES = {
    "samples, gradients of a pendulum": jax.vmap(jax.grad(pendulum)),
    "samples, cube roots": jax.vmap(cube_root),
    "samples, collatz": jax.vmap(collatz),
    "samples, gradients of a network": per_sample,
    "samples, gradient of their mean": of_the_batch,
    "samples, gradients of solutions": jax.vmap(jax.grad(mahalanobis, 1)),
}
