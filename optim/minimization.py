"""Unconstrained minimisation of a differentiable function: quasi-Newton directions with strong Wolfe steps.

``_descend`` is the loop of all methods; a method turns gradients into directions (``quasi_newton.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import BadInput, constant, grad, nestlevel, value_and_grad
from .flatten import Layout, Vector
from .implicit import attached
from .linesearch import Trial, rounding_error, strong_wolfe
from .quasi_newton import BFGS, LBFGS, InverseHessian

METHODS: dict[str, Callable[[int], InverseHessian]] = {
    "bfgs": BFGS,
    "lbfgs": LBFGS,
}

AT_ROUNDING = "the decrease still to be had is below the rounding of f"


@dataclass
class Result:
    """The result of ``minimize``."""

    x: Any
    """The minimum, in the structure of ``x0``."""
    value: float
    """``f`` at ``x``."""
    gradient: Any
    """The gradient at ``x``, in the structure of ``x0``."""
    iterations: int
    """The number of steps taken."""
    evaluations: int
    """The number of evaluations of ``f`` with its gradient."""
    converged: bool
    """Whether ``x`` was found to be a minimum."""
    message: str
    """Why the search stopped."""


def minimize(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str = "bfgs",
    tol: float = 1e-8,
    max_iterations: int = 1000,
    gradient: Callable[..., Any] | None = None,
    callback: Callable[[Result], Any] | None = None,
) -> Result:
    """Find a local minimum of ``f(x, *args)`` over ``x``.

    Args:
        f: ``f(x, *args)`` returns a real scalar; differentiated from its source unless ``gradient`` is given.
        x0: the initial guess: a number, an array, or dicts, lists, tuples and objects of them. ``f`` receives the same
            structure; a list stays a list, so give an array for vector arithmetic. Integers are promoted to floats;
            complex numbers vary in the complex plane; strings, bools and None are kept unchanged.
        args: further arguments of ``f``.
        method: "bfgs" stores an n x n matrix; "lbfgs" stores the last ten steps, for many unknowns.
        tol: converged when no entry of the gradient exceeds ``tol``, in units of ``f`` per unit of ``x``; also when the
            decrease that is still possible is below the rounding of ``f``.
        max_iterations: the largest number of line searches.
        gradient: ``gradient(x, *args)`` replaces the derived gradient; in the structure of ``x0``.
        callback: called with the current ``Result`` after every iteration; the search stops when it returns a true
            value.

    Returns:
        A ``Result``. A search that has not converged is no error; see ``converged`` and ``message``. Inside a
        differentiated function, ``x`` and ``value`` are differentiable with respect to everything that ``f`` reads, by
        the implicit function theorem. They do not depend on ``x0``.

    Raises:
        BadInput: an argument has the wrong type or value, ``x0`` holds no number, ``f`` or its gradient is not finite
            at ``x0``, ``f`` does not return a real scalar, or the gradient has another shape.
        MorulaError: a derivative is taken of a result that did not converge, or that has a singular Hessian.

    Source: Nocedal and Wright, Numerical Optimization (2006), chapters 3, 6, 7; Moré and Thuente (1994).

    >>> def rosenbrock(x):
    ...     return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> result = minimize(rosenbrock, np.array([-1.2, 1.0]))
    >>> result.converged, result.x.round(6).tolist()
    (True, [1.0, 1.0])
    """
    if not callable(f):
        raise BadInput(f"minimize(f, x0): f is a {type(f).__name__}, expected a function of x0")
    if gradient is not None and not callable(gradient):
        raise BadInput(f"minimize: gradient is a {type(gradient).__name__}, expected a function of x0 or None")
    if method not in METHODS:
        raise BadInput(f"minimize: no method {method!r}; there are {', '.join(map(repr, METHODS))}")
    if not tol > 0:
        raise BadInput(f"minimize: tol is {tol!r}, expected a positive number")
    if max_iterations < 0:
        raise BadInput(f"minimize: max_iterations is {max_iterations!r}, expected 0 or more")
    result = _search(f, x0, args, method, tol, max_iterations, gradient, callback)
    if nestlevel() == 0:
        return result
    slope = grad(f) if gradient is None else gradient
    x = attached(result.x, lambda x: slope(x, *args), None if result.converged else result.message)
    return Result(
        x, f(x, *args), result.gradient, result.iterations, result.evaluations, result.converged, result.message
    )


@constant
def _search(
    f: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...],
    method: str,
    tol: float,
    max_iterations: int,
    gradient: Callable[..., Any] | None,
    callback: Callable[[Result], Any] | None,
) -> Result:
    layout = Layout(x0)
    objective = _Objective(f, gradient, layout, args)
    start = objective(layout.vector(layout.start))
    if not np.isfinite(start.value):
        raise BadInput(f"minimize: f(x0) is {start.value}; expected a start at which f is finite")
    if not np.all(np.isfinite(start.gradient)):
        raise BadInput("minimize: the gradient at x0 is not finite; expected a start at which f is differentiable")
    return _descend(objective, start, METHODS[method](layout.size), tol, max_iterations, callback)


class _Objective:
    """The function and its gradient at a vector; counts the evaluations and checks the results."""

    def __init__(
        self, f: Callable[..., Any], gradient: Callable[..., Any] | None, layout: Layout, args: tuple[Any, ...]
    ) -> None:
        self.layout = layout
        self.evaluations = 0
        both = value_and_grad(f) if gradient is None else lambda x, *args: (f(x, *args), None)
        self.value_and_gradient = lambda v: both(layout.structure(v), *args)
        # The gradient gets its own copy of x, since f may write to x.
        self.gradient = None if gradient is None else lambda v: gradient(layout.structure(v), *args)

    def __call__(self, x: Vector) -> Trial:
        self.evaluations += 1
        with np.errstate(all="ignore"):  # A trial step may leave the domain; the line search handles NaN and Inf.
            value, gradient = self.value_and_gradient(x)
            if self.gradient is not None:
                gradient = self.gradient(x)
        if np.size(value) != 1 or np.iscomplexobj(value):
            kind = f"an array of shape {np.shape(value)}" if np.size(value) != 1 else "a complex number"
            raise BadInput(f"minimize: f returned {kind}, expected a real scalar (sum it, or use least_squares)")
        return Trial(0.0, float(np.reshape(value, ())), 0.0, x, self.layout.vector(gradient, "the gradient"))

    def along(self, origin: Trial, direction: Vector) -> Callable[[float], Trial]:
        """Return φ(α) = f(x + α d), with its slope."""

        def phi(step: float) -> Trial:
            trial = self(origin.point + step * direction)
            return trial._replace(step=step, slope=float(trial.gradient @ direction))

        return phi


def _descend(
    objective: _Objective,
    here: Trial,
    hessian: InverseHessian,
    tol: float,
    max_iterations: int,
    callback: Callable[[Result], Any] | None,
) -> Result:
    layout = objective.layout

    def result(iterations: int, converged: bool, message: str) -> Result:
        return Result(
            layout.structure(here.point),
            here.value,
            layout.structure(here.gradient),
            iterations,
            objective.evaluations,
            converged,
            message,
        )

    iterations = stalls = 0
    is_at_rounding = False
    flattest = np.inf
    while True:
        steepness = np.max(np.abs(here.gradient))
        if steepness <= tol:
            return result(iterations, True, "the gradient vanishes within tol")
        if iterations >= max_iterations:
            return result(iterations, False, f"no minimum within max_iterations = {max_iterations}")

        direction = hessian.direction(here.gradient)
        slope = float(here.gradient @ direction)
        if not slope < 0.0:  # Rounding has made the matrix indefinite.
            hessian.forget()
            direction, slope = -here.gradient, -float(here.gradient @ here.gradient)
        first = 1.0 if hessian.knows_scale else min(1.0, 1.0 / float(np.linalg.norm(here.gradient)))
        noise = 10.0 * layout.eps * abs(here.value)
        # The decrease predicted for a Newton step or, before anything is known of the Hessian, for a step as long as x.
        gain = -0.5 * slope if hessian.knows_scale else np.sqrt(-slope) * max(1.0, np.linalg.norm(here.point))
        if gain <= noise:
            # Differences of values are rounding errors now; continue only while the gradient still becomes smaller.
            stalls = stalls + 1 if steepness >= flattest else 0
            flattest = min(flattest, steepness)
            if stalls == 3:
                return result(iterations, True, AT_ROUNDING)
        origin = here._replace(step=0.0, slope=slope)
        longest = 1e3 * max(1.0, float(np.linalg.norm(here.point))) / float(np.linalg.norm(direction))
        phi = objective.along(here, direction)
        found, _ = strong_wolfe(phi, origin, first, noise=noise, longest=max(longest, first))

        if found is origin:
            # Cancellation within f can make its rounding errors much larger than the rounding of its value.
            is_at_rounding = is_at_rounding or gain <= 10.0 * max(noise, rounding_error(phi, first))
            if hessian.knows_scale:  # It may also be the direction that is wrong: the gradient has the last word.
                hessian.forget()
                continue
            if is_at_rounding:
                return result(iterations, True, AT_ROUNDING)
            return result(
                iterations,
                False,
                "no lower value was found along the gradient: f is not smooth here, its gradient is wrong,"
                " it has no minimum, or tol is below what rounding allows",
            )
        hessian.learn(found.point - here.point, found.gradient - here.gradient)
        here = found
        is_at_rounding = False
        iterations += 1
        if callback is not None and callback(result(iterations, False, "running")):
            return result(iterations, False, "stopped by callback")
