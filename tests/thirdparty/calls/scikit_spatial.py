"""Points, lines, planes and spheres: subclasses of arrays, best fits by singular values, crossings and projections."""

from __future__ import annotations

from typing import Any

import numpy as np
from skspatial.objects import Circle, Line, Plane, Points, Sphere, Triangle, Vector

from thirdparty.harness import Call

DISTRIBUTION = "scikit-spatial"
FIELD = "geometry"

V = np.array([1.0, 2.0, 3.0])
CORNERS = np.array([[1.0, 2.0, 3.0], [2.0, 0.5, 1.0], [0.3, 4.0, 2.0]])
CLOUD = np.vstack([CORNERS, [[1.0, 1.0, 1.0], [3.0, 2.0, 1.2]]])


def vectors(v: np.ndarray) -> Any:
    a = Vector(v)
    return np.asarray(a.cross([2.0, 2.0, 3.0]).unit()), a.angle_between([1.0, 2.0, 0.0]), a.norm()


def to_a_line(p: np.ndarray) -> Any:
    line = Line(p, [1.0, 2.0, 0.0])
    foot = line.project_point([1.0, 5.0, 2.0])
    return np.asarray(foot), line.distance_line(Line([0.0, 0.0, 1.0], [1.0, 0.0, 1.0]))


def through_a_plane(p: np.ndarray) -> Any:
    return np.asarray(Plane(p, [1.0, 2.0, 1.0]).intersect_line(Line([0.0, 0.0, 1.0], [1.0, 0.0, 1.0])))


def through_a_sphere(centre: np.ndarray, radius: float) -> Any:
    return [np.asarray(p) for p in Sphere(centre, radius).intersect_line(Line([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]))]


def best_fits(cloud: np.ndarray) -> Any:
    plane = Plane.best_fit(cloud)
    return np.outer(plane.normal, plane.normal), np.asarray(Points(cloud).centroid())


def triangle(corners: np.ndarray) -> Any:
    found = Triangle(*corners)
    return found.area(), found.angle("A"), np.asarray(found.orthocenter())


def circle(points: np.ndarray) -> Any:
    return Circle.best_fit(points).radius, np.asarray(Circle.from_points(*points[:3]).point)


CALLS = {
    "vectors": Call(vectors, V),
    "to_a_line": Call(to_a_line, V),
    "through_a_plane": Call(through_a_plane, V),
    "through_a_sphere": Call(through_a_sphere, V + 0.1, 1.5),
    "best_fits": Call(best_fits, CLOUD),
    "triangle": Call(triangle, CORNERS),
    "circle": Call(circle, np.array([[1.0, 2.0], [2.0, 0.5], [0.3, 4.0], [3.0, 3.0]])),
}
