"""Screws, exponentials of rigid motions and the dynamics of a chain of links, on small matrices."""

from __future__ import annotations

import modern_robotics as mr
import numpy as np

from thirdparty.harness import Call

DISTRIBUTION = "modern_robotics"
FIELD = "robotics"
HELD_OUT = True

HOME = np.array([[-1.0, 0, 0, 0], [0, 1, 0, 6], [0, 0, -1, 2], [0, 0, 0, 1]])
IN_SPACE = np.array([[0.0, 0, 1, 4, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, -1, -6, 0, -0.1]]).T
JOINTS = np.array([1.2, 0.7, 2.5])
LINKS = [
    np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.089159], [0, 0, 0, 1]]),
    np.array([[0.0, 0, 1, 0.28], [0, 1, 0, 0.13585], [-1, 0, 0, 0], [0, 0, 0, 1]]),
    np.array([[1.0, 0, 0, 0], [0, 1, 0, -0.1197], [0, 0, 1, 0.395], [0, 0, 0, 1]]),
    np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.14225], [0, 0, 0, 1]]),
]
INERTIAS = [
    np.diag([0.010267, 0.010267, 0.00666, 3.7, 3.7, 3.7]),
    np.diag([0.22689, 0.22689, 0.0151074, 8.393, 8.393, 8.393]),
    np.diag([0.0494433, 0.0494433, 0.004095, 2.275, 2.275, 2.275]),
]
SCREWS = np.array([[1.0, 0, 1, 0, 1, 0], [0, 1, 0, -0.089, 0, 0], [0, 1, 0, -0.089, 0, 0.425]]).T
GRAVITY = np.array([0.0, 0.0, -9.8])


def forward_kinematics(angles: np.ndarray) -> np.ndarray:
    return mr.FKinSpace(HOME, IN_SPACE, angles)


def jacobian(angles: np.ndarray) -> np.ndarray:
    return mr.JacobianSpace(IN_SPACE, angles)


def logarithm(angles: np.ndarray) -> np.ndarray:
    motion = mr.FKinSpace(HOME, IN_SPACE, angles) @ mr.TransInv(HOME)
    return mr.se3ToVec(mr.MatrixLog6(motion))


def inverse_dynamics(angles: np.ndarray, rates: np.ndarray, accelerations: np.ndarray) -> np.ndarray:
    tip = np.array([1.0, 1, 1, 1, 1, 1])
    return mr.InverseDynamics(angles, rates, accelerations, GRAVITY, tip, LINKS, INERTIAS, SCREWS)


def mass_matrix(angles: np.ndarray) -> np.ndarray:
    return mr.MassMatrix(angles, LINKS, INERTIAS, SCREWS)


def simulated(angles: np.ndarray, torques: np.ndarray) -> np.ndarray:
    rates = np.array([0.1, 0.2, 0.3])
    for _ in range(2):
        accelerations = mr.ForwardDynamics(angles, rates, torques, GRAVITY, np.zeros(6), LINKS, INERTIAS, SCREWS)
        angles, rates = mr.EulerStep(angles, rates, accelerations, 0.05)
    return angles


def screw_path(angles: np.ndarray) -> np.ndarray:
    end = mr.FKinSpace(HOME, IN_SPACE, angles)
    return np.array(mr.ScrewTrajectory(HOME, end, 5.0, 4, 3))


def inverse_kinematics(x: float, y: float) -> np.ndarray:
    target = np.array([[0.0, 1, 0, x], [1, 0, 0, y], [0, 0, -1, 1.6858], [0, 0, 0, 1]])
    body = np.array([[0.0, 0, -1, 2, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0.1]]).T
    return mr.IKinBody(body, HOME, target, np.array([1.5, 2.5, 3.0]), 0.01, 0.001)[0]


CALLS = {
    "forward_kinematics": Call(forward_kinematics, JOINTS),
    "jacobian": Call(jacobian, JOINTS),
    "logarithm": Call(logarithm, np.array([0.4, 0.7, 0.5])),
    "inverse_dynamics": Call(
        inverse_dynamics, np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.1, 0.2]), np.array([2.0, 1.5, 1.0])
    ),
    "mass_matrix": Call(mass_matrix, np.array([0.1, 0.2, 0.3])),
    "simulated": Call(simulated, np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.6, 0.7])),
    "screw_path": Call(screw_path, np.array([0.3, 0.2, 0.4])),
    "inverse_kinematics": Call(inverse_kinematics, -5.0, 4.0),
}
