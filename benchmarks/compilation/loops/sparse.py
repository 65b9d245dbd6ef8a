"""A sparse matrix in CSR format times a vector."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from numba import njit

from ..program import Program


def sparse_product(starts, columns, entries, x, w):
    y = np.empty(len(starts) - 1)
    for i in range(len(starts) - 1):
        inside = columns[starts[i] : starts[i + 1]]
        y[i] = entries[starts[i] : starts[i + 1]] @ x[inside]
    return np.sum(y * w)


def _inputs(n):
    rng = np.random.default_rng(3)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 20, n))])
    columns = rng.integers(0, n, starts[-1])
    return starts, columns, rng.normal(size=starts[-1]), rng.normal(size=n), rng.normal(size=n)


@njit(fastmath=True, error_model="numpy")
def _by_hand(starts, columns, entries, x, w):
    """The loss is linear in each entry: one pass does."""
    loss, dentries, dx = 0.0, np.empty_like(entries), np.zeros_like(x)
    for i in range(len(starts) - 1):
        y = 0.0
        for k in range(starts[i], starts[i + 1]):
            j = columns[k]
            y += entries[k] * x[j]
            dentries[k] = w[i] * x[j]
            dx[j] += w[i] * entries[k]
        loss += y * w[i]
    return loss, (dentries, dx)


def _in_jax(starts, columns, entries, x, w):
    rows = jnp.repeat(jnp.arange(len(w)), jnp.diff(starts), total_repeat_length=len(columns))
    y = jax.ops.segment_sum(entries * x[columns], rows, len(w), indices_are_sorted=True)
    return jnp.sum(y * w)


PROGRAMS = (Program("sparse_product", sparse_product, _inputs, 50_000, 15, (2, 3), _by_hand, _in_jax),)
