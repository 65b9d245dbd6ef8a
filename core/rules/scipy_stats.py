"""NumPy programs that model the compiled functions of ``scipy.stats``: kernel estimates, angles."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from .table import model

compiled = stats._stats  # type: ignore[attr-defined]
SQRT_TWO_PI = 2.5066282746310002


# Kernel estimates


def kernel_estimate(points, values, xi, cho_cov, dtype=None, _log=False):
    """The sum of values times normal densities around the points, in coordinates with the identity as covariance."""
    at = np.linalg.solve(cho_cov, np.transpose(points))
    to = np.linalg.solve(cho_cov, np.transpose(xi))
    square = np.sum((to[:, :, None] - at[:, None, :]) ** 2, axis=0)
    normal = np.sum(np.log(np.diagonal(cho_cov))) + len(cho_cov) * np.log(SQRT_TWO_PI)
    return np.matmul(np.exp(-0.5 * square - normal), values)


def kernel_estimate_log(points, values, xi, cho_cov, dtype=None, _log=False):
    at = np.linalg.solve(cho_cov, np.transpose(points))
    to = np.linalg.solve(cho_cov, np.transpose(xi))
    square = np.sum((to[:, :, None] - at[:, None, :]) ** 2, axis=0)
    normal = np.sum(np.log(np.diagonal(cho_cov))) + len(cho_cov) * np.log(SQRT_TWO_PI)
    return special.logsumexp((-0.5 * square - normal)[:, :, None] + np.log(values)[None], axis=1)


for _kind in ("float", "double"):
    model(compiled.gaussian_kernel_estimate[_kind], kernel_estimate)
    model(compiled.gaussian_kernel_estimate_log[_kind], kernel_estimate_log)


# The von Mises distribution

NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)


def von_mises_cdf(kappa_obj, x_obj):
    """The integral of the density from -pi, over whole periods and the remainder."""
    kappa, x = np.broadcast_arrays(np.asarray(kappa_obj, float), np.asarray(x_obj, float))
    turns = np.round(x / (2 * np.pi))
    # Only the peak of a narrow density is integrated: beyond 12 standard deviations the density is negligible.
    reach = np.minimum(np.pi, 12 / np.sqrt(np.maximum(kappa, 1e-3)))
    width = (np.clip(x - 2 * np.pi * turns, -reach, reach) + reach) / 2
    t = width[..., None] * (NODES + 1) - reach[..., None]
    density = np.exp(kappa[..., None] * (np.cos(t) - 1)) / (2 * np.pi * special.i0e(kappa)[..., None])
    return turns + width * np.sum(WEIGHTS * density, axis=-1)


model(compiled.von_mises_cdf, von_mises_cdf)
