"""Astronomical algorithms after Meeus: angles and epochs as objects, series of the planets, interpolation, fits."""

from __future__ import annotations

from typing import Any

from pymeeus import Coordinates
from pymeeus.Angle import Angle
from pymeeus.CurveFitting import CurveFitting
from pymeeus.Earth import WGS84, Earth
from pymeeus.Epoch import Epoch
from pymeeus.Interpolation import Interpolation
from pymeeus.Mars import Mars
from pymeeus.Moon import Moon
from pymeeus.Sun import Sun

from thirdparty.harness import Call

DISTRIBUTION = "pymeeus"
FIELD = "astronomy"


def moon(day: float) -> Any:
    then = Epoch(2020, 5, day)
    longitude, latitude, distance, _ = Moon.geocentric_ecliptical_pos(then)
    return float(longitude), float(latitude), distance / 1e5, Moon.illuminated_fraction_disk(then)


def sun_and_mars(day: float) -> Any:
    then = Epoch(2020, 5, day)
    longitude, latitude, radius = Mars.geometric_heliocentric_position(then)
    return float(longitude), float(latitude), radius, Sun.geometric_geocentric_position(then)[2]


def coordinates(right_ascension: float, declination: float) -> Any:
    a, d = Angle(right_ascension), Angle(declination)
    ecliptic = Coordinates.equatorial2ecliptical(a, d, Angle(23.4392911))
    galactic = Coordinates.equatorial2galactic(a, d)
    return [float(x) for x in (*ecliptic, *galactic, Coordinates.angular_separation(a, d, Angle(201.2), Angle(-11.1)))]


def precession(right_ascension: float, declination: float) -> Any:
    start, end = Epoch(2000, 1, 1.5), Epoch(2028, 11, 13.19)
    moved = Coordinates.precession_equatorial(start, end, Angle(right_ascension), Angle(declination))
    return [float(x) for x in moved]


def distance(latitude: float, longitude: float) -> float:
    return Earth(WGS84).distance(Angle(latitude), Angle(longitude), Angle(40.0), Angle(50.0))[0] / 1e6


def interpolated(y: float, x: float) -> Any:
    table = Interpolation([7.0, 8.0, 9.0, 10.0], [y, 0.87, 0.866, 0.85])
    return table(x), table.derivative(x)


def fitted(y: float) -> Any:
    return CurveFitting([-2.0, -1.5, -1.0, -0.5, 0.0, 0.5], [y, 1.0, 1.1, 2.0, 1.2, 1.1]).quadratic_fitting()


CALLS = {
    "moon": Call(moon, 10.3),
    "sun_and_mars": Call(sun_and_mars, 10.3),
    "coordinates": Call(coordinates, 116.3, 28.0),
    "precession": Call(precession, 41.05, 49.2),
    "distance": Call(distance, 10.0, 20.0),
    "interpolated": Call(interpolated, 0.8845, 8.3),
    "fitted": Call(fitted, 3.0),
}
