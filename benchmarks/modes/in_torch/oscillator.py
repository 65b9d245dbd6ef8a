"""The oscillator of van der Pol in PyTorch; see ``programs/oscillator.py``."""

from __future__ import annotations

import torch


def rate(u, p):
    x, v = u
    return torch.stack([v, p[0] * (1.0 - x * x) * v - p[1] * x])


def end(p, steps):
    dt = 6.0 / steps
    u = torch.stack([p[2], torch.tensor(0.0)])
    for _ in range(steps):
        k1 = rate(u, p)
        k2 = rate(u + 0.5 * dt * k1, p)
        k3 = rate(u + 0.5 * dt * k2, p)
        k4 = rate(u + dt * k3, p)
        u = u + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return u


def energy(p, steps):
    u = end(p, steps)
    return 0.5 * torch.sum(u * u)


def pushed(p, steps):
    return torch.func.jvp(lambda p: end(p, steps), (p,), (torch.ones(3),))


def linear(p, steps):
    value, push = torch.func.linearize(lambda p: end(p, steps), p)
    return value, *(push(direction) for direction in torch.eye(3))


def product(p, steps):
    return torch.func.jvp(lambda p: torch.func.grad(energy)(p, steps), (p,), (torch.ones(3),))[1]


def series(p, steps):
    """By forward mode nested four times."""
    found = [lambda t: energy(p + t, steps)]
    for _ in range(4):
        found.append(torch.func.jacfwd(found[-1]))
    return tuple(f(torch.tensor(0.0)) / factorial for f, factorial in zip(found, (1, 1, 2, 6, 24)))


DERIVATIVES = {
    "oscillator, jvp": pushed,
    "oscillator, jacfwd": torch.func.jacfwd(end),
    "oscillator, linearize": linear,
    "oscillator, hvp": product,
    "oscillator, hessian": torch.func.hessian(energy),
    "oscillator, taylor to 4": series,
}
