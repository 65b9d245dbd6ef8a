"""Factorisations of matrices, element by element: Cholesky, LU without pivots, modified Gram-Schmidt."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numba import njit
from scipy.linalg.lapack import dpotrf, dtrtri

from ..program import Program

BLOCK = 48

# Cholesky


def cholesky(A, w):
    A = A.copy()
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return np.sum(A * w)


def _cholesky_inputs(n):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, n))
    return X @ X.T / n + np.eye(n), np.tril(rng.normal(size=(n, n)))


@njit(fastmath=True, error_model="numpy")
def _reverse_cholesky_of_block(L, d):
    """d: the cotangent of the lower triangle of L, replaced by that of the matrix; Murray (2016), section 4.1."""
    n = len(L)
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            d[j, k] /= L[k, k]
            d[k, k] -= L[j, k] * d[j, k]
        d[k, k] *= 0.5 / L[k, k]
        for j in range(k):
            total = 2.0 * d[k, k] * L[k, j]
            for i in range(k + 1, n):
                total += L[i, j] * d[i, k]
            d[k, j] -= total
        for i in range(k + 1, n):
            for j in range(k):
                d[i, j] -= d[i, k] * L[k, j]


def _cholesky_by_hand(A, w):
    """I. Murray, Differentiation of the Cholesky decomposition (2016), the blocked reverse of section 4.2."""
    n = len(A)
    L = dpotrf(A.T, clean=1)[0].T  # columns first, the upper triangle of A' is the lower of A
    loss = np.vdot(L, w)
    d = np.tril(w)
    for end in range(n, 0, -BLOCK):
        at = max(0, end - BLOCK)
        D, dD = L[at:end, at:end], d[at:end, at:end]
        R, B = L[at:end, :at], L[end:, :at]
        dC = d[end:, at:end]
        if end < n:
            dC[:] = dC @ dtrtri(D, lower=1)[0]
            d[end:, :at] -= dC @ R
            dD -= np.tril(dC.T @ L[end:, at:end])
        _reverse_cholesky_of_block(np.ascontiguousarray(D), dD)
        d[at:end, :at] -= dC.T @ B + (dD + dD.T) @ R
    return loss, (d,)


def _cholesky_in_jax(A, w):
    lower = jnp.tril(A)
    symmetric = lower + jnp.tril(A, -1).T
    return jnp.sum(jnp.linalg.cholesky(symmetric, symmetrize_input=False) * w)


def _cholesky_literally(A, w):
    n = len(A)
    columns = jnp.arange(n)

    def entry(i, j, A):
        below = jnp.where(columns < j, A[i], 0.0) @ A[j]
        return A.at[i, j].set((A[i, j] - below) / A[j, j])

    def row(i, A):
        A = lax.fori_loop(0, n, lambda j, A: lax.cond(j < i, lambda: entry(i, j, A), lambda: A), A)
        rest = jnp.where(columns < i, A[i], 0.0)
        return A.at[i, i].set(jnp.sqrt(A[i, i] - rest @ rest))

    return jnp.sum(lax.fori_loop(0, n, row, A) * w)


# LU without pivots


def lu(A, w):
    A = A.copy()
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return np.sum(A * w)


def _lu_inputs(n):
    rng = np.random.default_rng(9)
    return rng.normal(size=(n, n)) / np.sqrt(n) + 4.0 * np.eye(n), rng.normal(size=(n, n))


@njit(fastmath=True, error_model="numpy")
def _lu_of_block(A):
    n = len(A)
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]


def _inverses(block):
    """Of the unit lower and of the upper triangle."""
    return dtrtri(block, lower=1, unitdiag=1)[0], dtrtri(block)[0]


def _lower(block):
    return np.tril(block, -1) + np.eye(len(block))


def _lu_by_hand(A, w):
    """Blocks of columns and rows, right-looking; each step reversed as products of blocks."""
    n = len(A)
    A, d = A.copy(), w.copy()
    inverses = []
    for k in range(0, n, BLOCK):
        end = min(k + BLOCK, n)
        corner = np.ascontiguousarray(A[k:end, k:end])
        _lu_of_block(corner)
        A[k:end, k:end] = corner
        below, above = _inverses(corner)
        below, above = _lower(below), np.triu(above)
        inverses.append((k, end, below, above))
        if end < n:
            A[k:end, end:] = below @ A[k:end, end:]
            A[end:, k:end] = A[end:, k:end] @ above
            A[end:, end:] -= A[end:, k:end] @ A[k:end, end:]
    loss = np.vdot(A, w)
    for k, end, below, above in reversed(inverses):
        L, U = A[end:, k:end], A[k:end, end:]
        corner, dcorner = A[k:end, k:end], d[k:end, k:end]
        if end < n:
            dL, dU, rest = d[end:, k:end], d[k:end, end:], d[end:, end:]
            dL -= rest @ U.T
            dU -= L.T @ rest
            dL[:] = dL @ above.T
            dU[:] = below.T @ dU
            dcorner -= np.tril(dU @ U.T, -1) + np.triu(L.T @ dL)
        inner = np.tril(_lower(corner).T @ np.tril(dcorner, -1), -1) + np.triu(np.triu(dcorner) @ np.triu(corner).T)
        dcorner[:] = below.T @ inner @ above.T
    return loss, (d,)


def _lu_by_columns_in_jax(A):
    """L without its diagonal, and U: a column and a row at a time."""
    index = jnp.arange(len(A))

    def step(A, k):
        below = jnp.where(index > k, A[:, k] / A[k, k], 0.0)
        row = A[k]
        return A - jnp.outer(below, jnp.where(index > k, row, 0.0)), (below, jnp.where(index >= k, row, 0.0))

    _, (columns, rows) = lax.scan(step, A, index)
    return columns.T, rows


def _lu_in_jax(A, w, block=60):
    """Blocks of columns and rows, right-looking."""
    loss, solve = 0.0, jax.scipy.linalg.solve_triangular
    for k in range(0, len(A), block):
        b = min(block, len(A))
        here, rest = slice(k, k + b), slice(k + b, None)
        L, U = _lu_by_columns_in_jax(A[:b, :b])
        loss += jnp.sum((L + U) * w[here, here])
        if len(A) > b:
            right = solve(L + jnp.eye(b), A[:b, b:], lower=True, unit_diagonal=True)
            under = solve(U, A[b:, :b].T, trans=1).T
            loss += jnp.sum(right * w[here, rest]) + jnp.sum(under * w[rest, here])
            A = A[b:, b:] - under @ right
    return loss


def _lu_literally(A, w):
    L, U = _lu_by_columns_in_jax(A)
    return jnp.sum((L + U) * w)


# Modified Gram-Schmidt


def gram_schmidt(A, w, v):
    A = A.copy()
    n = A.shape[1]
    Q = np.zeros_like(A)
    R = np.zeros((n, n), dtype=A.dtype)
    for k in range(n):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return np.sum(Q * w) + np.sum(R * v)


def _gram_schmidt_inputs(n):
    rng = np.random.default_rng(10)
    m = n + n // 5
    return rng.normal(size=(m, n)), rng.normal(size=(m, n)), rng.normal(size=(n, n))


@njit(fastmath=True, error_model="numpy")
def _gram_schmidt_by_hand(A, w, v):
    """Columns lie in rows; a step is undone by adding back what it took."""
    m, n = A.shape
    A, Q, R = A.T.copy(), np.empty((n, m)), np.zeros((n, n))
    for k in range(n):
        a, q = A[k], Q[k]
        norm = 0.0
        for i in range(m):
            norm += a[i] * a[i]
        R[k, k] = np.sqrt(norm)
        inverse = 1.0 / R[k, k]
        for i in range(m):
            q[i] = a[i] * inverse
        for j in range(k + 1, n):
            b = A[j]
            r = 0.0
            for i in range(m):
                r += q[i] * b[i]
            R[k, j] = r
            for i in range(m):
                b[i] -= r * q[i]
    loss = 0.0
    for k in range(n):
        for i in range(m):
            loss += Q[k, i] * w[i, k]
        for j in range(k, n):
            loss += R[k, j] * v[k, j]
    d, dq = np.zeros((n, m)), np.empty(m)
    for k in range(n - 1, -1, -1):
        q = Q[k]
        for i in range(m):
            dq[i] = w[i, k]
        for j in range(k + 1, n):
            b, db, r, dr = A[j], d[j], R[k, j], v[k, j]
            for i in range(m):
                dr -= q[i] * db[i]
            for i in range(m):
                b[i] += r * q[i]
                dq[i] += dr * b[i] - r * db[i]
                db[i] += dr * q[i]
        along = 0.0
        for i in range(m):
            along += q[i] * dq[i]
        inverse, along = 1.0 / R[k, k], v[k, k] - along / R[k, k]
        for i in range(m):
            d[k, i] = dq[i] * inverse + along * q[i]
    return loss, (d.T.copy(),)


def _gram_schmidt_in_jax(A, w, v):
    """Another way to the same factors: by reflections, with the diagonal of R made positive."""
    Q, R = jnp.linalg.qr(A)
    signs = jnp.sign(jnp.diagonal(R))
    return jnp.sum(Q * signs * w) + jnp.sum(R * signs[:, None] * v)


def _gram_schmidt_literally(A, w, v):
    """A column at a time, against all the others at once; columns lie in rows."""
    n = A.shape[1]
    index = jnp.arange(n)

    def step(A, k):
        norm = jnp.sqrt(A[k] @ A[k])
        q = A[k] / norm
        r = jnp.where(index > k, A @ q, 0.0)
        return A - jnp.outer(r, q), (q, r.at[k].set(norm))

    _, (Q, R) = lax.scan(jax.checkpoint(step), A.T, index)
    return jnp.sum(Q.T * w) + jnp.sum(R * v)


PROGRAMS = (
    Program(
        "cholesky", cholesky, _cholesky_inputs, 300, 7, (0,), _cholesky_by_hand, _cholesky_in_jax, _cholesky_literally
    ),
    Program("lu", lu, _lu_inputs, 300, 7, (0,), _lu_by_hand, _lu_in_jax, _lu_literally),
    Program(
        "gram_schmidt",
        gram_schmidt,
        _gram_schmidt_inputs,
        150,
        6,
        (0,),
        _gram_schmidt_by_hand,
        _gram_schmidt_in_jax,
        _gram_schmidt_literally,
    ),
)
