"""Positions on earth and sky: time scales, precession and nutation, frames, refraction, osculating elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from skyfield import api, earthlib, elementslib, framelib, positionlib, units

from thirdparty.harness import Call

DISTRIBUTION = "skyfield"
FIELD = "astronomy"

SCALE = api.load.timescale(builtin=True)
TIME = SCALE.tt_jd(2459000.5)
P, V = np.array([1.0, 0.2, 0.3]), np.array([0.001, 0.015, 0.002])


def place(latitude: float, longitude: float, elevation: float) -> Any:
    here = api.wgs84.latlon(latitude, longitude, elevation_m=elevation).at(TIME)
    return here.position.km / 1e3, here.velocity.km_per_s


def below(p: np.ndarray) -> Any:
    point = api.wgs84.geographic_position_of(positionlib.Geocentric(p / 1.5e5, t=TIME))
    return point.latitude.degrees, point.longitude.degrees, point.elevation.km / 1e3


def in_the_sky(p: np.ndarray) -> Any:
    right_ascension, declination, distance = positionlib.ICRF(p, t=TIME).radec(epoch="date")
    return right_ascension.hours, declination.degrees, distance.au


def in_other_frames(p: np.ndarray) -> Any:
    position = positionlib.ICRF(p, t=TIME)
    ecliptic, galactic = (position.frame_latlon(f) for f in (framelib.ecliptic_frame, framelib.galactic_frame))
    return [a.degrees for a in (*ecliptic[:2], *galactic[:2])]


def sidereal_time(days: float) -> Any:
    then = SCALE.tt_jd(2459000.5, days)
    return then.gmst, then.gast, then.M[0]


def separation(p: np.ndarray, q: np.ndarray) -> Any:
    return positionlib.ICRF(p).separation_from(positionlib.ICRF(q)).degrees


def elements(r: np.ndarray, v: np.ndarray) -> Any:
    found = elementslib.osculating_elements_of(positionlib.ICRF(r, v, t=TIME, center=10))
    return found.semi_major_axis.au, found.eccentricity, found.inclination.degrees, found.true_anomaly.degrees


def refracted(altitude: float, temperature: float, pressure: float) -> Any:
    return earthlib.refraction(altitude, temperature, pressure), units.Angle(degrees=altitude).radians


CALLS = {
    "place": Call(place, 40.0, -75.0, 100.0),
    "below": Call(below, np.array([4.0, 5.0, 4.5])),
    "in_the_sky": Call(in_the_sky, P),
    "in_other_frames": Call(in_other_frames, P),
    "sidereal_time": Call(sidereal_time, 0.3),
    "separation": Call(separation, P, np.array([0.5, 0.2, 0.1])),
    "elements": Call(elements, P, V),
    "refracted": Call(refracted, 10.0, 15.0, 1000.0),
}
