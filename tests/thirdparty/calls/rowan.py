"""Quaternions as plain arrays of any shape: rotation, calculus, interpolation and the mapping of point clouds."""

from __future__ import annotations

from typing import Any

import numpy as np
import rowan

from thirdparty.harness import Call

DISTRIBUTION = "rowan"
FIELD = "physics"

P, Q = np.array([0.5, -0.4, 0.2, 0.75]), np.array([0.9, 0.1, 0.3, -0.2])
CLOUD = np.array([[1.0, 2.0, 3.0], [0.5, 0.1, 0.2], [0.3, 1.0, 0.4]])


def turned(q: np.ndarray, v: np.ndarray) -> Any:
    unit = rowan.normalize(q)
    return rowan.rotate(unit, v), rowan.to_euler(unit, "zyx")


def exponential(q: np.ndarray) -> Any:
    return rowan.exp(rowan.log(q) * 0.5), rowan.power(q, 1.7)


def between(start: np.ndarray, at: float) -> Any:
    a, b = rowan.normalize(start), rowan.normalize(P)
    return rowan.interpolate.slerp(a, b, at), rowan.interpolate.squad(a, b, b, a, at)


def spinning(rate: np.ndarray) -> Any:
    start = rowan.normalize(Q)
    return rowan.calculus.integrate(start, rate, 0.1), rowan.calculus.derivative(start, rate)


def distances(p: np.ndarray, q: np.ndarray) -> Any:
    return rowan.geometry.sym_distance(p, q), rowan.geometry.riemann_log_map(p, q)


def many(q: np.ndarray) -> Any:
    return rowan.rotate(rowan.normalize(q), CLOUD[:2])


def aligned(cloud: np.ndarray) -> Any:
    return rowan.mapping.kabsch(cloud, 1.1 * CLOUD[::-1] + 0.1)


CALLS = {
    "turned": Call(turned, Q, np.array([1.0, 2.0, 3.0])),
    "exponential": Call(exponential, Q),
    "between": Call(between, Q, 0.3),
    "spinning": Call(spinning, np.array([1.0, 2.0, 3.0])),
    "distances": Call(distances, P, Q),
    "many": Call(many, np.stack([P, Q])),
    "aligned": Call(aligned, CLOUD),
}
