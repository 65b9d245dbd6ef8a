"""Likelihoods: of a Gaussian process by the Cholesky factor of its covariance, of a mixture of Gaussians.

Sources: C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning (2006), algorithm 2.1; C. M. Bishop,
Pattern Recognition and Machine Learning (2006), section 9.2.
"""

from __future__ import annotations

import ctypes

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from ..c_code import c_function
from ..program import Program

# ---- Gaussian process


def gaussian_process(X, y, log_lengths, log_amplitude, log_noise):
    """The negative logarithm of the marginal likelihood, with a squared-exponential kernel."""
    scaled = X / np.exp(log_lengths)
    squares = np.sum(scaled**2, axis=1)
    distances = squares[:, None] + squares[None, :] - 2.0 * scaled @ scaled.T
    K = np.exp(2.0 * log_amplitude - 0.5 * distances) + np.exp(2.0 * log_noise) * np.eye(len(X))
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return 0.5 * y @ alpha + np.sum(np.log(np.diag(L))) + 0.5 * len(X) * np.log(2.0 * np.pi)


def gaussian_process_inputs(size):
    """Points and features."""
    n, features = size
    rng = np.random.default_rng(54)
    X = rng.uniform(-1.0, 1.0, (n, features))
    y = np.sin(3.0 * X[:, 0]) + np.cos(2.0 * X[:, 1]) * X[:, -1] + 0.1 * rng.normal(size=n)
    return X, y, np.log(rng.uniform(0.6, 1.2, features)), 0.1, -1.8


# Both loops go over half of the matrix.  The cotangent of K is (K^-1 - alpha alpha') / 2; the derivative of a kernel's
# value by the logarithm of a length is the value times the squared difference over that length.
PROCESS = r"""
#include <math.h>
/* the upper triangle by rows; x: the features one after the other, scaled */
void covariance(long n, long features, double log_square, double noise, const double *restrict x, double *restrict K) {
    for (long i = 0; i < n; i++) {
        double *row = K + i * n;
        for (long j = i; j < n; j++) row[j] = log_square;
        for (long f = 0; f < features; f++) {
            double at = x[f * n + i];
            for (long j = i; j < n; j++) { double d = x[f * n + j] - at; row[j] -= 0.5 * d * d; }
        }
        for (long j = i; j < n; j++) row[j] = exp(row[j]);
        row[i] += noise;
    }
}
/* d: for the logarithms of the lengths, the amplitude, the noise */
void gradient(long n, long features, double square, double noise, const double *restrict x, const double *restrict K,
              const double *restrict inverse, const double *restrict alpha, double *restrict d) {
    double g[n], diagonal = 0;
    for (long f = 0; f < features + 2; f++) d[f] = 0;
    for (long i = 0; i < n; i++) {
        double a = alpha[i], sum = 0;
        for (long j = i + 1; j < n; j++) { g[j] = (inverse[i * n + j] - a * alpha[j]) * K[i * n + j]; sum += g[j]; }
        for (long f = 0; f < features; f++) {
            double at = x[f * n + i], along = 0;
            for (long j = i + 1; j < n; j++) { double e = x[f * n + j] - at; along += g[j] * e * e; }
            d[f] += along;
        }
        d[features] += 2 * sum;
        diagonal += inverse[i * n + i] - a * a;
    }
    d[features] += diagonal * square;
    d[features + 1] = diagonal * noise;
}
"""
_covariance, _process_gradient = c_function(PROCESS, "covariance"), c_function(PROCESS, "gradient")


def gaussian_process_hand(X, y, log_lengths, log_amplitude, log_noise):
    n, features = X.shape
    x = np.ascontiguousarray((X / np.exp(log_lengths)).T)
    square, noise = float(np.exp(2.0 * log_amplitude)), float(np.exp(2.0 * log_noise))
    K = np.empty((n, n))
    _covariance(n, features, 2.0 * log_amplitude, noise, x, K)
    # LAPACK's lower triangle by columns is the upper one by rows
    factor, _ = dpotrf(K.T, lower=1, clean=0)
    alpha, _ = dpotrs(factor, y, lower=1)
    value = 0.5 * (y @ alpha) + np.sum(np.log(np.diagonal(factor))) + 0.5 * n * np.log(2.0 * np.pi)
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    d = np.empty(features + 2)
    _process_gradient(n, features, square, noise, x, K, inverse.T, alpha, d)
    return value, (d[:-2], d[-2], d[-1])


def gaussian_process_jax(X, y, log_lengths, log_amplitude, log_noise):
    import jax
    import jax.numpy as jnp

    scaled = X / jnp.exp(log_lengths)
    squares = jnp.sum(scaled**2, axis=1)
    exponents = scaled @ scaled.T - 0.5 * (squares[:, None] + squares)
    K = jnp.exp(2.0 * log_amplitude + exponents) + jnp.exp(2.0 * log_noise) * jnp.eye(len(X))
    L = jnp.linalg.cholesky(K, symmetrize_input=False)
    z = jax.scipy.linalg.solve_triangular(L, y, lower=True)
    return 0.5 * z @ z + jnp.sum(jnp.log(jnp.diagonal(L))) + 0.5 * len(X) * jnp.log(2.0 * jnp.pi)


# ---- mixture of Gaussians

FEATURES, PARTS = 4, 8


def gaussian_mixture(X, logits, means, factors):
    """The mean negative logarithm of the likelihood; L of a part maps deviations to standard normal ones."""
    log_weights = logits - np.log(np.sum(np.exp(logits)))
    deviations = X[:, None, :] - means
    z = np.einsum("kij,nkj->nki", factors, deviations)
    log_volumes = np.sum(np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))), axis=1)
    logs = log_weights + log_volumes - 0.5 * np.sum(z**2, axis=2) - 0.5 * X.shape[1] * np.log(2.0 * np.pi)
    top = np.max(logs, axis=1, keepdims=True)
    return -np.mean(np.log(np.sum(np.exp(logs - top), axis=1)) + top[:, 0])


def gaussian_mixture_inputs(n):
    rng = np.random.default_rng(55)
    means = 2.0 * rng.normal(size=(PARTS, FEATURES))
    factors = np.tril(0.3 * rng.normal(size=(PARTS, FEATURES, FEATURES))) + np.eye(FEATURES)
    X = means[rng.integers(0, PARTS, n)] + rng.normal(size=(n, FEATURES))
    return X, 0.3 * rng.normal(size=PARTS), means + 0.2 * rng.normal(size=means.shape), factors


# Blocks of points in lanes, so that each sum over points is a vector until the end.
MIXTURE = f"""
#include <math.h>
#include <string.h>
#define D {FEATURES}
#define K {PARTS}
#define LANES 16
#define EACH for (int l = 0; l < LANES; l++)
typedef double lanes[LANES];
double mixture(long n, const double *restrict X, const double *restrict base, const double (*restrict means)[D],
               const double (*restrict factors)[D][D], double *restrict dbase, double (*restrict dmeans)[D],
               double (*restrict dfactors)[D][D]) {{
    lanes x[D], e[K][D], z[K][D], q[K], parts[K], sums[K][D], outer[K][D][D], total, top, live;
    double value = 0;
    memset(parts, 0, sizeof parts); memset(sums, 0, sizeof sums); memset(outer, 0, sizeof outer);
    for (long o = 0; o < n; o += LANES) {{
        EACH {{
            const double *p = X + (o + l < n ? o + l : n - 1) * D;
            live[l] = o + l < n;
            for (int d = 0; d < D; d++) x[d][l] = p[d];
        }}
        EACH top[l] = -1e300;
        for (int k = 0; k < K; k++) {{
            for (int d = 0; d < D; d++) EACH e[k][d][l] = x[d][l] - means[k][d];
            EACH q[k][l] = base[k];
            for (int i = 0; i < D; i++) EACH {{
                double s = 0;
                for (int j = 0; j < D; j++) s += factors[k][i][j] * e[k][j][l];
                z[k][i][l] = s;
                q[k][l] -= 0.5 * s * s;
            }}
            EACH top[l] = q[k][l] > top[l] ? q[k][l] : top[l];
        }}
        EACH total[l] = 0;
        for (int k = 0; k < K; k++) EACH {{ q[k][l] = exp(q[k][l] - top[l]); total[l] += q[k][l]; }}
        EACH value -= (log(total[l]) + top[l]) * live[l];
        EACH total[l] = live[l] / total[l];
        for (int k = 0; k < K; k++) {{
            EACH {{ q[k][l] *= total[l]; parts[k][l] += q[k][l]; }}
            for (int i = 0; i < D; i++) {{
                EACH {{ z[k][i][l] *= q[k][l]; sums[k][i][l] += z[k][i][l]; }}
                for (int j = 0; j < D; j++) EACH outer[k][i][j][l] += z[k][i][l] * e[k][j][l];
            }}
        }}
    }}
    double scale = 1.0 / n;
    for (int k = 0; k < K; k++) {{
        double part = 0;
        EACH part += parts[k][l];
        dbase[k] = -part * scale;
        for (int j = 0; j < D; j++) dmeans[k][j] = 0;
        for (int i = 0; i < D; i++) {{
            double s = 0;
            EACH s += sums[k][i][l];
            for (int j = 0; j < D; j++) {{
                double t = 0;
                EACH t += outer[k][i][j][l];
                dfactors[k][i][j] = t * scale;
                dmeans[k][j] -= factors[k][i][j] * s * scale;
            }}
        }}
        for (int i = 0; i < D; i++) dfactors[k][i][i] += dbase[k] / factors[k][i][i];
    }}
    return value * scale;
}}
"""
_mixture = c_function(MIXTURE, "mixture", ctypes.c_double)


def gaussian_mixture_hand(X, logits, means, factors):
    assert means.shape == (PARTS, FEATURES)
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    volumes = np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(1)
    base = np.log(weights) + volumes - 0.5 * FEATURES * np.log(2.0 * np.pi)
    d = np.empty(PARTS), np.empty_like(means), np.empty_like(factors)
    value = _mixture(len(X), X, base, means, factors, *d)
    return value, (d[0] - weights * d[0].sum(), *d[1:])


def gaussian_mixture_jax(X, logits, means, factors):
    import jax
    import jax.numpy as jnp

    # L (x - m) as products of matrices
    z = jnp.einsum("nj,kij->nki", X, factors) - jnp.einsum("kij,kj->ki", factors, means)
    log_volumes = jnp.sum(jnp.log(jnp.abs(jnp.diagonal(factors, axis1=1, axis2=2))), axis=1)
    logs = jax.nn.log_softmax(logits) + log_volumes - 0.5 * jnp.sum(z**2, axis=2)
    return 0.5 * X.shape[1] * jnp.log(2.0 * jnp.pi) - jnp.mean(jax.nn.logsumexp(logs, axis=1))


PROGRAMS = (
    Program(
        "gaussian_process",
        gaussian_process,
        gaussian_process_inputs,
        (300, 4),
        (8, 3),
        (2, 3, 4),
        gaussian_process_hand,
        gaussian_process_jax,
        rtol=1e-8,
    ),
    Program(
        "gaussian_mixture",
        gaussian_mixture,
        gaussian_mixture_inputs,
        20_000,
        20,
        (1, 2, 3),
        gaussian_mixture_hand,
        gaussian_mixture_jax,
    ),
)
