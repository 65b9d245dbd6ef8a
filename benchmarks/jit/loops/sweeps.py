"""Implicit sweeps over a grid: Gauss-Seidel, alternating directions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from numba import njit

from ..program import Program

# Gauss-Seidel, nine points


def gauss_seidel(steps, a, w):
    a = a.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return np.sum(a * w)


def _seidel_inputs(size):
    n, steps = size
    rng = np.random.default_rng(2)
    return steps, rng.normal(size=(n, n)), rng.normal(size=(n, n))


@njit(fastmath=True, error_model="numpy")
def _seidel_by_hand(steps, a, w):
    """The sweep is linear: its transpose needs nothing of the way there."""
    n = a.shape[0]
    ninth = 1.0 / 9.0
    a, row = a.copy(), np.empty(n)
    for _ in range(steps):
        for i in range(1, n - 1):
            up, at, down = a[i - 1], a[i], a[i + 1]
            for j in range(1, n - 1):
                row[j] = ninth * (
                    up[j - 1] + up[j] + up[j + 1] + at[j] + at[j + 1] + down[j - 1] + down[j] + down[j + 1]
                )
            left = at[0]
            for j in range(1, n - 1):
                left = ninth * left + row[j]
                at[j] = left
    loss = 0.0
    for i in range(n):
        for j in range(n):
            loss += a[i, j] * w[i, j]

    d = w.copy()
    row[0] = row[n - 1] = 0.0
    for _ in range(steps):
        for i in range(n - 2, 0, -1):
            up, at, down = d[i - 1], d[i], d[i + 1]
            right = 0.0
            for j in range(n - 2, 0, -1):
                right = ninth * right + ninth * at[j]
                row[j] = right
            at[0] += row[1]
            at[n - 1] += row[n - 2]
            up[0] += row[1]
            down[0] += row[1]
            up[n - 1] += row[n - 2]
            down[n - 1] += row[n - 2]
            for j in range(1, n - 1):
                both = row[j - 1] + row[j]
                around = both + row[j + 1]
                at[j] = both
                up[j] += around
                down[j] += around
    return loss, (d,)


def _seidel_in_jax(steps, a, w):
    """A row at a time: what does not depend on the row itself at once, then the linear recurrence as a matrix product."""
    n = a.shape[0]
    power = jnp.arange(n - 2)[:, None] - jnp.arange(n - 2)
    recurrence = jnp.where(power >= 0, 9.0 ** -(power + 1.0), 0.0)

    def row(above, rows):
        at, below = rows
        known = above[:-2] + above[1:-1] + above[2:] + at[1:-1] + at[2:] + below[:-2] + below[1:-1] + below[2:]
        at = at.at[1:-1].set(recurrence @ known.at[0].add(at[0]))
        return at, at

    def sweep(a, _):
        _, inner = lax.scan(row, a[0], (a[1:-1], a[2:]))
        return a.at[1:-1].set(inner), None

    return jnp.sum(lax.scan(sweep, a, length=steps)[0] * w)


PROGRAMS = (
    Program(
        "gauss_seidel",
        gauss_seidel,
        _seidel_inputs,
        (200, 20),
        (7, 3),
        (1,),
        _seidel_by_hand,
        _seidel_in_jax,
        iterations=lambda size: size[1] * (size[0] - 2) ** 2,
    ),
)
