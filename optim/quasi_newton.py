"""Approximations of the inverse Hessian, built from the steps s and the changes y of the gradient along them.

Each maps a gradient to a descent direction and is updated after every step (J. Nocedal and S.J. Wright, Numerical
Optimization, 2nd ed., 2006, chapters 6 and 7). An update needs y·s > 0, which the Wolfe conditions ensure; a step for
which rounding has destroyed this is ignored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

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
        self.inverse = np.eye(size)
        self.updates = 0

    @property
    def knows_scale(self) -> bool:
        return self.updates > 0

    def direction(self, gradient: Vector) -> Vector:
        return -(self.inverse @ gradient)

    def learn(self, s: Vector, y: Vector) -> None:
        curvature = float(y @ s)
        if not _has_curvature(s, y, curvature):
            return
        if self.updates == 0:
            self.inverse *= curvature / (y @ y)
        self.updates += 1
        Hy = self.inverse @ y
        # (I - s yᵀ/ys) H (I - y sᵀ/ys) + s sᵀ/ys, multiplied out.
        mixed = np.outer(s / curvature, Hy)
        self.inverse -= mixed + mixed.T
        self.inverse += np.outer(s, s) * ((1.0 + (y @ Hy) / curvature) / curvature)

    def forget(self) -> None:
        self.inverse[...] = np.eye(len(self.inverse))
        self.updates = 0


class LBFGS(InverseHessian):
    """BFGS from only the last ``memory`` steps, by the two-loop recursion (alg. 7.4): O(memory · n) per step.

    Step k is stored in row k modulo ``memory``, so the storage is of constant size.
    """

    def __init__(self, size: int, memory: int = 10) -> None:
        self.s = np.zeros((memory, size))
        self.y = np.zeros((memory, size))
        self.curvatures = np.ones(memory)
        self.updates = 0

    @property
    def knows_scale(self) -> bool:
        return self.updates > 0

    def direction(self, gradient: Vector) -> Vector:
        memory = len(self.curvatures)
        stored = range(max(0, self.updates - memory), self.updates)
        q = -gradient
        if not stored:
            return q
        weights = np.zeros(memory)
        for k in reversed(stored):
            row = k % memory
            weights[row] = (self.s[row] @ q) / self.curvatures[row]
            q -= weights[row] * self.y[row]
        last = (self.updates - 1) % memory
        q *= self.curvatures[last] / (self.y[last] @ self.y[last])
        for k in stored:
            row = k % memory
            q += (weights[row] - (self.y[row] @ q) / self.curvatures[row]) * self.s[row]
        return q

    def learn(self, s: Vector, y: Vector) -> None:
        curvature = float(y @ s)
        if _has_curvature(s, y, curvature):
            row = self.updates % len(self.curvatures)
            self.s[row], self.y[row], self.curvatures[row] = s, y, curvature
            self.updates += 1

    def forget(self) -> None:
        self.updates = 0


def _has_curvature(s: Vector, y: Vector, curvature: float) -> bool:
    return bool(curvature > np.finfo(np.float64).eps * np.sqrt((s @ s) * (y @ y)))
