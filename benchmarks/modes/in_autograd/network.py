"""A network of two layers in autograd; see ``programs/network.py``."""

from __future__ import annotations

import autograd.numpy as np

from . import grad, hessian, jacobian, make_jvp


def outputs(x, U, V):
    return np.tanh(np.dot(V, np.tanh(np.dot(U, x))))


def loss(b, U, V, inputs):
    hidden = np.tanh(np.dot(inputs, U.T) + b)
    return np.mean(np.log1p(np.exp(-np.dot(hidden, V.T))))


def pushed(b, U, V, inputs):
    return make_jvp(lambda b: loss(b, U, V, inputs))(b)(np.ones_like(b))


def product(b, U, V, inputs):
    return make_jvp(lambda b: grad(loss)(b, U, V, inputs))(b)(np.ones_like(b))[1]


def series(b, U, V, inputs):
    """By forward mode nested four times."""
    found = [lambda t: loss(b + t, U, V, inputs)]
    for _ in range(4):
        found.append(lambda t, f=found[-1]: make_jvp(f)(t)(1.0)[1])
    return tuple(f(0.0) / factorial for f, factorial in zip(found, (1, 1, 2, 6, 24)))


DERIVATIVES = {
    "network, jvp": pushed,
    "network, jacfwd": jacobian(outputs),  # by rows: it has no other
    "network, hvp": product,
    "network, hessian": hessian(loss),
    "network, taylor to 4": series,
}
