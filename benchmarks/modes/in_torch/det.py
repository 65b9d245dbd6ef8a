"""A determinant by expansion in minors in PyTorch; see ``objectives/det.py`` and ``in_jax/det.py``."""

from __future__ import annotations

import torch


def determinants(M):
    """The determinants of matrices, shape (..., m, m)."""
    m = M.shape[-1]
    if m == 1:
        return M[..., 0, 0]
    others = torch.tensor([[k for k in range(m) if k != j] for j in range(m)])
    minors = M[..., 1:, others].movedim(-2, -3)
    signs = torch.tensor([(-1.0) ** j for j in range(m)], dtype=M.dtype)
    return torch.sum(signs * M[..., 0, :] * determinants(minors), -1)


DERIVATIVES = {"det": torch.func.grad(determinants)}
