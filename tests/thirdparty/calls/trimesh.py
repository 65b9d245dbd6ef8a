"""Meshes as tracked subclasses of arrays whose hash guards a cache, and homogeneous transformations."""

from __future__ import annotations

from typing import Any

import numpy as np
import trimesh
from trimesh import transformations, triangles

from thirdparty.harness import Call

DISTRIBUTION = "trimesh"
FIELD = "graphics"

BOX = trimesh.creation.box()
VERTICES, FACES = np.array(BOX.vertices, float), np.array(BOX.faces)
BENT = VERTICES * [1.0, 1.1, 1.2] + 0.1 * VERTICES[::-1] ** 2


def mesh(vertices: np.ndarray) -> Any:
    return trimesh.Trimesh(vertices, FACES, process=False)


def sizes(vertices: np.ndarray) -> Any:
    solid = mesh(vertices)
    return solid.area, solid.volume, solid.edges_unique_length


def mass(vertices: np.ndarray) -> Any:
    solid = mesh(vertices)
    return np.asarray(solid.center_mass), np.asarray(solid.moment_inertia)


def normals(vertices: np.ndarray) -> Any:
    return np.asarray(mesh(vertices).face_normals), triangles.area(vertices[FACES])


def moved(angle: float, direction: list[float]) -> Any:
    solid = mesh(BENT)
    solid.apply_transform(transformations.rotation_matrix(angle, direction, [0.1, 0.2, 0.3]))
    return np.asarray(solid.vertices), np.asarray(solid.centroid)


def decomposed(scale: float, angle: float) -> Any:
    matrix = transformations.compose_matrix(scale=[1.0, 2.0, scale], angles=[0.1, angle, 0.3], translate=[angle, 1, 2])
    return [np.asarray(part) for part in transformations.decompose_matrix(matrix)[:4]]


def slerp(at: float) -> Any:
    return transformations.quaternion_slerp([1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5], at)


CALLS = {
    "sizes": Call(sizes, BENT),
    "mass": Call(mass, BENT),
    "normals": Call(normals, BENT),
    "moved": Call(moved, 0.3, [1.0, 2.0, 3.0]),
    "decomposed": Call(decomposed, 1.7, 0.4),
    "slerp": Call(slerp, 0.3),
}
