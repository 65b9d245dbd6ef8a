"""Mehrotra's predictor-corrector method for convex quadratic programs.

S. Mehrotra, SIAM J. Optim. 2 (1992) 575-601; for quadratic programs J. Nocedal and S.J. Wright, Numerical Optimization (2006),
algorithm 16.4.
"""

from __future__ import annotations

import math

import numpy as np

from ..flatten import Vector
from ..results import AT_ROUNDING, CONVERGED, INFEASIBLE, RUNNING, STAGNATED, UNBOUNDED
from .primal_dual import Box, NewtonSystem, longest_positive
from .program import Program, ProgramSearch, polished, proves_infeasible, proves_unbounded

REGULAR = 1e-11
"""What is added to the diagonals of the Newton system, in relation to its entries; refinement removes its effect."""


class MehrotraSearch(ProgramSearch):
    """The unknowns are w = (x, s) with the slacks s = A x."""

    def __init__(self, program: Program, tol: float) -> None:
        n, m = len(program.q), len(program.A)
        self.tol = tol
        self.box = Box(program.lower, program.upper)
        self.size = max(1.0, float(np.max(np.abs(program.q))))
        self.matrix_size = max(float(np.max(np.abs(program.P))), 1.0)
        self.w, self.point, self.trial = np.zeros(n + m), np.zeros(n), np.zeros(n)
        self.below, self.above = np.where(self.box.has_lower, 1.0, 0.0), np.where(self.box.has_upper, 1.0, 0.0)
        self.multipliers, self.bound_multipliers, self.values = np.zeros(m), np.zeros(n), np.zeros(m)
        self.value = self.measure = self.best = math.inf
        self.stalls = 0
        self.is_start, self.moved, self.code, self.iterations, self.evaluations = True, False, RUNNING, 0, 0

    def learn(self, problem: Program, evaluation: tuple[Vector, Vector]) -> None:
        Px, Ax = evaluation
        n = len(self.point)
        if self.is_start:
            self._begin(problem)
            Px, Ax = problem(self.w[:n])
        self.moved = not self.is_start
        self.is_start = False
        self.point, self.values = self.w[:n].copy(), Ax
        slope = Px + problem.q
        self.value = float(0.5 * (self.point @ Px) + problem.q @ self.point)
        slope_of_lagrangian = slope + problem.A.T @ self.multipliers
        self.bound_multipliers = np.where(self.box.fixed[:n], -slope_of_lagrangian, (self.above - self.below)[:n])
        dual = slope_of_lagrangian + self.bound_multipliers
        h = Ax - self.w[n:]
        limited = self.box.fixed | self.box.has_lower | self.box.has_upper
        h = np.where(limited[n:], h, 0.0)
        gap_below, gap_above = self.box.gaps(self.w)
        total = float(gap_below @ self.below + gap_above @ self.above)
        target = total / max(self.box.sides, 1.0)
        reach = max(1.0, float(np.max(np.abs(self.w))))
        self.measure = max(
            float(np.max(np.abs(dual))) / self.size,
            float(np.max(np.abs(h), initial=0.0)) / reach,
            total / max(1.0, abs(self.value)),
        )
        if self.measure < 0.5 * self.best:
            self.best, self.stalls = self.measure, 0
        else:
            self.stalls += 1
        if self.measure <= self.tol:
            self.code = CONVERGED
        elif proves_infeasible(problem, self.multipliers, self.bound_multipliers, 1e-8):
            self.code = INFEASIBLE
        elif proves_unbounded(problem, self.point, 1e-8):
            self.code = UNBOUNDED
        elif self.stalls == 20 or not math.isfinite(self.measure):
            self.code = AT_ROUNDING if self.best <= 100.0 * self.tol else STAGNATED
        if self.code == CONVERGED or self.code == AT_ROUNDING:
            self._polish(problem)
        elif self.code == RUNNING:
            self._step(problem, slope, h, target)
        self.trial = self.w[:n].copy()

    def _polish(self, program: Program) -> None:
        """Take the solution of the equations of the limits that hold, if it meets all conditions."""
        n = len(self.point)
        x, forces, error = polished(program, self.w, np.concatenate([self.bound_multipliers, self.multipliers]))
        if error <= self.measure:
            self.point, self.values, self.measure = x, program.A @ x, error
            self.value = float(0.5 * (x @ (program.P @ x)) + program.q @ x)
            self.bound_multipliers, self.multipliers = forces[:n], forces[n:]

    def _begin(self, program: Program) -> None:
        """Choose a start from the solution with all sides at equal strength (Mehrotra, section 7)."""
        n = len(self.point)
        ones = np.where(self.box.has_lower | self.box.has_upper, 1.0, 0.0)
        box = self.box
        centre = np.where(
            box.fixed, box.lower, np.where(box.has_lower, box.lower, np.where(box.has_upper, box.upper, 0.0))
        )
        system = NewtonSystem(program.P, program.A, ones, box, 1e-8 * self.matrix_size, 1e-8)
        x, y = system.solve(
            -program.q - program.P @ np.where(box.fixed[:n], centre[:n], 0.0) + ones[:n] * centre[:n],
            centre[n:] - program.A @ np.where(box.fixed[:n], centre[:n], 0.0),
        )
        x = np.where(box.fixed[:n], centre[:n], x)
        self.w = np.concatenate([x, program.A @ x])
        self.w = box.inside(self.w, 0.1)
        force = np.concatenate([program.P @ x + program.q + program.A.T @ y, -y])
        size = max(1.0, float(np.max(np.abs(force))))
        self.below = np.where(box.has_lower, np.maximum(force, 0.1 * size), 0.0)
        self.above = np.where(box.has_upper, np.maximum(-force, 0.1 * size), 0.0)
        self.multipliers = np.where(box.fixed[n:] | box.has_lower[n:] | box.has_upper[n:], y, 0.0)

    def _step(self, program: Program, slope: Vector, h: Vector, target: float) -> None:
        box = self.box
        stiffness = box.stiffness(self.w, self.below, self.above)
        system = NewtonSystem(program.P, program.A, stiffness, box, REGULAR * self.matrix_size, REGULAR)
        zeros = np.zeros(len(self.w))
        step, _ = self._newton(system, program, slope, h, zeros, zeros)
        down, up = box.multiplier_steps(self.w, self.below, self.above, step, zeros, zeros)
        primal = box.longest(self.w, step, 1.0)
        dual = min(longest_positive(self.below, down, 1.0), longest_positive(self.above, up, 1.0))
        gap_below, gap_above = box.gaps(self.w + primal * step)
        ahead = float(gap_below @ (self.below + dual * down) + gap_above @ (self.above + dual * up))
        centring = (ahead / max(target * box.sides, 1e-300)) ** 3
        aims = np.full(len(self.w), min(1.0, max(centring, 0.0)) * target)
        # The products of the predicted changes of gaps and multipliers are what the linear model neglects.
        aim_below, aim_above = aims - step * down, aims + step * up
        step, y = self._newton(system, program, slope, h, aim_below, aim_above)
        down, up = box.multiplier_steps(self.w, self.below, self.above, step, aim_below, aim_above)
        part = max(0.9, 1.0 - target)
        primal = box.longest(self.w, step, part)
        dual = min(longest_positive(self.below, down, part), longest_positive(self.above, up, part))
        if bool(np.any(program.P != 0.0)):  # the residual of the multipliers depends on x too
            primal = dual = min(primal, dual)
        self.w = self.w + primal * step
        self.below, self.above = self.below + dual * down, self.above + dual * up
        self.multipliers = self.multipliers + dual * (y - self.multipliers)

    def _newton(
        self, system: NewtonSystem, program: Program, slope: Vector, h: Vector, aim_below: Vector, aim_above: Vector
    ) -> tuple[Vector, Vector]:
        n = len(self.point)
        push = self.box.push(self.w, aim_below, aim_above)
        dx, y = system.refined(push[:n] - slope, system.compliance * push[n:] - h)
        return np.concatenate([dx, system.slack_step(dx, y, push[n:], h)]), y


def solved(program: Program, tol: float, max_iterations: int) -> MehrotraSearch:
    """Return the search at its end."""
    search = MehrotraSearch(program, tol)
    while search.code == RUNNING and search.iterations < max_iterations:
        search.learn(program, program(search.trial))
        search.iterations += 1
    return search
