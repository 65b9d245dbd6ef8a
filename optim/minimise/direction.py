"""What a descent method has to define: the direction of the next line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..flatten import Vector


class Direction(ABC):
    """The state from which directions are computed: gradients of the past, or an approximation of the Hessian."""

    is_fresh: bool
    """Whether the next direction is the negative gradient itself, whose length says nothing of the length of the step."""

    @abstractmethod
    def along(self, problem: Any, x: Vector, gradient: Vector) -> Vector:
        """Return the direction at ``x``."""

    @abstractmethod
    def learn(self, s: Vector, y: Vector, gradient: Vector) -> None:
        """Take a step, the change of the gradient along it, and the new gradient."""

    @abstractmethod
    def forget(self) -> None:
        """Begin anew with the negative gradient."""
