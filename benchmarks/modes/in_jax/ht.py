"""Hand tracking in JAX, all bones of a finger's joint and all points at once; see ``objectives/ht.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..objectives.ht import BONES, FINGERS

FIRST = np.array([4 * f + 2 for f in range(FINGERS)])
"""The bones that bend about two axes; the two that follow bend about one."""


def rotation_about_axis(r):
    square = jnp.sum(r * r)
    still = square < 1e-8
    angle = jnp.sqrt(jnp.where(still, 1.0, square))
    x, y, z = r / angle
    s, c = jnp.sin(angle), jnp.cos(angle)
    R = jnp.array(
        [
            [x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
            [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
            [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c],
        ]
    )
    return jnp.where(still, jnp.eye(3), R)


def transforms_by_angles(x, z, y):
    """The product of the rotations about z, y and x, of each bone, as matrices of size 4."""
    cx, sx, cy, sy, cz, sz = jnp.cos(x), jnp.sin(x), jnp.cos(y), jnp.sin(y), jnp.cos(z), jnp.sin(z)
    zero, one = jnp.zeros_like(x), jnp.ones_like(x)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero],
        [-sy, cy * sx, cy * cx, zero],
        [zero, zero, zero, one],
    ]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


def vertices(theta, relatives, inverse_absolutes, base, weights):
    by_finger = theta[6:].reshape(FINGERS, 4)
    x, z = jnp.zeros(BONES), jnp.zeros(BONES)
    for k, column in enumerate((0, 2, 3)):
        x = x.at[FIRST + k].set(by_finger[:, column])
    z = z.at[FIRST].set(by_finger[:, 1])
    relatives = relatives @ transforms_by_angles(x, z, jnp.zeros(BONES))
    joints = relatives[1:-1].reshape(FINGERS, 4, 4, 4)
    chain = [relatives[0] @ joints[:, 0]]
    for k in range(1, 4):
        chain.append(chain[-1] @ joints[:, k])
    fingers = jnp.stack(chain, 1).reshape(4 * FINGERS, 4, 4)
    absolutes = jnp.concatenate([relatives[:1], fingers, (relatives[0] @ relatives[-1])[None]])
    transforms = (absolutes @ inverse_absolutes)[:, :3]
    positions = jnp.einsum("bij,jv,bv->iv", transforms, base, weights)
    return rotation_about_axis(theta[:3]) @ positions + theta[3:6, None]


def simple_errors(theta, relatives, inverse_absolutes, base, weights, points, corresponding):
    positions = vertices(theta, relatives, inverse_absolutes, base, weights)
    return (points - positions[:, corresponding].T).ravel()


def complicated_errors(theta, us, relatives, inverse_absolutes, base, weights, points, triangles):
    positions = vertices(theta, relatives, inverse_absolutes, base, weights)
    a, b, c = positions[:, triangles].transpose(2, 1, 0)
    u, v = us[:, :1], us[:, 1:]
    return (points - (u * a + v * b + (1.0 - u - v) * c)).ravel()


def complicated_jacobian(theta, us, *hand):
    along = jnp.broadcast_to(jnp.eye(2)[:, None], (2, *us.shape))
    _, push = jax.linearize(lambda us: complicated_errors(theta, us, *hand), us)
    return jnp.concatenate([jax.vmap(push)(along).T, jax.jacfwd(complicated_errors)(theta, us, *hand)], 1)


DERIVATIVES = {"ht, simple": jax.jacfwd(simple_errors), "ht, complicated": complicated_jacobian}
