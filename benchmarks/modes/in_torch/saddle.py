"""A saddle point by gradient descent in PyTorch; see ``objectives/saddle.py``."""

from __future__ import annotations

from functools import partial

import torch

from .descent import MODES, argmax, argmin


def payoff(x, y):
    return x @ x - y @ y


def saddle(modes, start, rate):
    outer, inner = (MODES[mode] for mode in modes)

    def worst(x):
        return payoff(x, argmax(inner, lambda y: payoff(x, y), start, rate))

    x = argmin(outer, worst, start, rate)
    return torch.cat([x, argmax(outer, lambda y: payoff(x, y), start, rate)])


DERIVATIVES = {f"saddle, {modes}": partial(saddle, modes) for modes in ("ff", "fr", "rf", "rr")}
