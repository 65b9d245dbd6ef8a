"""Vectors, matrices, quaternions and shapes as classes with slots and operators, changed in place by their methods."""

from __future__ import annotations

from euclid3 import Circle, Line2, Line3, Matrix4, Plane, Point2, Point3, Quaternion, Sphere, Vector2, Vector3

from thirdparty.harness import Call

DISTRIBUTION = "euclid3"
FIELD = "geometry"
HELD_OUT = True


def reflected(x: float, y: float, z: float) -> list[float]:
    v = Vector3(x, y, z).normalized()
    seen = v.reflect(Vector3(0.0, 0.6, 0.8)) + v.cross(Vector3(1.0, 0.0, 0.0)) * 2.0
    return [seen.x, seen.y, seen.z, v.angle(seen)]


def around(x: float, y: float, z: float, angle: float) -> list[float]:
    return list(Vector3(x, y, z).rotate_around(Vector3(1.0, 2.0, 2.0), angle))


def placed(angle: float, scale: float, x: float) -> list[float]:
    motion = Matrix4.new_identity().translate(1.0, x, 3.0).rotatez(angle).scale(scale, scale, 1.0)
    moved = motion.inverse() * Point3(x, 2.0, 0.5)
    return [moved.x, moved.y, moved.z, motion.determinant()]


def quaternions(heading: float, attitude: float, at: float) -> list[float]:
    one = Quaternion.new_rotate_euler(heading, attitude, 0.2)
    other = Quaternion.new_rotate_axis(1.1, Vector3(0.0, 0.6, 0.8))
    turned = Quaternion.new_interpolate(one, other, at) * Vector3(1.0, 2.0, 3.0)
    return [turned.x, turned.y, turned.z]


def camera(x: float, field: float) -> list[float]:
    view = Matrix4.new_look_at(Vector3(x, 3.0, 4.0), Vector3(0.0, 0.0, 0.0), Vector3(0.0, 1.0, 0.0))
    seen = (Matrix4.new_perspective(field, 1.5, 0.1, 100.0) * view.inverse()).transform(Point3(0.2, 0.3, 0.1))
    return [seen.x, seen.y, seen.z]


def crossing(x: float, radius: float) -> list[float]:
    chord = Line2(Point2(x, -3.0), Vector2(0.3, 1.0)).intersect(Circle(Point2(0.0, 0.0), radius))
    return [chord.p.x, chord.p.y, chord.v.x, chord.v.y, Point2(x, 4.0).distance(Circle(Point2(0.0, 0.0), radius))]


def in_space(x: float, k: float) -> list[float]:
    ray = Line3(Point3(x, 0.0, 0.0), Vector3(0.2, 1.0, 1.0))
    met = ray.intersect(Plane(Vector3(0.0, 0.6, 0.8), k))
    return [met.x, met.y, met.z, Point3(x, 5.0, 1.0).connect(Sphere(Point3(0.0, 0.0, 0.0), k)).length]


CALLS = {
    "reflected": Call(reflected, 0.3, 0.4, 0.5),
    "around": Call(around, 0.3, 0.4, 0.5, 0.7),
    "placed": Call(placed, 0.4, 1.5, 0.3),
    "quaternions": Call(quaternions, 0.3, 0.5, 0.4),
    "camera": Call(camera, 2.0, 0.9),
    "crossing": Call(crossing, 0.3, 2.0),
    "in_space": Call(in_space, 0.3, 2.0),
}
