"""Bundle adjustment in PyTorch; see ``objectives/ba.py`` and ``in_jax/ba.py``."""

from __future__ import annotations

import torch


def rotate(rotation, x):
    square = rotation @ rotation
    still = square == 0.0
    angle = torch.sqrt(torch.where(still, 1.0, square))
    axis = rotation / angle
    cosine = torch.cos(angle)
    cross = torch.linalg.cross
    turned = x * cosine + cross(axis, x) * torch.sin(angle) + axis * ((axis @ x) * (1.0 - cosine))
    return torch.where(still, x + cross(rotation, x), turned)


def project(camera, x):
    seen = rotate(camera[:3], x - camera[3:6])
    y = seen[:2] / seen[2]
    square = y @ y
    y = y * (1.0 + camera[9] * square + camera[10] * square * square)
    return y * camera[6] + camera[7:9]


def reprojection_error(unknowns, feature):
    camera, x, w = unknowns[:11], unknowns[11:14], unknowns[14]
    return w * (project(camera, x) - feature)


def blocks(cameras, points, w, features, observations):
    unknowns = torch.cat([cameras[observations[:, 0]], points[observations[:, 1]], w[:, None]], 1)
    J = torch.func.vmap(torch.func.jacrev(reprojection_error))(unknowns, features)
    return J, torch.func.vmap(torch.func.grad(lambda w: 1.0 - w * w))(w)


DERIVATIVES = {"ba": blocks}
