"""Tiles of a map of the web: named tuples of a place, a zoom and bounds."""

from __future__ import annotations

from mercantile import feature, lnglat, tile, ul, xy, xy_bounds

from thirdparty.harness import Call

DISTRIBUTION = "mercantile"
FIELD = "maps"
HELD_OUT = True


def projected(longitude: float, latitude: float) -> tuple[float, float]:
    return xy(longitude, latitude)


def back(x: float, y: float) -> tuple[float, float]:
    return lnglat(x, y)


def in_its_tile(longitude: float, latitude: float) -> list[float]:
    bounds, (x, y) = xy_bounds(tile(longitude, latitude, 3)), xy(longitude, latitude)
    return [(x - bounds.left) / (bounds.right - bounds.left), (bounds.top - y) / (bounds.top - bounds.bottom)]


def from_the_corner(longitude: float, latitude: float) -> list[float]:
    corner = ul(486, 332, 10)
    return [longitude - corner.lng, (latitude - corner.lat) * xy(longitude, latitude)[1]]


def outlined(grown: float) -> list[float]:
    box = feature((486, 332, 10), buffer=grown)["bbox"]
    return [side * side for side in box]


CALLS = {
    "projected": Call(projected, -9.14, 38.72),
    "back": Call(back, -1017000.0, 4680000.0),
    "in_its_tile": Call(in_its_tile, -9.14, 38.72),
    "from_the_corner": Call(from_the_corner, -9.14, 38.72),
    "outlined": Call(outlined, 0.2),
}
