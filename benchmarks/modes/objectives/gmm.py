"""The log-likelihood of a mixture of Gaussians with a Wishart prior, and its gradient.

Source: GradBench, eval "gmm", from ADBench: F. Srajer, Z. Kukelova, A. Fitzgibbon, A benchmark of selected algorithmic
differentiation tools on some problems in computer vision and machine learning, Optim. Methods Softw. 33 (2018).  An
inverse covariance is (Q' Q), with Q lower triangular: the logarithms of its diagonal are ``q``, the columns below
it ``lower``.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import multigammaln

import morula as mo

from ..program import Derivative

GAMMA, M = 1.0, 0
"""The parameters of the Wishart prior."""


def log_sum_exp(x):
    top = x[0]
    for i in range(1, len(x)):
        top = max(top, x[i])
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] - top)
    return math.log(total) + top


def squared_norm(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return total


def triangular_product(diagonal, below, x):
    """The product of x and a lower triangular matrix, whose columns below the diagonal lie in ``below``."""
    d = len(x)
    y = diagonal * x
    at = 0
    for i in range(d):
        for j in range(i + 1, d):
            y[j] += below[at] * x[i]
            at += 1
    return y


def log_wishart_prior(diagonals, sums, lower):
    k, d = diagonals.shape
    n = d + M + 1
    constant = n * d * (math.log(GAMMA) - 0.5 * math.log(2.0)) - multigammaln(0.5 * n, d)
    total = 0.0
    for j in range(k):
        total += 0.5 * GAMMA**2 * (squared_norm(diagonals[j]) + squared_norm(lower[j])) - M * sums[j]
    return k * constant - total


def log_likelihood(alpha, mu, q, lower, x):
    (n, d), k = x.shape, len(alpha)
    diagonals = np.exp(q)
    sums = np.sum(q, axis=1)
    terms = np.empty(k)
    total = 0.0
    for i in range(n):
        for j in range(k):
            scaled = triangular_product(diagonals[j], lower[j], x[i] - mu[j])
            terms[j] = alpha[j] + sums[j] - 0.5 * squared_norm(scaled)
        total += log_sum_exp(terms)
    constant = -0.5 * n * d * math.log(2.0 * math.pi)
    return constant + total - n * log_sum_exp(alpha) + log_wishart_prior(diagonals, sums, lower)


gradient = mo.grad(log_likelihood, (0, 1, 2, 3))


def _inputs(size):
    d, k, n = size
    rng = np.random.default_rng(31337)
    means = rng.uniform(size=(k, d))
    alpha, q, lower = rng.normal(size=k), rng.normal(size=(k, d)), rng.normal(size=(k, d * (d - 1) // 2))
    return alpha, means, q, lower, rng.normal(size=(n, d))


PROGRAMS = (Derivative("gmm", gradient, _inputs, (10, 25, 1000), (3, 2, 5)),)
