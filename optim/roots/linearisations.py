"""Linear models of a system of equations: the Jacobian, or a matrix that is updated or kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..flatten import Vector


class Linearisation(ABC):
    """``f(x + s) ≈ f(x) + J s``."""

    is_fresh: bool
    """Whether J is the Jacobian at the present point."""
    norm: float = 0.0
    """The Frobenius norm of the last Jacobian."""

    @abstractmethod
    def renew(self, problem: Any, x: Vector) -> None:
        """Compute the Jacobian at ``x``."""

    @abstractmethod
    def step(self, residual: Vector) -> Vector:
        """Return s with ``J s = -residual``."""

    @abstractmethod
    def learn(self, s: Vector, y: Vector) -> bool:
        """Take a step and the change of f along it; return whether the Jacobian has to be computed anew."""


class Exact(Linearisation):
    """The Jacobian at each point."""

    def __init__(self, size: int) -> None:
        self.slopes = np.eye(size)
        self.is_fresh, self.norm = True, 0.0

    def renew(self, problem: Any, x: Vector) -> None:
        self.slopes = problem.jacobian(x, len(x))
        self.norm = float(np.linalg.norm(self.slopes))

    def step(self, residual: Vector) -> Vector:
        return solved(self.slopes, residual)

    def learn(self, s: Vector, y: Vector) -> bool:
        return True


class Kept(Linearisation):
    """The inverse of the Jacobian of an earlier point."""

    def __init__(self, size: int) -> None:
        self.inverse = np.eye(size)
        self.is_fresh, self.norm = True, 0.0

    def renew(self, problem: Any, x: Vector) -> None:
        slopes = problem.jacobian(x, len(x))
        self.inverse = np.linalg.pinv(np.where(np.isfinite(slopes), slopes, 0.0))
        self.is_fresh, self.norm = True, float(np.linalg.norm(slopes))

    def step(self, residual: Vector) -> Vector:
        return -(self.inverse @ residual)

    def learn(self, s: Vector, y: Vector) -> bool:
        self.is_fresh = False
        return False


class Updated(Kept):
    """The inverse with Broyden's update: the least change with which ``J s = y``."""

    def learn(self, s: Vector, y: Vector) -> bool:
        self.is_fresh = False
        seen = self.inverse @ y
        weight = float(s @ seen)
        if abs(weight) > 1e-12 * float(np.linalg.norm(s)) * float(np.linalg.norm(seen)):
            self.inverse = self.inverse + np.outer((s - seen) / weight, s @ self.inverse)
        return False


def solved(slopes: np.ndarray, residual: Vector) -> Any:
    """Return the Newton step, or a step along the gradient of |f|² where the Jacobian is singular."""
    if np.linalg.slogdet(slopes)[0] != 0.0:  # cheaper in compiled code than to catch the error of a singular matrix
        return -np.linalg.solve(slopes, residual)
    gradient = slopes.T @ residual
    change = slopes @ gradient
    return -(float(gradient @ gradient) / max(float(change @ change), 1e-300)) * gradient
