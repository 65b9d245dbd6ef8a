"""Positions between earth-centred, geodetic and local frames, rhumb lines and Vincenty's geodesics."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pymap3d
from pymap3d import los, lox, rcurve, vincenty

from thirdparty.harness import Call

DISTRIBUTION = "pymap3d"
FIELD = "geodesy"

HERE = 42.0, -82.0, 200.0


def to_the_centre_and_back(latitude: float, longitude: float, altitude: float) -> Any:
    return pymap3d.ecef2geodetic(*pymap3d.geodetic2ecef(latitude, longitude, altitude))


def radar(latitude: float, longitude: float, altitude: float) -> Any:
    azimuth, elevation, slant = pymap3d.geodetic2aer(latitude, longitude, altitude, 42.1, -82.2, 100.0)
    return azimuth, elevation, slant / 1e4


def seen_from_here(azimuth: float, elevation: float, slant: float) -> Any:
    latitude, longitude, altitude = pymap3d.aer2geodetic(azimuth, elevation, slant * 1e3, *HERE)
    return latitude, longitude, altitude / 1e3


def many_positions(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Any:
    return pymap3d.ecef2enu(x * 1e6, y * 1e6, z * 1e6, *HERE)[2] / 1e6


def geodesic(latitude: np.ndarray, longitude: np.ndarray) -> Any:
    distance, azimuth = vincenty.vdist(latitude, longitude, 15.0, 30.0)
    return distance / 1e6, azimuth


def end_of_a_geodesic(latitude: float, longitude: float, length: float, azimuth: float) -> Any:
    return vincenty.vreckon(latitude, longitude, length * 1e6, azimuth)


def rhumb_line(latitude: float, longitude: float, radius: float) -> Any:
    length, azimuth = lox.loxodrome_inverse(latitude, longitude, 65.0, -148.0)
    return length / (radius * 1e6), azimuth


def line_of_sight(azimuth: float, tilt: float) -> Any:
    latitude, longitude, slant = los.lookAtSpheroid(*HERE, azimuth, tilt)
    return latitude, longitude, slant


def auxiliary_latitudes(latitude: float) -> Any:
    isometric = pymap3d.geodetic2isometric(latitude)
    return pymap3d.isometric2geodetic(isometric), rcurve.meridian(latitude) / 1e6, pymap3d.geodetic2authalic(latitude)


def inertial(azimuth: float, elevation: float, slant: float) -> Any:
    """By way of astropy's coordinates where that is installed, whose transformations are written in C."""
    return pymap3d.ecef2eci(
        *pymap3d.aer2ecef(azimuth, elevation, slant * 1e6, *HERE), datetime(2020, 1, 1), force_non_astropy=True
    )


CALLS = {
    "to_the_centre_and_back": Call(to_the_centre_and_back, *HERE),
    "radar": Call(radar, *HERE),
    "seen_from_here": Call(seen_from_here, 33.0, 70.0, 1.0),
    "many_positions": Call(many_positions, np.array([0.66, 0.7]), np.array([-4.7, -4.5]), np.array([4.25, 4.3])),
    "geodesic": Call(geodesic, np.array([10.0, 11.0]), np.array([20.0, 22.0])),
    "end_of_a_geodesic": Call(end_of_a_geodesic, 10.0, 20.0, 3.0, 38.0),
    "rhumb_line": Call(rhumb_line, 40.0, -80.0, 6.37),
    "line_of_sight": Call(line_of_sight, 20.0, 30.0),
    "auxiliary_latitudes": Call(auxiliary_latitudes, 42.0),
    "inertial": Call(inertial, 33.0, 70.0, 1.0),
}
