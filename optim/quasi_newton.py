"""Approximations of the inverse Hessian, built from the steps s and the changes y of the gradient along them.

Each maps a gradient to a descent direction and is updated after every step (J. Nocedal and S.J. Wright, Numerical
Optimization, 2nd ed., 2006, chapters 6 and 7). An update needs y·s > 0, which the Wolfe conditions ensure; a step for
which rounding has destroyed this is ignored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque

import numpy as np

from .flatten import Vector


class InverseHessian(ABC):
    """A positive definite approximation of the inverse Hessian."""

    @abstractmethod
    def direction(self, gradient: Vector) -> Vector:
        """Return minus the approximation times the gradient."""

    @abstractmethod
    def learn(self, s: Vector, y: Vector) -> None:
        """Update the approximation with a step and the change of the gradient along it."""

    @abstractmethod
    def forget(self) -> None:
        """Return to a multiple of the identity."""

    @property
    @abstractmethod
    def knows_scale(self) -> bool:
        """Whether directions have the length of a Newton step, so that a line search should try step length 1 first."""


class BFGS(InverseHessian):
    """The dense update of Broyden, Fletcher, Goldfarb and Shanno (eq. 6.17), started from y·s / y·y (eq. 6.20)."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.inverse: Vector | None = None

    @property
    def knows_scale(self) -> bool:
        return self.inverse is not None

    def direction(self, gradient: Vector) -> Vector:
        return -gradient if self.inverse is None else -(self.inverse @ gradient)

    def learn(self, s: Vector, y: Vector) -> None:
        curvature = float(y @ s)
        if not _has_curvature(s, y, curvature):
            return
        if self.inverse is None:
            self.inverse = (curvature / (y @ y)) * np.eye(self.size)
        Hy = self.inverse @ y
        # (I - s yᵀ/ys) H (I - y sᵀ/ys) + s sᵀ/ys, multiplied out.
        mixed = np.outer(s / curvature, Hy)
        self.inverse -= mixed + mixed.T
        self.inverse += np.outer(s, s) * ((1.0 + (y @ Hy) / curvature) / curvature)

    def forget(self) -> None:
        self.inverse = None


class LBFGS(InverseHessian):
    """BFGS from only the last ``memory`` steps, by the two-loop recursion (alg. 7.4): O(memory · n) per step."""

    def __init__(self, memory: int = 10) -> None:
        self.pairs: deque[tuple[Vector, Vector, float]] = deque(maxlen=memory)

    @property
    def knows_scale(self) -> bool:
        return bool(self.pairs)

    def direction(self, gradient: Vector) -> Vector:
        q = -gradient
        if not self.pairs:
            return q
        weights = []
        for s, y, curvature in reversed(self.pairs):
            weight = (s @ q) / curvature
            q -= weight * y
            weights.append(weight)
        s, y, curvature = self.pairs[-1]
        q *= curvature / (y @ y)
        for (s, y, curvature), weight in zip(self.pairs, reversed(weights), strict=True):
            q += (weight - (y @ q) / curvature) * s
        return q

    def learn(self, s: Vector, y: Vector) -> None:
        curvature = float(y @ s)
        if _has_curvature(s, y, curvature):
            self.pairs.append((s, y, curvature))

    def forget(self) -> None:
        self.pairs.clear()


def _has_curvature(s: Vector, y: Vector, curvature: float) -> bool:
    return bool(curvature > np.finfo(np.float64).eps * np.sqrt((s @ s) * (y @ y)))
