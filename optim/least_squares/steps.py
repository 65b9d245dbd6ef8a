"""Steps for the linear model |r + J p| within a radius, for any coordinates q in which |q| is the length |D p| of the step.

The coordinates and what depends on them belong to the tangent plane: ``Tangent`` here for arrays, ``SparseTangent`` for sparse matrices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..flatten import Vector


class Tangent(NamedTuple):
    """The tangent plane of the model at one point, in the basis of the singular vectors of the scaled Jacobian.

    With ``J D⁻¹ = U S Vᵀ`` and ``g = Uᵀ r``, the step is ``p = D⁻¹ V q``. A singular value below rounding belongs to a combination of
    parameters that the residuals do not determine.
    """

    S: Vector
    Vt: np.ndarray
    g: Vector
    determined: np.ndarray

    @property
    def is_determined(self) -> bool:
        """Whether the residuals determine all parameters."""
        return bool(np.all(self.determined))

    @property
    def offset(self) -> float:
        """The length of the component of the residual that the parameters could still remove."""
        return float(np.linalg.norm(np.where(self.determined, self.g, 0.0)))

    @property
    def slope(self) -> Vector:
        """Half the gradient of the sum of squares by q."""
        return self.S * self.g

    def newton(self) -> Vector:
        """Return the Gauss-Newton step."""
        return -np.where(self.determined, self.g / np.where(self.determined, self.S, 1.0), 0.0)

    def damped(self, multiplier: float) -> Vector:
        """Return the minimiser of |r + J p|² + multiplier |q|²."""
        return -self.slope / (self.S**2 + multiplier)

    def rate(self, q: Vector, multiplier: float) -> float:
        """Return qᵀ (B + multiplier)⁻¹ q, where B is the matrix of the quadratic model."""
        return float(np.sum(q**2 / (self.S**2 + multiplier)))

    def change(self, q: Vector) -> float:
        """Return by how much the step changes the sum of squares of the linear model."""
        return float(np.sum(q * (2.0 * self.slope + self.S**2 * q)))

    def square(self, q: Vector) -> float:
        """Return |J p|²."""
        return float(np.sum((self.S * q) ** 2))

    def unknowns(self, q: Vector) -> Vector:
        """Return D p."""
        return self.Vt.T @ q


def tangent_of(residual: Vector, slopes: np.ndarray, D: Vector) -> Tangent:
    """Return the tangent plane; a column of zeros, as of an unknown at a bound, is not determined."""
    Q, R = np.linalg.qr(slopes / D)  # the singular value decomposition of R (n, n) is cheaper than that of (m, n)
    U, S, Vt = np.linalg.svd(R, full_matrices=False)
    determined = np.finfo(np.float64).eps * max(slopes.shape) * S[0] < S
    return Tangent(S, Vt, U.T @ (Q.T @ residual), determined)


def shortened_step(tangent: Any, radius: float) -> tuple[Vector, bool]:
    """Return the Gauss-Newton step, shortened to ``radius``, and whether it is whole."""
    q = tangent.newton()
    length = float(np.linalg.norm(q))
    return q * min(1.0, radius / max(length, 1e-300)), length <= radius


def dogleg_step(tangent: Any, radius: float) -> tuple[Vector, bool]:
    """Return the step along Powell's path: to the minimiser along the gradient, and from there to the Newton step."""
    newton = tangent.newton()
    slope = tangent.slope
    square = float(slope @ slope)
    steepest = -(square / max(tangent.square(slope), 1e-300)) * slope
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


def damped_step(tangent: Any, radius: float) -> tuple[Vector, bool]:
    """Return the minimiser of the linear model within ``radius``, whose multiplier is λ (Moré, section 5)."""
    q = tangent.newton()
    length = float(np.linalg.norm(q))
    whole = length <= 1.1 * radius
    high = float(np.linalg.norm(tangent.slope)) / radius
    low = 0.0
    if not whole and tangent.is_determined:
        low = (length - radius) * length / tangent.rate(q, 0.0)
    multiplier = low if low > 0.0 else 1e-3 * high
    turns = 0
    while not whole and turns < 50 and (turns == 0 or abs(length - radius) > 0.1 * radius):
        if not low <= multiplier <= high:
            multiplier = max(1e-3 * high, float(np.sqrt(low * high)))
        q = tangent.damped(multiplier)
        length = float(np.linalg.norm(q))
        excess = length - radius
        if excess > 0.0:
            low = max(low, multiplier)
        else:
            high = multiplier
        if abs(excess) > 0.1 * radius:
            # Newton's method for 1/length = 1/radius, which is nearly linear in the multiplier.
            multiplier += (length / radius) * excess * length / tangent.rate(q, multiplier)
        turns += 1
    return q, whole
