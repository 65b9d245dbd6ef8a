"""Geometry on the sphere as a port of a C++ library: angles, caps and rectangles as classes."""

from __future__ import annotations

from s2sphere import Angle, Cap, LatLng, LatLngRect, Point

from thirdparty.harness import Call, Refused

DISTRIBUTION = "s2sphere"
FIELD = "geodesy"
HELD_OUT = True


def distance(latitude: float, longitude: float) -> float:
    return LatLng.from_degrees(latitude, longitude).get_distance(LatLng.from_degrees(48.8, 2.3)).degrees


def there_and_back(latitude: float, longitude: float) -> list[float]:
    point = LatLng.from_degrees(latitude, longitude).to_point()
    seen = LatLng.from_point(Point(point[0], point[1] + 0.2, point[2]).normalize())
    return [seen.lat().degrees, seen.lng().radians]


def angles(x: float, y: float, z: float) -> list[float]:
    one, other = Point(x, y, z), Point(0.2, -0.3, 0.9)
    across = one.cross_prod(other)
    return [one.angle(other), one.dot_prod(other), across.norm(), across[1]]


def rectangle(latitude: float, longitude: float, margin: float) -> float:
    corners = LatLng.from_degrees(latitude, longitude), LatLng.from_degrees(48.8, 22.3)
    grown = LatLngRect.from_point_pair(*corners).expanded(LatLng.from_degrees(margin, margin))
    return grown.area()


def cap(latitude: float, radius: float) -> float:
    axis = LatLng.from_degrees(latitude, 13.0).to_point()
    around = Cap.from_axis_angle(axis, Angle.from_degrees(radius))
    return around.get_rect_bound().lng_lo().degrees


CALLS = {
    "distance": Call(distance, 52.5, 13.4),
    "there_and_back": Call(there_and_back, 52.5, 13.4),
    "angles": Call(angles, 0.3, 0.4, 0.5),
}
REFUSED = {
    "rectangle": Refused("remainders are computed with decimal.Decimal", "Decimal", rectangle, 42.5, 13.4, 0.5),
    "cap": Refused("remainders are computed with decimal.Decimal", "Decimal", cap, 52.5, 4.0),
}
