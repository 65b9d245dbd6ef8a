"""Geodesics on the ellipsoid, after Karney (2013): iterations to convergence over scalar ``math``."""

from __future__ import annotations

from geographiclib.geodesic import Geodesic

from thirdparty.harness import Call

DISTRIBUTION = "geographiclib"
FIELD = "geodesy"


def distance(latitude1: float, longitude1: float, latitude2: float, longitude2: float) -> float:
    return Geodesic.WGS84.Inverse(latitude1, longitude1, latitude2, longitude2)["s12"] / 1e6


def destination(latitude: float, longitude: float, azimuth: float, length: float) -> tuple[float, float]:
    there = Geodesic.WGS84.Direct(latitude, longitude, azimuth, length * 1e6)
    return there["lat2"], there["lon2"]


def area_of_polygon(latitude: float, longitude: float) -> float:
    polygon = Geodesic.WGS84.Polygon()
    for corner in ((latitude, longitude), (40.0, 5.0), (50.0, 20.0)):
        polygon.AddPoint(*corner)
    _, perimeter, area = polygon.Compute()
    return perimeter / 1e6 + area / 1e12


def point_on_line(azimuth: float, equatorial_radius: float) -> float:
    earth = Geodesic(equatorial_radius * 1e6, 1 / 298.25)
    return earth.Line(-30.0, 10.0, azimuth).Position(2e6)["lat2"]


CALLS = {
    "distance": Call(distance, 40.6, -73.8, 51.6, -0.5),
    "destination": Call(destination, 40.6, -73.8, 53.5, 5.85),
    "area_of_polygon": Call(area_of_polygon, 30.0, 2.0),
    "point_on_line": Call(point_on_line, 63.0, 6.378),
}
