"""``steady_state``: where f(y) = 0, found by following y' = f(y) with steps that grow into Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, MorulaError, constant, stop_gradient
from .arguments import check_positive
from .jacobians import jacobian_of
from .newton import attached
from .problem import Problem
from .state import Leaf, initial, unpack


@dataclass
class SteadyState:
    """The result of ``steady_state``."""

    y: Any
    """The state, in y0's structure."""
    residual: float
    """The root mean square of f there."""
    iterations: int
    """The number of steps."""
    success: bool
    """Whether the last step changed the state by less than the tolerance."""


class SteadyStateFailed(MorulaError):
    """Raised by ``steady_state`` when it finds none; ``solution`` holds the last state.

    >>> try:
    ...     steady_state(lambda t, y: 1.0 + y * y, 1.0)
    ... except SteadyStateFailed as failure:
    ...     print(failure.solution.success)
    False
    """

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution: SteadyState = solution


def steady_state(
    f: Callable[..., Any],
    y0: Any,
    *args: Any,
    t: float = 0.0,
    first_step: float = 1e-2,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    max_iterations: int = 300,
    jacobian: Any = None,
    throw: bool = True,
) -> SteadyState:
    """Find the steady state of y' = f(t, y, *args) near which y0 leads; it is differentiable with respect to ``args``.

    Implicit Euler steps, whose size grows as the residual falls (switched evolution relaxation), become Newton's method.

    Args:
        f: ``f(t, y, *args)``, as in ``odesolve``; it is taken at one time.
        y0: the state to start from, in the structure of ``odesolve``'s y0; real.
        args: further arguments of f; gradients reach them.
        t: the time at which f is taken.
        first_step: the size of the first step; a smaller one follows the solution more closely at first.
        rtol, atol: the last step changes the state by less than atol + rtol |y|, in the root mean square.
        max_iterations: the limit on the number of steps.
        jacobian: as in ``odesolve``.
        throw: whether to raise an error if no steady state is found.

    Returns:
        A ``SteadyState``.

    Raises:
        BadInput: an argument has the wrong type or value.
        SteadyStateFailed: no steady state was found.

    The derivative is that of the root, by the implicit function theorem.

    Source: C. T. Kelley, D. E. Keyes, Convergence analysis of pseudo-transient continuation, SIAM J. Numer. Anal. 35 (1998)
    508.

    >>> round(float(steady_state(lambda t, y, k: k - y**2, 1.0, 4.0).y), 9)
    2.0
    """
    if not callable(f):
        raise BadInput(f"f is {type(f).__name__}; steady_state needs a function f(t, y, *args) that returns dy/dt")
    y, leaves, size = initial(stop_gradient(y0))
    if y.dtype.kind == "c":
        raise BadInput("y0 is complex; give its real and imaginary parts apart, as in (z.real, z.imag)")
    for value, name in ((first_step, "first_step"), (atol, "atol"), (max_iterations, "max_iterations")):
        check_positive(value, name)
    form = jacobian_of(jacobian, args, size, isinstance(leaves, Leaf) and len(leaves.shape) == 1)
    problem = Problem(f, args, leaves, y.dtype, form, rtol, atol)
    try:
        found, residual, count, is_found = _search(problem, t, y, first_step, max_iterations)
    except np.linalg.LinAlgError:
        raise BadInput(
            "the Jacobian of f is singular where the solution comes to rest, so that the steady state is not isolated; replace "
            "an equation by what y' conserves"
        ) from None
    u = attached(problem, t, np.zeros_like(y), inf, found) if is_found else found
    solution = SteadyState(unpack(u, leaves), residual, count, is_found)
    if throw and not is_found:
        raise SteadyStateFailed(
            f"no steady state was found in {count} steps: f has the size {residual:.3g} at the last state; start nearer to one, "
            "give a smaller first_step, or check that the solution comes to rest",
            solution,
        )
    return solution


@constant
def _search(problem: Problem, t: float, y: NDArray[Any], h: float, most: int) -> tuple[NDArray[Any], float, int, bool]:
    """Return the state, the size of f there, the number of steps, and whether the last step was small."""
    f = problem.rhs(t, y)
    size = _rms(f)
    count, is_small, is_found, is_going = 0, False, False, size < inf
    while is_going:
        is_newton = is_small  # a small step of finite h may be a slow one
        change = problem.solver(t, y, 0.0 if is_newton else 1.0 / h)(f)
        y = y + change
        f = problem.rhs(t, y)
        before, size = size, _rms(f)
        count += 1
        is_small = size < inf and _rms(change / (problem.atol + problem.rtol * np.abs(y))) <= 1.0
        is_found = is_small and is_newton
        h = h * (min(max(before / size, 0.1), 10.0) if 0.0 < size < inf else 10.0)
        is_going = not is_found and count < most and size < inf
    return y, size, count, is_found


def _rms(x: NDArray[Any]) -> float:
    return sqrt(float(np.dot(x, x)) / max(x.size, 1))
