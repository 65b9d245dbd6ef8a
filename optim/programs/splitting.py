"""Operator splitting for convex quadratic programs: one factorisation for all iterations, moderate accuracy, then a polish.

B. Stellato, G. Banjac, P. Goulart, A. Bemporad and S. Boyd, "OSQP: an operator splitting solver for quadratic programs", Math.
Program. Comput. 12 (2020) 637-672; numbers in brackets are sections there. Bounds are rows of the identity above those of A.
"""

from __future__ import annotations

import math

import numpy as np

from ..flatten import Vector
from ..results import CONVERGED, INFEASIBLE, RUNNING, UNBOUNDED
from .program import Program, ProgramSearch, polished, proves_infeasible, proves_unbounded

SIGMA, RELAXATION, PERIOD = 1e-6, 1.6, 25
"""Of the proximal term, of over-relaxation, and of tests and changes of the step (3.1, 5.2)."""


class SplittingSearch(ProgramSearch):
    """The alternating direction method of multipliers for x and w = (x, A x)."""

    def __init__(self, program: Program, tol: float) -> None:
        n, m = len(program.q), len(program.A)
        self.tol = tol
        self.rows = np.concatenate([np.eye(n), program.A], axis=0)
        # Rows of length 1 make one step fit all constraints (5.1 goes further, and scales the unknowns).
        self.scale = 1.0 / np.maximum(np.sqrt(np.sum(self.rows**2, axis=1)), 1e-12)
        self.rows = self.scale[:, None] * self.rows
        self.lower, self.upper = self.scale * program.lower, self.scale * program.upper
        self.equal = self.lower == self.upper
        self.rho = 0.1
        self.inverse, self.steps = np.eye(n), np.ones(n + m)
        self.x, self.w, self.y = (
            np.zeros(n),
            np.minimum(np.maximum(np.zeros(n + m), self.lower), self.upper),
            np.zeros(n + m),
        )
        self.last_x, self.last_y = np.zeros(n), np.zeros(n + m)
        self.point, self.trial = np.zeros(n), np.zeros(n)
        self.multipliers, self.bound_multipliers, self.values = np.zeros(m), np.zeros(n), np.zeros(m)
        self.value = self.measure = math.inf
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def learn(self, problem: Program, evaluation: tuple[Vector, Vector]) -> None:
        if self.is_start or self.evaluations % PERIOD == 0:
            if not self.is_start:
                self._judge(problem)
            self._factorise(problem)
        self.moved = not self.is_start
        self.is_start = False
        self.last_x, self.last_y = self.x, self.y
        right = SIGMA * self.x - problem.q + self.rows.T @ (self.steps * self.w - self.y)
        ahead = self.inverse @ right
        seen = RELAXATION * (self.rows @ ahead) + (1.0 - RELAXATION) * self.w
        self.x = RELAXATION * ahead + (1.0 - RELAXATION) * self.x
        self.w = np.minimum(np.maximum(seen + self.y / self.steps, self.lower), self.upper)
        self.y = self.y + self.steps * (seen - self.w)
        if self.code == RUNNING:
            self._state(problem, self.x, self.scale * self.y)
        self.trial = self.point.copy()

    def _state(self, program: Program, x: Vector, y: Vector) -> None:
        n = len(x)
        self.point, self.bound_multipliers, self.multipliers = x.copy(), y[:n].copy(), y[n:].copy()
        self.values = program.A @ x
        self.value = float(0.5 * (x @ (program.P @ x)) + program.q @ x)

    def _factorise(self, program: Program) -> None:
        self.steps = np.where(self.equal, 1e3 * self.rho, self.rho)
        n = len(self.x)
        self.inverse = np.linalg.inv(program.P + SIGMA * np.eye(n) + (self.rows.T * self.steps) @ self.rows)

    def _judge(self, program: Program) -> None:
        """Test for convergence, certificates of infeasibility, and change the step (3.4, 5.2)."""
        n = len(self.x)
        y = self.scale * self.y
        primal, dual, size_primal, size_dual = self._errors(program, self.x, self.w, self.y)
        self.measure = max(primal / max(1.0, size_primal), dual / max(1.0, size_dual))
        changed = self.scale * (self.y - self.last_y)
        if self.measure <= 1e-3:
            self._polish(program, y)
        if self.code == RUNNING and self.measure <= self.tol:
            self.code = CONVERGED
        elif self.code == RUNNING and proves_infeasible(program, changed[n:], changed[:n], 1e-6):
            self.code = INFEASIBLE
        elif self.code == RUNNING and proves_unbounded(program, self.x - self.last_x, 1e-6):
            self.code = UNBOUNDED
        ratio = math.sqrt((primal / max(size_primal, 1e-10)) / max(dual / max(size_dual, 1e-10), 1e-300))
        if ratio > 5.0 or ratio < 0.2:
            self.rho = min(max(self.rho * ratio, 1e-6), 1e6)

    def _errors(self, program: Program, x: Vector, w: Vector, y: Vector) -> tuple[float, float, float, float]:
        seen, Px, pulled = self.rows @ x, program.P @ x, self.rows.T @ y
        primal = float(np.max(np.abs(seen - w)))
        dual = float(np.max(np.abs(Px + program.q + pulled)))
        size = max(float(np.max(np.abs(Px))), float(np.max(np.abs(pulled))), float(np.max(np.abs(program.q))))
        return primal, dual, max(float(np.max(np.abs(seen))), float(np.max(np.abs(w)))), size

    def _polish(self, program: Program, y: Vector) -> None:
        """Solve the equations of the limits that hold; take the solution if it meets all conditions (4)."""
        x, forces, error = polished(program, self.w / self.scale, y)
        if error <= self.tol:
            self.measure, self.code = error, CONVERGED
            self._state(program, x, forces)
