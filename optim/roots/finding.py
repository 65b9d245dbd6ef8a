"""``root``: the front of all methods for systems of equations."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...core import constant, nestlevel
from ..implicit import ROOT, attached, check_adjoint, underived
from ..loop import searched
from ..problem import check_limits, chosen
from ..results import Result
from .equations import Equations
from .methods import Broyden, Chord, Newton, RootMethod, TrustRegionNewton
from .spectral import DFSane

METHODS: dict[str, Callable[[], RootMethod]] = {
    "newton": Newton,
    "broyden": Broyden,
    "chord": Chord,
    "trust region": TrustRegionNewton,
    "df-sane": DFSane,
}


@dataclass
class Root(Result):
    """The result of ``root``, ``fixed_point`` and ``root_scalar``."""

    residual: Any
    """``f`` at ``x`` (``g(x) - x`` for a fixed point), in the structure of ``x0``."""


def root(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str | RootMethod = "newton",
    tol: float = 1e-10,
    max_iterations: int = 200,
    jacobian: Callable[..., Any] | None = None,
    adjoint: str = "implicit",
    callback: Callable[[Root], Any] | None = None,
    history: bool = False,
    progress: bool = False,
    resumable: bool = False,
    resume: Any = None,
) -> Root:
    """Find an ``x`` with ``f(x, *args) = 0``: as many equations as unknowns.

    Args:
        f: ``f(x, *args)`` returns an array with as many numbers as ``x0`` has, or the structure of ``x0``.
        x0: the initial guess: a number, an array, or dicts, lists, tuples and objects of them, as for ``minimize``;
            complex numbers are found in the complex plane.
        args: further arguments of ``f``.
        method: ``"newton"``, ``"broyden"``, ``"chord"``, ``"trust region"`` for far starts, ``"df-sane"`` for many unknowns
            (no Jacobian), or an object with settings of the classes in ``morula.optim.roots``.
        tol: converged when no entry of ``f`` exceeds ``tol``; also when steps are below the rounding of x.
        max_iterations: the largest number of steps.
        jacobian: ``jacobian(x, *args)`` replaces the derived one; (n, n) or of shape ``x.shape + x.shape``.
        adjoint, callback, history, progress, resumable, resume: as for ``minimize``.

    Returns:
        A ``Root``. A search that has not converged is no error; see ``converged``, ``status`` and ``message``. Inside a
        differentiated function, ``x`` is differentiable with respect to everything that ``f`` reads.

    Raises:
        BadInput: an argument has the wrong type or value, ``f`` is not finite at ``x0``, or does not return as many
            numbers as there are unknowns.
        MorulaError: a derivative is taken of a root that was not found, or at which the Jacobian is singular.

    Source: Dennis and Schnabel (1996); Broyden (1965); Moré (1978); La Cruz et al. (2006).

    >>> import numpy as np
    >>> circle = root(lambda x: np.stack([x[0] ** 2 + x[1] ** 2 - 4.0, x[0] - x[1]]), np.array([1.0, 2.0]))
    >>> circle.converged, circle.x.round(6).tolist()
    (True, [1.414214, 1.414214])
    """
    way = chosen("root", method, METHODS, RootMethod)
    check_limits("root", tol, max_iterations)
    check_adjoint("root", adjoint)
    make = Equations if adjoint == "unrolled" else prepared
    problem = make("root", f, x0, args, jacobian, "f")
    search = way.start if resume is None else None
    return solution(
        problem, f, args, search, adjoint, tol, max_iterations, callback, history, progress, resumable, resume
    )


@constant
def prepared(solver: str, f: Any, x0: Any, args: Any, jacobian: Any, role: str) -> Equations:
    """Return the equations; the call of f that shows their number is not differentiated."""
    return Equations(solver, f, x0, args, jacobian, role)


def solution(
    problem: Equations,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    start: Any,
    adjoint: str,
    tol: float,
    max_iterations: int,
    callback: Callable[[Root], Any] | None,
    history: bool,
    progress: bool,
    resumable: bool,
    resume: Any,
) -> Root:
    """Search from ``start(x, tol, eps)``, and attach the derivative with respect to what ``f`` and ``args`` hold."""
    search = search_unrolled if adjoint == "unrolled" else _search
    found = search(problem, start, tol, max_iterations, callback, history, progress, resumable, resume)
    if nestlevel() == 0 or adjoint == "unrolled":
        return found
    x = attached(found.x, lambda x: problem.structured(f, x, args), found.code, adjoint, ROOT)
    residual = underived(found.residual, "the residual at a root")
    return Root(x, found.iterations, found.evaluations, found.code, found.history, found.state, residual)


def search_unrolled(
    problem: Equations,
    start: Any,
    tol: float,
    max_iterations: int,
    callback: Callable[[Root], Any] | None,
    history: bool,
    progress: bool,
    resumable: bool,
    resume: Any,
) -> Root:
    """Search, as a program to differentiate."""
    layout = problem.layout
    search = start(layout.vector(layout.start), tol, layout.eps) if resume is None else copy.deepcopy(resume)

    def found() -> Root:
        return Root(
            layout.structure(search.point),
            search.iterations,
            search.evaluations,
            search.code,
            None,
            None,
            layout.structure(search.residual),
        )

    return searched(problem, search, found, max_iterations, callback, history, progress, resumable)


_search = constant(search_unrolled)
