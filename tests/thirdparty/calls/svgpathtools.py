"""Curves in the complex plane: lines, arcs and Bezier curves as objects, lengths by subdivision, crossings by roots."""

from __future__ import annotations

from typing import Any

from svgpathtools import Arc, CubicBezier, Line, Path, QuadraticBezier

from thirdparty.harness import Call

DISTRIBUTION = "svgpathtools"
FIELD = "graphics"


def cubic(start: complex) -> CubicBezier:
    return CubicBezier(start, 1 + 3j, 4 + 2j, 5 + 1j)


def shape_at(start: complex, t: float) -> Any:
    curve = cubic(start)
    return curve.point(t), curve.curvature(t), curve.unit_tangent(t), curve.normal(t)


def lengths(start: complex) -> Any:
    return Line(start, 3 + 4j).length(), QuadraticBezier(start, 1 + 3j, 4 + 2j).length()


def along_a_path(corner: complex, t: float) -> Any:
    path = Path(Line(0j, corner), cubic(corner), Line(5 + 1j, 0j))
    return path.point(t), path.start


def enclosed(corner: complex) -> float:
    return Path(Line(0j, corner), Line(corner, 4 + 2j), Line(4 + 2j, 0j)).area()


def on_an_arc(start: complex, t: float) -> complex:
    return Arc(start, 10 + 5j, 20.0, False, True, 8 + 3j).point(t)


def crossing(start: complex) -> Any:
    return cubic(start).intersect(Line(1.5j, 6 + 1.7j))[0]


def moved(start: complex, degrees: float) -> Any:
    curve = cubic(start).rotated(degrees, 1 + 1j).translated(2j).scaled(1.5)
    return curve.split(0.3)[0].end, curve.bbox()


CALLS = {
    "shape_at": Call(shape_at, 0.5 + 0.2j, 0.3),
    "lengths": Call(lengths, 0.5 + 0.2j),
    "along_a_path": Call(along_a_path, 0.5 + 0.2j, 0.7),
    "enclosed": Call(enclosed, 0.5 + 3.2j),
    "on_an_arc": Call(on_an_arc, 0.1 + 0.2j, 0.3),
    "crossing": Call(crossing, 0.2 + 0j),
    "moved": Call(moved, 0.5 + 0.2j, 30.0),
}
