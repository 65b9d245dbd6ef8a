"""The log-likelihood of a mixture of Gaussians in PyTorch; see ``objectives/gmm.py``."""

from __future__ import annotations

import math

import torch

from ..objectives.gmm import GAMMA, M


def log_likelihood(alpha, mu, q, lower, x):
    (n, d), k = x.shape, len(alpha)
    columns, rows = torch.triu_indices(d, d, 1)
    L = lower.new_zeros((k, d, d)).index_put((torch.arange(k)[:, None], rows, columns), lower)
    centred, diagonals, sums = x[:, None] - mu, torch.exp(q), torch.sum(q, 1)
    scaled = diagonals * centred + torch.einsum("kij,nkj->nki", L, centred)
    terms = alpha + sums - 0.5 * torch.sum(scaled**2, 2)
    wishart = d + M + 1
    prior = torch.special.multigammaln(lower.new_tensor(0.5 * wishart), d)
    prior = k * (wishart * d * math.log(GAMMA / math.sqrt(2.0)) - prior)
    prior = prior - 0.5 * GAMMA**2 * (torch.sum(diagonals**2) + torch.sum(lower**2)) + M * torch.sum(sums)
    constant = -0.5 * n * d * math.log(2.0 * math.pi)
    return constant + torch.sum(torch.logsumexp(terms, 1)) - n * torch.logsumexp(alpha, 0) + prior


DERIVATIVES = {"gmm": torch.func.grad(log_likelihood, (0, 1, 2, 3))}
