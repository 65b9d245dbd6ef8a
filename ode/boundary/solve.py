"""``bvpsolve``: boundary-value problems y' = f(t, y), conditions(y(a), y(b)) = 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import BadInput, MorulaError, constant, stop_gradient
from ..arguments import check_positive, times_of
from ..dense_output import DenseOutput
from ..state import Leaf
from ..uncompiled import outside_of_programs, refused_when_compiled
from .collocation import Collocation
from .newton import BoundaryStatus, attached, newton


@dataclass
class BoundarySolution:
    """The result of ``bvpsolve``."""

    t: NDArray[Any]
    """The nodes (m,) of the mesh."""
    y: NDArray[Any]
    """The states (m, n) at the nodes."""
    sol: DenseOutput
    """The solution as a function of time, ``sol(t)``, and its ``sol.derivative(t)``: a cubic on each interval."""
    residual: float
    """The largest root mean square of the relative residual of y' = f over an interval."""
    iterations: int
    """The number of steps of Newton's method, on all meshes."""
    status: BoundaryStatus
    """How the search ended."""

    @property
    def success(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.status == BoundaryStatus.SUCCESS


class BoundaryProblemFailed(MorulaError):
    """Raised by ``bvpsolve`` when it finds no solution; ``solution`` holds the last iterate.

    >>> glowing = lambda t, y: np.stack([y[1], -5.0 * np.exp(y[0])])  # has no solution
    >>> try:
    ...     bvpsolve(glowing, lambda a, b: np.array([a[0], b[0]]), np.linspace(0, 1, 5), np.zeros((5, 2)))
    ... except BoundaryProblemFailed as failure:
    ...     print(failure.solution.status.name)
    NOT_CONVERGED
    """

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution: BoundarySolution = solution


def bvpsolve(
    f: Callable[..., Any],
    conditions: Callable[..., Any],
    ts: ArrayLike,
    guess: ArrayLike,
    *args: Any,
    tol: float = 1e-6,
    max_nodes: int = 5000,
    throw: bool = True,
) -> BoundarySolution:
    """Solve y' = f(t, y, *args) with conditions(y(a), y(b), *args) = 0; the solution is differentiable.

    The method is Lobatto's collocation of order 4 on a mesh that is refined where the residual is large. Unknown parameters
    are further components of y whose derivative is 0.

    Args:
        f: ``f(t, y, *args)`` takes all nodes at once: times (m,) and states (n, m), so that y[i] is component i at every node.
            It returns dy/dt, (n, m), computed element by element.
        conditions: takes the states (n,) at both ends, and returns n numbers that are zero.
        ts: (m,) rising nodes of the first mesh, from a to b.
        guess: (m, n) states there to begin with. Of several solutions, the one near the guess is found.
        args: further arguments of both functions; gradients reach them.
        tol: the bound on the relative residual of y' = f.
        max_nodes: the largest mesh.
        throw: whether to raise an error if no solution is found; else the solution's ``status`` tells.

    Returns:
        A ``BoundarySolution``.

    Raises:
        BadInput: an argument has the wrong type, shape or value, a function returns the wrong shape, or the call is in a
            compiled function: the mesh depends on the solution.
        BoundaryProblemFailed: no solution was found; its ``solution`` has the last iterate.

    The derivative is that of the discrete solution on the last mesh, by the implicit function theorem.

    Source: L. F. Shampine, J. Kierzenka, ACM TOMS 27 (2001) 299; U. Ascher, R. Mattheij, R. Russell, Numerical Solution of
    Boundary Value Problems for Ordinary Differential Equations (1995), 8.1 for the damped Newton's method.

    >>> bent = lambda t, y, load: np.stack([y[1], load + 0 * y[0]])
    >>> fixed = lambda left, right, load: np.array([left[0], right[0]])
    >>> beam = bvpsolve(bent, fixed, [0.0, 0.5, 1.0], np.zeros((3, 2)), 8.0)
    >>> bool(abs(beam.sol(0.5)[0] + 1.0) < 1e-12)
    True
    """
    nodes, y = checked(f, conditions, ts, guess, args, tol)
    check_positive(max_nodes, "max_nodes")

    def on(nodes: NDArray[Any]) -> Collocation:
        return Collocation(
            lambda t, y: f(t, y, *args), lambda left, right: np.asarray(conditions(left, right, *args)), nodes
        )

    nodes, y, residual, iterations, status = _search(on, nodes, y, float(tol), int(max_nodes))
    problem = on(nodes)
    if status in (BoundaryStatus.SUCCESS, BoundaryStatus.MAX_NODES):
        y = attached(problem, y)
    coefficients = problem.polynomials(y)
    leaves = Leaf(0, y.shape[1], y.shape[1:])
    sol = DenseOutput(nodes[:-1], nodes[1:], problem.h, y[:-1], coefficients, leaves)
    solution = BoundarySolution(nodes, y, sol, residual, iterations, status)
    if throw and not solution.success:
        raise BoundaryProblemFailed(
            f"{status.message}: the residual is {residual:.3g} on {len(nodes)} nodes, tol = {tol:.3g}; give a better guess, for "
            "example the solution of an easier problem, or check whether the problem has a solution",
            solution,
        )
    return solution


def checked(
    f: Any, conditions: Any, ts: Any, guess: Any, args: tuple[Any, ...], tol: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check the arguments of a boundary-value problem, and return the nodes (m,) and the guess (m, n)."""
    for function, name in ((f, "f"), (conditions, "conditions")):
        if not callable(function):
            raise BadInput(f"{name} is {type(function).__name__}; expected a function")
    nodes = stop_gradient(times_of(ts))
    y = np.array(stop_gradient(guess), dtype=float)
    if len(nodes) < 2 or not np.all(np.diff(nodes) > 0):
        raise BadInput("ts must rise strictly and have at least 2 nodes")
    if y.ndim != 2 or len(y) != len(nodes) or not y.size:
        raise BadInput(f"guess has shape {y.shape} for {len(nodes)} nodes; expected ({len(nodes)}, n)")
    if not np.isfinite(y).all():
        raise BadInput("guess holds a value that is not finite")
    check_positive(tol, "tol")
    found = np.shape(conditions(y[0], y[-1], *args))
    if found != y.shape[1:]:
        raise BadInput(
            f"conditions returned shape {found} for states of {y.shape[1]} components; expected {y.shape[1:]}"
        )
    return nodes, y


refused_when_compiled(
    bvpsolve,
    outside_of_programs(bvpsolve, "its mesh grows until the residual is within the tolerance", "f and conditions"),
)


@constant
def _search(
    on: Callable[[NDArray[Any]], Collocation], nodes: NDArray[Any], y: NDArray[Any], tol: float, max_nodes: int
) -> tuple[NDArray[Any], NDArray[Any], float, int, BoundaryStatus]:
    """Return the mesh, the states, the residual, the number of Newton steps and the status."""
    iterations = 0
    while True:
        problem = on(nodes)
        y, count, status = newton(problem, y, tol)
        iterations += count
        norms = problem.residual_norms(y)
        residual = float(np.max(norms)) if np.isfinite(norms).all() else np.inf
        if status != BoundaryStatus.SUCCESS or residual <= tol:
            return nodes, y, residual, iterations, status
        parts = 1 + (norms > tol) + (norms > 100 * tol)
        if len(nodes) + int(np.sum(parts - 1)) > max_nodes:
            return nodes, y, residual, iterations, BoundaryStatus.MAX_NODES
        nodes, y = _refined(problem, y, parts)


def _refined(problem: Collocation, y: NDArray[Any], parts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the mesh with each interval in ``parts`` equal parts, and the states there."""
    at = np.repeat(np.arange(len(parts)), parts)
    within = np.concatenate([np.arange(p) / p for p in parts])[:, None]
    c = problem.polynomials(y)[at]
    states = y[:-1][at] + within * (c[:, 0] + within * (c[:, 1] + within * c[:, 2]))
    nodes = problem.nodes[:-1][at] + within[:, 0] * problem.h[at]
    return np.append(nodes, problem.nodes[-1]), np.concatenate((states, y[-1:]))
