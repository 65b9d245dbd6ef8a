"""Newton's method for the stages of implicit methods, and the derivative of what it finds.

The iteration keeps one matrix (a simplified Newton method), and stops by the observed rate of convergence (Hairer,
Wanner, Solving Ordinary Differential Equations II, IV.8). It is a constant; ``implicit`` attaches the derivative of the
stage's equation, with the Jacobian at the stage itself.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import constant, implicit
from .problem import Problem

FARTHEST = 20.0
"""The largest ratio of step sizes over which stages are extrapolated."""

ROUNDING = 64.0
"""Newton's method may stop when its steps are smaller than this multiple of the rounding error of the state."""


Kept = tuple[NDArray[Any], Any, Any, Any, Any]
"""What one step leaves for the next: the entries of the Jacobian, factors of matrices with it, the size for which these were
made, the ratio eta of Newton's error to its last step, and whether the Jacobian may serve again."""

STEADY_RATE = 1e-3
"""The Jacobian serves the next step, too, if Newton's method converges at this rate or faster (RADAU5's choice)."""


def nothing_kept(problem: Problem, y: NDArray[Any], factors: Any) -> Kept:
    """Return what there is before the first step; ``factors`` have the shapes of all later ones."""
    return problem.jacobian.blank(len(y), y.dtype), factors, 0.0, 1.0, False


def usable(kept: Kept) -> Kept:
    """Return what a rejected step leaves: the next one begins where the Jacobian is from, or where it was good enough."""
    return kept[0], kept[1], kept[2], kept[3], True


@constant
def searched(
    problem: Problem,
    t: float,
    y: NDArray[Any],
    h: float,
    kept: Kept,
    guess: Any,
    factorise: Callable[[NDArray[Any]], Any],
    attempt: Callable[[Any, float], tuple[Any, bool, int, float, float]],
    steady_rate: float = STEADY_RATE,
) -> tuple[Any, bool, tuple[int, int, int], float, Kept]:
    """Return what ``attempt`` finds, which is like ``guess``, whether it did, the numbers of evaluations, Jacobians and
    factorisations, the rate of convergence, and what to keep.

    ``factorise(entries)`` returns factors for steps of ``h``; ``attempt(factors, eta)`` returns what it finds, whether it did,
    the number of evaluations, and the rate of convergence and eta. If it fails with the Jacobian of an earlier step, it is
    called again with that at t and y.
    """
    entries, factors, h_before, eta, is_old = kept
    count, jacobians, factorisations = 0, 0, 0
    found, is_found, rate, is_going = guess, False, 0.0, True
    while is_going:
        if not is_old:
            entries = problem.jacobian.entries(problem.rhs, t, y)
            jacobians += 1
        if not is_old or h != h_before:
            factors = factorise(entries)
            factorisations += 1
            h_before = h
        found, is_found, evaluations, rate, eta = attempt(factors, eta)
        count += evaluations
        is_going = is_old and not is_found
        is_old = False
    cost = count, jacobians, factorisations
    return found, is_found, cost, rate, (entries, factors, h, eta, rate <= steady_rate)


@constant
def newton(
    problem: Problem, t: float, base: NDArray[Any], weight: float, guess: NDArray[Any], solve: Any, eta: float = 1.0
) -> tuple[NDArray[Any], bool, int, float, float]:
    """Return u with M (u - base) = weight f(t, u), whether the iteration converged, the number of evaluations of f, and the rate
    of convergence and eta, as of ``iterated``.

    ``solve`` solves (M / weight - J) x = b with a Jacobian near the one at u.
    """

    def change(u: NDArray[Any]) -> NDArray[Any]:
        return -solve(problem.massed((u - base) / weight) - problem.rhs(t, u))

    return iterated(problem, change, guess, base, eta)


@constant
def iterated(
    problem: Problem,
    change: Callable[[NDArray[Any]], NDArray[Any]],
    u: NDArray[Any],
    y: NDArray[Any],
    eta: float = 1.0,
    kappa: float | None = None,
) -> tuple[NDArray[Any], bool, int, float, float]:
    """Return u + change(u), iterated until that error is below kappa times the tolerance, or the rounding error of a state y,
    whether it is, the iterations, the rate of convergence, and the ratio eta of the error to the last step.

    ``eta`` is that of an earlier iteration, by which one step may do; the rate is then unknown, and 0.
    """
    scale = problem.atol + problem.rtol * np.abs(y)
    kappa = problem.kappa if kappa is None else kappa
    smallest = 1e-3 * kappa * scale + ROUNDING * np.finfo(y.dtype).eps * np.abs(y)
    count, size, ratio, rate = 0, 0.0, 0.0, 0.0
    eta = max(eta, 1e-16) ** 0.8
    is_found, is_going = False, True
    while is_going:
        step = change(u)
        u = u + step
        over = (np.abs(step) / scale).reshape(-1)
        before, size = size, sqrt(float(np.dot(over, over)) / max(over.size, 1))
        count += 1
        if count > 1:
            ratio_before, ratio = ratio, size / before if before > 0.0 else 0.0
            rate = ratio if count == 2 else sqrt(ratio * ratio_before)
            eta = rate / (1.0 - rate) if rate < 1.0 else 1e300
        is_found = eta * size <= kappa or bool((np.abs(step) <= smallest).all())
        is_going = (
            not is_found
            and count < problem.most_iterations
            and size < 1e300
            and (count == 1 or (rate < 1.0 and eta * size * rate ** (problem.most_iterations - 1 - count) <= kappa))
        )
    return u, is_found, count, rate, eta


def attached(problem: Problem, t: Any, base: NDArray[Any], weight: Any, u: NDArray[Any]) -> NDArray[Any]:
    """Return u, which solves M (u - base) = weight f(t, u), with its derivative."""

    def residual(u: NDArray[Any]) -> NDArray[Any]:
        return problem.massed((u - base) / weight) - problem.rhs(t, u)

    def solver(is_transposed: bool) -> Callable[[Any, Any], Any]:
        return linear(
            lambda b: _held(problem, t, u, weight, is_transposed, b),
            lambda b: _held(problem, t, u, weight, not is_transposed, b),
        )

    return implicit(u, residual, (solver(True), solver(False)))


@constant
def _held(problem: Problem, t: float, u: NDArray[Any], weight: float, is_transposed: bool, b: NDArray[Any]) -> Any:
    return problem.solver(t, u, 1.0 / weight, is_transposed)(b)


def linear(direct: Callable[[Any], Any], transposed: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return ``solve`` of ``implicit``: what it returns is differentiable, as the solution of the linear equation."""

    def by(pull: Callable[[Any], Any], dx: Any) -> Any:
        return implicit(direct(dx), lambda v: pull(v) - dx, (linear(transposed, direct), linear(direct, transposed)))

    return by


def reach(h: float, h_before: float) -> float:
    """Return h / h_before, by which the polynomial of the step before is extrapolated to guess the stages.

    It is 0 if that would reach too far, as after a step that ended at a stop nearby: the guess is then the state.
    """
    ratio = h / h_before
    return ratio if abs(ratio) <= FARTHEST else 0.0
