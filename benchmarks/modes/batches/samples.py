"""Batches of small programs, written for one sample: per-sample gradients, and control flow that differs between samples."""

from __future__ import annotations

import numpy as np

import morula as mo

from ..program import Derivative

STEPS = 100


def pendulum(p):
    """The square of the angle of a damped pendulum after some steps, from angle, velocity, and frequency squared."""
    angle, velocity = p[0], p[1]
    for _ in range(STEPS):
        velocity = velocity - 0.01 * (p[2] * np.sin(angle) + 0.1 * velocity)
        angle = angle + 0.01 * velocity
    return angle * angle


def cube_root(x):
    """By Newton's method, until it has converged."""
    y = x
    while abs(y * y * y - x) > 1e-12 * x:
        y = y - (y * y * y - x) / (3.0 * y * y)
    return y


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def loss(weights, x):
    hidden = np.tanh(x @ weights[0])
    return np.sum(np.tanh(hidden @ weights[1]) ** 2)


def mahalanobis(matrix, x):
    """The distance by a matrix of each sample's own."""
    return x @ np.linalg.solve(matrix @ matrix.T + len(x) * np.eye(len(x)), x)


def of_pendulums(points):
    return mo.vmap(mo.grad(pendulum))(points)


def of_roots(numbers):
    return mo.vmap(cube_root)(numbers)


def of_collatz(numbers):
    return mo.vmap(collatz)(numbers)


def per_sample(u, v, inputs):
    return mo.vmap(mo.grad(loss), in_axes=(None, 0))((u, v), inputs)


def of_the_batch(u, v, inputs):
    return mo.grad(lambda weights: np.mean(mo.vmap(loss, in_axes=(None, 0))(weights, inputs)))((u, v))


def of_solves(matrices, inputs):
    return mo.vmap(mo.grad(mahalanobis, 1))(matrices, inputs)


def _points(n):
    return (np.random.default_rng(1).normal(size=(n, 3)),)


def _network(size):
    n, hidden, results, samples = size
    rng = np.random.default_rng(2)
    u, v = rng.normal(size=(n, hidden)) / np.sqrt(n), rng.normal(size=(hidden, results)) / np.sqrt(hidden)
    return u, v, rng.normal(size=(samples, n))


def _matrices(size):
    samples, n = size
    rng = np.random.default_rng(3)
    return rng.normal(size=(samples, n, n)), rng.normal(size=(samples, n))


PROGRAMS = (
    Derivative("samples, gradients of a pendulum", of_pendulums, _points, 1000, 3),
    Derivative(
        "samples, cube roots", of_roots, lambda n: (np.random.default_rng(4).lognormal(0.0, 5.0, n),), 10_000, 5
    ),
    Derivative("samples, collatz", of_collatz, lambda n: (np.arange(1, n + 1),), 10_000, 9),
    Derivative("samples, gradients of a network", per_sample, _network, (32, 64, 8, 256), (2, 3, 2, 3)),
    Derivative("samples, gradient of their mean", of_the_batch, _network, (32, 64, 8, 256), (2, 3, 2, 3)),
    Derivative("samples, gradients of solutions", of_solves, _matrices, (500, 6), (2, 3)),
)
