"""A determinant by expansion in minors in JAX; see ``objectives/det.py``.

Recursion on numbers would be unrolled, 8! products for a matrix of size 8.  Here the minors of one size are one array.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def determinants(M):
    """The determinants of matrices, shape (..., m, m)."""
    m = M.shape[-1]
    if m == 1:
        return M[..., 0, 0]
    others = np.array([[k for k in range(m) if k != j] for j in range(m)])
    minors = jnp.moveaxis(M[..., 1:, others], -2, -3)
    signs = (-1.0) ** np.arange(m)
    return jnp.sum(signs * M[..., 0, :] * determinants(minors), -1)


DERIVATIVES = {"det": jax.grad(determinants)}
