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

from ..core import MorulaError, adjoint, implicit, nestlevel
from .flatten import Layout, Vector

Slope = Callable[[Any], Any]


def attached(x: Any, slope: Slope, failure: str | None) -> Any:
    """The minimum ``x`` as a differentiable function of what ``slope``, the gradient of f, depends on.

    ``failure`` says why ``x`` is no minimum after all, if so; it becomes the error of a derivative.
    """
    layout = Layout(x, "x")

    def slopes(vector: Vector) -> Vector:
        return layout.vector(slope(layout.structure(vector)), "the gradient")

    def solve(pull: Callable[[Vector], Vector], dx: Vector) -> Any:
        if failure is not None:
            raise MorulaError(f"no derivative of a minimum that was not found: {failure}")
        hessian = np.stack([pull(e) for e in np.eye(dx.size)])
        if not np.linalg.cond(hessian) < 1.0 / np.finfo(np.float64).eps:
            raise MorulaError(
                "no derivative: the Hessian is singular at the minimum, so that the minimum is not determined or does not"
                " move smoothly; add what determines it (a penalty on what is free)"
            )
        return np.linalg.solve(hessian, dx)

    return layout.structure(implicit(layout.vector(x), slopes, solve))


def underived(value: Any, name: str) -> Any:
    """``value``, for which no derivative is known: an error if a cotangent reaches it."""
    return value


@adjoint(underived)
def _underived_with_pullback(value: Any, name: str) -> tuple[Any, Any]:
    def back(dy: Any) -> tuple[Any, ...]:
        raise MorulaError(f"no derivative of {name}; compute it from the derivatives of your own function")

    return (value if nestlevel() == 0 else underived(value, name)), back
