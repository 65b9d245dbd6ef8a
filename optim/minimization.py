"""Unconstrained minimisation of a differentiable function: quasi-Newton directions, strong Wolfe steps.

The loop is written once, in ``_descend``; a method is a way to turn gradients into directions (``quasi_newton.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import BadInput, constant, grad, nestlevel, value_and_grad
from .flatten import Layout, Vector
from .implicit import attached
from .linesearch import Trial, strong_wolfe
from .quasi_newton import BFGS, LBFGS, InverseHessian

METHODS: dict[str, Callable[[int], InverseHessian]] = {
    "bfgs": BFGS,
    "lbfgs": lambda size: LBFGS(),
}

AT_ROUNDING = "the decrease still to be had is below the rounding of f"


@dataclass
class Result:
    """What ``minimize`` found.

    ``x`` has the structure of ``x0``, ``gradient`` too; ``evaluations`` counts values with gradients; ``message`` says
    why it stopped.
    """

    x: Any
    value: float
    gradient: Any
    iterations: int
    evaluations: int
    converged: bool
    message: str


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
    """A local minimum of ``f(x, *args)`` over ``x``, from ``x0``.

    Args:
        f: real-valued function; differentiated from its source unless ``gradient`` is given.
        x0: where to start: a number, an array, or dicts, lists, tuples and objects of them.  ``f`` gets this structure
            (a list stays a list: for vector arithmetic give an array).  Integers are promoted to floats; complex
            numbers are varied in the complex plane; strings, bools and None are carried along.
        method: "bfgs" (keeps an n x n matrix), or "lbfgs" (keeps ten steps; for many unknowns).
        tol: converged when no entry of the gradient exceeds it; in the units of ``f`` per unit of ``x``.  Where rounding
            makes that unreachable, it also counts as converged that the decrease still to be had is below the rounding
            of ``f``.
        max_iterations: number of line searches at most.
        gradient: ``gradient(x, *args)``, in the structure of ``x0``, in place of the derived one.
        callback: called with the running ``Result`` after every iteration; a true value from it stops the search.

    Returns:
        Result: not converged is no error; ask ``converged`` and read ``message``.  Inside a function that is
            differentiated, ``x`` and ``value`` are differentiable with respect to what ``f`` depends on, by the implicit
            function theorem; the start has no influence.

    Raises:
        MorulaError: a derivative of a result that did not converge, or that has a singular Hessian.
        BadInput: what was given cannot be minimised (not callable, no numbers in ``x0``, NaN at the start, a value that
            is not a real scalar, a gradient of another shape).

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
    """The function on vectors: counts its evaluations and checks what comes back."""

    def __init__(
        self, f: Callable[..., Any], gradient: Callable[..., Any] | None, layout: Layout, args: tuple[Any, ...]
    ) -> None:
        self.layout = layout
        self.evaluations = 0
        both = value_and_grad(f) if gradient is None else lambda x, *args: (f(x, *args), None)
        self.value_and_gradient = lambda v: both(layout.structure(v), *args)
        # A second copy of x for the gradient, since f may write to its own.
        self.gradient = None if gradient is None else lambda v: gradient(layout.structure(v), *args)

    def __call__(self, x: Vector) -> Trial:
        self.evaluations += 1
        with np.errstate(all="ignore"):  # A trial step may leave the domain; the values say so.
            value, gradient = self.value_and_gradient(x)
            if self.gradient is not None:
                gradient = self.gradient(x)
        if np.size(value) != 1 or np.iscomplexobj(value):
            kind = f"an array of shape {np.shape(value)}" if np.size(value) != 1 else "a complex number"
            raise BadInput(f"minimize: f returned {kind}, expected a real scalar (sum it, or use least_squares)")
        return Trial(0.0, float(np.reshape(value, ())), 0.0, x, self.layout.vector(gradient, "the gradient"))

    def along(self, origin: Trial, direction: Vector) -> Callable[[float], Trial]:
        """φ(α) = f(x + α d), with its slope."""

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
        # What a Newton step gains; without an idea of the Hessian, what a step as long as x would.
        gain = -0.5 * slope if hessian.knows_scale else np.sqrt(-slope) * max(1.0, np.linalg.norm(here.point))
        if gain <= noise:
            # The values say nothing any more; the gradient may still fall, a few times.
            stalls = stalls + 1 if steepness >= flattest else 0
            flattest = min(flattest, steepness)
            if stalls == 3:
                return result(iterations, True, AT_ROUNDING)
        origin = here._replace(step=0.0, slope=slope)
        longest = 1e3 * max(1.0, float(np.linalg.norm(here.point))) / float(np.linalg.norm(direction))
        found, _ = strong_wolfe(
            objective.along(here, direction), origin, first, noise=noise, longest=max(longest, first)
        )

        if found is origin:
            if gain <= 10.0 * noise:
                return result(iterations, True, AT_ROUNDING)
            if hessian.knows_scale:
                hessian.forget()
                continue
            return result(
                iterations,
                False,
                "no lower value was found along the gradient: f is not smooth here, its gradient is wrong,"
                " it has no minimum, or tol is below what rounding allows",
            )
        hessian.learn(found.point - here.point, found.gradient - here.gradient)
        here = found
        iterations += 1
        if callback is not None and callback(result(iterations, False, "running")):
            return result(iterations, False, "stopped by callback")
