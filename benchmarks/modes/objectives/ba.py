"""Bundle adjustment: reprojection errors of points in cameras, and their sparse Jacobian.

Source: GradBench, eval "ba", from ADBench.  A camera has 11 parameters: rotation (3), centre (3), focal length,
principal point (2), radial distortion (2).  A row of the Jacobian has entries for one camera, one point and one weight:
the derivative is a dense block for each observation, whose columns are known beforehand.
"""

from __future__ import annotations

import numpy as np

import morula as mo

from ..program import Derivative


def rotate(rotation, x):
    """Rotate by an angle about an axis, which are the length and direction of ``rotation`` (Rodrigues' formula)."""
    square = rotation @ rotation
    if square == 0.0:
        return x + np.cross(rotation, x)
    angle = np.sqrt(square)
    axis = rotation / angle
    cosine = np.cos(angle)
    return x * cosine + np.cross(axis, x) * np.sin(angle) + axis * ((axis @ x) * (1.0 - cosine))


def project(camera, x):
    seen = rotate(camera[:3], x - camera[3:6])
    y = seen[:2] / seen[2]
    square = y @ y
    y = y * (1.0 + camera[9] * square + camera[10] * square * square)
    return y * camera[6] + camera[7:9]


def reprojection_error(unknowns, feature):
    camera, x, w = unknowns
    return w * (project(camera, x) - feature)


def weight_error(w):
    return 1.0 - w * w


def blocks(cameras, points, w, features, observations):
    """The block of each observation for camera, point and weight (2 rows, 15 columns), and the weight errors' slopes.

    Reverse mode for the blocks, which have two rows and many columns, and for the slopes.
    """
    n = len(observations)
    J, slopes = np.empty((n, 2, 15)), np.empty(n)
    for i in range(n):
        camera, x = cameras[observations[i, 0]], points[observations[i, 1]]
        by_camera, by_point, by_weight = mo.jacobian(reprojection_error)((camera, x, w[i]), features[i])
        J[i, :, :11], J[i, :, 11:14], J[i, :, 14] = by_camera, by_point, by_weight
        slopes[i] = mo.grad(weight_error)(w[i])
    return J, slopes


def _inputs(size):
    """As in the original, the observations go round cameras and points; these vary here, and are one point there."""
    n, m, p = size
    rng = np.random.default_rng(31337)
    cameras = np.array([0.02, -0.12, 0.01, -0.3, 0.1, -5.0, 400.0, 0.5, 0.2, -0.02, 0.003])
    cameras = cameras * rng.uniform(0.8, 1.2, (n, 11))
    points, features = rng.normal(size=(m, 3)), 100.0 * rng.normal(size=(p, 2))
    i = np.arange(p)
    return cameras, points, rng.uniform(size=p), features, np.stack([i % n, i % m], 1)


PROGRAMS = (Derivative("ba", blocks, _inputs, (49, 7776, 31843), (2, 3, 4)),)
