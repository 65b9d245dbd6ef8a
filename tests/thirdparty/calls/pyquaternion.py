"""Rotations in space: a class with every operator, properties that normalise in place, and static methods."""

from __future__ import annotations

from typing import Any

from pyquaternion import Quaternion

from thirdparty.harness import Call

DISTRIBUTION = "pyquaternion"
FIELD = "robotics"

A, B = (0.9, 0.1, 0.3, -0.2), (0.5, -0.4, 0.2, 0.7)


def rotate_about_an_axis(axis: list[float], degrees: float, v: tuple[float, float, float]) -> tuple[Any, ...]:
    return Quaternion(axis=axis, degrees=degrees).rotate(v)


def product_and_quotient(a: tuple[float, ...], b: tuple[float, ...], exponent: float) -> Any:
    p, q = Quaternion(*a), Quaternion(*b)
    return (p * q + p / q - 2.0 * q.inverse + p**exponent).elements


def interpolate(a: tuple[float, ...], b: tuple[float, ...], amount: float) -> Any:
    return Quaternion.slerp(Quaternion(*a), Quaternion(*b), amount).yaw_pitch_roll


def exponential_and_logarithm(a: tuple[float, ...], b: tuple[float, ...]) -> Any:
    p, q = Quaternion(*a).normalised, Quaternion(*b)
    return (Quaternion.exp(q) + Quaternion.log_map(p, q)).elements * Quaternion.distance(p, q)


def integrate_a_rate(a: tuple[float, ...], rate: list[float]) -> Any:
    q = Quaternion(*a)
    for _ in range(5):
        q.integrate(rate, 0.1)
    return q.rotation_matrix


def from_a_matrix(axis: list[float], degrees: float) -> Any:
    q = Quaternion(matrix=Quaternion(axis=axis, degrees=degrees).transformation_matrix)
    return q.axis * q.angle


def of_an_object(q: Quaternion) -> float:
    return (q * q).conjugate.norm + q[2] ** 2


CALLS = {
    "rotate_about_an_axis": Call(rotate_about_an_axis, [1.0, 2.0, 3.0], 47.0, (1.0, 2.0, 3.0)),
    "product_and_quotient": Call(product_and_quotient, A, B, 0.7),
    "interpolate": Call(interpolate, A, B, 0.3),
    "exponential_and_logarithm": Call(exponential_and_logarithm, A, B),
    "integrate_a_rate": Call(integrate_a_rate, A, [0.1, 0.2, 0.3]),
    "from_a_matrix": Call(from_a_matrix, [1.0, 2.0, 3.0], 47.0),
    "of_an_object": Call(of_an_object, Quaternion(*A)),
}
