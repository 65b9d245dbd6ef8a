"""Batches of small programs in PyTorch, whose ``vmap`` has no control flow by values; see ``batches/samples.py``."""

from __future__ import annotations

import torch

STEPS = 100


def pendulum(p):
    angle, velocity = p[0], p[1]
    for _ in range(STEPS):
        velocity = velocity - 0.01 * (p[2] * torch.sin(angle) + 0.1 * velocity)
        angle = angle + 0.01 * velocity
    return angle * angle


def loss(weights, x):
    return torch.sum(torch.tanh(torch.tanh(x @ weights[0]) @ weights[1]) ** 2)


def mahalanobis(matrix, x):
    return x @ torch.linalg.solve(matrix @ matrix.T + len(x) * torch.eye(len(x)), x)


def per_sample(u, v, inputs):
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))((u, v), inputs)


def of_the_batch(u, v, inputs):
    def mean(weights):
        return torch.mean(torch.func.vmap(loss, in_dims=(None, 0))(weights, inputs))

    return torch.func.grad(mean)((u, v))


DERIVATIVES = {
    "samples, gradients of a pendulum": torch.func.vmap(torch.func.grad(pendulum)),
    "samples, gradients of a network": per_sample,
    "samples, gradient of their mean": of_the_batch,
    "samples, gradients of solutions": torch.func.vmap(torch.func.grad(mahalanobis, argnums=1)),
}
