"""Products of structured matrices, written as loops over rows and columns: trmm, syrk, syr2k, symm, covariance.

The hand-written versions call BLAS.  SciPy's wrappers expect column-major arrays, so they get transposes, which are
not copied.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from scipy.linalg.blas import dsymm, dsyr2k, dsyrk, dtrmm

from ..program import Program

ALPHA, BETA = 1.5, 1.2


def _matrices(rng, *shapes):
    return tuple(rng.normal(size=shape) / np.sqrt(shape[-1]) for shape in shapes)


def _lower_of_product(a, b, rows=96):
    """The lower triangle of a b', diagonal included, by blocks of rows; zeros above."""
    n = len(a)
    c = np.zeros((n, n))
    for i in range(0, n, rows):
        end = min(i + rows, n)
        np.matmul(a[i:end], b[:end].T, out=c[i:end, :end])
        c[i:end, i:end] = np.tril(c[i:end, i:end])
    return c


# B := alpha A' B, A lower triangular with ones on the diagonal


def trmm(alpha, A, B, w):
    B = B.copy()
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha
    return np.sum(B * w)


def _trmm_inputs(n):
    return ALPHA, *_matrices(np.random.default_rng(4), (n, n), (n, n), (n, n))


def _trmm_by_hand(alpha, A, B, w):
    result = dtrmm(alpha, A.T, B.T, side=1, trans_a=1, diag=1).T
    dB = dtrmm(alpha, A.T, w.T, side=1, diag=1).T
    dA = _lower_of_product(B, alpha * w)
    np.fill_diagonal(dA, 0.0)
    return np.vdot(result, w), (dA, dB)


def _trmm_in_jax(alpha, A, B, w):
    return jnp.sum(alpha * (B + jnp.tril(A, -1).T @ B) * w)


# C := beta C + alpha A A', its lower triangle


def syrk(alpha, beta, C, A, w):
    C = C.copy()
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]
    return np.sum(C * w)


def _syrk_inputs(n):
    return ALPHA, BETA, *_matrices(np.random.default_rng(5), (n, n), (n, n), (n, n))


def _syrk_by_hand(alpha, beta, C, A, w):
    result = dsyrk(alpha, A.T, beta, C.T, trans=1).T
    lower = np.tril(w)
    dC = w + (beta - 1.0) * lower
    return np.vdot(result, w), (dC, alpha * (lower + lower.T) @ A)


def _syrk_in_jax(alpha, beta, C, A, w):
    return jnp.sum((jnp.triu(C, 1) + jnp.tril(beta * C + alpha * (A @ A.T))) * w)


# C := beta C + alpha (A B' + B A'), its lower triangle


def syr2k(alpha, beta, C, A, B, w):
    C = C.copy()
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]
    return np.sum(C * w)


def _syr2k_inputs(n):
    return ALPHA, BETA, *_matrices(np.random.default_rng(6), (n, n), (n, n), (n, n), (n, n))


def _syr2k_by_hand(alpha, beta, C, A, B, w):
    result = dsyr2k(alpha, A.T, B.T, beta, C.T, trans=1).T
    lower = np.tril(w)
    both = alpha * (lower + lower.T)
    return np.vdot(result, w), (w + (beta - 1.0) * lower, both @ B, both @ A)


def _syr2k_in_jax(alpha, beta, C, A, B, w):
    product = A @ B.T
    return jnp.sum((jnp.triu(C, 1) + jnp.tril(beta * C + alpha * (product + product.T))) * w)


# C := beta C + alpha S B, S symmetric and given by its lower triangle A


def symm(alpha, beta, C, A, B, w):
    C = C.copy()
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2
    return np.sum(C * w)


def _symm_by_hand(alpha, beta, C, A, B, w):
    result = dsymm(alpha, A.T, B.T, beta, C.T, side=1).T
    dB = dsymm(alpha, A.T, w.T, side=1).T
    dA = dsyr2k(alpha, w.T, B.T, trans=1).T
    np.fill_diagonal(dA, 0.5 * np.diagonal(dA))
    return np.vdot(result, w), (beta * w, dA, dB)


def _symm_in_jax(alpha, beta, C, A, B, w):
    return jnp.sum((beta * C + alpha * ((jnp.tril(A) + jnp.tril(A, -1).T) @ B)) * w)


# The covariance of the columns


def covariance(data, w):
    data = data.copy()
    n, m = data.shape
    data -= np.mean(data, axis=0)
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i:m, i] = cov[i, i:m] = data[:, i] @ data[:, i:m] / (n - 1.0)
    return np.sum(cov * w)


def _covariance_inputs(m):
    rng = np.random.default_rng(7)
    return rng.normal(size=(m + m // 4, m)), rng.normal(size=(m, m))


def _covariance_by_hand(data, w):
    data = data - data.mean(axis=0)
    scale = 1.0 / (len(data) - 1.0)
    both = w + w.T
    upper = dsyrk(scale, data.T, lower=1).T  # the rest is zero
    loss = np.vdot(upper, both) - np.vdot(np.diagonal(upper), np.diagonal(w))
    d = data @ (scale * both)
    d -= d.mean(axis=0)
    return loss, (d,)


def _covariance_in_jax(data, w):
    data = data - jnp.mean(data, axis=0)
    return jnp.sum(data.T @ data / (len(data) - 1.0) * w)


PROGRAMS = (
    Program("trmm", trmm, _trmm_inputs, 300, 7, (1, 2), _trmm_by_hand, _trmm_in_jax),
    Program("syrk", syrk, _syrk_inputs, 300, 7, (2, 3), _syrk_by_hand, _syrk_in_jax),
    Program("syr2k", syr2k, _syr2k_inputs, 250, 7, (2, 3, 4), _syr2k_by_hand, _syr2k_in_jax),
    Program("symm", symm, _syr2k_inputs, 250, 7, (2, 3, 4), _symm_by_hand, _symm_in_jax),
    Program("covariance", covariance, _covariance_inputs, 300, 7, (0,), _covariance_by_hand, _covariance_in_jax),
)
