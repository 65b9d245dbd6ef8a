"""Hand tracking in PyTorch, all bones of a finger's joint and all points at once; see ``objectives/ht.py``."""

from __future__ import annotations

import torch

from ..objectives.ht import BONES, FINGERS

FIRST = torch.tensor([4 * f + 2 for f in range(FINGERS)])
"""The bones that bend about two axes; the two that follow bend about one."""


def rotation_about_axis(r):
    square = torch.sum(r * r)
    still = square < 1e-8
    angle = torch.sqrt(torch.where(still, 1.0, square))
    x, y, z = r / angle
    s, c = torch.sin(angle), torch.cos(angle)
    entries = [
        *(x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s),
        *(x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s),
        *(x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c),
    ]
    return torch.where(still, torch.eye(3, dtype=r.dtype), torch.stack(entries).reshape(3, 3))


def transforms_by_angles(x, z, y):
    """The product of the rotations about z, y and x, of each bone, as matrices of size 4."""
    cx, sx, cy, sy, cz, sz = torch.cos(x), torch.sin(x), torch.cos(y), torch.sin(y), torch.cos(z), torch.sin(z)
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    entries = [
        *(cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero),
        *(sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero),
        *(-sy, cy * sx, cy * cx, zero),
        *(zero, zero, zero, one),
    ]
    return torch.stack(entries, -1).reshape(-1, 4, 4)


def vertices(theta, relatives, inverse_absolutes, base, weights):
    by_finger = theta[6:].reshape(FINGERS, 4)
    bending, zero = by_finger[:, [0, 2, 3]].ravel(), theta.new_zeros(BONES)
    bones = (FIRST[:, None] + torch.arange(3)).ravel()
    x = zero.index_put((bones,), bending)
    z = zero.index_put((FIRST,), by_finger[:, 1])
    relatives = relatives @ transforms_by_angles(x, z, zero)
    joints = relatives[1:-1].reshape(FINGERS, 4, 4, 4)
    chain = [relatives[0] @ joints[:, 0]]
    for k in range(1, 4):
        chain.append(chain[-1] @ joints[:, k])
    fingers = torch.stack(chain, 1).reshape(4 * FINGERS, 4, 4)
    absolutes = torch.cat([relatives[:1], fingers, (relatives[0] @ relatives[-1])[None]])
    transforms = (absolutes @ inverse_absolutes)[:, :3]
    positions = torch.sum((transforms @ base) * weights[:, None], 0)
    return rotation_about_axis(theta[:3]) @ positions + theta[3:6, None]


def simple_errors(theta, relatives, inverse_absolutes, base, weights, points, corresponding):
    positions = vertices(theta, relatives, inverse_absolutes, base, weights)
    return (points - positions[:, corresponding].T).ravel()


def complicated_errors(theta, us, relatives, inverse_absolutes, base, weights, points, triangles):
    positions = vertices(theta, relatives, inverse_absolutes, base, weights)
    a, b, c = positions[:, triangles].permute(2, 1, 0)
    u, v = us[:, :1], us[:, 1:]
    return (points - (u * a + v * b + (1.0 - u - v) * c)).ravel()


def complicated_jacobian(theta, us, *hand):
    columns = []
    for k in range(2):
        along = torch.zeros_like(us)
        along[:, k] = 1.0
        columns.append(torch.func.jvp(lambda us: complicated_errors(theta, us, *hand), (us,), (along,))[1])
    return torch.cat([torch.stack(columns, 1), torch.func.jacfwd(complicated_errors)(theta, us, *hand)], 1)


DERIVATIVES = {"ht, simple": torch.func.jacfwd(simple_errors), "ht, complicated": complicated_jacobian}
