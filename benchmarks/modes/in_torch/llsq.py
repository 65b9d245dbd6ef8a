"""Least squares with a polynomial in PyTorch; see ``objectives/llsq.py``."""

from __future__ import annotations

import torch


def half_sum_of_squares(x, n):
    t = torch.linspace(-1.0, 1.0, n, dtype=x.dtype)
    residuals = torch.sign(t) - torch.vander(t, len(x), increasing=True) @ x
    return torch.sum(residuals**2) / 2.0


DERIVATIVES = {"llsq": torch.func.grad(half_sum_of_squares)}
