"""Gravitating bodies, integrated by leapfrog: all pairs as arrays, and pair by pair."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numba import njit

from ..program import Program

SOFTENING = 0.05


def accelerations(pos, mass):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv_r3 = (dx**2 + dy**2 + dz**2 + SOFTENING**2) ** (-1.5)
    ax = (dx * inv_r3) @ mass
    ay = (dy * inv_r3) @ mass
    az = (dz * inv_r3) @ mass
    return np.stack((ax, ay, az), axis=1)


def nbody(steps, dt, x, v, masses, w):
    x, v = x.copy(), v.copy()
    a = accelerations(x, masses)
    for _ in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a = accelerations(x, masses)
        v += 0.5 * dt * a
    return np.sum(x * w) + np.sum(v * w)


def accelerations_by_pairs(x, masses):
    a = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[j] - x[i]
            s = (d @ d + SOFTENING**2) ** -1.5
            a[i] += masses[j] * s * d
            a[j] -= masses[i] * s * d
    return a


def nbody_by_pairs(steps, dt, x, v, masses, w):
    x, v = x.copy(), v.copy()
    a = accelerations_by_pairs(x, masses)
    for _ in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a = accelerations_by_pairs(x, masses)
        v += 0.5 * dt * a
    return np.sum(x * w) + np.sum(v * w)


def _inputs(size):
    n, steps = size
    rng = np.random.default_rng(14)
    return (
        steps,
        0.01,
        *(rng.normal(size=(n, 3)) for _ in range(2)),
        rng.uniform(0.5, 1.5, n) / n,
        rng.normal(size=(n, 3)),
    )


@njit(fastmath=True, error_model="numpy")
def _accelerations_by_hand(x, masses, a):
    """Coordinates lie in rows; all pairs both ways, which vectorises."""
    n = len(masses)
    x0, x1, x2 = x[0], x[1], x[2]
    for i in range(n):
        a0 = a1 = a2 = 0.0
        p0, p1, p2 = x0[i], x1[i], x2[i]
        for j in range(n):
            d0, d1, d2 = x0[j] - p0, x1[j] - p1, x2[j] - p2
            r = d0 * d0 + d1 * d1 + d2 * d2 + SOFTENING**2
            s = masses[j] / (r * np.sqrt(r))
            a0 += s * d0
            a1 += s * d1
            a2 += s * d2
        a[0, i], a[1, i], a[2, i] = a0, a1, a2


@njit(fastmath=True, error_model="numpy")
def _accelerations_transposed(x, masses, h, dx, dmasses):
    """Adds to dx and dmasses what the cotangent h of the accelerations gives them."""
    n = len(masses)
    x0, x1, x2, h0, h1, h2 = x[0], x[1], x[2], h[0], h[1], h[2]
    for i in range(n):
        g0 = g1 = g2 = dm = 0.0
        p0, p1, p2, q0, q1, q2, m = x0[i], x1[i], x2[i], h0[i], h1[i], h2[i], masses[i]
        for j in range(n):
            d0, d1, d2 = x0[j] - p0, x1[j] - p1, x2[j] - p2
            r = d0 * d0 + d1 * d1 + d2 * d2 + SOFTENING**2
            inverse = 1.0 / r
            s = inverse / np.sqrt(r)
            k0, k1, k2 = m * h0[j] - masses[j] * q0, m * h1[j] - masses[j] * q1, m * h2[j] - masses[j] * q2
            along = 3.0 * inverse * (k0 * d0 + k1 * d1 + k2 * d2)
            g0 += s * (k0 - along * d0)
            g1 += s * (k1 - along * d1)
            g2 += s * (k2 - along * d2)
            dm -= s * (h0[j] * d0 + h1[j] * d1 + h2[j] * d2)
        dx[0, i] += g0
        dx[1, i] += g1
        dx[2, i] += g2
        dmasses[i] += dm


@njit(fastmath=True, error_model="numpy")
def _by_hand(steps, dt, x, v, masses, w):
    """Positions are kept for each step."""
    n = len(masses)
    xs = np.empty((steps + 1, 3, n))
    xs[0] = x.T
    v, w, a = v.T.copy(), w.T.copy(), np.empty((3, n))
    _accelerations_by_hand(xs[0], masses, a)
    for s in range(steps):
        v += 0.5 * dt * a
        xs[s + 1] = xs[s] + dt * v
        _accelerations_by_hand(xs[s + 1], masses, a)
        v += 0.5 * dt * a
    loss = np.sum(xs[steps] * w) + np.sum(v * w)
    dx, dv, dmasses, h = w.copy(), w.copy(), np.zeros(n), np.empty((3, n))
    for s in range(steps, 0, -1):
        h[:] = 0.5 * dt * dv if s == steps else dt * dv
        _accelerations_transposed(xs[s], masses, h, dx, dmasses)
        dv += dt * dx
    h[:] = 0.5 * dt * dv
    _accelerations_transposed(xs[0], masses, h, dx, dmasses)
    return loss, (dx.T.copy(), dv.T.copy(), dmasses)


def _in_jax(steps, dt, x, v, masses, w):
    """All pairs at once, coordinates in planes; accelerations are computed again on the way back."""

    @jax.checkpoint
    def accelerations(x):
        d = x[:, None, :] - x[:, :, None]
        r = jnp.sum(d * d, axis=0) + SOFTENING**2
        return jnp.sum(d * (masses / (r * jnp.sqrt(r))), axis=2)

    def step(carry, _):
        x, v, a = carry
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = accelerations(x)
        return (x, v + 0.5 * dt * a, a), None

    (x, v, _), _ = lax.scan(step, (x.T, v.T, accelerations(x.T)), length=steps)
    return jnp.sum(x.T * w) + jnp.sum(v.T * w)


PROGRAMS = (
    Program("nbody", nbody, _inputs, (64, 100), (4, 3), (2, 3, 4), _by_hand, _in_jax),
    Program("nbody_by_pairs", nbody_by_pairs, _inputs, (64, 100), (4, 3), (2, 3, 4), _by_hand, _in_jax),
)
