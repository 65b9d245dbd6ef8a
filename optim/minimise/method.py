"""A method of minimisation: its settings, and the search that it begins."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..flatten import Vector
from ..loop import Search


class GradientSearch(Search):
    """A search that evaluates value and gradient."""

    gradient: Vector
    """The gradient at ``point``."""


class Method(ABC):
    """The settings of a method; an object, or its name for the default settings, is the ``method`` of ``minimize``."""

    @abstractmethod
    def start(self, x: Vector, tol: float, eps: float) -> GradientSearch:
        """Return the search from ``x``, which converges when no entry of the gradient exceeds ``tol``.

        ``eps`` is the relative rounding error of the numbers in which f computes.
        """
