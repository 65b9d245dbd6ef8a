"""Distances on the globe as objects that add, convert and compare, over Karney's geodesics or the sphere."""

from __future__ import annotations

from typing import Any

from geopy.distance import Distance, geodesic, great_circle
from geopy.point import Point

from thirdparty.harness import Call

DISTRIBUTION = "geopy"
FIELD = "geodesy"

NEWPORT, CLEVELAND = (41.49, -71.31), (41.5, -81.7)


def geodesics(a: tuple[float, float], b: tuple[float, float]) -> Any:
    return geodesic(a, b).km / 1e3, geodesic(a, b, ellipsoid="GRS-67").ft / 1e6


def by_way_of(a: tuple[float, float], b: tuple[float, float], radius: float) -> Any:
    return great_circle(a, b, (40.0, -80.0), radius=radius * 1e3).miles / 1e3


def travelled(a: tuple[float, float], length: float, bearing: float) -> Any:
    on_earth = geodesic(kilometers=length * 100).destination(Point(*a), bearing=bearing)
    on_sphere = great_circle(kilometers=length * 100).destination(a, bearing=bearing)
    return on_earth.latitude, on_earth.longitude, on_sphere.latitude


def arithmetic(a: tuple[float, float], b: tuple[float, float]) -> Any:
    return ((great_circle(a, b) + Distance(3.0)) * 2.0).m / 1e6


CALLS = {
    "geodesics": Call(geodesics, NEWPORT, CLEVELAND),
    "by_way_of": Call(by_way_of, NEWPORT, CLEVELAND, 6.371),
    "travelled": Call(travelled, NEWPORT, 3.0, 20.0),
    "arithmetic": Call(arithmetic, NEWPORT, CLEVELAND),
}
