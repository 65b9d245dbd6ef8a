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
    """A row at a time: what does not depend on the row itself at once, then the linear recurrence by doubling."""

    def recurrence(y):
        for m in (1, 2, 4, 8, 16):  # 9^-32 is nothing
            y = y + jnp.concatenate([jnp.zeros(m), y[:-m]]) * 9.0**-m if m < len(y) else y
        return y

    def row(above, rows):
        at, below = rows
        known = above[:-2] + above[1:-1] + above[2:] + at[1:-1] + at[2:] + below[:-2] + below[1:-1] + below[2:]
        at = at.at[1:-1].set(recurrence(known.at[0].add(at[0]) / 9.0))
        return at, at

    def sweep(a, _):
        _, inner = lax.scan(row, a[0], (a[1:-1], a[2:]))
        return a.at[1:-1].set(inner), None

    return jnp.sum(lax.scan(sweep, a, length=steps)[0] * w)


# Alternating directions, implicit


def adi(steps, u, w):
    u = u.copy()
    n = u.shape[0]
    mul = 2.0 * n * n / steps
    a = c = -mul / 2.0
    b = 1.0 + mul
    mul = 1.0 * n * n / steps
    d = f = -mul / 2.0
    e = 1.0 + mul
    v = np.empty_like(u)
    p = np.empty_like(u)
    q = np.empty_like(u)
    for _ in range(steps):
        v[0, 1 : n - 1] = 1.0
        p[1 : n - 1, 0] = 0.0
        q[1 : n - 1, 0] = v[0, 1 : n - 1]
        for j in range(1, n - 1):
            p[1 : n - 1, j] = -c / (a * p[1 : n - 1, j - 1] + b)
            q[1 : n - 1, j] = (
                -d * u[j, 0 : n - 2] + (1.0 + 2.0 * d) * u[j, 1 : n - 1] - f * u[j, 2:n] - a * q[1 : n - 1, j - 1]
            ) / (a * p[1 : n - 1, j - 1] + b)
        v[n - 1, 1 : n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1 : n - 1] = p[1 : n - 1, j] * v[j + 1, 1 : n - 1] + q[1 : n - 1, j]

        u[1 : n - 1, 0] = 1.0
        p[1 : n - 1, 0] = 0.0
        q[1 : n - 1, 0] = u[1 : n - 1, 0]
        for j in range(1, n - 1):
            p[1 : n - 1, j] = -f / (d * p[1 : n - 1, j - 1] + e)
            q[1 : n - 1, j] = (
                -a * v[0 : n - 2, j] + (1.0 + 2.0 * a) * v[1 : n - 1, j] - c * v[2:n, j] - d * q[1 : n - 1, j - 1]
            ) / (d * p[1 : n - 1, j - 1] + e)
        u[1 : n - 1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1 : n - 1, j] = p[1 : n - 1, j] * u[1 : n - 1, j + 1] + q[1 : n - 1, j]
    return np.sum(u * w)


def _adi_inputs(size):
    n, steps = size
    rng = np.random.default_rng(11)
    return steps, rng.normal(size=(n, n)), rng.normal(size=(n, n))


@njit(fastmath=True, error_model="numpy")
def _elimination(n, a, b):
    """The factors of the tridiagonal matrix (a, b, a): p, and one over the pivots."""
    p, inverse = np.zeros(n), np.zeros(n)
    for j in range(1, n - 1):
        inverse[j] = 1.0 / (a * p[j - 1] + b)
        p[j] = -a * inverse[j]
    return p, inverse


@njit(fastmath=True, error_model="numpy")
def _half_step(x, y, q, p, inverse, explicit, implicit):
    """y from x: a tridiagonal solve down the columns, of differences of x along its rows; both edges are 1."""
    n = len(x)
    q[0, 1 : n - 1] = y[0, 1 : n - 1] = y[n - 1, 1 : n - 1] = 1.0
    own = 1.0 + 2.0 * explicit
    for j in range(1, n - 1):
        left, at, right, above, out = x[j, 0 : n - 2], x[j, 1 : n - 1], x[j, 2:n], q[j - 1, 1 : n - 1], q[j, 1 : n - 1]
        pivot = inverse[j]
        for i in range(len(out)):
            out[i] = (own * at[i] - explicit * (left[i] + right[i]) - implicit * above[i]) * pivot
    for j in range(n - 2, 0, -1):
        below, at, out = y[j + 1, 1 : n - 1], q[j, 1 : n - 1], y[j, 1 : n - 1]
        factor = p[j]
        for i in range(len(out)):
            out[i] = factor * below[i] + at[i]


@njit(fastmath=True, error_model="numpy")
def _half_step_transposed(dx, dy, q, p, inverse, explicit, implicit):
    """dx from dy, whose edges do not count; rows 1 to n - 2 of dx are set."""
    n = len(dx)
    q[0] = q[n - 1] = 0.0
    q[:, 0] = q[:, n - 1] = 0.0
    own = 1.0 + 2.0 * explicit
    for j in range(1, n - 1):
        at, above, out = dy[j, 1 : n - 1], q[j - 1, 1 : n - 1], q[j, 1 : n - 1]
        factor = p[j - 1]
        for i in range(len(out)):
            out[i] = at[i] + factor * above[i]
    for j in range(n - 2, 0, -1):
        below, at = q[j + 1, 1 : n - 1], q[j, 1 : n - 1]
        pivot = inverse[j]
        for i in range(len(at)):
            at[i] = (at[i] - implicit * below[i]) * pivot
        left, right, out = q[j, 0 : n - 2], q[j, 2:n], dx[j, 1 : n - 1]
        dx[j, 0] = -explicit * at[0]
        dx[j, n - 1] = -explicit * at[n - 3]
        for i in range(len(out)):
            out[i] = own * at[i] - explicit * (left[i] + right[i])


@njit(fastmath=True)
def _transpose(x, y):
    """y[1:-1] := x' there; x lies in the cache."""
    n = len(x)
    for i in range(1, n - 1):
        row = y[i]
        for m in range(n):
            row[m] = x[m, i]


@njit(fastmath=True, error_model="numpy")
def _adi_by_hand(steps, u, w):
    """The step is linear, with an elimination that is the same for all rows; half steps run along whole rows."""
    n = u.shape[0]
    a, d = -1.0 * n * n / steps, -0.5 * n * n / steps
    p, inverse = _elimination(n, a, 1.0 - 2.0 * a)
    r, inverse_r = _elimination(n, d, 1.0 - 2.0 * d)
    u, v, q = u.copy(), np.empty((n, n)), np.empty((n, n))
    turned, result = np.empty((n, n)), np.empty((n, n))
    for _ in range(steps):
        _half_step(u, v, q, p, inverse, d, a)
        _transpose(v, turned)
        _half_step(turned, result, q, r, inverse_r, a, d)
        for i in range(1, n - 1):
            result[0, i] = result[n - 1, i] = 1.0
        _transpose(result, u)
    loss = 0.0
    for i in range(n):
        for j in range(n):
            loss += u[i, j] * w[i, j]
    du = w.copy()
    for _ in range(steps):
        _transpose(du, turned)
        _half_step_transposed(result, turned, q, r, inverse_r, a, d)
        _transpose(result, v)
        _half_step_transposed(du, v, q, p, inverse, d, a)
    return loss, (du,)


def _adi_in_jax(steps, u, w):
    """A row at a time, the second half on the transpose."""
    n = u.shape[0]
    a, d = -1.0 * n * n / steps, -0.5 * n * n / steps
    ones = jnp.ones(n - 2)

    def pivots(a):
        p, found = 0.0, []
        for _ in range(1, n - 1):
            found.append((p := -a / (a * p + 1.0 - 2.0 * a), -p / a))
        return jnp.array(found)

    def half(x, pivots, explicit, implicit):
        known = (1.0 + 2.0 * explicit) * x[:, 1:-1] - explicit * (x[:, :-2] + x[:, 2:])

        def down(q, row):
            known, pivot = row
            q = (known - implicit * q) * pivot[1]
            return q, q

        def up(y, row):
            q, pivot = row
            y = pivot[0] * y + q
            return y, y

        _, q = lax.scan(down, ones, (known, pivots))
        return lax.scan(up, ones, (q, pivots), reverse=True)[1]

    first, second = pivots(a), pivots(d)
    pad = ((1, 1), (0, 0))

    def step(u, _):
        v = jnp.pad(half(u, first, d, a), pad, constant_values=1.0)
        return jnp.pad(half(v.T, second, a, d), pad, constant_values=1.0).T, None

    inner, _ = lax.scan(step, u[1:-1], length=steps)
    return jnp.sum(u.at[1:-1].set(inner) * w)


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
    Program("adi", adi, _adi_inputs, (200, 20), (7, 2), (1,), _adi_by_hand, _adi_in_jax),
)
