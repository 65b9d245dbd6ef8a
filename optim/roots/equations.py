"""A system of as many equations as unknowns, as a function of a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput
from ..flatten import Vector
from ..least_squares.residuals import Residuals


class Equations(Residuals):
    """``f(x, *args)``, which returns an array with as many numbers as x0 has, or x0's structure."""

    may_be_sparse = False

    def __init__(
        self,
        solver: str,
        f: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...],
        given: Callable[..., Any] | None = None,
        role: str = "f",
    ) -> None:
        self.is_fixed_point = role == "g"
        """Whether the equations are ``g(x) - x = 0``."""
        super().__init__(f, x0, args, given, solver, role)
        if self.count != self.layout.size:
            raise BadInput(
                f"{solver}: {role} returned {self.count} numbers for {self.layout.size} unknowns, expected as many; use"
                " least_squares if there are more equations than unknowns"
            )

    def flat(self, residual: Any) -> Vector:
        """Return what f has returned as a vector of real numbers."""
        is_plain = isinstance(residual, (np.ndarray, np.generic, float, int)) and not np.iscomplexobj(residual)
        if is_plain and isinstance(self.layout.start, (np.ndarray, np.generic, float)):
            return np.asarray(residual).astype(np.float64).reshape(-1)
        return self.layout.vector(residual, f"{self.role}(x0)")

    def __call__(self, x: Vector) -> Vector:
        """Return f, or g(x) - x, as a vector (n,); it may be NaN or Inf."""
        residual = super().__call__(x)
        return residual - x if self.is_fixed_point else residual

    def _of_vector(self, x: Vector) -> Any:
        residual = self.flat(self.function(self.layout.structure(x), *self.args))
        return residual - x if self.is_fixed_point else residual

    def is_finite(self, evaluation: Vector, is_start: bool) -> bool:
        """Return whether an evaluation is finite; one at the start must be."""
        found = bool(np.all(np.isfinite(evaluation)))
        if is_start and not found:
            raise BadInput(f"{self.solver}: {self.role}(x0) holds NaN or Inf; expected a start at which it is finite")
        return found

    def structured(self, f: Callable[..., Any], x: Any, args: tuple[Any, ...]) -> Any:
        """Return the equations of ``f`` at the user's structure in that structure.

        The function and its arguments are those to differentiate: this object holds them as constants.
        """
        residual = self.flat(f(x, *args))
        return self.layout.structure(residual - self.layout.vector(x) if self.is_fixed_point else residual)
