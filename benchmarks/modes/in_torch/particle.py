"""A charged particle that is to hit the origin in PyTorch; see ``objectives/particle.py``."""

from __future__ import annotations

from functools import partial

import torch

from .descent import MODES, argmin, length


def crossing(gradient, w, dt):
    ten, zero = w.new_tensor(10.0), w.new_tensor(0.0)

    def potential(x):
        return 1.0 / length(x - torch.stack([ten, ten - w])) + 1.0 / length(x - torch.stack([ten, zero]))

    x, v = w.new_tensor([0.0, 8.0]), w.new_tensor([0.75, 0.0])
    while True:
        acceleration = -gradient(potential)(x)
        new = x + dt * v
        if new[1] <= 0.0:
            break
        x, v = new, v + dt * acceleration
    return (x - x[1] / v[1] * v)[0]


def particle(modes, start, rate, dt):
    outer, inner = (MODES[mode] for mode in modes)
    return argmin(outer, lambda w: crossing(inner, w[0], dt) ** 2, start, rate)


DERIVATIVES = {f"particle, {modes}": partial(particle, modes) for modes in ("ff", "fr", "rf", "rr")}
