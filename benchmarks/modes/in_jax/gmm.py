"""The log-likelihood of a mixture of Gaussians in JAX; see ``objectives/gmm.py``."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, multigammaln

from ..objectives.gmm import GAMMA, M


def log_likelihood(alpha, mu, q, lower, x):
    (n, d), k = x.shape, len(alpha)
    columns, rows = np.triu_indices(d, 1)
    L = jnp.zeros((k, d, d)).at[:, rows, columns].set(lower)
    centred, diagonals, sums = x[:, None] - mu, jnp.exp(q), jnp.sum(q, 1)
    scaled = diagonals * centred + jnp.einsum("kij,nkj->nki", L, centred)
    terms = alpha + sums - 0.5 * jnp.sum(scaled**2, 2)
    wishart = d + M + 1
    prior = k * (wishart * d * math.log(GAMMA / math.sqrt(2.0)) - multigammaln(0.5 * wishart, d))
    prior = prior - 0.5 * GAMMA**2 * (jnp.sum(diagonals**2) + jnp.sum(lower**2)) + M * jnp.sum(sums)
    constant = -0.5 * n * d * math.log(2.0 * math.pi)
    return constant + jnp.sum(logsumexp(terms, 1)) - n * logsumexp(alpha) + prior


DERIVATIVES = {"gmm": jax.grad(log_likelihood, (0, 1, 2, 3))}
