"""Shapes of a drawing as objects: matrices written in text, paths, boxes, points along a curve."""

from __future__ import annotations

from typing import Any

from svgelements import Arc, CubicBezier, Ellipse, Matrix, Move, Path, Point, QuadraticBezier, Rect

from thirdparty.harness import Call, Cut

DISTRIBUTION = "svgelements"
FIELD = "graphics"
HELD_OUT = True


def transformed(angle: float, x: float) -> list[float]:
    motion = Matrix()
    motion.post_rotate(angle, 1.0, 2.0)
    motion.post_scale(1.0 + x, 2.0)
    seen = motion.point_in_matrix_space((x, 3.0))
    return [seen.x, seen.y, motion.determinant]


def along_a_curve(x: float, y: float) -> list[float]:
    curve = CubicBezier((0.0, 0.0), (x, 1.0), (2.0, y), (3.0, 0.0))
    here = curve.point(0.4)
    return [here.x, here.y, *curve.bbox()]


def length(x: float, y: float) -> float:
    return QuadraticBezier((0.0, 0.0), (x, y), (3.0, 0.5)).length()


def arc(radius: float, at: float) -> list[float]:
    piece = Arc(start=(0.0, 0.0), end=(3.0, 1.0), rx=radius, ry=2.0, rotation=0, arc=0, sweep=1)
    return [piece.point(at).x, piece.point(at).y, piece.sweep]


def path(x: float, y: float) -> list[float]:
    drawn = Path(Move((0.0, 0.0)), CubicBezier((0.0, 0.0), (x, 1.0), (2.0, y), (3.0, 0.0)))
    drawn *= Matrix.scale(x, 2.0)
    drawn.reify()
    return [*(drawn.bbox() or ()), drawn.first_point.x, drawn.point(0.3).y]


def shapes(width: float, height: float) -> list[float]:
    boxes = [shape.bbox() for shape in (Rect(1.0, 2.0, width, height), Ellipse(0.0, 0.0, width, height))]
    return [side for box in boxes for side in box or ()]


def turned(angle: float) -> Any:
    return (Rect(1.0, 2.0, 3.0, 4.0) * Matrix.rotate(angle)).bbox()


def points(x: float, y: float) -> list[float]:
    here, there = Point(x, y), Point(3.0, -1.0)
    moved = here.polar_to(0.7, 2.0)
    return [here.distance_to(there), float(here.angle_to(there)), moved.x, Point.towards(here, there, 0.3).y]


CALLS = {
    "transformed": Call(transformed, 0.4, 0.7),
    "along_a_curve": Call(along_a_curve, 0.5, 1.5),
    "length": Call(length, 1.0, 2.0),
    "arc": Call(arc, 2.5, 0.3),
    "path": Call(path, 0.5, 1.5),
    "turned": Call(turned, 0.4),
    "points": Call(points, 0.5, 1.5),
}
CUT = {"shapes": Cut("lengths are converted to text, with optional units, and parsed again", shapes, 3.0, 2.0)}
