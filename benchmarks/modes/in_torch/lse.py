"""The logarithm of a sum of exponentials in PyTorch; see ``objectives/lse.py``."""

from __future__ import annotations

import torch


def log_sum_exp(x):
    top = torch.max(x)
    return torch.log(torch.sum(torch.exp(x - top))) + top


DERIVATIVES = {"lse": torch.func.grad(log_sum_exp)}
