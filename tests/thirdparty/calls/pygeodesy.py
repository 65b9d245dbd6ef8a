"""Geodesy of every school: named floats, cached properties of kinds of its own, exact sums of partials, Vincenty, Karney."""

from __future__ import annotations

from typing import Any

from pygeodesy import ecef, ellipsoidalVincenty, formy, lcc, sphericalNvector, sphericalTrigonometry, utm
from pygeodesy.ellipsoids import Ellipsoids
from pygeodesy.fmath import Fdot, fpolynomial

from thirdparty.harness import Call

DISTRIBUTION = "pygeodesy"
FIELD = "geodesy"


def vincenty(latitude: float, longitude: float) -> float:
    LatLon = ellipsoidalVincenty.LatLon
    return LatLon(latitude, longitude).distanceTo(LatLon(48.25, 2.3)) / 1e6


def destination(latitude: float, longitude: float, length: float) -> Any:
    there = ellipsoidalVincenty.LatLon(latitude, longitude).destination(length * 1e5, 30.5)
    return there.lat, there.lon


def on_the_sphere(latitude: float, longitude: float) -> Any:
    LatLon = sphericalTrigonometry.LatLon
    here, there = LatLon(latitude, longitude), LatLon(48.25, 2.3)
    middle = here.midpointTo(there)
    crossing = here.intersection(108.5, LatLon(49.5, 2.5), 32.4)
    return middle.lat, middle.lon, crossing.lat, here.crossTrackDistanceTo(there, LatLon(50.5, 3.1)) / 1e6


def area(latitude: float, longitude: float) -> float:
    LatLon = sphericalTrigonometry.LatLon
    return sphericalTrigonometry.areaOf([LatLon(latitude, longitude), LatLon(48.25, 2.3), LatLon(50.5, 7.1)]) / 1e12


def vectors(latitude: float, longitude: float) -> float:
    LatLon = sphericalNvector.LatLon
    return LatLon(latitude, longitude).distanceTo(LatLon(48.25, 2.3)) / 1e6


def grids(latitude: float, longitude: float) -> Any:
    mercator, lambert = utm.toUtm8(latitude, longitude), lcc.toLcc(ellipsoidalVincenty.LatLon(latitude, longitude))
    return mercator.easting / 1e6, mercator.northing / 1e6, lambert.easting / 1e6


def from_the_centre(x: float, y: float, z: float) -> Any:
    return tuple(ecef.EcefKarney().reverse(x * 1e6, y * 1e6, z * 1e6)[3:5])


def formulas(latitude: float, longitude: float) -> Any:
    return formy.thomas(latitude, longitude, 48.25, 2.3) / 1e6, Ellipsoids.WGS84.auxRectifying(latitude) * 1.0


def exact_sums(x: float, y: float) -> Any:
    total = Fdot((x, 0.1, y), y, 2.5, x)
    total += x
    total *= y
    return total.fsum(), fpolynomial(x, 1.0, y, 0.3)


CALLS = {
    "vincenty": Call(vincenty, 52.25, 0.1),
    "destination": Call(destination, 52.25, 0.1, 1.3),
    "on_the_sphere": Call(on_the_sphere, 51.9, 0.23),
    "area": Call(area, 52.25, 0.1),
    "vectors": Call(vectors, 52.25, 0.1),
    "grids": Call(grids, 46.3, 3.2),
    "from_the_centre": Call(from_the_centre, 0.66, -4.7, 4.2465),
    "formulas": Call(formulas, 52.25, 0.1),
    "exact_sums": Call(exact_sums, 0.7, 1.3),
}
