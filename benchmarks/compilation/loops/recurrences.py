"""Sequential recurrences: triangular solve, Levinson-Durbin."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numba import njit

from ..program import Program

# Triangular solve, L x = b


def triangular_solve(L, b, w):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x * w)


def _triangular_inputs(n):
    rng = np.random.default_rng(0)
    L = np.tril(rng.uniform(-1.0, 1.0, (n, n)) / n) + np.diag(rng.uniform(1.0, 2.0, n))
    return L, rng.normal(size=n), rng.normal(size=n)


@njit(fastmath=True, error_model="numpy")
def _triangular_by_hand(L, b, w):
    n = len(b)
    x = np.empty(n)
    loss = 0.0
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= L[i, j] * x[j]
        x[i] = total / L[i, i]
        loss += x[i] * w[i]
    dL, db = np.zeros((n, n)), w.copy()
    for i in range(n - 1, -1, -1):
        db[i] /= L[i, i]
        d = db[i]
        for j in range(i):
            db[j] -= d * L[i, j]
            dL[i, j] = -d * x[j]
        dL[i, i] = -d * x[i]
    return loss, (dL, db)


def _triangular_in_jax(L, b, w):
    return jnp.sum(jax.scipy.linalg.solve_triangular(L, b, lower=True) * w)


def _triangular_literally(L, b, w):
    n = len(b)

    def row(i, x):
        return x.at[i].set((b[i] - jnp.where(jnp.arange(n) < i, L[i], 0.0) @ x) / L[i, i])

    return jnp.sum(lax.fori_loop(0, n, row, jnp.zeros_like(b)) * w)


# Levinson-Durbin: the Yule-Walker equations of a Toeplitz matrix


def durbin(r, w):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * w)


def _durbin_inputs(n):
    rng = np.random.default_rng(1)
    return rng.uniform(-0.3, 0.3, n) / np.arange(1, n + 1), rng.normal(size=n)


@njit(fastmath=True, error_model="numpy")
def _durbin_by_hand(r, w):
    """y at all orders is kept, one after the other; beta and alpha follow from what is kept too."""
    n = len(r)
    rows = np.empty(n * (n + 1) // 2)
    backward = r[::-1].copy()  # r[k - 1 - j] is backward[n - k + j], so that the loops below run forward in all arrays
    betas = np.ones(n)
    rows[0] = -r[0]
    at = 0
    for k in range(1, n):
        old, new = rows[at : at + k], rows[at + k : at + 2 * k + 1]
        flipped = backward[n - k : n]
        betas[k] = betas[k - 1] * (1.0 - old[k - 1] * old[k - 1])
        total = r[k]
        for j in range(k):
            total += flipped[j] * old[j]
        alpha = -total / betas[k]
        for j in range(k):
            new[j] = old[j] + alpha * old[k - 1 - j]
        new[k] = alpha
        at += k
    loss = 0.0
    for j in range(n):
        loss += rows[at + j] * w[j]

    dr, dbackward = np.zeros(n), np.zeros(n)
    dy, before = w.copy(), np.empty(n)
    dbeta = 0.0
    for k in range(n - 1, 0, -1):
        alpha = rows[at + k]
        at -= k
        old = rows[at : at + k]
        flipped, dflipped = backward[n - k : n], dbackward[n - k : n]
        dalpha = dy[k]
        for j in range(k):
            dalpha += dy[j] * old[k - 1 - j]
        scaled = -dalpha / betas[k]
        dr[k] += scaled
        for j in range(k):
            before[j] = dy[j] + alpha * dy[k - 1 - j] + scaled * flipped[j]
            dflipped[j] += scaled * old[j]
        dbeta += scaled * alpha
        previous = old[k - 1]
        before[k - 1] -= 2.0 * previous * betas[k - 1] * dbeta
        dbeta *= 1.0 - previous * previous
        dy, before = before, dy
    dr[0] -= dy[0]
    for j in range(n):
        dr[j] += dbackward[n - 1 - j]
    return loss, (dr,)


def _durbin_in_jax(r, w):
    """Full lengths, zero past the order; an order is computed again on the way back."""
    n = len(r)
    zeros = jnp.zeros(n)
    flipped_r = jnp.concatenate([r[::-1], zeros])

    @jax.checkpoint
    def order(carry, k):
        y, alpha, beta = carry
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + lax.dynamic_slice(flipped_r, (n - k,), (n,)) @ y) / beta
        y = y + alpha * lax.dynamic_slice(jnp.concatenate([y[::-1], zeros]), (n - k,), (n,))
        return (jnp.where(jnp.arange(n) == k, alpha, y), alpha, beta), None

    (y, _, _), _ = lax.scan(order, (zeros.at[0].set(-r[0]), -r[0], 1.0), jnp.arange(1, n))
    return jnp.sum(y * w)


def _half(n):
    return n * n // 2


PROGRAMS = (
    Program(
        "triangular_solve",
        triangular_solve,
        _triangular_inputs,
        2000,
        12,
        (0, 1),
        _triangular_by_hand,
        _triangular_in_jax,
        _triangular_literally,
        iterations=_half,
    ),
    Program("durbin", durbin, _durbin_inputs, 1000, 12, (0,), _durbin_by_hand, _durbin_in_jax, iterations=_half),
)
