"""``fixed_point``: x = g(x), by iteration, with Anderson's or Aitken's acceleration.

D.G. Anderson, J. ACM 12 (1965) 547-560; H.F. Walker and P. Ni, SIAM J. Numer. Anal. 49 (2011) 1715-1735.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput
from ..flatten import Vector
from ..implicit import ONE_STEP, check_adjoint
from ..problem import check_limits, chosen
from ..results import CONVERGED, RUNNING, STAGNATED
from .equations import Equations
from .finding import Root, prepared, solution
from .methods import RootMethod, RootSearch


@dataclass(frozen=True)
class Iteration(RootMethod):
    """``x + damping (g(x) - x)``, for contractions."""

    damping: float = 1.0

    def start(self, x: Vector, tol: float, eps: float) -> RootSearch:
        return AndersonSearch(0, self.damping, x, tol)


@dataclass(frozen=True)
class Anderson(RootMethod):
    """Anderson's acceleration: the combination of the last ``memory`` steps with the least residual."""

    memory: int = 5
    damping: float = 1.0

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise BadInput(f"Anderson: memory is {self.memory!r}, expected 1 or more")

    def start(self, x: Vector, tol: float, eps: float) -> RootSearch:
        return AndersonSearch(self.memory, self.damping, x, tol)


@dataclass(frozen=True)
class Aitken(RootMethod):
    """Aitken's extrapolation from two values of g, entry by entry (Steffensen's method); for one unknown or nearly
    independent ones."""

    def start(self, x: Vector, tol: float, eps: float) -> RootSearch:
        return AitkenSearch(x, tol)


METHODS: dict[str, Callable[[], RootMethod]] = {"anderson": Anderson, "iteration": Iteration, "aitken": Aitken}


def fixed_point(
    g: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str | RootMethod = "anderson",
    tol: float = 1e-10,
    max_iterations: int = 1000,
    adjoint: str = "implicit",
    callback: Callable[[Root], Any] | None = None,
    history: bool = False,
    progress: bool = False,
    resumable: bool = False,
    resume: Any = None,
) -> Root:
    """Find an ``x`` with ``g(x, *args) = x``.

    Args:
        g: ``g(x, *args)`` returns the structure of ``x0``, or an array with as many numbers.
        x0: the initial guess, as for ``root``.
        args: further arguments of ``g``.
        method: ``"anderson"``, ``"iteration"``, ``"aitken"``, or an object of ``morula.optim.roots`` with settings:
            ``Anderson(memory=5, damping=1.0)``, ``Iteration(damping=1.0)``, ``Aitken()``.
        tol: converged when no entry of ``g(x) - x`` exceeds ``tol``.
        max_iterations: the largest number of steps.
        adjoint, callback, history, progress, resumable, resume: as for ``minimize``; ``adjoint="krylov"`` suits deep
            equilibrium models, which have many unknowns. ``adjoint="one-step"`` differentiates one application of ``g`` at
            the solution without a solve; an approximation whose relative error is about the factor of contraction of ``g``
            (J. Bolte, E. Pauwels and S. Vaiter, "One-step differentiation of iterative algorithms", NeurIPS 2023).

    Returns:
        A ``Root``. Inside a differentiated function, ``x`` is differentiable with respect to everything that ``g`` reads.

    Raises:
        BadInput: an argument has the wrong type or value, ``g`` is not finite at ``x0``, or does not return as many
            numbers as there are unknowns.
        MorulaError: a derivative is taken of a fixed point that was not found, or that is not isolated.

    Source: Anderson (1965); Walker and Ni (2011).

    >>> import math
    >>> round(fixed_point(math.cos, 1.0).x, 9)
    0.739085133
    """
    way = chosen("fixed_point", method, METHODS, RootMethod)
    check_limits("fixed_point", tol, max_iterations)
    check_adjoint("fixed_point", adjoint, (ONE_STEP,))
    if not callable(g):
        raise BadInput(f"fixed_point(g, x0): g is a {type(g).__name__}, expected a function of x0")
    make = Equations if adjoint == "unrolled" else prepared
    problem = make("fixed_point", g, x0, args, None, "g")
    start = way.start if resume is None else None
    return solution(
        problem, g, args, start, adjoint, tol, max_iterations, callback, history, progress, resumable, resume
    )


class AndersonSearch(RootSearch):
    """Steps of Anderson's acceleration; with a memory of 0, of the plain iteration.

    Differences of step k are stored in row k modulo the memory.
    """

    def __init__(self, memory: int, damping: float, x: Vector, tol: float) -> None:
        self.memory, self.damping, self.tol = memory, damping, tol
        self.point, self.trial, self.residual = x.copy(), x.copy(), np.zeros(len(x))
        self.steps, self.changes, self.stored = np.zeros((memory, len(x))), np.zeros((memory, len(x))), 0
        self.value = self.measure = self.best = math.inf
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: Vector) -> None:
        problem.is_finite(evaluation, self.is_start)
        if self.memory > 0 and not self.is_start:
            row = self.stored % self.memory
            self.steps[row] = self.trial - self.point
            self.changes[row] = evaluation - self.residual
            self.stored += 1
        self.moved = not self.is_start
        self.is_start = False
        self.point, self.residual = self.trial.copy(), evaluation.copy()
        self.value, self.measure = float(np.linalg.norm(evaluation)), float(np.max(np.abs(evaluation)))
        step = self.damping * self.residual
        if self.memory > 0:
            U, S, Vt = np.linalg.svd(self.changes.T, full_matrices=False)
            kept = 1e-10 * S[0] < S
            weights = Vt.T @ np.where(kept, (U.T @ self.residual) / np.where(kept, S, 1.0), 0.0)
            step = step - (self.steps + self.damping * self.changes).T @ weights
        self.trial = self.point + step
        if self.measure <= self.tol:
            self.code = CONVERGED
        elif not math.isfinite(self.value) or self.value > 1e20 * (1.0 + float(np.linalg.norm(self.point))):
            self.code = STAGNATED


class AitkenSearch(RootSearch):
    """Pairs of evaluations, and an extrapolation after each pair."""

    def __init__(self, x: Vector, tol: float) -> None:
        self.tol = tol
        self.point, self.trial, self.residual, self.first = x.copy(), x.copy(), np.zeros(len(x)), x.copy()
        self.value = self.measure = math.inf
        self.is_second = False
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: Vector) -> None:
        problem.is_finite(evaluation, self.is_start)
        before = self.residual
        following = self.trial + evaluation
        if self.is_second:
            bend = evaluation - before
            extrapolated = self.first - np.where(
                bend != 0.0, before * before / np.where(bend != 0.0, bend, 1.0), -before
            )
            following = np.where(bend != 0.0, extrapolated, following)
        self.first = self.trial.copy()
        self.moved = not self.is_start
        self.is_start = False
        self.is_second = not self.is_second
        self.point, self.residual = self.trial.copy(), evaluation.copy()
        self.value, self.measure = float(np.linalg.norm(evaluation)), float(np.max(np.abs(evaluation)))
        self.trial = following
        if self.measure <= self.tol:
            self.code = CONVERGED
        elif not math.isfinite(self.value):
            self.code = STAGNATED
