"""Constraints as the user writes them, and as one vector function with lower and upper limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput, hessian, jacobian
from ..bounds import bounds_of
from ..flatten import Vector
from ..minimise.objective import Objective


@dataclass(frozen=True)
class Constraint:
    """``lower <= function(x, *args) <= upper``, or ``function(x, *args) == equals``.

    Args:
        function: takes what the minimised function takes, and returns a number or an array of real numbers; or a matrix
            (m, n), which multiplies the vector x of n unknowns.
        lower, upper: numbers or arrays of the shape that ``function`` returns; None for no limit.
        equals: in place of both, for an equation.

    Raises:
        BadInput: there is no limit, ``equals`` and a limit are given, or ``function`` is neither function nor matrix.

    >>> Constraint(np.ones((1, 3)), equals=1.0).equals
    1.0
    """

    function: Any
    lower: Any = None
    upper: Any = None
    equals: Any = None

    def __post_init__(self) -> None:
        if not callable(self.function) and np.ndim(self.function) != 2:
            raise BadInput(
                f"Constraint: function is a {type(self.function).__name__}, expected a function of x or a matrix (m, n)"
            )
        if (self.equals is None) == (self.lower is None and self.upper is None):
            raise BadInput("Constraint: expected equals, or one or both of lower and upper")

    def __call__(self, x: Any, args: tuple[Any, ...]) -> Any:
        """Return the value of the function at ``x``."""
        return self.function(x, *args) if callable(self.function) else self.function @ x


class Constraints:
    """A list of constraints as one function of the unknowns, whose m values lie between m lower and m upper limits."""

    def __init__(self, solver: str, constraints: Any, x0: Any, args: tuple[Any, ...]) -> None:
        self.each, self.args = listed(constraints), args
        self.shapes = []
        for i, constraint in enumerate(self.each):
            if not isinstance(constraint, Constraint):
                raise BadInput(f"{solver}: constraint {i} is a {type(constraint).__name__}, expected a Constraint")
            value = constraint(x0, args)
            if not isinstance(value, (np.ndarray, np.generic, float, int)) or np.iscomplexobj(value):
                raise BadInput(f"{solver}: constraint {i} returned a {type(value).__name__}, expected real numbers")
            self.shapes.append(np.shape(value))
            for limit in (constraint.lower, constraint.upper, constraint.equals):
                if np.shape(limit) not in ((), np.shape(value)):
                    raise BadInput(
                        f"{solver}: a limit of constraint {i} has shape {np.shape(limit)}, expected a number or"
                        f" {np.shape(value)}"
                    )
        self.sizes = [int(np.prod(shape)) for shape in self.shapes]
        self.count = sum(self.sizes)
        lower, upper = limits_of(self.each, self.shapes)
        if bool(np.any(np.isnan(lower)) or np.any(np.isnan(upper))):
            raise BadInput(f"{solver}: a limit of a constraint is NaN; expected numbers, or None for no limit")
        crossed = lower > upper
        if bool(np.any(crossed)):
            at = int(np.argmax(crossed))
            i = int(np.searchsorted(np.cumsum(self.sizes), at, side="right"))
            raise BadInput(
                f"{solver}: the limits of constraint {i} are crossed: lower {lower[at]:.6g}, upper {upper[at]:.6g}"
            )

    def values(self, x: Any) -> Any:
        """Return the values of all constraints at the user's structure, (m,)."""
        return values_of(self.each, x, self.args)

    def split(self, vector: Vector) -> list[Any]:
        """Return a vector of all constraints as one array for each."""
        parts, at = [], 0
        for size, shape in zip(self.sizes, self.shapes):
            parts.append(np.reshape(vector[at : at + size], shape))
            at += size
        return parts


def listed(constraints: Any) -> list[Constraint]:
    """Return one constraint, a list of them or None as a list."""
    return [constraints] if isinstance(constraints, Constraint) else list(constraints or ())


def values_of(each: list[Constraint], x: Any, args: tuple[Any, ...]) -> Any:
    """Return the values of all constraints, (m,), as a function of what the user gave."""
    parts = [np.reshape(np.asarray(constraint(x, args)), (-1,)) for constraint in each]
    return np.concatenate(parts) if parts else np.zeros(0)


def limits_of(each: list[Constraint], shapes: list[tuple[int, ...]]) -> tuple[Any, Any]:
    """Return the lower and the upper limits, (m,) each, as functions of what the user gave."""
    lower, upper = [np.zeros(0)], [np.zeros(0)]
    for constraint, shape in zip(each, shapes):
        low = constraint.lower if constraint.equals is None else constraint.equals
        high = constraint.upper if constraint.equals is None else constraint.equals
        lower.append(np.reshape((-np.inf if low is None else low) + np.zeros(shape), (-1,)))
        upper.append(np.reshape((np.inf if high is None else high) + np.zeros(shape), (-1,)))
    return np.concatenate(lower), np.concatenate(upper)


class ConstrainedObjective(Objective):
    """``f(x, *args)`` and the constraints at a vector, with their derivatives."""

    def __init__(
        self,
        f: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...],
        gradient: Callable[..., Any] | None,
        constraints: Any,
        bounds: Any,
    ) -> None:
        super().__init__(f, x0, args, gradient)
        if any(np.iscomplexobj(leaf) for leaf in self.layout.leaves):
            raise BadInput("minimize: constraints on complex unknowns are not defined; vary real and imaginary parts")
        self.constraints = Constraints(self.solver, constraints, self.layout.start, args)
        self.lower, self.upper = limits_of(self.constraints.each, self.constraints.shapes)
        self.bounds = bounds_of(self.solver, bounds, self.layout)

    def __call__(self, x: Vector) -> Any:
        """Return value and gradient of f, values (m,) and Jacobian (m, n) of the constraints."""
        value, gradient = super().__call__(x)
        if self.constraints.count == 0:
            return value, gradient, np.zeros(0), np.zeros((0, len(x)))
        slopes = jacobian(self._values_of_vector)(x)
        return value, gradient, self._values_of_vector(x).astype(np.float64), slopes

    def curvature(self, x: Vector, weight: float, multipliers: Vector) -> np.ndarray:
        """Return the Hessian of ``weight · f + multipliers · c``, (n, n)."""
        if self.gradient is None:
            return hessian(lambda v: weight * self._of_vector(v) + multipliers @ self._values_of_vector(v))(x)
        return weight * self.hessian(x) + hessian(lambda v: multipliers @ self._values_of_vector(v))(x)

    def _values_of_vector(self, x: Vector) -> Any:
        return self.constraints.values(self.layout.structure(x))
