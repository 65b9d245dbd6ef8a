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

ROUNDING = 64.0
"""Newton's method may stop when its steps are smaller than this multiple of the rounding error of the state."""


@constant
def newton(
    problem: Problem, t: float, base: NDArray[Any], weight: float, guess: NDArray[Any], solve: Any
) -> tuple[NDArray[Any], bool, int]:
    """Return u with M (u - base) = weight f(t, u), whether the iteration converged, and the number of evaluations of f.

    ``solve`` solves (M / weight - J) x = b with a Jacobian near the one at u.
    """

    def change(u: NDArray[Any]) -> NDArray[Any]:
        return -solve(problem.massed((u - base) / weight) - problem.rhs(t, u))

    return iterated(problem, change, guess, base)


@constant
def iterated(
    problem: Problem, change: Callable[[NDArray[Any]], NDArray[Any]], u: NDArray[Any], y: NDArray[Any]
) -> tuple[NDArray[Any], bool, int]:
    """Return u + change(u), iterated until that error is small beside the tolerance or the rounding error of a state y,
    whether it is, and the iterations."""
    scale = problem.atol + problem.rtol * np.abs(y)
    smallest = 1e-3 * problem.kappa * scale + ROUNDING * np.finfo(y.dtype).eps * np.abs(y)
    count, before = 0, 0.0
    is_found, is_going = False, True
    while is_going:
        step = change(u)
        u = u + step
        ratio = (np.abs(step) / scale).reshape(-1)
        size = sqrt(float(np.dot(ratio, ratio)) / max(ratio.size, 1))
        rate = size / before if count > 0 and before > 0.0 else 0.0
        count += 1
        if (
            size == 0.0
            or (count > 1 and rate < 1.0 and rate / (1.0 - rate) * size <= problem.kappa)
            or size <= 1e-3 * problem.kappa
            or bool((np.abs(step) <= smallest).all())
        ):
            is_found = True
        is_going = not is_found and count < problem.most_iterations and rate < 1.0 and size < 1e300
        before = size
    return u, is_found, count


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
