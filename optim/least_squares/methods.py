"""Nonlinear least squares: steps of the linearised model in a scaled trust region.

J.J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630 (1978)
105-116: the step p minimises |r + J p| subject to |D p| <= Δ. D holds the largest norm that each column of J has had,
so the units of the parameters do not matter. Instead of Moré's QR factorisations with Givens rotations, one singular
value decomposition reduces the search for the multiplier λ to a scalar equation. It also shows which combinations of
parameters the data do not determine. A sparse J is not decomposed: its normal equations are factorised (``sparse.py``).

The fit has converged when the residual is orthogonal to the tangent plane of the model (D.M. Bates and D.G. Watts,
Technometrics 23 (1981) 179-183), a test that is independent of units and scale. Close to that point the sum of squares
is constant to rounding and cannot rank two points; there the orthogonality itself decides, so that the parameters are
accurate to nearly all digits.

Bounds: unknowns at a bound that the gradient pushes against it are held for one step, and steps are projected (C.
Kanzow, N. Yamashita and M. Fukushima, J. Comput. Appl. Math. 172 (2004) 375-397).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput
from ..flatten import Vector
from ..loop import Search
from ..results import AT_ROUNDING, CONVERGED, RUNNING, STAGNATED
from .losses import Loss, linear, reweighted, total
from .residuals import Residuals
from .sparse import blank, column_norms, entries, plane, scaled_columns
from .steps import Tangent, damped_step, dogleg_step, shortened_step


@dataclass(frozen=True)
class LeastSquaresMethod(ABC):
    """The settings of a method; an object, or its name for the default settings, is the ``method`` of ``least_squares``."""

    @property
    @abstractmethod
    def first_radius(self) -> float:
        """The radius of the first trust region relative to the scaled length of ``x0``."""

    @abstractmethod
    def step(self, tangent: Any, radius: float) -> tuple[Vector, bool]:
        """Return a step within ``radius``, and whether the radius did not limit it."""


@dataclass(frozen=True)
class LevenbergMarquardt(LeastSquaresMethod):
    """Moré's method: the step minimises the linear model within the radius.

    ``radius`` is that of the first trust region relative to the scaled length of ``x0``; a larger one allows longer first
    steps.
    """

    radius: float = 0.1

    def __post_init__(self) -> None:
        check_radius("LevenbergMarquardt", self.radius)

    @property
    def first_radius(self) -> float:
        return self.radius

    def step(self, tangent: Any, radius: float) -> tuple[Vector, bool]:
        return damped_step(tangent, radius)


@dataclass(frozen=True)
class DoglegFit(LeastSquaresMethod):
    """Powell's dogleg path within the radius: one cheap formula a step.

    Source: M.J.D. Powell, in P. Rabinowitz (ed.), Numerical Methods for Nonlinear Algebraic Equations (1970) 87-114.
    """

    radius: float = 0.1

    def __post_init__(self) -> None:
        check_radius("DoglegFit", self.radius)

    @property
    def first_radius(self) -> float:
        return self.radius

    def step(self, tangent: Any, radius: float) -> tuple[Vector, bool]:
        return dogleg_step(tangent, radius)


@dataclass(frozen=True)
class GaussNewton(LeastSquaresMethod):
    """The Gauss-Newton step, shortened where it does not reduce the residuals; for good starts and small residuals.

    Source: Nocedal and Wright, Numerical Optimization, 2nd ed. (2006), section 10.3.
    """

    @property
    def first_radius(self) -> float:
        return math.inf

    def step(self, tangent: Any, radius: float) -> tuple[Vector, bool]:
        return shortened_step(tangent, radius)


def check_radius(name: str, radius: float) -> None:
    """Refuse a radius that no trust region can have."""
    if not radius > 0:
        raise BadInput(f"{name}: radius is {radius!r}, expected a positive number")


class FitSearch(Search):
    """The state of a fit."""

    def __init__(
        self,
        method: LeastSquaresMethod,
        x: Vector,
        m: int,
        lower: Vector,
        upper: Vector,
        bounded: bool,
        loss: Loss,
        scale: float,
        tol: float,
        eps: float,
    ) -> None:
        self.method, self.loss, self.scale, self.tol, self.eps = method, loss, scale, tol, eps
        self.lower, self.upper, self.bounded = lower, upper, bounded
        self.point, self.trial = x.copy(), x.copy()
        self.residual, self.slopes, self.D = np.zeros(m), blank(m, len(x)), np.zeros(len(x))
        k = min(m, len(x))
        self.tangent: Any = Tangent(np.ones(k), np.zeros((k, len(x))), np.zeros(k), np.ones(k, dtype=bool))
        self.value = self.norm = self.start = self.measure = math.inf
        self.radius, self.predicted, self.linear, self.length, self.offset = 1.0, 0.0, 0.0, 0.0, 0.0
        self.whole = True
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def learn(self, problem: Residuals, evaluation: Vector) -> None:
        there = evaluation
        value = float(total(self.loss, there, self.scale))
        finite = bool(np.all(np.isfinite(there))) and math.isfinite(value)
        if self.is_start and not finite:
            raise BadInput(
                f"{problem.solver}: {problem.role}(x0) holds NaN or Inf; expected a start at which every residual is finite"
            )
        ranked = self._rank(value, finite)
        slopes, offset, ahead = self.slopes, math.inf, False
        if ranked:
            slopes = problem.jacobian(self.trial, len(there))
            ahead = bool(np.all(np.isfinite(entries(slopes))))
            if self.is_start and not ahead:
                raise BadInput(
                    f"{problem.solver}: the Jacobian at x0 holds NaN or Inf; expected a start at which {problem.role} is smooth"
                )
        if ahead:
            seen, weighted = reweighted(self.loss, there, slopes, self.scale)
            D = np.maximum(self.D, column_norms(weighted))
            D = np.where(D > 0.0, D, 1.0) if self.is_start else D
            tangent = plane(seen, self._free(weighted, seen, self.trial), D)
            offset = tangent.offset
            at_rounding = not self.is_start and self._is_at_rounding
            if at_rounding and not offset < 0.95 * self.offset:
                self.code = AT_ROUNDING
            else:
                self.moved = not self.is_start
                self.point, self.residual, self.slopes, self.D = self.trial.copy(), there.copy(), slopes.copy(), D
                self.tangent, self.value, self.offset = tangent, value, offset
                self.norm = float(np.linalg.norm(seen))
                if self.is_start:
                    self.start = self.norm
                    size = float(np.linalg.norm(D * self.point))
                    self.radius = self.method.first_radius * (size if size > 0.0 else self.norm)
                self.measure = offset / max(self.norm, 1e-300)
                if self.norm <= self.eps * self.tol * self.start or offset <= max(self.tol, self.eps) * self.norm:
                    self.code = CONVERGED
        elif ranked:
            self.radius = 0.1 * self.length
        self.is_start = False
        self._aim()

    def _free(self, slopes: np.ndarray, residual: Vector, x: Vector) -> np.ndarray:
        """Return the Jacobian with zeros in the columns of unknowns that are held at a bound."""
        if not self.bounded:
            return slopes
        return scaled_columns(slopes, 1.0 * held_free(x, slopes.T @ residual, self.lower, self.upper))

    @property
    def _is_at_rounding(self) -> bool:
        """Whether the sums of squares here and there agree to rounding."""
        return self.whole and self.predicted <= 1e3 * self.eps

    def _rank(self, value: float, finite: bool) -> bool:
        """Compare the trial with the point, and adapt the radius; return whether the trial may be taken."""
        self.moved = False
        if self.is_start or (finite and self._is_at_rounding):
            return True
        before = self.norm**2 if self.loss is linear else self.value
        actual = 1.0 - value / before if finite else -math.inf
        if self.loss is not linear:
            actual = actual * self.value / max(self.norm**2, 1e-300)
        ratio = actual / self.predicted if self.predicted > 0.0 else -1.0
        if ratio <= 0.25:
            # Shrink to the minimiser of the parabola through both sums of squares along the step, within bounds.
            bend = self.linear + 0.5 * actual
            shrink = 0.5 if actual >= 0.0 or not bend < 0.0 else min(max(0.5 * self.linear / bend, 0.1), 0.5)
            self.radius = shrink * min(self.radius, 10.0 * self.length) if finite else 0.1 * self.length
        elif self.whole or ratio >= 0.75:
            self.radius = 2.0 * self.length
        return finite and ratio > 1e-4

    def _aim(self) -> None:
        """Choose the next trial."""
        tangent = self.tangent
        q, self.whole = self.method.step(tangent, self.radius)
        square = max(self.norm, 1e-150) ** 2
        self.length = float(np.linalg.norm(q))
        self.linear = float(tangent.slope @ q) / square
        self.predicted = -tangent.change(q) / square
        trial = self.point + tangent.unknowns(q) / self.D
        if self.bounded:
            inside = np.minimum(np.maximum(trial, self.lower), self.upper)
            self.whole = self.whole and bool(np.all(inside == trial))
            trial = inside
            seen, weighted = reweighted(self.loss, self.residual, self.slopes, self.scale)
            step = trial - self.point
            change = weighted @ step
            self.linear = float(seen @ change) / square
            self.predicted = -(2.0 * self.linear + float(change @ change) / square)
        self.trial = trial
        if self.code == RUNNING and self.length <= self.eps * float(np.linalg.norm(self.D * self.point)):
            self.code = AT_ROUNDING if self._is_minimum() else STAGNATED

    def _is_minimum(self) -> bool:
        """Whether the point is a minimum, when the next step would be below the rounding of x."""
        residual, slopes = reweighted(self.loss, self.residual, self.slopes, self.scale)
        slopes = self._free(slopes, residual, self.point)
        columns = column_norms(slopes)
        # Compare the remaining decrease that the model predicts with the effect of the rounding of x on the residuals.
        effect = 100.0 * self.eps * float(np.linalg.norm(columns * self.point))
        if self.offset <= max(math.sqrt(1e3 * self.eps) * self.norm, effect):
            return True
        # For a nearly singular Jacobian the predicted decrease along its weakest direction is unreliable; the gradient is
        # reliable.
        limits = 100.0 * math.sqrt(self.eps) * columns * self.norm
        return bool(np.all(np.abs(slopes.T @ residual) <= limits))


def held_free(x: Vector, gradient: Vector, lower: Vector, upper: Vector) -> np.ndarray:
    """Return which unknowns are free: not at a bound that the negative gradient points beyond."""
    return ~(((x <= lower) & (gradient > 0.0)) | ((x >= upper) & (gradient < 0.0)))
