"""Newton directions, from the Hessian or from products with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..flatten import Vector
from .descent import LineMethod
from .direction import Direction


@dataclass(frozen=True)
class Newton(LineMethod):
    """Newton's method along lines: the eigenvalues of the Hessian are replaced by their absolute values, O(n³) per step.

    Source: Nocedal and Wright (2006), section 3.4 (modified eigenvalues).
    """

    def direction(self, size: int) -> Direction:
        return OfHessian()


@dataclass(frozen=True)
class NewtonCG(LineMethod):
    """Newton's method along lines with directions by conjugate gradients, from products with the Hessian only.

    The inner iteration ends at negative curvature, or when the residual has fallen to ``min(1/2, sqrt(|g| / |g0|)) |g|``
    with the first gradient g0, which gives superlinear convergence in any units.

    Source: Nocedal and Wright (2006), algorithm 7.1.
    """

    def direction(self, size: int) -> Direction:
        return Truncated()


class OfHessian(Direction):
    """Minus the inverse of the modified Hessian times the gradient."""

    def __init__(self) -> None:
        self.is_fresh = False

    def along(self, problem: Any, x: Vector, gradient: Vector) -> Vector:
        direction = -gradient
        if not self.is_fresh:
            hessian = problem.hessian(x)
            hessian = np.where(np.isfinite(hessian), hessian, 0.0)
            curvatures, axes = np.linalg.eigh(0.5 * (hessian + hessian.T))
            sizes = np.abs(curvatures)
            largest = float(np.max(sizes))
            if largest > 0.0:
                direction = -(axes @ ((axes.T @ gradient) / np.maximum(sizes, 1e-12 * largest)))
        return direction

    def learn(self, s: Vector, y: Vector, gradient: Vector) -> None:
        self.is_fresh = False

    def forget(self) -> None:
        self.is_fresh = True


class Truncated(Direction):
    """An approximate solution of H p = -g, or the direction so far where the curvature is negative."""

    def __init__(self) -> None:
        self.is_fresh = False
        self.first_norm = 0.0

    def along(self, problem: Any, x: Vector, gradient: Vector) -> Vector:
        norm = float(np.linalg.norm(gradient))
        self.first_norm = max(self.first_norm, norm)
        target = min(0.5, math.sqrt(norm / max(self.first_norm, 1e-300))) * norm
        p, residual = np.zeros(len(x)), gradient.copy()
        direction = -gradient
        square = norm * norm
        limit = 0 if self.is_fresh else 20 + 2 * len(x)
        steps = 0
        while steps < limit and math.sqrt(square) > target:
            product = problem.product(x, direction)
            curvature = float(direction @ product)
            if not curvature > 1e-14 * float(direction @ direction):  # negative, zero or not a number
                limit = 0
                p = direction.copy() if steps == 0 else p
            else:
                length = square / curvature
                p = p + length * direction
                residual = residual + length * product
                before, square = square, float(residual @ residual)
                direction = (square / before) * direction - residual
            steps += 1
        return p if steps > 0 else -gradient

    def learn(self, s: Vector, y: Vector, gradient: Vector) -> None:
        self.is_fresh = False

    def forget(self) -> None:
        self.is_fresh = True
