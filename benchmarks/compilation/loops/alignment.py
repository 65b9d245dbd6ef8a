"""Soft dynamic programming: the cost of the best alignment of two series, smoothed.

Source: M. Cuturi, M. Blondel, Soft-DTW: a differentiable loss function for time-series, ICML 2017.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numba import njit

from ..program import Program


def soft_minimum(a, b, c, gamma):
    a, b, c = -a / gamma, -b / gamma, -c / gamma
    top = max(a, b, c)
    return -gamma * (np.log(np.exp(a - top) + np.exp(b - top) + np.exp(c - top)) + top)


def soft_dtw(gamma, x, y):
    n, m = len(x), len(y)
    R = np.full((n + 1, m + 1), np.inf)
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (x[i - 1] - y[j - 1]) ** 2
            R[i, j] = cost + soft_minimum(R[i - 1, j - 1], R[i - 1, j], R[i, j - 1], gamma)
    return R[n, m]


def _inputs(n):
    rng = np.random.default_rng(13)
    return 0.5, np.cumsum(rng.normal(size=n)) / 4, np.cumsum(rng.normal(size=n)) / 4


@njit
def _by_hand(gamma, x, y):
    """The weights of the smoothed minimum are kept: the way back is a weighted sum; no fast maths, since there is inf."""
    n, m = len(x), len(y)
    above, row = np.full(m + 1, np.inf), np.empty(m + 1)
    above[0] = 0.0
    weights = np.empty((n, m, 3))
    scale = 1.0 / gamma
    for i in range(n):
        left = row[0] = np.inf
        for j in range(m):
            a, b = above[j], above[j + 1]
            least = min(a, b, left)
            ea, eb = math.exp((least - a) * scale), math.exp((least - b) * scale)
            ec = math.exp((least - left) * scale)
            total = ea + eb + ec
            inverse = 1.0 / total
            kept = weights[i, j]
            kept[0], kept[1], kept[2] = ea * inverse, eb * inverse, ec * inverse
            difference = x[i] - y[j]
            left = difference * difference + least - gamma * math.log(total)
            row[j + 1] = left
        above, row = row, above
    loss = above[m]
    dx, dy = np.zeros(n), np.zeros(m)
    below, here = np.zeros(m + 1), np.zeros(m + 1)
    below[m] = 1.0
    for i in range(n - 1, -1, -1):
        # ``below[j + 1]``: what has come to (i, j) from the row below; ``here`` gathers for the row above.
        here[:] = 0.0
        right = 0.0
        for j in range(m - 1, -1, -1):
            d = below[j + 1] + right
            kept = weights[i, j]
            here[j] += d * kept[0]
            here[j + 1] += d * kept[1]
            right = d * kept[2]
            along = 2.0 * d * (x[i] - y[j])
            dx[i] += along
            dy[j] -= along
        below, here = here, below
    return loss, (dx, dy)


def _in_jax(gamma, x, y):
    """A diagonal at a time: entry i of diagonal k is the cell (i, k - i)."""
    n, m = len(x), len(y)
    i = jnp.arange(n + 1)
    padded = jnp.concatenate([jnp.zeros(n + 1), y[::-1], jnp.zeros(n + 1)])
    x = jnp.concatenate([jnp.zeros(1), x])
    large = 1e10

    def diagonal(carry, k):
        before, last = carry
        j = k - i
        at_j = lax.dynamic_slice(padded, (n + 1 + m - k,), (n + 1,))
        shift = jnp.full(1, large)
        a, b, c = jnp.concatenate([shift, before[:-1]]), jnp.concatenate([shift, last[:-1]]), last
        smoothed = -gamma * jax.nn.logsumexp(jnp.stack([-a, -b, -c]) / gamma, axis=0)
        inside = (i >= 1) & (j >= 1) & (j <= m)
        new = jnp.where(inside, (x - at_j) ** 2 + smoothed, large)
        return (last, new), None

    first = jnp.full(n + 1, large).at[0].set(0.0)
    (_, last), _ = lax.scan(diagonal, (first, jnp.full(n + 1, large)), jnp.arange(2, n + m + 1))
    return last[n]


def _literally(gamma, x, y):
    n, m = len(x), len(y)

    def cell(k, R):
        i, j = k // m + 1, k % m + 1
        smoothed = -gamma * jax.nn.logsumexp(jnp.stack([-R[i - 1, j - 1], -R[i - 1, j], -R[i, j - 1]]) / gamma)
        return R.at[i, j].set((x[i - 1] - y[j - 1]) ** 2 + smoothed)

    R = jnp.full((n + 1, m + 1), 1e10).at[0, 0].set(0.0)
    return lax.fori_loop(0, n * m, cell, R)[n, m]


PROGRAMS = (
    Program("soft_dtw", soft_dtw, _inputs, 300, 6, (1, 2), _by_hand, _in_jax, _literally, iterations=lambda n: n * n),
)
