"""``minimize``: the front of all methods, with and without constraints."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import BadInput, constant, grad, nestlevel
from .bounds import bounds_of, check_inside
from .constrained.augmented_lagrangian import AugmentedLagrangian
from .constrained.bounded import BoundedDescent
from .constrained.constraints import ConstrainedObjective, limits_of, listed, values_of
from .constrained.interior_point import InteriorPoint
from .constrained.method import ConstrainedMethod, violation_of
from .constrained.sequential import SQP
from .derivative_free.directions import Powell
from .derivative_free.method import ValueMethod, Values, ValueSearch
from .derivative_free.simplex import NelderMead
from .flatten import Layout
from .implicit import attached, check_adjoint, underived
from .loop import searched
from .minimise.descent import LineMethod
from .minimise.first_order import ConjugateGradients, GradientDescent
from .minimise.method import GradientSearch, Method
from .minimise.newton import Newton, NewtonCG
from .minimise.objective import Objective
from .minimise.quasi_newton import BFGS, LBFGS
from .minimise.trust_region import SR1, Dogleg, TrustKrylov, TrustRegion
from .minimum import ConstrainedMinimum, Minimum
from .optimality import held_at, optimum
from .problem import check_limits, chosen

METHODS: dict[str, Callable[[], Method | ConstrainedMethod | ValueMethod]] = {
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
    "interior point": InteriorPoint,
    "sqp": SQP,
    "augmented lagrangian": AugmentedLagrangian,
    "nelder-mead": NelderMead,
    "powell": Powell,
}
FEW = 200
"""Up to this number of unknowns ``"auto"`` stores a matrix."""


def minimize(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str | Method | ConstrainedMethod | ValueMethod = "auto",
    tol: float = 1e-8,
    max_iterations: int = 1000,
    gradient: Callable[..., Any] | None = None,
    bounds: Any = None,
    constraints: Any = None,
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
        method: a name for the default settings, or an object such as ``LBFGS(memory=20)``. ``"auto"`` takes
            ``"interior point"`` with constraints, else ``"bfgs"``, or ``"lbfgs"`` above 200 unknowns. The last three but two take
            constraints; the last two use values only.

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
            ``"interior point"``   ``InteriorPoint``: the Hessian of the Lagrangian     constraints, bounds
            ``"sqp"``              ``SQP``: quadratic programs, BFGS                    constraints, costly functions
            ``augmented lagrangian`` ``AugmentedLagrangian``: gradients                 constraints, many unknowns
            ``"nelder-mead"``      ``NelderMead``: values; tol is that of x             few unknowns, no derivative
            ``"powell"``           ``Powell``: values; tol is that of x                 few unknowns, no derivative
            ====================== ==================================================== ============================

        tol: converged when no entry of the gradient exceeds ``tol``, in units of ``f`` per unit of ``x``; also when the
            decrease that is still possible is below the rounding of ``f``.
        max_iterations: the largest number of steps, those of the search that is resumed included.
        gradient: ``gradient(x, *args)`` replaces the derived gradient; in the structure of ``x0``.
        bounds: a pair (lower, upper), each a number or of the structure of ``x0``; None for no bounds. The methods that
            search along lines take bounds (by projected backtracking), and those for constraints or values.
        constraints: a ``Constraint`` or a list of them.
        adjoint: how the minimum is differentiated: ``"implicit"`` solves with the Hessian at the minimum, ``"krylov"``
            by GMRES with products with it, and ``"unrolled"`` differentiates the iterations.
        callback: called with the current ``Minimum`` after every iteration; the search stops when it returns a true
            value.
        history: record the value and the largest entry of the gradient at each iteration.
        progress: show a progress bar.
        resumable: keep the state of the search in the result; it can be pickled.
        resume: a ``state``, to continue that search on the same path; ``x0`` then gives the structure only.

    Returns:
        A ``Minimum``; with constraints a ``ConstrainedMinimum``, which holds their multipliers too. A search that has not
        converged is no error; see ``converged``, ``status`` and ``message``. Inside
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
    way = method
    if method == "auto":
        few = Layout(x0).size <= FEW
        way = "interior point" if constraints is not None else "bfgs" if few else "lbfgs"
    way = chosen("minimize", way, METHODS, (Method, ConstrainedMethod, ValueMethod))
    check_limits("minimize", tol, max_iterations)
    check_adjoint("minimize", adjoint)
    search = search_unrolled if adjoint == "unrolled" else _search
    if isinstance(way, ConstrainedMethod):
        make = ConstrainedObjective if adjoint == "unrolled" else _prepared
        problem = make(f, x0, args, gradient, constraints, bounds)
        found = search(problem, way, None, tol, max_iterations, callback, history, progress, resumable, resume)
        return (
            found
            if nestlevel() == 0 or adjoint == "unrolled"
            else _attached(problem, found, f, args, gradient, constraints, bounds, adjoint)
        )
    if constraints is not None:
        raise BadInput(
            f"minimize: {type(way).__name__} takes no constraints; use 'interior point', 'sqp' or 'augmented lagrangian'"
        )
    problem = (Values if isinstance(way, ValueMethod) else Objective)(f, x0, args, gradient)
    if bounds is not None and not isinstance(way, (LineMethod, ValueMethod)):
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


@constant
def _prepared(f: Any, x0: Any, args: Any, gradient: Any, constraints: Any, bounds: Any) -> ConstrainedObjective:
    return ConstrainedObjective(f, x0, args, gradient, constraints, bounds)


def _attached(
    problem: ConstrainedObjective,
    found: ConstrainedMinimum,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    gradient: Callable[..., Any] | None,
    constraints: Any,
    bounds: Any,
    adjoint: str,
) -> ConstrainedMinimum:
    """Attach the derivatives of the answer and its multipliers with respect to what the user's arguments hold."""
    each, layout = listed(constraints), problem.layout

    def stationarity(x: Any, y: Any) -> Any:
        if gradient is None:
            return layout.vector(grad(lambda v: f(v, *args) + y @ values_of(each, v, args))(x), "the gradient")
        slope = layout.vector(gradient(x, *args), "the gradient")
        return slope + layout.vector(grad(lambda v: y @ values_of(each, v, args))(x), "the gradient")

    x, y = optimum(
        found.x,
        np.concatenate([np.zeros(0), *[np.reshape(part, (-1,)) for part in found.multipliers]]),
        layout.vector(found.bound_multipliers),
        stationarity,
        lambda v: values_of(each, v, args),
        limits_of(each, problem.constraints.shapes),
        bounds_of("minimize", bounds, layout),
        found.code,
        adjoint,
    )
    return ConstrainedMinimum(
        x,
        found.iterations,
        found.evaluations,
        found.code,
        found.history,
        found.state,
        f(x, *args),
        underived(found.gradient, "the gradient at a minimum"),
        problem.constraints.split(y),
        underived(found.bound_multipliers, "the multipliers of bounds"),
        found.violations,
    )


def search_unrolled(
    problem: Any,
    method: Method | ConstrainedMethod | ValueMethod,
    bounds: Any,
    tol: float,
    max_iterations: int,
    callback: Callable[[Minimum], Any] | None,
    history: bool,
    progress: bool,
    resumable: bool,
    resume: Any,
) -> Any:
    """Search, as a program to differentiate."""
    layout = problem.layout
    search: Any = copy.deepcopy(resume)
    if resume is None:
        search = (
            method.start(problem, tol)
            if isinstance(method, ConstrainedMethod)
            else _started(method, layout, bounds, tol)
        )

    def found() -> Minimum:
        x = layout.structure(search.point)
        slope = np.full(layout.size, np.nan) if isinstance(method, ValueMethod) else search.gradient
        gradient = layout.structure(slope)
        if not isinstance(method, ConstrainedMethod):
            return Minimum(x, search.iterations, search.evaluations, search.code, None, None, search.value, gradient)
        split = problem.constraints.split
        return ConstrainedMinimum(
            x,
            search.iterations,
            search.evaluations,
            search.code,
            None,
            None,
            search.value,
            gradient,
            split(search.multipliers),
            layout.structure(search.bound_multipliers),
            split(violation_of(search.values, problem.lower, problem.upper)),
        )

    return searched(problem, search, found, max_iterations, callback, history, progress, resumable)


_search = constant(search_unrolled)


def _started(method: Method | ValueMethod, layout: Layout, bounds: Any, tol: float) -> GradientSearch | ValueSearch:
    x = layout.vector(layout.start)
    lower, upper = bounds_of("minimize", bounds, layout)
    check_inside("minimize", x, lower, upper)
    if isinstance(method, ValueMethod):
        return method.start(x, lower, upper, tol)
    if bounds is None or not isinstance(method, LineMethod):
        return method.start(x, tol, layout.eps)
    return BoundedDescent(method.direction(len(x)), x, lower, upper, tol, layout.eps)
