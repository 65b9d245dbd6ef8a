"""A real-valued function to minimise, with its gradient, Hessian, and products with the Hessian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, grad, hessian, hvp, jacobian, jvp, value_and_grad
from ..flatten import Vector
from ..problem import Problem


class Objective(Problem):
    """``f(x, *args)`` and its derivatives at a vector; what is not given is derived from the source of f."""

    def __init__(
        self,
        f: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...],
        gradient: Callable[..., Any] | None = None,
        solver: str = "minimize",
    ) -> None:
        super().__init__(solver, f, x0, args, "f")
        self.gradient = self.given(gradient, "gradient")

    def __call__(self, x: Vector) -> Any:
        """Return the value and the gradient; they may be NaN or Inf, which a search handles."""
        layout, args = self.layout, self.args
        if self.gradient is None:
            value, slopes = value_and_grad(self.function)(layout.structure(x), *args)
        else:  # each gets its own copy of x, since f may write to it
            value, slopes = self.function(layout.structure(x), *args), self.gradient(layout.structure(x), *args)
        return self.number(value), layout.vector(slopes, "the gradient")

    def number(self, value: Any) -> float:
        """Return what f has returned as a float."""
        if np.size(value) != 1 or np.iscomplexobj(value):
            kind = f"an array of shape {np.shape(value)}" if np.size(value) != 1 else "a complex number"
            raise BadInput(f"{self.solver}: f returned {kind}, expected a real scalar (sum it, or use least_squares)")
        return float(np.reshape(value, ()))

    def slope(self, x: Any) -> Any:
        """Return the gradient at the user's structure, as a program to differentiate further."""
        return (grad(self.function) if self.gradient is None else self.gradient)(x, *self.args)

    def hessian(self, x: Vector) -> np.ndarray:
        """Return the matrix of second derivatives, (n, n)."""
        return hessian(self._of_vector)(x) if self.gradient is None else jacobian(self._slope_of_vector)(x)

    def product(self, x: Vector, v: Vector) -> Vector:
        """Return the Hessian times ``v``, without the Hessian."""
        return hvp(self._of_vector, x, v) if self.gradient is None else jvp(self._slope_of_vector, (x,), (v,))[1]

    def _of_vector(self, x: Vector) -> Any:
        return self.function(self.layout.structure(x), *self.args)

    def _slope_of_vector(self, x: Vector) -> Any:
        return self.layout.vector(self.slope(self.layout.structure(x)), "the gradient")
