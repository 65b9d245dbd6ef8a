"""Rules of the functions of ``statistics`` that compute with exact fractions, which cannot be traced, or in C."""

from __future__ import annotations

import math
import statistics

import numpy as np

from .table import elementwise, vjp


def deviations(data, centre=None):
    x = np.asarray(data, dtype=float)
    return x - (np.mean(x) if centre is None else centre)


def harmonic_mean_pullback(dy, y, data, weights=None):
    x = np.asarray(data, dtype=float)
    shares = 1 / len(x) if weights is None else np.asarray(weights) / np.sum(weights)
    return dy * shares * (y / x) ** 2


def harmonic_weights_pullback(dy, y, data, weights=None):
    return None if weights is None else dy * y / np.sum(weights) * (1 - y / np.asarray(data, dtype=float))


def variance_pullback(dy, y, data, xbar=None):
    return dy * 2 * deviations(data, xbar) / (len(data) - 1)


def variance_centre_pullback(dy, y, data, xbar=None):
    return None if xbar is None else -np.sum(variance_pullback(dy, y, data, xbar))


def pvariance_pullback(dy, y, data, mu=None):
    return dy * 2 * deviations(data, mu) / len(data)


def pvariance_centre_pullback(dy, y, data, mu=None):
    return None if mu is None else -np.sum(pvariance_pullback(dy, y, data, mu))


def over_deviation(dy, y):
    """dy / y; zero, a subgradient, where y is zero, because then every deviation is."""
    return np.where(y == 0, 0.0, dy / np.where(y == 0, 1.0, y))


def stdev_pullback(dy, y, data, xbar=None):
    return over_deviation(dy, y) * deviations(data, xbar) / (len(data) - 1)


def stdev_centre_pullback(dy, y, data, xbar=None):
    return None if xbar is None else -np.sum(stdev_pullback(dy, y, data, xbar))


def pstdev_pullback(dy, y, data, mu=None):
    return over_deviation(dy, y) * deviations(data, mu) / len(data)


def pstdev_centre_pullback(dy, y, data, mu=None):
    return None if mu is None else -np.sum(pstdev_pullback(dy, y, data, mu))


def mean_stdev_pullback(dy, y, data):
    d_mean, d_stdev = dy
    x = np.asarray(data, dtype=float)
    share = np.ones(len(x)) / len(x)
    return (0 if d_mean is None else d_mean * share) + (0 if d_stdev is None else stdev_pullback(d_stdev, y[1], x))


vjp(statistics.mean, lambda dy, y, data: dy * np.ones(len(data)) / len(data))
vjp(statistics.harmonic_mean, harmonic_mean_pullback, harmonic_weights_pullback)
vjp(statistics.variance, variance_pullback, variance_centre_pullback)
vjp(statistics.pvariance, pvariance_pullback, pvariance_centre_pullback)
vjp(statistics.stdev, stdev_pullback, stdev_centre_pullback)
vjp(statistics.pstdev, pstdev_pullback, pstdev_centre_pullback)

# What NormalDist.from_samples and NormalDist.inv_cdf call, where this version of Python has them.
if hasattr(statistics, "_mean_stdev"):
    vjp(statistics._mean_stdev, mean_stdev_pullback)  # type: ignore[attr-defined]
if hasattr(statistics, "_normal_dist_inv_cdf"):
    elementwise(
        statistics._normal_dist_inv_cdf,  # type: ignore[attr-defined]
        lambda y, p, mu, sigma: sigma * math.sqrt(2 * math.pi) * math.exp(((y - mu) / sigma) ** 2 / 2),
        lambda y, p, mu, sigma: 1,
        lambda y, p, mu, sigma: (y - mu) / sigma,
    )
