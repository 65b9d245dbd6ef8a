"""``minimize``: the front of all methods; bounds are those of ``constrained/``."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput, constant, nestlevel, tree
from ..bounds import bounds_of, check_inside, held_at
from ..constrained.bounded import BoundedDescent
from ..flatten import Layout
from ..implicit import attached, check_adjoint, underived
from ..loop import searched
from ..problem import check_limits, chosen
from ..results import Result
from .descent import LineMethod
from .first_order import ConjugateGradients, GradientDescent
from .method import GradientSearch, Method
from .newton import Newton, NewtonCG
from .objective import Objective
from .quasi_newton import BFGS, LBFGS
from .trust_region import SR1, Dogleg, TrustKrylov, TrustRegion

METHODS: dict[str, Callable[[], Method]] = {
    "bfgs": BFGS,
    "lbfgs": LBFGS,
    "gradient descent": GradientDescent,
    "cg": ConjugateGradients,
    "newton": Newton,
    "newton-cg": NewtonCG,
    "trust region": TrustRegion,
    "trust-krylov": TrustKrylov,
    "dogleg": Dogleg,
    "sr1": SR1,
}


@dataclass
class Minimum(Result):
    """The result of ``minimize``."""

    value: Any
    """``f`` at ``x``."""
    gradient: Any
    """The gradient at ``x``, in the structure of ``x0``."""

    @property
    def gradient_norm(self) -> float:
        """The largest absolute value in the gradient, which is compared with ``tol`` unless there are bounds."""
        return float(np.max(np.abs(tree.flatten(self.gradient)[0])))


def minimize(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str | Method = "bfgs",
    tol: float = 1e-8,
    max_iterations: int = 1000,
    gradient: Callable[..., Any] | None = None,
    bounds: Any = None,
    adjoint: str = "implicit",
    callback: Callable[[Minimum], Any] | None = None,
    history: bool = False,
    progress: bool = False,
    resumable: bool = False,
    resume: Any = None,
) -> Minimum:
    """Find a local minimum of ``f(x, *args)`` over ``x``.

    Args:
        f: ``f(x, *args)`` returns a real scalar; differentiated from its source unless ``gradient`` is given.
        x0: the initial guess: a number, an array, or dicts, lists, tuples and objects of them. ``f`` receives the same
            structure; a list stays a list, so give an array for vector arithmetic. Integers are promoted to floats;
            complex numbers vary in the complex plane; strings, bools and None are kept unchanged.
        args: further arguments of ``f``.
        method: a name for the default settings, or an object such as ``LBFGS(memory=20)``.

            ====================== ==================================================== ============================
            ``"bfgs"``             ``BFGS``: n x n matrix, superlinear                  up to a few hundred unknowns
            ``"lbfgs"``            ``LBFGS``: the last ten steps                        many unknowns
            ``"cg"``               ``ConjugateGradients``: three vectors                many unknowns
            ``"gradient descent"`` ``GradientDescent``: the gradient                    comparisons
            ``"newton"``           ``Newton``: the Hessian, along lines                 few unknowns
            ``"newton-cg"``        ``NewtonCG``: products with the Hessian, along lines many unknowns
            ``"trust region"``     ``TrustRegion``: the Hessian; leaves saddle points   few unknowns, hard problems
            ``"trust-krylov"``     ``TrustKrylov``: products with the Hessian           many unknowns, hard problems
            ``"dogleg"``           ``Dogleg``: the Hessian                              few unknowns, nearly convex
            ``"sr1"``              ``SR1``: n x n matrix, indefinite                    few unknowns
            ====================== ==================================================== ============================

        tol: converged when no entry of the gradient exceeds ``tol``, in units of ``f`` per unit of ``x``; also when the
            decrease that is still possible is below the rounding of ``f``.
        max_iterations: the largest number of steps, those of the search that is resumed included.
        gradient: ``gradient(x, *args)`` replaces the derived gradient; in the structure of ``x0``.
        bounds: a pair (lower, upper), each a number or of the structure of ``x0``; None for no bounds. The methods that
            search along lines take bounds; the line search is then a projected backtracking.
        adjoint: how the minimum is differentiated: ``"implicit"`` solves with the Hessian at the minimum, ``"krylov"``
            by GMRES with products with it, and ``"unrolled"`` differentiates the iterations.
        callback: called with the current ``Minimum`` after every iteration; the search stops when it returns a true
            value.
        history: record the value and the largest entry of the gradient at each iteration.
        progress: show a progress bar.
        resumable: keep the state of the search in the result; it can be pickled.
        resume: a ``state``, to continue that search on the same path; ``x0`` then gives the structure only.

    Returns:
        A ``Minimum``. A search that has not converged is no error; see ``converged``, ``status`` and ``message``. Inside
        a differentiated function, ``x`` and ``value`` are differentiable with respect to everything that ``f`` reads;
        unless the iterations are differentiated, they do not depend on ``x0``.

    Raises:
        BadInput: an argument has the wrong type or value, ``x0`` holds no number or is outside of the bounds, the bounds
            are crossed, ``f`` or its gradient is not finite at ``x0``, ``f`` does not return a real scalar, or the gradient has another shape.
        MorulaError: a derivative is taken of a result that did not converge, or that has a singular Hessian.

    Source: Nocedal and Wright, Numerical Optimization (2006); each method and line search names its own.

    >>> def rosenbrock(x):
    ...     return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> result = minimize(rosenbrock, np.array([-1.2, 1.0]))
    >>> result.converged, result.x.round(6).tolist()
    (True, [1.0, 1.0])
    >>> minimize(rosenbrock, np.array([-1.2, 1.0]), method=LBFGS(memory=3), max_iterations=5).message
    'max_iterations was reached before the tolerance was met'
    """
    problem = Objective(f, x0, args, gradient)
    check_limits("minimize", tol, max_iterations)
    check_adjoint("minimize", adjoint)
    way = chosen("minimize", method, METHODS, Method)
    search = search_unrolled if adjoint == "unrolled" else _search
    if bounds is not None and not isinstance(way, LineMethod):
        raise BadInput(
            f"minimize: {type(way).__name__} takes no bounds; use a method that searches along lines, such as 'lbfgs'"
        )
    found = search(problem, way, bounds, tol, max_iterations, callback, history, progress, resumable, resume)
    if nestlevel() == 0 or adjoint == "unrolled":
        return found
    slope = problem.slope if bounds is None else held_at(problem.slope, found.x, bounds, "minimize")
    x = attached(found.x, slope, found.code, adjoint)
    return Minimum(
        x,
        found.iterations,
        found.evaluations,
        found.code,
        found.history,
        found.state,
        f(x, *args),
        underived(found.gradient, "the gradient at a minimum"),
    )


def search_unrolled(
    problem: Objective,
    method: Method,
    bounds: Any,
    tol: float,
    max_iterations: int,
    callback: Callable[[Minimum], Any] | None,
    history: bool,
    progress: bool,
    resumable: bool,
    resume: Any,
) -> Minimum:
    """Search, as a program to differentiate."""
    layout = problem.layout
    search = _started(method, layout, bounds, tol) if resume is None else copy.deepcopy(resume)

    def found() -> Minimum:
        return Minimum(
            layout.structure(search.point),
            search.iterations,
            search.evaluations,
            search.code,
            None,
            None,
            search.value,
            layout.structure(search.gradient),
        )

    return searched(problem, search, found, max_iterations, callback, history, progress, resumable)


_search = constant(search_unrolled)


def _started(method: Method, layout: Layout, bounds: Any, tol: float) -> GradientSearch:
    x = layout.vector(layout.start)
    if bounds is None or not isinstance(method, LineMethod):
        return method.start(x, tol, layout.eps)
    lower, upper = bounds_of("minimize", bounds, layout)
    check_inside("minimize", x, lower, upper)
    return BoundedDescent(method.direction(len(x)), x, lower, upper, tol, layout.eps)
