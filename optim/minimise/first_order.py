"""Directions from gradients alone: steepest descent and nonlinear conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core import BadInput
from ..flatten import Vector
from .descent import LineMethod
from .direction import Direction
from .line_search import LineSearch, MoreThuente

UPDATES = ("hager-zhang", "polak-ribiere")


@dataclass(frozen=True)
class GradientDescent(LineMethod):
    """Steepest descent; the first trial on each line has the length of J. Barzilai and J.M. Borwein.

    Source: IMA J. Numer. Anal. 8 (1988) 141-148, eq. 5.
    """

    def direction(self, size: int) -> Direction:
        return Steepest()


@dataclass(frozen=True)
class ConjugateGradients(LineMethod):
    """Nonlinear conjugate gradients; stores three vectors.

    ``update`` is ``"hager-zhang"`` (CG_DESCENT, eq. 1.3 to 1.6) or ``"polak-ribiere"``, with negative coefficients
    replaced by zero.

    Source: W.W. Hager and H. Zhang, SIAM J. Optim. 16 (2005) 170-192; Nocedal and Wright (2006), eq. 5.44 and 5.45.
    """

    line_search: LineSearch = field(default_factory=lambda: MoreThuente(c2=0.1), kw_only=True)
    update: str = "hager-zhang"

    def __post_init__(self) -> None:
        if self.update not in UPDATES:
            raise BadInput(f"ConjugateGradients: update is {self.update!r}, expected one of {', '.join(UPDATES)}")

    def direction(self, size: int) -> Direction:
        return Conjugate(size, self.update)


class Steepest(Direction):
    """The negative gradient, scaled by the curvature along the last step."""

    def __init__(self) -> None:
        self.scale = 1.0
        self.is_fresh = True

    def along(self, problem: Any, x: Vector, gradient: Vector) -> Vector:
        return -self.scale * gradient

    def learn(self, s: Vector, y: Vector, gradient: Vector) -> None:
        curvature = float(s @ y)
        if curvature > 0.0:
            self.scale = float(s @ s) / curvature
            self.is_fresh = False

    def forget(self) -> None:
        self.scale = 1.0
        self.is_fresh = True


class Conjugate(Direction):
    """The negative gradient plus a multiple of the last direction.

    The direction is scaled so that a step of length 1 decreases f, to first order, as much as the last step.
    """

    def __init__(self, size: int, update: str) -> None:
        self.is_hager_zhang = update == "hager-zhang"
        self.next = np.zeros(size)
        self.scale = 1.0
        self.is_fresh = True

    def along(self, problem: Any, x: Vector, gradient: Vector) -> Vector:
        return -gradient if self.is_fresh else self.scale * self.next

    def learn(self, s: Vector, y: Vector, gradient: Vector) -> None:
        before = gradient - y
        last = -before if self.is_fresh else self.next
        length = float(np.linalg.norm(s)) / max(float(np.linalg.norm(last)), 1e-300)
        curvature, fall = float(last @ y), float(last @ before)
        beta = 0.0
        if self.is_hager_zhang and curvature > 0.0:
            beta = (
                float(y @ gradient) / curvature - 2.0 * float(y @ y) * (float(last @ gradient) / curvature) / curvature
            )
            norms = float(np.linalg.norm(last)) * min(0.01, float(np.linalg.norm(before)))
            beta = max(beta, -1.0 / max(norms, 1e-300))
        elif not self.is_hager_zhang:
            beta = max(0.0, float(y @ gradient) / max(float(before @ before), 1e-300))
        following = beta * last - gradient
        slope = float(following @ gradient)
        self.is_fresh = not slope < 0.0
        self.scale = length * fall / slope if slope < 0.0 and fall < 0.0 else length
        self.next = following

    def forget(self) -> None:
        self.is_fresh = True
