"""The spectral residual method for large systems of equations: no Jacobian, and a few vectors.

W. La Cruz, J.M. Martínez and M. Raydan, "Spectral residual method without gradient information for solving large-scale nonlinear
systems of equations", Math. Comp. 75 (2006) 1429-1448 (DF-SANE).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput
from ..flatten import Vector
from ..results import AT_ROUNDING, CONVERGED, RUNNING, STAGNATED
from .methods import RootMethod, RootSearch

SUFFICIENT, LEAST, MOST = 1e-4, 0.1, 0.5
SHORTEST, LONGEST = 1e-10, 1e10
"""The bounds of the spectral coefficient."""


@dataclass(frozen=True)
class DFSane(RootMethod):
    """Steps along f and -f, with the length of Barzilai and Borwein; the norm of f may rise within ``memory`` steps."""

    memory: int = 10

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise BadInput(f"DFSane: memory is {self.memory!r}, expected 1 or more")

    def start(self, x: Vector, tol: float, eps: float) -> RootSearch:
        return SpectralSearch(self.memory, x, tol, eps)


class SpectralSearch(RootSearch):
    """Trials at ``point - ahead σ f`` and ``point + back σ f`` in turn, until the square of the norm has fallen enough."""

    def __init__(self, memory: int, x: Vector, tol: float, eps: float) -> None:
        self.memory, self.tol, self.eps = memory, tol, eps
        self.point, self.trial, self.residual = x.copy(), x.copy(), np.zeros(len(x))
        self.squares = np.full(memory, -math.inf)
        """The squares of the last norms, of step k in entry k modulo the memory."""
        self.slack, self.spectral, self.ahead, self.back, self.is_back = 0.0, 1.0, 1.0, 1.0, False
        self.value = self.measure = math.inf
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: Vector) -> None:
        finite = problem.is_finite(evaluation, self.is_start)
        square = float(evaluation @ evaluation) if finite else math.inf
        here = self.value**2 if not self.is_start else square
        length = self.back if self.is_back else self.ahead
        allowed = float(np.max(self.squares)) + self.slack - SUFFICIENT * length**2 * here
        taken = self.is_start or square <= allowed
        self.moved = taken and not self.is_start
        if self.is_start:
            self.slack = square
        if taken:
            self._take(evaluation, square)
        elif self.is_back:
            self.back, self.is_back = shortened(self.back, square, here), False
        else:
            self.ahead, self.is_back = shortened(self.ahead, square, here), True
        self.is_start = False
        sign = 1.0 if self.is_back else -1.0
        length = self.back if self.is_back else self.ahead
        self.trial = self.point + sign * length * self.spectral * self.residual
        size, reach = float(np.linalg.norm(self.point)), length * abs(self.spectral) * self.value
        if self.measure <= self.tol:
            self.code = CONVERGED
        elif reach <= self.eps * size or length < 1e-16:
            self.code = AT_ROUNDING if self.value <= 1e3 * self.eps * size / abs(self.spectral) else STAGNATED

    def _take(self, evaluation: Vector, square: float) -> None:
        """Go to the trial, and choose the length of the next steps."""
        s, y = self.trial - self.point, evaluation - self.residual
        curvature = float(s @ y)
        self.point, self.residual = self.trial.copy(), evaluation.copy()
        self.value, self.measure = math.sqrt(square), float(np.max(np.abs(evaluation)))
        step = self.iterations + (0 if self.is_start else 1)
        self.squares[step % self.memory] = square
        if not self.is_start:
            self.slack = self.slack * (step / (step + 1.0)) ** 2  # summable: slack of the start over (1 + k)²
        spectral = float(s @ s) / curvature if curvature != 0.0 else 0.0
        if not SHORTEST <= abs(spectral) <= LONGEST:
            spectral = min(max(1.0 / max(self.value, 1e-300), 1.0), 1e5)
        self.spectral, self.ahead, self.back, self.is_back = spectral, 1.0, 1.0, False


def shortened(length: float, square: float, here: float) -> float:
    """Return the minimiser of the parabola through both squares, with the slope ``-2 here``, within limits."""
    bend = square + (2.0 * length - 1.0) * here
    best = length**2 * here / bend if math.isfinite(square) and bend > 0.0 else 0.0
    return min(max(best, LEAST * length), MOST * length)
