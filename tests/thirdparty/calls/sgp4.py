"""The orbits of satellites by the model that their published elements are made for, and osculating elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from sgp4.api import Satrec as Compiled
from sgp4.ext import newtonnu, rv2coe
from sgp4.model import WGS72, Satrec

from thirdparty.harness import Call, Refused

DISTRIBUTION = "sgp4"
FIELD = "astronomy"

STATION = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)
DEEP = (
    "1 04632U 70093B   04031.91070959 -.00000084  00000-0  10000-3 0  9955",
    "2 04632  11.4628 273.1101 1450506 207.6000 143.9350  1.20231981 44145",
)


def position(minutes: float) -> Any:
    _, r, v = Satrec.twoline2rv(*STATION).sgp4_tsince(minutes)
    return np.array(r) / 1e3, v


def deep_space(minutes: float) -> Any:
    _, r, v = Satrec.twoline2rv(*DEEP).sgp4_tsince(minutes)
    return np.array(r) / 1e3, v


def of_elements(drag: float, eccentricity: float, inclination: float, anomaly: float, motion: float) -> Any:
    satellite = Satrec()
    satellite.sgp4init(
        WGS72, "i", 5, 18441.785, drag / 1e5, 0.0, 0.0, eccentricity, 5.79, inclination, anomaly, motion / 10, 6.0862
    )
    _, r, v = satellite.sgp4_tsince(20.0)
    return np.array(r) / 1e3, v


def osculating(r: list[float], v: list[float]) -> Any:
    return rv2coe([1e3 * x for x in r], v, 398600.4418)[1:7]


def anomalies(eccentricity: float, true_anomaly: float) -> Any:
    return newtonnu(eccentricity, true_anomaly)


CALLS = {
    "position": Call(position, 30.0),
    "deep_space": Call(deep_space, 30.0),
    "of_elements": Call(of_elements, 2.8, 0.186, 0.598, 0.337, 0.472),
    "osculating": Call(osculating, [6.524, 6.862, 6.448], [4.901, 5.533, -1.976]),
    "anomalies": Call(anomalies, 0.3, 1.1),
}

REFUSED = {
    "compiled": Refused(
        "the accelerated class is written in C++; use the package's Python class",
        "has no derivative rule",
        lambda t: Compiled.twoline2rv(*STATION).sgp4_tsince(t)[1][0],
        30.0,
    ),
}
