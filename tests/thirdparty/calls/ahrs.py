"""Attitude filters over a series of measurements, and quaternions and rotation matrices as subclasses of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from ahrs import DCM, Quaternion, QuaternionArray
from ahrs.filters import EKF, QUEST, Complementary, Davenport, Madgwick, Mahony
from ahrs.utils import WGS

from thirdparty.harness import Call

DISTRIBUTION = "ahrs"
FIELD = "robotics"

ACCELERATION = np.array([[0.1, 0.2, 9.7], [0.2, 0.1, 9.6], [0.15, 0.1, 9.7]])
RATE = np.array([[0.01, 0.02, 0.03], [0.02, 0.01, 0.05], [0.03, 0.01, 0.02]])
FIELD_STRENGTH = np.array([[20.0, 5.0, 40.0], [21.0, 4.0, 41.0], [22.0, 4.0, 39.0]])
Q = np.array([0.9, 0.1, 0.3, -0.2])


def madgwick(rate: np.ndarray, acceleration: np.ndarray, gain: float) -> Any:
    return Madgwick(gyr=rate, acc=acceleration, frequency=50.0, gain=gain).Q


def mahony(rate: np.ndarray, acceleration: np.ndarray, magnetic: np.ndarray) -> Any:
    return Mahony(gyr=rate, acc=acceleration, mag=magnetic).Q


def kalman(rate: np.ndarray, acceleration: np.ndarray) -> Any:
    return EKF(gyr=rate, acc=acceleration, mag=FIELD_STRENGTH).Q


def complementary(rate: np.ndarray, magnetic: np.ndarray) -> Any:
    return Complementary(gyr=rate, acc=ACCELERATION, mag=magnetic).Q


def optimal(acceleration: np.ndarray, magnetic: np.ndarray) -> Any:
    return QUEST(acc=acceleration, mag=magnetic).Q, Davenport(acc=acceleration, mag=magnetic).Q


def quaternion(q: np.ndarray) -> Any:
    turned = Quaternion(q)
    return turned.to_DCM(), turned.log, turned.rotate(np.array([1.0, 2.0, 3.0])), np.asarray(turned.to_angles())


def rotation_matrix(angles: list[float]) -> Any:
    turned = DCM(x=angles[0], y=angles[1], z=angles[2])
    return turned.to_quaternion(), turned.log


def mean_attitude(q: np.ndarray) -> Any:
    return QuaternionArray(q).average()


def gravity(latitude: float, height: float) -> float:
    return WGS().normal_gravity(latitude, height)


CALLS = {
    "madgwick": Call(madgwick, RATE, ACCELERATION, 0.05),
    "mahony": Call(mahony, RATE, ACCELERATION, FIELD_STRENGTH),
    "kalman": Call(kalman, RATE, ACCELERATION),
    "complementary": Call(complementary, RATE, FIELD_STRENGTH),
    "optimal": Call(optimal, ACCELERATION, FIELD_STRENGTH),
    "quaternion": Call(quaternion, Q),
    "rotation_matrix": Call(rotation_matrix, [0.3, 0.4, 0.5]),
    "mean_attitude": Call(mean_attitude, np.array([[0.9, 0.1, 0.3, -0.2], [0.8, 0.2, 0.2, -0.1]])),
    "gravity": Call(gravity, 40.0, 100.0),
}
