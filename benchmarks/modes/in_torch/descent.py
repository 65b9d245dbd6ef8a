"""Gradient descent in PyTorch; see ``objectives/descent.py``."""

from __future__ import annotations

import torch

MODES = {"f": torch.func.jacfwd, "r": torch.func.grad}


def length(v):
    return torch.sqrt(torch.sum(v * v))


def argmin(gradient, f, x, rate):
    fx, slope = f(x), gradient(f)(x)
    successes = 0
    while length(slope) > 1e-5:
        if successes == 10:
            rate, successes = 2.0 * rate, 0
            continue
        new = x - rate * slope
        if length(x - new) <= 1e-5:
            break
        at_new = f(new)
        if at_new < fx:
            x, fx, slope = new, at_new, gradient(f)(new)
            successes += 1
        else:
            rate, successes = 0.5 * rate, 0
    return x


def argmax(gradient, f, x, rate):
    return argmin(gradient, lambda x: -f(x), x, rate)
