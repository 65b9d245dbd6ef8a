"""A primal-dual interior-point method with a filter line search.

A. Wächter and L.T. Biegler, "On the implementation of an interior-point filter line-search algorithm for large-scale nonlinear
programming", Math. Program. 106 (2006) 25-57; numbers in brackets are equations there. Inequalities get slacks
(``primal_dual.py``). The barrier parameter μ falls superlinearly; each step solves the Newton system of the barrier
problem, whose Hessian is shifted until the matrix has the inertia of a minimum; a step is accepted if it improves violation or
barrier value against a filter, with second-order corrections. Where that fails, a least-squares search reduces the
violation alone, until the filter accepts its point, or the constraints turn out to be infeasible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..flatten import Vector
from ..minimise.descent import UNBOUNDED_LENGTH, check_start
from ..programs.primal_dual import Box, NewtonSystem, longest_positive
from ..results import AT_ROUNDING, CONVERGED, INFEASIBLE, RUNNING, STAGNATED, UNBOUNDED
from .constraints import ConstrainedObjective
from .filter import MARGIN_VALUE, MARGIN_VIOLATION, Filter
from .method import ConstrainedMethod, ConstrainedSearch, largest

BEGINNING, STEPPING, RESTORING = 0, 1, 2
STEEPEST = 100.0
"""f and constraints with larger gradients at the start are scaled."""
PATIENCE = 8
"""After so many steps on which a large violation hardly falls, it is reduced alone."""
UNBOUNDED_VALUE = 1e14
"""Where f has fallen below minus this, times its first value, it is taken to decrease without bound."""


@dataclass(frozen=True)
class InteriorPoint(ConstrainedMethod):
    """The interior-point method of Wächter and Biegler (IPOPT), O((n + m)³) per step, with the Hessian of the Lagrangian.

    ``barrier`` is the first barrier parameter μ.
    """

    barrier: float = 0.1

    def start(self, problem: ConstrainedObjective, tol: float) -> ConstrainedSearch:
        return InteriorPointSearch(problem, self.barrier, tol)


class InteriorPointSearch(ConstrainedSearch):
    """Steps in w = (x, s); ``trial`` is the x part of ``ahead``."""

    def __init__(self, problem: ConstrainedObjective, barrier: float, tol: float) -> None:
        x, m = problem.layout.vector(problem.layout.start), problem.constraints.count
        n = len(x)
        lower, upper = problem.bounds
        self.tol, self.eps, self.barrier = tol, problem.layout.eps, barrier
        self.bounds, self.limits = (lower, upper), (problem.lower, problem.upper)
        self.box = Box(np.concatenate([lower, problem.lower]), np.concatenate([upper, problem.upper]))
        self.w = self.box.inside(np.concatenate([x, np.zeros(m)]), 1e-2)
        self.ahead = self.w.copy()
        self.point, self.trial = self.w[:n].copy(), self.w[:n].copy()
        self.below, self.above = np.where(self.box.has_lower, 1.0, 0.0), np.where(self.box.has_upper, 1.0, 0.0)
        self.y, self.next_y, self.step = np.zeros(m), np.zeros(m), np.zeros(n + m)
        self.gradient, self.values, self.slopes = np.zeros(n), np.zeros(m), np.zeros((m, n))
        self.weight, self.weights = 1.0, np.ones(m)
        self.multipliers, self.bound_multipliers = np.zeros(m), np.zeros(n)
        self.value = self.measure = math.inf
        self.first_value, self.slow = 0.0, 0
        self.filter, self.shift = Filter(), 0.0
        self.length, self.shortest, self.corrections, self.fall, self.last_violation = 1.0, 0.0, 0, 0.0, 0.0
        self.system = self._system(np.eye(n), 0.0, 0.0)
        self.corrected = np.zeros(m)
        self.damping, self.enough = 1.0, 0.0
        self.phase, self.code, self.moved, self.iterations, self.evaluations = BEGINNING, RUNNING, False, 0, 0

    def learn(self, problem: ConstrainedObjective, evaluation: tuple[float, Vector, Vector, np.ndarray]) -> None:
        value, gradient, values, slopes = evaluation
        finite = bool(
            math.isfinite(value)
            and np.all(np.isfinite(gradient))
            and np.all(np.isfinite(values))
            and np.all(np.isfinite(slopes))
        )
        taken, augment, aim = False, False, False
        h = np.zeros(len(values))
        target = h
        if self.phase == BEGINNING:
            check_start(value, gradient)
            self._scale(gradient, slopes)
            self.first_value = value
            n = len(gradient)
            self.w = self.box.inside(np.concatenate([self.w[:n], self.weights * values]), 1e-2)
            self.ahead = self.w.copy()
            taken = True
        elif self.phase == STEPPING:
            h = self._gap(self.weights * values, self.ahead)
            trial_value = self._barrier_value(self.weight * value, self.ahead) if finite else math.inf
            taken, augment = self._judge(float(np.sum(np.abs(h))) if finite else math.inf, trial_value)
        else:
            h = self._gap(self.weights * values, self.ahead)
            taken = finite and float(h @ h) < float(self._h @ self._h)
        is_start = self.phase == BEGINNING
        was_restoring = self.phase == RESTORING
        if augment:
            self.filter.add(self._violation, self._now)
        self.moved = taken and not is_start
        before = self._violation
        if taken:
            self._take(value, gradient, values, slopes, was_restoring)
            if is_start:
                self.filter.largest = 1e4 * max(1.0, self._violation)
        restore = False
        if was_restoring:
            restore = not (taken and self._violation <= self.enough and self.filter.accepts(self._violation, self._now))
            self.damping = max(self.damping / 3.0, 1e-8) if taken else 4.0 * self.damping
        if (taken or was_restoring) and not restore:
            if is_start or was_restoring:
                self.y = self._estimated()
            self._test()
            now = self._violation
            far = now > 1e-8 * self.filter.largest and now > 0.9 * before and not is_start and not was_restoring
            self.slow = self.slow + 1 if far else 0
            aim = self.slow < PATIENCE and self._renew(problem)
            restore = not aim
            target = self._h
        elif not taken and not was_restoring:
            aim, target = self._corrects(h, finite)
        if aim:
            self._aim(target)
        if aim and self.corrections == 0:
            self._predict()
        elif not aim and not taken and not was_restoring:
            self.length = 0.5 * self.length
            self.ahead = self.w + self.length * self.step
            restore = self.length < self.shortest
        if restore and self.code == RUNNING:
            self._restore(was_restoring)
        self.trial = self.ahead[: len(self.trial)].copy()

    def _scale(self, gradient: Vector, slopes: np.ndarray) -> None:
        """Choose the scales of f and the constraints (section 3.8)."""
        n, m = len(gradient), len(slopes)
        self.weight = min(1.0, STEEPEST / max(largest(gradient), 1e-300))
        if m > 0:
            self.weights = np.minimum(1.0, STEEPEST / np.maximum(np.max(np.abs(slopes), axis=1), 1e-300))
        everything = np.concatenate([np.ones(n), self.weights])
        self.box = Box(self.box.lower * everything, self.box.upper * everything)

    def _gap(self, values: Vector, w: Vector) -> Vector:
        """Return h = c - s; zero for constraints without limits."""
        n = len(self.point)
        limited = self.box.fixed[n:] | self.box.has_lower[n:] | self.box.has_upper[n:]
        return np.where(limited, values - w[n:], 0.0)

    def _barrier_value(self, value: float, w: Vector) -> float:
        gap_below, gap_above = self.box.gaps(w)
        return value - self.barrier * float(np.sum(np.log(gap_below)) + np.sum(np.log(gap_above)))

    @property
    def _h(self) -> Vector:
        return self._gap(self.weights * self.values, self.w)

    @property
    def _violation(self) -> float:
        return float(np.sum(np.abs(self._h)))

    @property
    def _now(self) -> float:
        return self._barrier_value(self.weight * self.value, self.w)

    def _take(self, value: float, gradient: Vector, values: Vector, slopes: np.ndarray, restored: bool) -> None:
        """Move to the point ahead, with its multipliers (14, 16)."""
        if not restored and self.phase == STEPPING:
            target = np.full(len(self.w), self.barrier)
            down, up = self.box.multiplier_steps(self.w, self.below, self.above, self.step, target, target)
            part = max(0.99, 1.0 - self.barrier)
            length = min(longest_positive(self.below, down, part), longest_positive(self.above, up, part))
            self.below, self.above = self.below + length * down, self.above + length * up
            self.y = self.y + self.length * (self.next_y - self.y)
        self.w, self.value, self.gradient, self.values = self.ahead.copy(), value, gradient.copy(), values.copy()
        self.slopes = slopes.copy()
        self.point = self.w[: len(self.point)].copy()
        gap_below, gap_above = self.box.gaps(self.w)
        low, high = self.barrier / 1e10, self.barrier * 1e10
        self.below = np.where(
            self.box.has_lower, np.minimum(np.maximum(self.below, low / gap_below), high / gap_below), 0.0
        )
        self.above = np.where(
            self.box.has_upper, np.minimum(np.maximum(self.above, low / gap_above), high / gap_above), 0.0
        )

    def _residual(self) -> Vector:
        """Return the gradient of the Lagrangian with respect to w."""
        n = len(self.point)
        slope = self.weight * self.gradient + (self.weights[:, None] * self.slopes).T @ self.y
        whole = np.concatenate([slope, -self.y]) - self.below + self.above
        limited = self.box.has_lower[n:] | self.box.has_upper[n:]
        return np.where(np.concatenate([~self.box.fixed[:n], limited]), whole, 0.0)

    def _error(self, target: float) -> float:
        """Return the scaled error of the optimality conditions (5)."""
        gap_below, gap_above = self.box.gaps(self.w)
        bound_size = float(np.sum(self.below) + np.sum(self.above))
        count = len(self.y) + self.box.sides
        dual = max(100.0, (float(np.sum(np.abs(self.y))) + bound_size) / max(count, 1.0)) / 100.0
        sides = max(100.0, bound_size / max(self.box.sides, 1.0)) / 100.0
        off = np.where(self.box.has_lower, gap_below * self.below - target, 0.0)
        away = np.where(self.box.has_upper, gap_above * self.above - target, 0.0)
        return max(largest(self._residual()) / dual, largest(self._h), max(largest(off), largest(away)) / sides)

    def _test(self) -> None:
        """Test whether the search has ended, and reduce the barrier (7, 8)."""
        n = len(self.point)
        self.measure = self._error(0.0)
        self.multipliers = self.y * self.weights / self.weight
        slope = self.gradient + self.slopes.T @ self.multipliers
        self.bound_multipliers = np.where(self.box.fixed[:n], -slope, (self.above[:n] - self.below[:n]) / self.weight)
        loose = 1e-2 * self.tol
        turns = 0
        while turns < 20 and self.barrier > loose and self._error(self.barrier) <= 10.0 * self.barrier:
            self.barrier = max(loose, min(0.2 * self.barrier, self.barrier**1.5))
            self.filter.clear()
            turns += 1
        if self.measure <= self.tol and self.barrier <= loose:
            self.code = CONVERGED
        elif (
            self.value < -UNBOUNDED_VALUE * max(1.0, abs(self.first_value))
            or float(np.linalg.norm(self.point)) > UNBOUNDED_LENGTH
        ):
            self.code = UNBOUNDED

    def _system(self, curvature: np.ndarray, shift: float, slack: float) -> NewtonSystem:
        stiffness = self.box.stiffness(self.w, self.below, self.above)
        return NewtonSystem(curvature, self.weights[:, None] * self.slopes, stiffness, self.box, shift, slack)

    def _push(self) -> Vector:
        target = np.full(len(self.w), self.barrier)
        return self.box.push(self.w, target, target)

    def _estimated(self) -> Vector:
        """Return the multipliers with the least gradient of the Lagrangian, zero where they are huge (36)."""
        n, m = len(self.point), len(self.y)
        if m == 0:
            return self.y
        J = self.weights[:, None] * self.slopes
        whole = np.concatenate([J.T, -np.diag(np.where(self.box.fixed[n:], 0.0, 1.0))], axis=0)
        slope = np.concatenate([self.weight * self.gradient, np.zeros(m)]) - self.below + self.above
        moves = np.concatenate([~self.box.fixed[:n], np.ones(m, dtype=bool)])
        y = -(np.linalg.pinv(np.where(moves[:, None], whole, 0.0)) @ np.where(moves, slope, 0.0))
        limited = self.box.fixed[n:] | self.box.has_lower[n:] | self.box.has_upper[n:]
        return np.where(limited & (largest(y) <= 1e3), y, 0.0)

    def _renew(self, problem: ConstrainedObjective) -> bool:
        """Compute the Newton system of the point; return whether there is one with the inertia of a minimum (algorithm IC)."""
        curvature = problem.curvature(self.point, self.weight, self.weights * self.y)
        curvature = np.where(np.isfinite(curvature), curvature, 0.0)
        curvature = 0.5 * (curvature + curvature.T)
        m, growth = len(self.y), 100.0 if self.shift == 0.0 else 8.0
        shift, slack, turns, convex = 0.0, 0.0, 0, False
        while not convex and turns < 60:
            self.system = self._system(curvature, shift, slack)
            negative, smallest = self.system.inertia()
            convex = negative == m and smallest >= 1e-15
            singular = not convex and slack == 0.0 and (smallest < 1e-15 or negative < m)
            if singular:
                slack = 1e-8 * self.barrier**0.25
            if not convex and shift > 0.0:
                shift = growth * shift
            elif not convex and not singular:
                shift = 1e-4 if self.shift == 0.0 else max(1e-20, self.shift / 3.0)
            turns += 1
        self.shift = shift if shift > 0.0 else self.shift
        self.corrections, self.phase = 0, STEPPING
        return convex

    def _predict(self) -> None:
        """Compute what the step promises, and the shortest length that is tried (23)."""
        n, theta = len(self.point), self._violation
        self.last_violation = theta
        push = self._push()
        self.fall = float((self.weight * self.gradient - push[:n]) @ self.step[:n] - push[n:] @ self.step[n:])
        shortest = MARGIN_VIOLATION
        if self.fall < 0.0:
            shortest = min(shortest, MARGIN_VALUE * theta / -self.fall)
            if theta <= 1e-8 * self.filter.largest:
                shortest = min(shortest, theta**1.1 / (-self.fall) ** 2.3)
        self.shortest = 0.05 * shortest

    def _aim(self, h: Vector) -> None:
        """Compute a step for the violation ``h``, and go along it as far as the sides allow (11, 15)."""
        n = len(self.point)
        push = self._push()
        r = -self.weight * self.gradient + push[:n]
        q = -h + self.system.compliance * push[n:]
        dx, y = self.system.solve(r, q)
        ds = self.system.slack_step(dx, y, push[n:], h)
        self.step, self.next_y = np.concatenate([dx, ds]), y
        self.length = self.box.longest(self.w, self.step, max(0.99, 1.0 - self.barrier))
        self.ahead = self.w + self.length * self.step

    def _judge(self, violation: float, value: float) -> tuple[bool, bool]:
        """Return whether the trial is accepted, and whether the present point enters the filter (18 to 20)."""
        now, theta = self._now, self._violation
        noise = 10.0 * self.eps * abs(now)
        small = 1e-8 * self.filter.largest
        switching = self.fall < 0.0 and self.length * (-self.fall) ** 2.3 > theta**1.1
        armijo = value - noise <= now + 1e-8 * self.length * self.fall
        if theta <= small and switching:
            sufficient = armijo
        else:
            sufficient = violation <= (1.0 - MARGIN_VIOLATION) * theta or value - noise <= now - MARGIN_VALUE * theta
        tiny = largest(self.step / (1.0 + np.abs(self.w))) < 10.0 * self.eps
        accepted = sufficient and self.filter.accepts(violation, value - noise) or (tiny and math.isfinite(value))
        return accepted, accepted and not (switching and armijo)

    def _corrects(self, h: Vector, finite: bool) -> tuple[bool, Vector]:
        """After a rejected trial, return whether to aim anew, at a correction of second order (27), and for which violation."""
        theta = float(np.sum(np.abs(h))) if finite else math.inf
        first = self.corrections == 0 and theta >= self._violation and finite and len(h) > 0
        again = 0 < self.corrections < 4 and theta <= 0.99 * self.last_violation
        back = not first and not again and 0 < self.corrections < 5  # it did not help: back to the step itself
        if first:
            self.corrected = self.length * self._h + h
        elif again:
            self.corrected = self.length * self.corrected + h
        self.corrections = self.corrections + 1 if first or again else 5
        self.last_violation = theta
        return first or again or back, self._h if back else self.corrected

    def _restore(self, again: bool) -> None:
        """Aim at a point of less violation: a Levenberg-Marquardt step for h, scaled by the distances from the sides."""
        h, J = self._h, self.weights[:, None] * self.slopes
        if not again:
            self.enough = 0.9 * self._violation
            self.slow = 0
            self.filter.add(self._violation, self._now)
            self.damping, self.phase = 1e-4 * max(1.0, self._violation), RESTORING
        gap_below, gap_above = self.box.gaps(self.w)
        room = np.minimum(np.where(self.box.has_lower, gap_below, 1.0), np.where(self.box.has_upper, gap_above, 1.0))
        room = np.where(self.box.fixed, 0.0, np.sqrt(np.minimum(room, 1.0)))
        A = np.concatenate([J, -np.eye(len(h))], axis=1) * room
        slope = A.T @ h
        if self._violation <= self.tol or self.measure <= 1e3 * self.tol:
            self.code = AT_ROUNDING if self.measure <= 1e3 * self.tol else STAGNATED
        elif largest(room * slope) <= 1e-6 * min(1.0, self._violation) or self.damping > 1e15:
            self.code = INFEASIBLE
        else:
            # (AᵀA + λ)⁻¹ Aᵀ h = Aᵀ (A Aᵀ + λ)⁻¹ h
            step = -room * (A.T @ np.linalg.solve(A @ A.T + self.damping * np.eye(len(h)), h))
            self.step = step
            self.length = self.box.longest(self.w, step, 0.99)
            self.ahead = self.w + self.length * step
            if largest(step) <= self.eps * (1.0 + largest(self.w)):
                self.code = INFEASIBLE
