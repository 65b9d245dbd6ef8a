"""The functions of ``statistics`` that compute in exact fractions, where no derivative could be followed."""

from __future__ import annotations

import statistics

import numpy as np

from .table import vjp


def deviations(data, centre=None):
    x = np.asarray(data, dtype=float)
    return x - (np.mean(x) if centre is None else centre)


def harmonic_mean_pullback(dy, y, data, weights=None):
    x = np.asarray(data, dtype=float)
    shares = 1 / len(x) if weights is None else np.asarray(weights) / np.sum(weights)
    return dy * shares * (y / x) ** 2


def variance_pullback(dy, y, data, xbar=None):
    return dy * 2 * deviations(data, xbar) / (len(data) - 1)


def pvariance_pullback(dy, y, data, mu=None):
    return dy * 2 * deviations(data, mu) / len(data)


def stdev_pullback(dy, y, data, xbar=None):
    return dy * deviations(data, xbar) / ((len(data) - 1) * y)


def pstdev_pullback(dy, y, data, mu=None):
    return dy * deviations(data, mu) / (len(data) * y)


vjp(statistics.mean, lambda dy, y, data: dy * np.ones(len(data)) / len(data))
vjp(statistics.harmonic_mean, harmonic_mean_pullback)
vjp(statistics.variance, variance_pullback)
vjp(statistics.pvariance, pvariance_pullback)
vjp(statistics.stdev, stdev_pullback)
vjp(statistics.pstdev, pstdev_pullback)
