"""Hand tracking: distances of measured points from a hand's surface, and their Jacobian in the pose.

Source: GradBench, eval "ht", from ADBench.  The pose has 26 parameters: rotation (3) and translation (3) of the hand,
four angles for each finger.  Vertices follow the bones by linear blend skinning.  In the simple problem a point belongs
to a vertex; in the complicated one to a place ``u`` on a triangle, which varies too.  The hand of the original is a data
file; this one has the same bones, and random shape.
"""

from __future__ import annotations

import numpy as np

import morula as mo

from ..program import Derivative

FINGERS, BONES = 5, 22
PARENTS = (-1, *(0 if i % 4 == 1 else i - 1 for i in range(1, 21)), 0)
"""Of the wrist, four bones for each finger, the forearm."""


def rotation_about_axis(r):
    angle = np.sqrt(np.sum(r * r))
    if angle < 0.0001:
        return np.eye(3)
    x, y, z = r / angle
    s, c = np.sin(angle), np.cos(angle)
    R = np.empty((3, 3))
    R[0] = x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s
    R[1] = x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s
    R[2] = x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c
    return R


def rotation_by_angles(xzy):
    tx, tz, ty = xzy
    Rx, Ry, Rz = np.eye(3), np.eye(3), np.eye(3)
    Rx[1, 1] = Rx[2, 2] = np.cos(tx)
    Rx[2, 1] = np.sin(tx)
    Rx[1, 2] = -Rx[2, 1]
    Ry[0, 0] = Ry[2, 2] = np.cos(ty)
    Ry[0, 2] = np.sin(ty)
    Ry[2, 0] = -Ry[0, 2]
    Rz[0, 0] = Rz[1, 1] = np.cos(tz)
    Rz[1, 0] = np.sin(tz)
    Rz[0, 1] = -Rz[1, 0]
    return Rz @ Ry @ Rx


def angles_of_bones(theta):
    """Three angles for each bone, most of which are zero; a finger bends at its second to fourth bone."""
    angles = np.zeros((BONES, 3))
    at = 6
    for finger in range(FINGERS):
        for i in range(2, 5):
            bone = 4 * finger + i
            angles[bone, 0] = theta[at]
            at += 1
            if i == 2:
                angles[bone, 1] = theta[at]
                at += 1
    return angles


def vertices(theta, relatives, inverse_absolutes, base, weights):
    """The positions of the hand's vertices, shape (3, vertices)."""
    angles = angles_of_bones(theta)
    absolutes = np.empty((BONES, 4, 4))
    positions = np.zeros((3, base.shape[1]))
    for i in range(BONES):
        transform = np.eye(4)
        transform[:3, :3] = rotation_by_angles(angles[i])
        absolutes[i] = relatives[i] @ transform
        if PARENTS[i] >= 0:
            absolutes[i] = absolutes[PARENTS[i]] @ absolutes[i]
        positions += ((absolutes[i] @ inverse_absolutes[i]) @ base)[:3] * weights[i]
    return rotation_about_axis(theta[:3]) @ positions + theta[3:6, None]


def simple_errors(theta, relatives, inverse_absolutes, base, weights, points, corresponding):
    positions = vertices(theta, relatives, inverse_absolutes, base, weights)
    errors = np.empty(points.shape)
    for i in range(len(points)):
        errors[i] = points[i] - positions[:, corresponding[i]]
    return errors.ravel()


def complicated_errors(theta, us, relatives, inverse_absolutes, base, weights, points, triangles):
    positions = vertices(theta, relatives, inverse_absolutes, base, weights)
    errors = np.empty(points.shape)
    for i in range(len(points)):
        a, b, c = triangles[i]
        u, v = us[i]
        errors[i] = points[i] - (u * positions[:, a] + v * positions[:, b] + (1.0 - u - v) * positions[:, c])
    return errors.ravel()


simple_jacobian = mo.jacfwd(simple_errors)


def complicated_jacobian(theta, us, *hand):
    """Each error depends on its own place only: two directions give the derivatives in all places, the first columns."""
    J = np.empty((3 * len(us), 28))
    for k in range(2):
        along = np.zeros(us.shape)
        along[:, k] = 1.0
        J[:, k] = mo.jvp(lambda us: complicated_errors(theta, us, *hand), (us,), (along,))[1]
    J[:, 2:] = mo.jacfwd(complicated_errors)(theta, us, *hand)
    return J


def _hand(rng, n):
    relatives, absolutes = np.zeros((2, BONES, 4, 4))
    for i in range(BONES):
        relatives[i, :3, :3] = rotation_by_angles(0.3 * rng.normal(size=3))
        relatives[i, :3, 3] = rng.uniform(0.5, 1.5, size=3)
        relatives[i, 3, 3] = 1.0
        absolutes[i] = absolutes[PARENTS[i]] @ relatives[i] if i else relatives[i]
    base = np.concatenate([3.0 * rng.normal(size=(3, n)), np.ones((1, n))])
    weights = rng.uniform(size=(BONES, n)) * (rng.uniform(size=(BONES, n)) < 0.2)
    return relatives, np.linalg.inv(absolutes), base, weights / (np.sum(weights, 0) + 1e-3)


def _simple_inputs(size):
    n, points = size
    rng = np.random.default_rng(31337)
    hand, theta = _hand(rng, n), 0.3 * rng.normal(size=26)
    return theta, *hand, 3.0 * rng.normal(size=(points, 3)), rng.integers(0, n, points)


def _complicated_inputs(size):
    n, points = size
    rng = np.random.default_rng(31337)
    hand, theta, us = _hand(rng, n), 0.3 * rng.normal(size=26), rng.uniform(0.0, 0.5, size=(points, 2))
    return theta, us, *hand, 3.0 * rng.normal(size=(points, 3)), rng.integers(0, n, (points, 3))


PROGRAMS = (
    Derivative("ht, simple", simple_jacobian, _simple_inputs, (544, 100), (7, 3)),
    Derivative("ht, complicated", complicated_jacobian, _complicated_inputs, (544, 100), (7, 3)),
)
