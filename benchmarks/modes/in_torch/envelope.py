"""An envelope follower in PyTorch; see ``programs/envelope.py``."""

from __future__ import annotations

import torch


def envelope(phase, n):
    level = 0.1 * phase
    for i in range(n):
        signal = torch.sin(phase + 0.01 * i)
        rate = torch.where(level < signal, 0.1, 0.02 * torch.exp(-level))
        level = level + rate * (signal - level)
    return level


def pushed(phase, n):
    return torch.func.jvp(lambda phase: envelope(phase, n), (torch.tensor(phase),), (torch.tensor(1.0),))


def second(phase, n):
    slope = torch.func.grad(lambda phase: envelope(phase, n))
    return torch.func.jvp(slope, (torch.tensor(phase),), (torch.tensor(1.0),))[1]


def five(phase, n):
    found = [lambda phase: envelope(phase, n)]
    for _ in range(5):
        found.append(torch.func.jacfwd(found[-1]))
    return tuple(f(torch.tensor(phase)) for f in found)


DERIVATIVES = {"envelope, jvp": pushed, "envelope, hvp": second, "envelope, derivatives to 5": five}
