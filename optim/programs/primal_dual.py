"""What interior-point methods share: a box, its barrier, and the Newton system.

The unknowns are w = (x, s) with slacks s of the constraints, h = c(x) - s = 0, and a box lower <= w <= upper; an equation is a
slack whose limits are equal. z are the multipliers of the two sides of the box, y those of h (S.J. Wright,
Primal-Dual Interior-Point Methods, 1997; A. Wächter and L.T. Biegler, Math. Program. 106 (2006) 25-57).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..flatten import Vector


class Box:
    """Sides of a box that are finite; an unknown whose sides coincide is fixed."""

    def __init__(self, lower: Vector, upper: Vector) -> None:
        self.lower, self.upper = lower, upper
        self.fixed = lower == upper
        self.has_lower, self.has_upper = np.isfinite(lower) & ~self.fixed, np.isfinite(upper) & ~self.fixed
        self.sides = float(np.sum(self.has_lower) + np.sum(self.has_upper))

    def gaps(self, w: Vector) -> tuple[Vector, Vector]:
        """Return the distances from both sides; 1 where there is no side."""
        return np.where(self.has_lower, w - self.lower, 1.0), np.where(self.has_upper, self.upper - w, 1.0)

    def inside(self, w: Vector, margin: float) -> Vector:
        """Return ``w`` moved away from the sides (Wächter and Biegler, section 3.6)."""
        lower, upper = np.where(self.has_lower, self.lower, 0.0), np.where(self.has_upper, self.upper, 0.0)
        width = np.where(self.has_lower & self.has_upper, upper - lower, np.inf)
        w = np.where(
            self.has_lower, np.maximum(w, lower + margin * np.minimum(np.maximum(1.0, np.abs(lower)), width)), w
        )
        w = np.where(
            self.has_upper, np.minimum(w, upper - margin * np.minimum(np.maximum(1.0, np.abs(upper)), width)), w
        )
        return np.where(self.fixed, self.lower, w)

    def stiffness(self, w: Vector, below: Vector, above: Vector) -> Vector:
        """Return Σ = z / gap, summed over both sides."""
        gap_below, gap_above = self.gaps(w)
        return np.where(self.has_lower, below / gap_below, 0.0) + np.where(self.has_upper, above / gap_above, 0.0)

    def push(self, w: Vector, target_below: Vector, target_above: Vector) -> Vector:
        """Return target / gap, the force of the barrier away from the sides."""
        gap_below, gap_above = self.gaps(w)
        return np.where(self.has_lower, target_below / gap_below, 0.0) - np.where(
            self.has_upper, target_above / gap_above, 0.0
        )

    def longest(self, w: Vector, step: Vector, part: float) -> float:
        """Return the longest multiple of ``step``, at most 1, that goes a part of the way to a side."""
        gap_below, gap_above = self.gaps(w)
        down = np.where(self.has_lower & (step < 0.0), -step / gap_below, 0.0)
        up = np.where(self.has_upper & (step > 0.0), step / gap_above, 0.0)
        return min(1.0, part / max(float(np.max(down)), float(np.max(up)), 1e-300))

    def multiplier_steps(
        self, w: Vector, below: Vector, above: Vector, step: Vector, target_below: Vector, target_above: Vector
    ) -> tuple[Vector, Vector]:
        """Return the Newton steps of the multipliers for gap · z = target."""
        gap_below, gap_above = self.gaps(w)
        return (
            np.where(self.has_lower, (target_below - below * step) / gap_below - below, 0.0),
            np.where(self.has_upper, (target_above + above * step) / gap_above - above, 0.0),
        )


def longest_positive(z: Vector, step: Vector, part: float) -> float:
    """Return the longest multiple of ``step``, at most 1, that takes no z further than a part of the way to 0."""
    falls = np.where(step < 0.0, -step / np.maximum(z, 1e-300), 0.0)
    return min(1.0, part / max(float(np.max(falls)), 1e-300)) if len(z) > 0 else 1.0


class NewtonSystem:
    """The Newton system, reduced to dx and the new multipliers y, and scaled to entries of moderate size.

    ``(H + Σx) dx + Jᵀ y = r``, ``J dx - Σs⁻¹ y = q``, with ``Σs⁻¹ = 0`` for equations. Unknowns without freedom keep their
    values, and constraints without limits have y = 0. ``shift`` is added to H, ``slack`` to the block of the equations.
    """

    def __init__(
        self, H: np.ndarray, J: np.ndarray, stiffness: Vector, box: Box, shift: float = 0.0, slack: float = 0.0
    ) -> None:
        n = H.shape[0]
        moves = np.where(box.fixed[:n], 0.0, 1.0)
        equal = box.fixed[n:]
        limited = equal | box.has_lower[n:] | box.has_upper[n:]
        firm = np.where(equal, 1.0, stiffness[n:])
        self.columns = moves / np.sqrt(np.maximum(1.0, stiffness[:n] + shift))
        self.rows = np.where(limited, np.minimum(1.0, np.sqrt(firm)), 0.0)
        corner = np.where(equal, slack, np.where(limited, self.rows**2 / np.maximum(firm, 1e-300), 1.0))
        self.compliance = np.where(equal, slack, np.where(limited, 1.0 / np.maximum(firm, 1e-300), 0.0))
        self.J, self.movable = J, limited & ~equal
        upper = self.columns[:, None] * (H + np.diag(stiffness[:n] + shift)) * self.columns + np.diag(1.0 - moves)
        side = self.rows[:, None] * J * self.columns
        top = np.concatenate([upper, side.T], axis=1)
        bottom = np.concatenate([side, -np.diag(corner)], axis=1)
        self.matrix = np.concatenate([top, bottom], axis=0)
        extra = np.concatenate([shift * moves * self.columns**2, np.where(equal, -slack, 0.0)])
        self.exact = self.matrix - np.diag(extra)
        self.size = n

    def inertia(self) -> tuple[int, float]:
        """Return the number of negative eigenvalues, and the smallest in relation to the largest absolute value."""
        if not bool(np.all(np.isfinite(self.matrix))):
            return -1, 0.0
        values = np.linalg.eigvalsh(self.matrix)
        sizes = np.abs(values)
        return int(np.sum(values < 0.0)), float(np.min(sizes)) / max(float(np.max(sizes)), 1e-300)

    def solve(self, r: Vector, q: Vector) -> tuple[Vector, Vector]:
        """Return dx and y."""
        n = self.size
        solution: Any = np.linalg.solve(self.matrix, np.concatenate([self.columns * r, self.rows * q]))
        return self.columns * solution[:n], self.rows * solution[n:]

    def refined(self, r: Vector, q: Vector) -> tuple[Vector, Vector]:
        """Return dx and y without the effect of ``shift`` and ``slack``, by refinement."""
        n = self.size
        right = np.concatenate([self.columns * r, self.rows * q])
        factors: np.ndarray = np.linalg.inv(self.matrix)
        solution: Any = factors @ right
        for _ in range(3):
            solution = solution + factors @ (right - self.exact @ solution)
        return self.columns * solution[:n], self.rows * solution[n:]

    def slack_step(self, dx: Vector, y: Vector, push: Vector, h: Vector) -> Vector:
        """Return ds for the violation ``h = c - s``; close to a side from its multiplier, since h is there a rounding error."""
        firm = (self.compliance < 1.0) & self.movable
        return np.where(firm, (y + push) * self.compliance, np.where(self.movable, self.J @ dx + h, 0.0))
