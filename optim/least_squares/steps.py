"""Steps for the linear model |r + J p| within a radius, in the basis of the singular vectors of the scaled Jacobian.

With ``J D⁻¹ = U S Vᵀ`` and ``g = Uᵀ r``, the step is ``p = D⁻¹ V q``, and ``|D p| = |q|``. A singular value below rounding
belongs to a combination of parameters that the residuals do not determine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..flatten import Vector


class Tangent(NamedTuple):
    """The tangent plane of the model at one point, and the component ``g`` of the residual in it."""

    S: Vector
    Vt: np.ndarray
    g: Vector
    determined: np.ndarray

    @property
    def offset(self) -> float:
        """The length of the component of the residual that the parameters could still remove."""
        return float(np.linalg.norm(np.where(self.determined, self.g, 0.0)))


def tangent_of(residual: Vector, slopes: np.ndarray, D: Vector) -> Tangent:
    """Return the tangent plane; a column of zeros, as of an unknown at a bound, is not determined."""
    Q, R = np.linalg.qr(slopes / D)  # the singular value decomposition of R (n, n) is cheaper than that of (m, n)
    U, S, Vt = np.linalg.svd(R, full_matrices=False)
    determined = np.finfo(np.float64).eps * max(slopes.shape) * S[0] < S
    return Tangent(S, Vt, U.T @ (Q.T @ residual), determined)


def newton_step(tangent: Tangent) -> Vector:
    """Return the Gauss-Newton step."""
    return -np.where(tangent.determined, tangent.g / np.where(tangent.determined, tangent.S, 1.0), 0.0)


def shortened_step(tangent: Tangent, radius: float) -> tuple[Vector, bool]:
    """Return the Gauss-Newton step, shortened to ``radius``, and whether it is whole."""
    q = newton_step(tangent)
    length = float(np.linalg.norm(q))
    return q * min(1.0, radius / max(length, 1e-300)), length <= radius


def dogleg_step(tangent: Tangent, radius: float) -> tuple[Vector, bool]:
    """Return the step along Powell's path: to the minimiser along the gradient, and from there to the Newton step."""
    newton = newton_step(tangent)
    slope = tangent.S * tangent.g
    square = float(slope @ slope)
    steepest = -(square / max(float(np.sum((tangent.S * slope) ** 2)), 1e-300)) * slope
    length, first = float(np.linalg.norm(newton)), float(np.linalg.norm(steepest))
    if length <= radius:
        q = newton
    elif first >= radius:
        q = steepest * (radius / max(first, 1e-300))
    else:
        rest = newton - steepest
        a, b, c = float(rest @ rest), float(steepest @ rest), first**2 - radius**2
        root = float(np.sqrt(max(b * b - a * c, 0.0)))
        q = steepest + (-c / (b + root) if b > 0.0 else (root - b) / max(a, 1e-300)) * rest
    return q, length <= radius


def damped_step(tangent: Tangent, radius: float) -> tuple[Vector, bool]:
    """Return the minimiser of the linear model within ``radius``, whose multiplier is λ (Moré, section 5)."""
    S, g = tangent.S, tangent.g
    q = newton_step(tangent)
    length = float(np.linalg.norm(q))
    whole = length <= 1.1 * radius
    Sg = S * g
    high = float(np.linalg.norm(Sg)) / radius
    low = 0.0
    if not whole and bool(np.all(tangent.determined)):
        low = (length - radius) * length / float(np.sum((q / S) ** 2))
    multiplier = low if low > 0.0 else 1e-3 * high
    turns = 0
    while not whole and turns < 50 and (turns == 0 or abs(length - radius) > 0.1 * radius):
        if not low <= multiplier <= high:
            multiplier = max(1e-3 * high, float(np.sqrt(low * high)))
        q = -Sg / (S**2 + multiplier)
        length = float(np.linalg.norm(q))
        excess = length - radius
        if excess > 0.0:
            low = max(low, multiplier)
        else:
            high = multiplier
        if abs(excess) > 0.1 * radius:
            # Newton's method for 1/length = 1/radius, which is nearly linear in the multiplier.
            multiplier += (length / radius) * excess * length / float(np.sum(Sg**2 / (S**2 + multiplier) ** 3))
        turns += 1
    return q, whole
