"""Rotations and rigid motions in every representation, screw interpolation, a graph of frames, a robot from its URDF."""

from __future__ import annotations

from typing import Any

import numpy as np
from pytransform3d import rotations, trajectories, transformations
from pytransform3d.transform_manager import TransformManager
from pytransform3d.urdf import UrdfTransformManager

from thirdparty.harness import Call

DISTRIBUTION = "pytransform3d"
FIELD = "robotics"

SCREW = np.array([0.3, 0.4, 0.5, 1.0, 2.0, 3.0])
OTHER = transformations.transform_from_exponential_coordinates(np.array([0.1, -0.4, 0.2, 1.0, 1.0, 0.5]))
ARM = """
<robot name="arm"><link name="base"/><link name="upper"/><link name="hand"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1" rpy="0.1 0.2 0"/><axis xyz="0 1 0"/><limit lower="-3" upper="3"/></joint>
  <joint name="slider" type="prismatic"><parent link="upper"/><child link="hand"/>
    <origin xyz="0 0 1"/><axis xyz="1 0 0"/><limit lower="-3" upper="3"/></joint></robot>
"""


def euler_angles(angles: np.ndarray) -> Any:
    turned = rotations.matrix_from_euler(angles, 0, 1, 2, True)
    return rotations.euler_from_matrix(turned, 2, 1, 0, False), rotations.quaternion_from_matrix(turned)


def slerp(axis_angle: np.ndarray, at: float) -> Any:
    start = rotations.quaternion_from_axis_angle(axis_angle)
    end = rotations.quaternion_from_axis_angle([0.0, 1.0, 0.0, 0.5])
    return rotations.axis_angle_from_quaternion(rotations.quaternion_slerp(start, end, at))


def there_and_back(screw: np.ndarray) -> Any:
    motion = transformations.transform_from_exponential_coordinates(screw)
    inverse = transformations.invert_transform(motion)
    return transformations.exponential_coordinates_from_transform(inverse), transformations.adjoint_from_transform(
        motion
    )


def screw_interpolation(screw: np.ndarray, at: float) -> Any:
    start = transformations.transform_from_exponential_coordinates(screw)
    dual = transformations.dual_quaternion_sclerp(
        transformations.dual_quaternion_from_transform(start),
        transformations.dual_quaternion_from_transform(OTHER),
        at,
    )
    return transformations.transform_from_dual_quaternion(dual)


def frames(screw: np.ndarray) -> Any:
    manager = TransformManager()
    manager.add_transform("camera", "robot", transformations.transform_from_exponential_coordinates(screw))
    manager.add_transform("object", "robot", OTHER)
    return manager.get_transform("camera", "object")


def robot_arm(shoulder: float, slider: float) -> Any:
    manager = UrdfTransformManager()
    manager.load_urdf(ARM)
    manager.set_joint("shoulder", shoulder)
    manager.set_joint("slider", slider)
    return manager.get_transform("hand", "base")


def many_motions(screws: np.ndarray) -> Any:
    return trajectories.exponential_coordinates_from_transforms(
        trajectories.transforms_from_exponential_coordinates(screws)
    )


CALLS = {
    "euler_angles": Call(euler_angles, np.array([0.3, 0.4, 0.5])),
    "slerp": Call(slerp, np.array([0.6, 0.0, 0.8, 0.7]), 0.3),
    "there_and_back": Call(there_and_back, SCREW),
    "screw_interpolation": Call(screw_interpolation, SCREW, 0.3),
    "frames": Call(frames, SCREW),
    "robot_arm": Call(robot_arm, 0.3, 0.4),
    "many_motions": Call(many_motions, np.stack([SCREW, 0.5 * SCREW])),
}
