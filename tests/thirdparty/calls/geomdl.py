"""Splines and NURBS in pure Python: evaluation, derivatives, knots that are put in, curves through points."""

from __future__ import annotations

from typing import Any

from geomdl import NURBS, BSpline, fitting, operations, utilities

from thirdparty.harness import Call

DISTRIBUTION = "geomdl"
FIELD = "graphics"

POINTS = [[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [4.0, 5.0, 1.0], [6.0, 2.0, 2.0], [7.0, 0.0, 1.0]]


def spline(points: list[list[float]]) -> Any:
    curve = BSpline.Curve()
    curve.degree = 3
    curve.ctrlpts = points
    curve.knotvector = utilities.generate_knot_vector(3, len(points))
    return curve


def evaluated(points: list[list[float]], u: float) -> Any:
    return spline(points).evaluate_single(u), spline(points).derivatives(u, 2)


def refined(points: list[list[float]]) -> Any:
    finer = operations.insert_knot(spline(points), [0.3], [1])
    return finer.ctrlpts, operations.split_curve(finer, 0.4)[0].ctrlpts


def weighted(points: list[list[float]], weights: list[float]) -> Any:
    curve = NURBS.Curve()
    curve.degree = 3
    curve.ctrlpts = points
    curve.weights = weights
    curve.knotvector = utilities.generate_knot_vector(3, len(points))
    return curve.evaluate_single(0.4)


def through(points: list[list[float]]) -> Any:
    return fitting.interpolate_curve(points, 3).ctrlpts


def surface(height: float, u: float) -> Any:
    patch = BSpline.Surface()
    patch.degree_u = patch.degree_v = 2
    patch.set_ctrlpts([[float(i), float(j), height * (i + j * j)] for i in range(4) for j in range(4)], 4, 4)
    patch.knotvector_u = patch.knotvector_v = utilities.generate_knot_vector(2, 4)
    return patch.evaluate_single((u, 0.4))


CALLS = {
    "evaluated": Call(evaluated, POINTS, 0.4),
    "refined": Call(refined, POINTS),
    "weighted": Call(weighted, POINTS, [1.0, 0.8, 1.2, 1.0, 1.0]),
    "through": Call(through, POINTS),
    "surface": Call(surface, 0.7, 0.3),
}
