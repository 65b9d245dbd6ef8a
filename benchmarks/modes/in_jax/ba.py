"""Bundle adjustment in JAX; see ``objectives/ba.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def rotate(rotation, x):
    """Both branches are computed, the first at a harmless angle if it is not the one."""
    square = rotation @ rotation
    still = square == 0.0
    angle = jnp.sqrt(jnp.where(still, 1.0, square))
    axis = rotation / angle
    cosine = jnp.cos(angle)
    turned = x * cosine + jnp.cross(axis, x) * jnp.sin(angle) + axis * ((axis @ x) * (1.0 - cosine))
    return jnp.where(still, x + jnp.cross(rotation, x), turned)


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
    unknowns = jnp.concatenate([cameras[observations[:, 0]], points[observations[:, 1]], w[:, None]], 1)
    J = jax.vmap(jax.jacrev(reprojection_error))(unknowns, features)
    return J, jax.vmap(jax.grad(lambda w: 1.0 - w * w))(w)


DERIVATIVES = {"ba": blocks}
