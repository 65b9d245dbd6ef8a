"""Vectors, matrices and quaternions for graphics, as functions and as subclasses of arrays with overloaded operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyrr import Matrix44, Quaternion, Vector3, geometric_tests, matrix44, plane, quaternion, ray

from thirdparty.harness import Call

DISTRIBUTION = "pyrr"
FIELD = "graphics"

Q, V = np.array([0.1, 0.3, -0.2, 0.9]), np.array([0.3, 0.4, 0.5])


def camera(eye: np.ndarray, field_of_view: float) -> Any:
    view = matrix44.create_look_at(eye, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    return view @ matrix44.create_perspective_projection(field_of_view, 1.5, 0.1, 100.0), matrix44.inverse(view)


def turned(q: np.ndarray, v: np.ndarray) -> Any:
    rotation = Quaternion(q) * Quaternion([0.5, -0.4, 0.2, 0.7])
    return np.asarray(rotation * Vector3(v)), np.asarray(rotation.matrix33)


def slerp(q: np.ndarray, at: float) -> Any:
    return quaternion.slerp(q, np.array([0.5, -0.4, 0.2, 0.7]), at)


def chain(angle: float, v: np.ndarray) -> Any:
    motion = Matrix44.from_x_rotation(angle) * Matrix44.from_translation([angle, 1.0, 2.0])
    return np.asarray(motion * Vector3(v)), np.asarray((Vector3(v) ^ Vector3([1.0, 2.0, 3.0])) * 2.0), Vector3(v).length


def hit(origin: np.ndarray) -> Any:
    wall = plane.create_from_points(np.array([1.0, 0.0, 5.0]), np.array([0.0, 1.0, 5.0]), np.array([1.0, 1.0, 6.0]))
    return geometric_tests.ray_intersect_plane(ray.create(origin, np.array([0.0, 0.0, 1.0])), wall)


CALLS = {
    "camera": Call(camera, np.array([2.0, 3.0, 4.0]), 45.0),
    "turned": Call(turned, Q, V),
    "slerp": Call(slerp, Q, 0.3),
    "chain": Call(chain, 0.3, V),
    "hit": Call(hit, V),
}
