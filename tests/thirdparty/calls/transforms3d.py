"""Rotations, affine maps and their parts: tables of axis conventions chosen by a string, decompositions by SVD and QR."""

from __future__ import annotations

from typing import Any

import numpy as np
from transforms3d import affines, axangles, euler, quaternions, reflections, shears, zooms

from thirdparty.harness import Call

DISTRIBUTION = "transforms3d"
FIELD = "robotics"

Q = np.array([0.9, 0.1, 0.3, -0.2])


def through_another_convention(a: float, b: float, c: float) -> Any:
    return euler.mat2euler(euler.euler2mat(a, b, c, "sxyz"), "rzyx")


def quaternion_of_angles(a: float, b: float, c: float, q: np.ndarray) -> Any:
    return euler.quat2euler(quaternions.qmult(euler.euler2quat(a, b, c, "szxz"), q / np.linalg.norm(q)))


def matrix_to_quaternion(q: np.ndarray) -> Any:
    return quaternions.mat2quat(quaternions.quat2mat(q))


def rotate(v: np.ndarray, q: np.ndarray) -> Any:
    return quaternions.rotate_vector(v, quaternions.qpow(q, 0.5))


def compose_and_decompose(shift: list[float], zoom: list[float], shear: list[float], angle: float) -> Any:
    turned = axangles.axangle2mat([1.0, 2.0, 3.0], angle)
    return affines.decompose(affines.compose(shift, turned, zoom, shear))


def axis_and_angle(v: list[float], angle: float) -> Any:
    return axangles.mat2axangle(axangles.axangle2mat(v, angle))


def mirror_and_stretch(normal: list[float], point: list[float], factor: float) -> Any:
    return (
        reflections.rfnorm2aff(normal, point)
        @ zooms.zfdir2aff(factor, normal, point)
        @ shears.sadn2aff(factor / 4, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    )


CALLS = {
    "through_another_convention": Call(through_another_convention, 0.3, 0.4, 0.5),
    "quaternion_of_angles": Call(quaternion_of_angles, 0.3, 0.4, 0.5, Q),
    "matrix_to_quaternion": Call(matrix_to_quaternion, Q),
    "rotate": Call(rotate, np.array([1.0, 2.0, 3.0]), Q),
    "compose_and_decompose": Call(compose_and_decompose, [1.0, 2.0, 3.0], [1.0, 2.0, 0.5], [0.1, 0.2, 0.3], 0.7),
    "axis_and_angle": Call(axis_and_angle, [1.0, 2.0, 3.0], 0.7),
    "mirror_and_stretch": Call(mirror_and_stretch, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], 2.0),
}
