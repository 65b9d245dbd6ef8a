"""Robust losses: functions ρ of the squared, scaled residual z that grow more slowly than z, so that outliers count less.

What is minimised is ``scale² Σ ρ((r / scale)²)``. Gauss and Newton's method for it is that of scaled residuals and a
scaled Jacobian (B. Triggs et al., "Bundle adjustment: a modern synthesis", Vision Algorithms (2000) 298-372, section
4.3), with the second derivative of ρ kept where the result is positive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, derivatives
from ..flatten import Vector
from .sparse import scaled_rows

Loss = Callable[[Any], Any]


def linear(z: Any) -> Any:
    """Ordinary least squares."""
    return z


def soft_l1(z: Any) -> Any:
    """A smooth form of the absolute value."""
    return 2.0 * (np.sqrt(1.0 + z) - 1.0)


def huber(z: Any) -> Any:
    """Quadratic up to ``scale``, linear beyond (P.J. Huber, Ann. Math. Statist. 35 (1964) 73-101)."""
    return np.where(z <= 1.0, z, 2.0 * np.sqrt(np.maximum(z, 1.0)) - 1.0)


def cauchy(z: Any) -> Any:
    """Logarithmic: the likelihood of residuals with Cauchy's distribution."""
    return np.log1p(z)


def arctan(z: Any) -> Any:
    """Bounded by π/2."""
    return np.arctan(z)


def tukey(z: Any) -> Any:
    """Tukey's biweight, constant beyond ``scale`` (A.E. Beaton and J.W. Tukey, Technometrics 16 (1974) 147-185)."""
    return (1.0 - (1.0 - np.minimum(z, 1.0)) ** 3) / 3.0


LOSSES: dict[str, Loss] = {
    "linear": linear,
    "soft_l1": soft_l1,
    "huber": huber,
    "cauchy": cauchy,
    "arctan": arctan,
    "tukey": tukey,
}


def chosen_loss(solver: str, loss: Any) -> Loss:
    """Return the loss of a name, or the function itself: ``loss(z)`` returns ρ for an array z of squared residuals."""
    if callable(loss):
        return loss
    if loss not in LOSSES:
        raise BadInput(f"{solver}: no loss {loss!r}; there are {', '.join(map(repr, LOSSES))}, or a function of z")
    return LOSSES[loss]


def total(loss: Loss, residual: Any, scale: float) -> Any:
    """Return what is minimised."""
    return scale**2 * np.sum(loss((residual / scale) ** 2)) if loss is not linear else np.sum(residual**2)


def reweighted(loss: Loss, residual: Vector, slopes: np.ndarray, scale: float) -> tuple[Vector, np.ndarray]:
    """Return residuals and Jacobian of the least-squares problem that is like the robust one at this point."""
    if loss is linear:
        return residual, slopes
    z = (residual / scale) ** 2
    _, first, second = derivatives(loss, z, 2)
    curvature = np.maximum(first + 2.0 * second * z, 1e-10)
    root = np.sqrt(curvature)
    return residual * first / root, scaled_rows(slopes, root)
