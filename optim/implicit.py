"""The derivative of a minimum with respect to what the function depends on.

A search is not differentiated step by step.  At the minimum x of f(x, θ) the gradient vanishes, so that by the implicit
function theorem H dx = -d(∇f) at fixed x, with the Hessian H.  A cotangent of x is taken back by one solve with H to a
cotangent of ∇f; and ∇f is computed once more at the minimum, as a program like any other, whose own derivative brings
it to whatever f depends on: other arguments, closed-over variables, attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import MorulaError, adjoint, jacobian
from .flatten import Layout, Vector

Slope = Callable[[Any], Any]


def attached(x: Any, slope: Slope, failure: str | None) -> Any:
    """The minimum ``x`` as a differentiable function of what ``slope``, the gradient of f, depends on.

    ``failure`` says why ``x`` is no minimum after all, if so; it becomes the error of a derivative.
    """
    layout = Layout(x, "x")
    vector = layout.vector(x)

    def slopes(vector: Vector) -> Vector:
        return layout.vector(slope(layout.structure(vector)), "the gradient")

    return layout.structure(_moved(vector, slopes(vector), slopes, failure))


def _moved(x: Vector, slope: Vector, slopes: Callable[[Vector], Vector], failure: str | None) -> Vector:
    """``x``, to which the vanishing ``slope`` is attached: a change dg of it changes the minimum by -H⁻¹ dg."""
    return np.copy(x)


@adjoint(_moved)
def _moved_with_pullback(
    x: Vector, slope: Vector, slopes: Callable[[Vector], Vector], failure: str | None
) -> tuple[Vector, Any]:
    def back(dx: Vector) -> tuple[Any, ...]:
        if failure is not None:
            raise MorulaError(f"no derivative of a minimum that was not found: {failure}")
        hessian = jacobian(slopes)(x)
        if not np.linalg.cond(hessian) < 1.0 / np.finfo(np.float64).eps:
            raise MorulaError(
                "no derivative: the Hessian is singular at the minimum, so that the minimum is not determined or does not"
                " move smoothly; add what determines it (a penalty on what is free)"
            )
        return None, -np.linalg.solve(hessian, dx), None, None

    return np.copy(x), back


def underived(value: Any, name: str) -> Any:
    """``value``, for which no derivative is known: an error if a cotangent reaches it."""
    return value


@adjoint(underived)
def _underived_with_pullback(value: Any, name: str) -> tuple[Any, Any]:
    def back(dy: Any) -> tuple[Any, ...]:
        raise MorulaError(f"no derivative of {name}; compute it from the derivatives of your own function")

    return value, back
