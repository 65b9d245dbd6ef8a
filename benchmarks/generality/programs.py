"""The programs: SciPy's own solvers, plain Python, and the calls of packages in ``tests/thirdparty``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from thirdparty.harness import packages  # noqa: E402

Case = tuple[str, Callable[..., Any], tuple[Any, ...], bool]
"""A name, a function, its arguments, and whether its package is held out: never profiled to make morula faster."""


def lotka_volterra(method: str) -> Callable[..., Any]:
    def final_prey(p: Any) -> Any:
        def rate(t: float, u: Any) -> Any:
            return np.array([p[0] * u[0] - p[1] * u[0] * u[1], -p[2] * u[1] + p[3] * u[0] * u[1]])

        return solve_ivp(rate, (0, 5), np.array([1.0, 1.0]), method=method, rtol=1e-6).y[0, -1]

    return final_prey


def minimum(a: float) -> Any:
    return minimize(lambda x: (x[0] - a) ** 2 + 10 * (x[1] - a * x[0]) ** 2, np.array([0.0, 0.0]), method="BFGS").x[1]


def spline(y: Any) -> Any:
    return float(CubicSpline(np.linspace(0, 1, len(y)), y)(0.37))


class Vector:
    """A vector in the plane, with operators."""

    __slots__ = ("x", "y")

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, scale: float) -> Vector:
        return Vector(self.x * scale, self.y * scale)


def spiral(a: float) -> float:
    v = Vector(a, 1.0)
    for _ in range(100):
        v = v + Vector(v.y, -v.x) * 0.01 * a
    return math.hypot(v.x, v.y)


def generated(a: float) -> float:
    def values() -> Iterator[float]:
        x = a
        for _ in range(100):
            x = x * 0.99 + 0.01
            yield x

    return sum(values())


def cases() -> Iterator[Case]:
    """SciPy's solvers and plain Python first, then the packages."""
    start = np.array([1.5, 1.0, 3.0, 1.0])
    for method in ("RK23", "RK45", "DOP853", "Radau", "BDF"):
        yield f"scipy solve_ivp {method}", lotka_volterra(method), (start,), False
    yield "scipy minimize BFGS", minimum, (1.3,), False
    yield "scipy CubicSpline", spline, (np.array([0.0, 1.0, 0.5, 2.0, 1.0]),), False
    yield "python objects with operators", spiral, (0.7,), False
    yield "python generator", generated, (0.7,), False
    for package in packages():
        for name, call in package.calls.items():
            yield f"{package.distribution} {name.replace('_', ' ')}", call.function, call.arguments, package.held_out


def total(y: Any) -> Any:
    """The sum of the real numbers in any result, as a loss to differentiate."""
    if isinstance(y, dict):
        y = list(y.values())
    if isinstance(y, (tuple, list)):
        return sum(total(e) for e in y)
    if isinstance(y, (bool, int, str)) or y is None:
        return 0.0
    if not isinstance(y, (float, complex)) and not hasattr(y, "dtype"):
        return total(vars(y))
    part: Any = getattr(y, "real", y)
    return part.sum() if hasattr(part, "sum") and np.ndim(part) else part


def differentiated(arguments: tuple[Any, ...]) -> list[int]:
    """The positions of the arguments that are real numbers or arrays, which every peer accepts."""
    return [i for i, x in enumerate(arguments) if isinstance(x, (float, np.ndarray)) and np.asarray(x).dtype == float]
