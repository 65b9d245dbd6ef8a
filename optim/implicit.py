"""The derivative of a minimum with respect to everything that the function depends on.

The search is not differentiated step by step. At the minimum x of f(x, θ) the gradient vanishes, so by the implicit
function theorem H dx = -d(∇f) at fixed x, with the Hessian H. One solve with H turns a cotangent of x into a cotangent
of ∇f. ∇f is computed once more at the minimum and differentiated like any other program, which gives the cotangents of
everything that f reads: other arguments, closed-over variables, attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import MorulaError, adjoint, implicit, nestlevel
from .flatten import Layout, Vector

Slope = Callable[[Any], Any]


def attached(x: Any, slope: Slope, failure: str | None) -> Any:
    """Return the minimum ``x`` as a differentiable function of everything that ``slope``, the gradient of f, reads.

    If the search failed, ``failure`` says why; differentiating the result then raises an error with this text.
    """
    layout = Layout(x, "x")

    def slopes(vector: Vector) -> Vector:
        return layout.vector(slope(layout.structure(vector)), "the gradient")

    def solve(pull: Callable[[Vector], Vector], dx: Vector) -> Any:
        if failure is not None:
            raise MorulaError(f"the search found no minimum, so there is no derivative: {failure}")
        hessian = np.stack([pull(e) for e in np.eye(dx.size)])
        if not np.linalg.cond(hessian) < 1.0 / np.finfo(np.float64).eps:
            raise MorulaError(
                "no derivative: the Hessian is singular at the minimum, so the minimum is not unique or not differentiable;"
                " add a penalty on the parameters that are not determined"
            )
        return np.linalg.solve(hessian, dx)

    return layout.structure(implicit(layout.vector(x), slopes, solve))


def underived(value: Any, name: str) -> Any:
    """Return ``value``; raise an error if a cotangent reaches it, since no derivative is implemented."""
    return value


@adjoint(underived)
def _underived_with_pullback(value: Any, name: str) -> tuple[Any, Any]:
    def back(dy: Any) -> tuple[Any, ...]:
        raise MorulaError(f"{name} cannot be differentiated; compute it from the derivatives of your own function")

    return (value if nestlevel() == 0 else underived(value, name)), back
