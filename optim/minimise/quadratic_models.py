"""Quadratic models of f at a point, and their minimisers within a radius (Nocedal and Wright, chapter 4)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..flatten import Vector


class QuadraticModel(ABC):
    """``m(p) = g·p + p·B p / 2`` at the present point."""

    is_exact = True
    """Whether B is the Hessian."""

    @abstractmethod
    def step(self, problem: Any, x: Vector, gradient: Vector, radius: float) -> tuple[Vector, float]:
        """Return a step within ``radius`` and the decrease of the model along it."""

    def renew(self, problem: Any, x: Vector, gradient: Vector) -> None:
        """Compute the model at a new point."""
        return None

    def learn(self, s: Vector, y: Vector) -> None:
        """Take a step, also one that is not taken, and the change of the gradient along it."""
        return None

    def forget(self) -> None:
        """Begin anew with a multiple of the identity, if B is an approximation."""
        return None


class ExactModel(QuadraticModel):
    """B by its eigenvalues λ and eigenvectors V; the minimiser is ``-(B + σ)⁻¹ g`` for a shift σ that fits the radius."""

    def __init__(self, size: int) -> None:
        self.curvatures, self.axes = np.ones(size), np.eye(size)

    def renew(self, problem: Any, x: Vector, gradient: Vector) -> None:
        self._decompose(problem.hessian(x))

    def _decompose(self, matrix: np.ndarray) -> None:
        matrix = np.where(np.isfinite(matrix), matrix, 0.0)
        self.curvatures, self.axes = np.linalg.eigh(0.5 * (matrix + matrix.T))

    def step(self, problem: Any, x: Vector, gradient: Vector, radius: float) -> tuple[Vector, float]:
        g = self.axes.T @ gradient
        p = shifted_step(self.curvatures, g, radius)
        return self.axes @ p, -float(g @ p) - 0.5 * float(p @ (self.curvatures * p))


def shifted_step(curvatures: Vector, g: Vector, radius: float) -> Vector:
    """Return the minimiser of ``g·p + Σ λ p² / 2`` within ``radius``; the eigenvalues ``curvatures`` ascend.

    Newton's method for ``1/|p(σ)| = 1/radius`` (algorithm 4.3), safeguarded by bisection. In the hard case, in which g has
    no component along the lowest eigenvector, a multiple of that is added (eq. 4.45).
    """
    low = max(0.0, -float(curvatures[0]))
    size = max(float(np.max(np.abs(curvatures))), 1e-300)
    norm = float(np.linalg.norm(g))
    tiny = np.finfo(np.float64).eps * size
    shift, p = _shift_within(curvatures, g, radius, low, low + norm / radius + tiny, tiny)
    length = float(np.linalg.norm(p))
    if low > 0.0 and length < 0.9 * radius:
        sign = 1.0 if float(p[0]) >= 0.0 else -1.0
        p[0] = p[0] + sign * math.sqrt(max(radius**2 - length**2, 0.0))
    return p


def _shift_within(
    curvatures: Vector, g: Vector, radius: float, low: float, high: float, tiny: float
) -> tuple[float, Vector]:
    shift = low + tiny if low > 0.0 or float(curvatures[0]) <= tiny else 0.0
    p = -g / (curvatures + shift)
    length = float(np.linalg.norm(p))
    is_inside = length <= radius
    turns = 0
    while not is_inside and turns < 60 and abs(length - radius) > 1e-2 * radius:
        if length > radius:
            low = max(low, shift)
        else:
            high = min(high, shift)
        bend = float(np.sum(p * p / (curvatures + shift)))
        following = shift + (length**2 / bend) * (length - radius) / radius if bend > 0.0 else high
        shift = following if low < following < high else 0.5 * (low + high)
        p = -g / (curvatures + shift)
        length = float(np.linalg.norm(p))
        turns += 1
    return shift, p


class RankOneModel(ExactModel):
    """B by the symmetric rank-one update, started from a multiple of the identity."""

    is_exact = False

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.matrix = np.eye(size)
        self.is_fresh = True

    def renew(self, problem: Any, x: Vector, gradient: Vector) -> None:
        self._decompose(self.matrix)

    def learn(self, s: Vector, y: Vector) -> None:
        if self.is_fresh and float(s @ y) > 0.0:
            self.matrix = np.eye(len(s)) * (float(y @ y) / float(s @ y))
            self.is_fresh = False
        error = y - self.matrix @ s
        curvature = float(error @ s)
        if abs(curvature) > 1e-8 * float(np.linalg.norm(error)) * float(np.linalg.norm(s)):
            self.matrix = self.matrix + np.outer(error, error) / curvature
        self._decompose(self.matrix)

    def forget(self) -> None:
        self.matrix = np.eye(len(self.matrix))
        self.is_fresh = True
        self._decompose(self.matrix)


class DoglegModel(ExactModel):
    """The dogleg path: to the minimiser along the gradient, and from there to the Newton step (section 4.1)."""

    def step(self, problem: Any, x: Vector, gradient: Vector, radius: float) -> tuple[Vector, float]:
        g = self.axes.T @ gradient
        floor = 1e-8 * max(float(np.max(np.abs(self.curvatures))), 1e-300)
        curvatures = self.curvatures + max(0.0, floor - float(self.curvatures[0]))
        newton = -g / curvatures
        steepest = -(float(g @ g) / max(float(g @ (curvatures * g)), 1e-300)) * g
        length, first = float(np.linalg.norm(newton)), float(np.linalg.norm(steepest))
        if length <= radius:
            p = newton
        elif first >= radius:
            p = steepest * (radius / max(first, 1e-300))
        else:
            p = steepest + to_boundary(steepest, newton - steepest, radius) * (newton - steepest)
        return self.axes @ p, -float(g @ p) - 0.5 * float(p @ (curvatures * p))


class KrylovModel(QuadraticModel):
    """Conjugate gradients for B p = -g, up to the boundary or to a direction of negative curvature (algorithm 7.2)."""

    def __init__(self) -> None:
        self.first_norm = 0.0

    def step(self, problem: Any, x: Vector, gradient: Vector, radius: float) -> tuple[Vector, float]:
        norm = float(np.linalg.norm(gradient))
        self.first_norm = max(self.first_norm, norm)
        target = min(0.5, math.sqrt(norm / max(self.first_norm, 1e-300))) * norm
        p, residual, direction = np.zeros(len(x)), gradient.copy(), -gradient
        square, decrease = norm * norm, 0.0
        limit, steps = 20 + 2 * len(x), 0
        while steps < limit and math.sqrt(square) > target:
            product = problem.product(x, direction)
            curvature = float(direction @ product)
            length = square / curvature if curvature > 0.0 else math.inf
            if not float(np.linalg.norm(p + min(length, 1e300) * direction)) < radius:
                length = to_boundary(p, direction, radius)
                limit = 0
            decrease -= length * float(residual @ direction) + 0.5 * length**2 * curvature
            p = p + length * direction
            residual = residual + length * product
            before, square = square, float(residual @ residual)
            direction = (square / before) * direction - residual
            steps += 1
        return p, decrease


def to_boundary(p: Vector, direction: Vector, radius: float) -> float:
    """Return the positive τ with ``|p + τ direction| = radius``."""
    a, b, c = float(direction @ direction), float(p @ direction), float(p @ p) - radius**2
    root = math.sqrt(max(b * b - a * c, 0.0))
    return -c / (b + root) if b > 0.0 else (root - b) / max(a, 1e-300)
