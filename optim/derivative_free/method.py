"""What the methods that need values only share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ..flatten import Vector
from ..loop import Search
from ..minimise.objective import Objective


class ValueSearch(Search):
    """A search that evaluates f."""


class ValueMethod(ABC):
    """The settings of a method that needs no derivative; an object, or its name, is the ``method`` of ``minimize``."""

    @abstractmethod
    def start(self, x: Vector, lower: Vector, upper: Vector, tol: float) -> ValueSearch:
        """Return the search from ``x`` within the bounds, which converges when the points agree to ``tol``, relative to x."""


class GlobalMethod(ABC):
    """The settings of a search of a whole box; an object, or its name, is the ``method`` of ``global_minimize``."""

    needs_gradient: ClassVar[bool] = False

    @abstractmethod
    def start(self, lower: Vector, upper: Vector, tol: float, seed: int) -> ValueSearch:
        """Return the search, which converges when its points agree to ``tol``, relative to the box."""


class Values(Objective):
    """``f(x, *args)`` at a vector, without derivatives."""

    def __call__(self, x: Vector) -> Any:
        return self.number(self.function(self.layout.structure(x), *self.args))
