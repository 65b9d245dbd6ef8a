"""A network of two layers on whole arrays; derivatives of its loss in a first bias, and of its outputs in an input."""

from __future__ import annotations

import numpy as np

import morula as mo

from ..program import Derivative


def outputs(x, U, V):
    return np.tanh(V @ np.tanh(U @ x))


def loss(b, U, V, inputs):
    hidden = np.tanh(inputs @ U.T + b)
    return np.mean(np.log1p(np.exp(-hidden @ V.T)))


def pushed(b, U, V, inputs):
    return mo.jvp(lambda b: loss(b, U, V, inputs), (b,), (np.ones_like(b),))


def columns(x, U, V):
    return mo.jacfwd(outputs)(x, U, V)


def product(b, U, V, inputs):
    return mo.hvp(lambda b: loss(b, U, V, inputs), b, np.ones_like(b))


def curvature(b, U, V, inputs):
    return mo.hessian(loss)(b, U, V, inputs)


def series(b, U, V, inputs):
    return tuple(mo.taylor(lambda b: loss(b, U, V, inputs), b, 4, [np.ones_like(b)]))


def _loss_inputs(size):
    n, hidden, points = size
    rng = np.random.default_rng(5)
    U, V = rng.normal(size=(hidden, n)) / np.sqrt(n), rng.normal(size=(hidden, hidden)) / np.sqrt(hidden)
    return rng.normal(size=hidden), U, V, rng.normal(size=(points, n))


def _output_inputs(size):
    n, hidden, results = size
    rng = np.random.default_rng(6)
    return rng.normal(size=n), rng.normal(size=(hidden, n)), rng.normal(size=(results, hidden)) / np.sqrt(hidden)


PROGRAMS = (
    Derivative("network, jvp", pushed, _loss_inputs, (20, 40, 200), (2, 3, 4)),
    Derivative("network, jacfwd", columns, _output_inputs, (8, 100, 1000), (2, 3, 5)),
    Derivative("network, hvp", product, _loss_inputs, (20, 40, 200), (2, 3, 4)),
    Derivative("network, hessian", curvature, _loss_inputs, (20, 40, 200), (2, 3, 4)),
    Derivative("network, taylor to 4", series, _loss_inputs, (20, 40, 200), (2, 3, 4)),
)
