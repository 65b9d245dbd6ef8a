"""Losses of whole arrays: a contrastive loss, kriging, a mixture of Student distributions, particles in cells."""

from __future__ import annotations

import numpy as np

from . import Program


def contrastive(x, labels, margin):
    d2 = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
    d = np.sqrt(np.maximum(d2, 1e-12))
    same = labels[:, None] == labels[None, :]
    off = ~np.eye(len(x), dtype=bool)
    pull = np.sum(d2[same & off])
    push = np.sum(np.where(~same, np.maximum(margin - d, 0.0) ** 2, 0.0))
    hardest = np.max(np.where(same, d, 0.0), axis=1) - np.min(np.where(same, np.inf, d), axis=1)
    return (pull + push) / len(x) ** 2 + np.mean(np.maximum(hardest + margin, 0.0))


def _contrastive_inputs(size):
    rng = np.random.default_rng(10)
    return rng.normal(size=size), rng.integers(0, 4, size[0]), 1.0


def kriging(x, y, log_length, log_scale, log_noise):
    """Minus the log likelihood of a Gaussian process with Matern's kernel 5/2."""
    scaled = x / np.exp(log_length)
    d2 = np.sum((scaled[:, None, :] - scaled[None, :, :]) ** 2, axis=2)
    r = np.sqrt(d2 + 1e-12)
    K = np.exp(2 * log_scale) * (1 + np.sqrt(5) * r + 5 / 3 * d2) * np.exp(-np.sqrt(5) * r)
    L = np.linalg.cholesky(K + np.exp(2 * log_noise) * np.eye(len(x)))
    a = np.linalg.solve(L, y)
    return 0.5 * a @ a + np.sum(np.log(np.diag(L))) + 0.5 * len(y) * np.log(2 * np.pi)


def _kriging_inputs(size):
    x = np.random.default_rng(11).uniform(size=size)
    return x, np.sin(3 * x.sum(1)), np.full(size[1], -0.5), 0.0, -2.0


def mixture(x, log_weights, means, scales):
    """Minus the log likelihood of a mixture of products of Student's distributions."""
    z = (x[:, None, :] - means[None, :, :]) / scales[None, :, :]
    nu = 4.0
    each = -0.5 * (nu + 1) * np.log1p(z**2 / nu) - np.log(scales)
    joint = log_weights - np.log(np.sum(np.exp(log_weights))) + np.sum(each, axis=2)
    top = np.max(joint, axis=1, keepdims=True)
    return -np.sum(top[:, 0] + np.log(np.sum(np.exp(joint - top), axis=1)))


def _mixture_inputs(size):
    n, k, d = size
    rng = np.random.default_rng(15)
    return rng.normal(size=(n, d)), rng.normal(size=k), rng.normal(size=(k, d)), rng.uniform(0.5, 1.5, (k, d))


def particles_in_cells(steps, x, v, cells, dt, charge):
    """Charges on a periodic line, with linear weights."""
    field = np.zeros(cells)
    for _ in range(steps):
        left = np.floor(x).astype(int)
        w = x - left
        left = left % cells
        right = (left + 1) % cells
        rho = np.zeros(cells)
        np.add.at(rho, left, charge * (1 - w))
        np.add.at(rho, right, charge * w)
        field = np.cumsum(rho - np.mean(rho))
        field = field - np.mean(field)
        v = v + dt * ((1 - w) * field[left] + w * field[right])
        x = (x + dt * v) % cells
    return 0.5 * np.sum(v**2) + 0.5 * np.sum(field**2)


def _particles_inputs(size):
    n, steps, cells = size
    rng = np.random.default_rng(13)
    return steps, rng.uniform(0, cells, n), rng.normal(size=n), cells, 0.1, 64.0 / n


PROGRAMS = (
    Program("contrastive", contrastive, _contrastive_inputs, (200, 16), (8, 3), (0,)),
    Program("kriging", kriging, _kriging_inputs, (200, 3), (8, 2), (2, 3, 4)),
    Program("mixture", mixture, _mixture_inputs, (2000, 8, 4), (10, 3, 2), (1, 2, 3)),
    Program("particles_in_cells", particles_in_cells, _particles_inputs, (10000, 10, 64), (20, 3, 8), (1, 2)),
)
