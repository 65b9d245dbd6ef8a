"""Approximations of the inverse Hessian, built from the steps s and the changes y of the gradient along them.

Each maps a gradient to a descent direction and is updated after every step (J. Nocedal and S.J. Wright, Numerical
Optimization, 2nd ed., 2006, chapters 6 and 7). An update needs y·s > 0, which the Wolfe conditions ensure; a step for
which rounding has destroyed this is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..flatten import Vector
from .descent import LineMethod
from .direction import Direction


@dataclass(frozen=True)
class BFGS(LineMethod):
    """The method of Broyden, Fletcher, Goldfarb and Shanno; stores an n x n matrix, O(n²) per step."""

    def direction(self, size: int) -> Direction:
        return DenseInverse(size)


@dataclass(frozen=True)
class LBFGS(LineMethod):
    """BFGS that stores only the last ``memory`` steps, for many unknowns."""

    memory: int = 10

    def direction(self, size: int) -> Direction:
        return StoredSteps(size, self.memory)


class DenseInverse(Direction):
    """The dense update of Broyden, Fletcher, Goldfarb and Shanno (eq. 6.17), started from y·s / y·y (eq. 6.20)."""

    def __init__(self, size: int) -> None:
        self.inverse = np.eye(size)
        self.is_fresh = True

    def along(self, problem: Any, x: Vector, gradient: Vector) -> Vector:
        return -(self.inverse @ gradient)

    def learn(self, s: Vector, y: Vector, gradient: Vector) -> None:
        curvature = float(y @ s)
        if _has_curvature(s, y, curvature):
            if self.is_fresh:
                self.inverse = np.eye(len(s)) * (curvature / float(y @ y))
            self.is_fresh = False
            Hy = self.inverse @ y
            # (I - s yᵀ/ys) H (I - y sᵀ/ys) + s sᵀ/ys, multiplied out.
            weight = (1.0 + float(y @ Hy) / curvature) / curvature
            half = 0.5 * weight * s - Hy / curvature
            update = np.outer(s, half)
            self.inverse = self.inverse + (update + update.T)

    def forget(self) -> None:
        self.inverse = np.eye(len(self.inverse))
        self.is_fresh = True


class StoredSteps(Direction):
    """BFGS from only the last ``memory`` steps, by the two-loop recursion (alg. 7.4): O(memory · n) per step.

    Step k is stored in row k modulo ``memory``, so the storage is of constant size.
    """

    def __init__(self, size: int, memory: int) -> None:
        self.s = np.zeros((memory, size))
        self.y = np.zeros((memory, size))
        self.curvatures = np.ones(memory)
        self.scale = 1.0
        self.updates = 0
        self.is_fresh = True

    def along(self, problem: Any, x: Vector, gradient: Vector) -> Vector:
        memory = len(self.curvatures)
        count = min(self.updates, memory)
        q = -gradient
        weights = np.zeros(memory)
        for j in range(count):
            row = (self.updates - 1 - j) % memory
            weights[row] = (self.s[row] @ q) / self.curvatures[row]
            q = q - weights[row] * self.y[row]
        q = self.scale * q
        for j in range(count):
            row = (self.updates - count + j) % memory
            q = q + (weights[row] - (self.y[row] @ q) / self.curvatures[row]) * self.s[row]
        return q

    def learn(self, s: Vector, y: Vector, gradient: Vector) -> None:
        curvature = float(y @ s)
        if _has_curvature(s, y, curvature):
            row = self.updates % len(self.curvatures)
            self.s[row], self.y[row], self.curvatures[row] = s, y, curvature
            self.scale = curvature / float(y @ y)
            self.updates += 1
            self.is_fresh = False

    def forget(self) -> None:
        self.updates = 0
        self.scale = 1.0
        self.is_fresh = True


def _has_curvature(s: Vector, y: Vector, curvature: float) -> bool:
    return bool(curvature > np.finfo(np.float64).eps * np.sqrt((s @ s) * (y @ y)))
