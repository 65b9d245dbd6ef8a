"""The loss of a recurrent network with long short-term memory, and its gradient.

Source: GradBench, eval "lstm", from ADBench.  All weights are diagonal; the 2 in the logarithm of the sum is that of
the original.
"""

from __future__ import annotations

import numpy as np

import morula as mo

from ..program import Derivative


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def layer(weight, bias, hidden, cell, x):
    """One step of a layer of size b; writes its state.  ``weight`` and ``bias``: forget, in, out, change."""
    b = len(x)
    forget = sigmoid(x * weight[:b] + bias[:b])
    ingate = sigmoid(hidden * weight[b : 2 * b] + bias[b : 2 * b])
    outgate = sigmoid(x * weight[2 * b : 3 * b] + bias[2 * b : 3 * b])
    change = np.tanh(hidden * weight[3 * b :] + bias[3 * b :])
    cell[:] = cell * forget + ingate * change
    hidden[:] = outgate * np.tanh(cell)


def predict(main, extra, state, x):
    x = x * extra[0]
    for i in range(0, len(state), 2):
        layer(main[i], main[i + 1], state[i], state[i + 1], x)
        x = state[i]
    return x * extra[1] + extra[2]


def loss(main, extra, state, sequence):
    state = state.astype(main.dtype)  # a copy
    total = 0.0
    for t in range(len(sequence) - 1):
        y = predict(main, extra, state, sequence[t])
        normalised = y - np.log(np.sum(np.exp(y)) + 2.0)
        total += np.sum(sequence[t + 1] * normalised)
    return -total / sequence[1:].size


gradient = mo.grad(loss, (0, 1))


def _inputs(size):
    layers, characters, bits = size
    rng = np.random.default_rng(31337)
    state, main = rng.uniform(size=(2 * layers, bits)), rng.uniform(size=(2 * layers, 4 * bits))
    text = rng.integers(0, 2, (characters, bits)).astype(float)  # the original has the bits of a text
    return main, rng.uniform(size=(3, bits)), state, text


PROGRAMS = (Derivative("lstm", gradient, _inputs, (2, 1024, 14), (2, 6, 3)),)
