"""A network of two layers in PyTorch; see ``programs/network.py``."""

from __future__ import annotations

import torch


def outputs(x, U, V):
    return torch.tanh(V @ torch.tanh(U @ x))


def loss(b, U, V, inputs):
    hidden = torch.tanh(inputs @ U.T + b)
    return torch.mean(torch.log1p(torch.exp(-hidden @ V.T)))


def pushed(b, U, V, inputs):
    return torch.func.jvp(lambda b: loss(b, U, V, inputs), (b,), (torch.ones_like(b),))


def product(b, U, V, inputs):
    return torch.func.jvp(lambda b: torch.func.grad(loss)(b, U, V, inputs), (b,), (torch.ones_like(b),))[1]


def series(b, U, V, inputs):
    """By forward mode nested four times."""
    found = [lambda t: loss(b + t, U, V, inputs)]
    for _ in range(4):
        found.append(torch.func.jacfwd(found[-1]))
    return tuple(f(torch.tensor(0.0)) / factorial for f, factorial in zip(found, (1, 1, 2, 6, 24)))


DERIVATIVES = {
    "network, jvp": pushed,
    "network, jacfwd": torch.func.jacfwd(outputs),
    "network, hvp": product,
    "network, hessian": torch.func.hessian(loss),
    "network, taylor to 4": series,
}
