"""A long loop over a vector: saving all its states takes n * m numbers, saving checkpoints far fewer."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numba import njit

import morula as mo

from ..program import Program


def stretch(steps, x, w):
    for _ in range(steps):
        x = x + 0.01 * np.sin(w * x)
    return x


def store(n, x, w):
    return np.sum(stretch(n, x, w))


def checkpoint(n, x, w):
    steps = math.isqrt(n)
    for _ in range(n // steps):
        x = mo.checkpoint(stretch, steps, x, w)
    return np.sum(x)


def _inputs(size):
    n, m = size
    rng = np.random.default_rng(20)
    return n, rng.normal(size=m), rng.normal(size=m)


@njit(fastmath=True)
def _by_hand(n, x, w):
    m = len(x)
    kept = np.empty((n, m))
    x = x.copy()
    for s in range(n):
        for i in range(m):
            kept[s, i] = x[i]
            x[i] += 0.01 * math.sin(w[i] * x[i])
    dx, dw = np.ones(m), np.zeros(m)
    for s in range(n - 1, -1, -1):
        for i in range(m):
            d = 0.01 * math.cos(w[i] * kept[s, i]) * dx[i]
            dx[i] += d * w[i]
            dw[i] += d * kept[s, i]
    return np.sum(x), (dx, dw)


def _stretch_in_jax(n, x, w):
    return lax.scan(lambda x, _: (x + 0.01 * jnp.sin(w * x), None), x, length=n)[0]


def _store_in_jax(n, x, w):
    return jnp.sum(_stretch_in_jax(n, x, w))


def _checkpoint_in_jax(n, x, w):
    steps = math.isqrt(n)
    body = jax.checkpoint(lambda x, _: (_stretch_in_jax(steps, x, w), None))
    return jnp.sum(lax.scan(body, x, length=n // steps)[0])


SIZE, SMALL = (10_000, 100), (9, 4)
PROGRAMS = (
    Program("store", store, _inputs, SIZE, SMALL, (1, 2), _by_hand, _store_in_jax),
    Program("checkpoint", checkpoint, _inputs, SIZE, SMALL, (1, 2), _by_hand, _checkpoint_in_jax),
)
