"""Vectors of high-energy physics in whatever coordinates they are given: every method dispatched by coordinate systems."""

from __future__ import annotations

import numpy as np
import vector

from thirdparty.harness import Call

DISTRIBUTION = "vector"
FIELD = "particle physics"
HELD_OUT = True

MOMENTA = np.array([20.0, 35.0, 12.0])


def invariant_mass(pt: float, eta: float, phi: float) -> float:
    one = vector.obj(pt=pt, eta=eta, phi=phi, mass=0.105)
    return (one + vector.obj(pt=35.0, eta=-0.4, phi=2.0, mass=0.105)).mass


def boosted(x: float, y: float, z: float) -> list[float]:
    particle = vector.obj(px=x, py=y, pz=z, E=10.0)
    seen = particle.boostZ(beta=0.3).boost(vector.obj(x=0.1, y=0.2, z=0.1))
    return [seen.px, seen.py, seen.pz, seen.energy]


def rotated(rho: float, phi: float, angle: float) -> list[float]:
    seen = vector.obj(rho=rho, phi=phi, z=0.5).rotate_axis(vector.obj(x=1.0, y=2.0, z=2.0), angle)
    return [seen.x, seen.y, seen.z, seen.theta]


def plane(x: float, y: float) -> list[float]:
    one, other = vector.obj(x=x, y=y), vector.obj(rho=1.5, phi=0.7)
    return [one.dot(other), one.deltaphi(other), (one * 2.0 - other).rho, abs(one.unit() + other)]


def apart(eta: float, phi: float) -> list[float]:
    one, other = vector.obj(pt=20.0, eta=eta, phi=phi, m=1.0), vector.obj(pt=35.0, eta=-0.4, phi=2.0, m=0.5)
    return [one.deltaR(other), one.rapidity, one.Mt, one.deltaangle(other)]


def many(pt: np.ndarray, eta: np.ndarray) -> np.ndarray:
    events = vector.array({"pt": pt, "eta": eta, "phi": np.array([0.1, 1.2, 2.5]), "mass": np.full(3, 0.105)})
    return (events + events[::-1]).mass


CALLS = {
    "invariant_mass": Call(invariant_mass, 20.0, 0.5, 0.3),
    "boosted": Call(boosted, 1.0, 2.0, 3.0),
    "rotated": Call(rotated, 2.0, 0.3, 0.7),
    "plane": Call(plane, 0.3, 0.8),
    "apart": Call(apart, 0.5, 0.3),
    "many": Call(many, MOMENTA, np.array([0.5, -0.4, 1.1])),
}
