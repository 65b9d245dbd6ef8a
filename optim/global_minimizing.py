"""``global_minimize``: searches of a whole box, and the local search that ends them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import BadInput, constant, nestlevel, stop_gradient
from .bounds import bounds_of
from .derivative_free.method import GlobalMethod, Values
from .derivative_free.populations import CMAES, DifferentialEvolution, ParticleSwarm
from .derivative_free.rectangles import Direct
from .loop import searched
from .minimise.objective import Objective
from .minimizing import minimize
from .minimum import Minimum
from .problem import check_limits, chosen
from .restarts import BasinHopping, MultiStart

METHODS: dict[str, Callable[[], GlobalMethod]] = {
    "differential evolution": DifferentialEvolution,
    "cma-es": CMAES,
    "particle swarm": ParticleSwarm,
    "direct": Direct,
    "basin hopping": BasinHopping,
    "multistart": MultiStart,
}


def global_minimize(
    f: Callable[..., Any],
    bounds: Any,
    *args: Any,
    method: str | GlobalMethod = "differential evolution",
    seed: int = 0,
    tol: float = 1e-4,
    max_iterations: int = 1000,
    polish: bool = True,
    callback: Callable[[Minimum], Any] | None = None,
    history: bool = False,
    progress: bool = False,
    resumable: bool = False,
    resume: Any = None,
) -> Minimum:
    """Search a box for the least minimum of ``f(x, *args)``; no method can be sure to find it.

    Args:
        f: ``f(x, *args)`` returns a real scalar; it may be NaN or infinite at some points.
        bounds: a pair (lower, upper) of finite numbers or arrays, or structures of them, which ``x`` has too.
        args: further arguments of ``f``.
        method: ``"differential evolution"``, ``"cma-es"``, ``"particle swarm"``, ``"direct"`` (deterministic), ``"basin hopping"`` and ``"multistart"`` (many
            local searches by gradients), or an object such as ``CMAES(members=50)``.
        seed: of the random numbers; the same seed gives the same search.
        tol: converged when the points of the search agree to ``tol``, relative to the box; local searches take a gradient
            below ``1e-3 tol``.
        max_iterations: the largest number of generations, of divisions, or of local searches.
        polish: minimise from the best point by L-BFGS within the bounds; ``f`` must then be differentiable there.
        callback, history, progress, resumable, resume: as for ``minimize``; they see the search of the box.

    Returns:
        A ``Minimum``; its status is that of the local search if ``polish``. The gradient is NaN otherwise. Inside a
        differentiated function, a polished minimum is differentiable as that of ``minimize``.

    Raises:
        BadInput: an argument has the wrong type or value, or a bound is not finite.
        MorulaError: a derivative is taken of a minimum that was not polished.

    Source: Storn and Price (1997); Hansen (2016); Clerc and Kennedy (2002); Jones et al. (1993);
    Wales and Doye (1997).

    >>> def waves(x):
    ...     return np.sum(np.cos(3.0 * x) + 0.1 * (x - 1.0) ** 2)
    >>> found = global_minimize(waves, (np.full(2, -6.0), np.full(2, 6.0)))
    >>> found.converged, found.x.round(4).tolist()
    (True, [1.0462, 1.0462])
    """
    check_limits("global_minimize", tol, max_iterations)
    way = chosen("global_minimize", method, METHODS, GlobalMethod)
    if not polish and nestlevel() > 0:
        raise BadInput("global_minimize: only a polished minimum can be differentiated; pass polish=True")
    found = _search(f, bounds, args, way, seed, tol, max_iterations, callback, history, progress, resumable, resume)
    if not polish:
        return found
    local = minimize(f, stop_gradient(found.x), *args, method="lbfgs", bounds=bounds)
    return Minimum(
        local.x,
        found.iterations + local.iterations,
        found.evaluations + local.evaluations,
        local.code,
        found.history,
        found.state,
        local.value,
        local.gradient,
    )


@constant
def _search(
    f: Callable[..., Any],
    bounds: Any,
    args: tuple[Any, ...],
    method: GlobalMethod,
    seed: int,
    tol: float,
    max_iterations: int,
    callback: Callable[[Minimum], Any] | None,
    history: bool,
    progress: bool,
    resumable: bool,
    resume: Any,
) -> Minimum:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise BadInput(f"global_minimize: bounds is a {type(bounds).__name__}, expected a pair (lower, upper)")
    kind = Objective if method.needs_gradient else Values
    problem = kind(f, bounds[0], args, solver="global_minimize")
    lower, upper = bounds_of("global_minimize", bounds, problem.layout)
    if not bool(np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))):
        raise BadInput("global_minimize: a bound is infinite; expected a finite box to search")
    search = method.start(lower, upper, tol, seed) if resume is None else copy.deepcopy(resume)

    def found() -> Minimum:
        return Minimum(
            problem.layout.structure(search.point),
            search.iterations,
            search.evaluations,
            search.code,
            None,
            None,
            search.value,
            problem.layout.structure(np.full(problem.layout.size, np.nan)),
        )

    return searched(problem, search, found, max_iterations, callback, history, progress, resumable)
