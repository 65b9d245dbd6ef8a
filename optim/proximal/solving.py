"""``proximal_gradient``: a smooth function plus a term with a proximal operator."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...core import constant, nestlevel
from ..implicit import Equation, attached, check_adjoint, underived
from ..loop import searched
from ..minimum import Minimum
from ..problem import check_limits, chosen
from .gradient import FISTA, ISTA, Composite, ProximalMethod
from .terms import Term, check_term

METHODS: dict[str, Callable[[], ProximalMethod]] = {"fista": FISTA, "ista": ISTA}
STATIONARY = Equation(
    "minimum", "Jacobian of the proximal gradient step", "add a penalty on the parameters that are not determined"
)


def proximal_gradient(
    f: Callable[..., Any],
    h: Term,
    x0: Any,
    *args: Any,
    method: str | ProximalMethod = "fista",
    tol: float = 1e-8,
    max_iterations: int = 10_000,
    gradient: Callable[..., Any] | None = None,
    adjoint: str = "implicit",
    callback: Callable[[Minimum], Any] | None = None,
    history: bool = False,
    progress: bool = False,
    resumable: bool = False,
    resume: Any = None,
) -> Minimum:
    """Minimise ``f(x, *args) + h(x)`` over ``x``: f has a gradient, h is convex and need not have one.

    Args:
        f: ``f(x, *args)`` returns a real scalar; differentiated from its source unless ``gradient`` is given.
        h: a term of ``morula.optim.proximal``, such as ``L1(0.1)``, or ``Separable`` with one for each part of a structure.
        x0: the initial guess, as for ``minimize``.
        args: further arguments of ``f``.
        method: ``"fista"`` (accelerated, with restarts) or ``"ista"`` (steps of Barzilai and Borwein), or an object.
        tol: converged when no entry of the proximal gradient ``(x - prox(x - t ∇f(x), t)) / t`` exceeds ``tol``, for the last step t.
        max_iterations: the largest number of steps, those of the search that is resumed included.
        gradient: ``gradient(x, *args)`` replaces the derived gradient of ``f``.
        adjoint, callback, history, progress, resumable, resume: as for ``minimize``.

    Returns:
        A ``Minimum``: ``value`` is ``f + h``, ``gradient`` that of ``f``. Inside a differentiated function, ``x`` and ``value``
        are differentiable with respect to everything that ``f`` and ``h`` read, such as the weight of a penalty; the
        derivative holds while the same entries of x are zero.

    Raises:
        BadInput: an argument has the wrong type or value, or ``f`` is not finite at ``x0``.
        MorulaError: a derivative is taken of a result that did not converge, or is not unique.

    Source: Beck and Teboulle (2009); Wright et al. (2009); the derivative: Q. Bertrand et al., J. Mach. Learn. Res. 23 (2022) 149.

    >>> import numpy as np
    >>> from morula.optim.proximal import L1
    >>> found = proximal_gradient(lambda x: 0.5 * np.sum((x - np.array([3.0, 0.2])) ** 2), L1(1.0), np.zeros(2))
    >>> found.converged, found.x.round(6).tolist()
    (True, [2.0, 0.0])
    """
    way = chosen("proximal_gradient", method, METHODS, ProximalMethod)
    check_limits("proximal_gradient", tol, max_iterations)
    check_adjoint("proximal_gradient", adjoint)
    check_term("proximal_gradient", h, "h")
    unrolled = adjoint == "unrolled"
    problem = (_composite if unrolled else _prepared)(f, h, x0, args, gradient)
    search = search_unrolled if unrolled else _search
    found, step = search(problem, way, tol, max_iterations, callback, history, progress, resumable, resume)
    if nestlevel() == 0 or unrolled:
        return found
    layout = problem.layout
    own = Composite(f, x0, args, gradient, "proximal_gradient")

    def stationarity(x: Any) -> Any:
        v = layout.vector(x)
        ahead = v - step * layout.vector(own.slope(x), "the gradient")
        return layout.structure(v - layout.vector(h.prox(layout.structure(ahead), step), "the proximal operator"))

    x = attached(found.x, stationarity, found.code, adjoint, STATIONARY)
    return Minimum(
        x,
        found.iterations,
        found.evaluations,
        found.code,
        found.history,
        found.state,
        f(x, *args) + h.value(x),
        underived(found.gradient, "the gradient at a minimum"),
    )


def _composite(f: Any, h: Term, x0: Any, args: Any, gradient: Any) -> Composite:
    problem = Composite(f, x0, args, gradient, "proximal_gradient")
    problem.term = h
    return problem


_prepared = constant(_composite)


def search_unrolled(
    problem: Composite,
    method: ProximalMethod,
    tol: float,
    max_iterations: int,
    callback: Callable[[Minimum], Any] | None,
    history: bool,
    progress: bool,
    resumable: bool,
    resume: Any,
) -> tuple[Minimum, float]:
    """Search, as a program to differentiate; return the result and the last step."""
    layout = problem.layout
    search = method.start(layout.vector(layout.start), tol, layout.eps) if resume is None else copy.deepcopy(resume)

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

    result = searched(problem, search, found, max_iterations, callback, history, progress, resumable)
    return result, search.step


_search = constant(search_unrolled)
