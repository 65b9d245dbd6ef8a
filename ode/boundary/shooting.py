"""``shoot``: boundary-value problems by multiple shooting, with the methods of ``odesolve`` between the nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from ...core import BadInput, constant, jacfwd, jacobian, stop_gradient
from ..dense_output import DenseOutput
from ..methods import Method
from ..solution import Solution
from ..solve import odesolve
from ..uncompiled import outside_of_programs, refused_when_compiled
from .newton import BoundaryStatus, attached, block_matrix, newton
from .solve import BoundaryProblemFailed, BoundarySolution, checked


class Shooting:
    """The equations of the nodes: the solve from each ends at the next one.

    f, conditions: functions of (t, y) and of both end states. nodes: (m,). options: of ``odesolve``; rtol, atol: its tolerances.
    """

    def __init__(self, f: Any, conditions: Any, nodes: NDArray[Any], options: dict[str, Any]) -> None:
        self.f, self.conditions, self.nodes, self.options = f, conditions, nodes, options

    def solve(self, i: int, y: NDArray[Any], is_dense: bool = False) -> Solution:
        """Return the solution from node i to the next one."""
        return odesolve(self.f, y, self.nodes[i : i + 2], throw=False, is_dense=is_dense, **self.options)

    def end(self, i: int, y: NDArray[Any]) -> NDArray[Any]:
        """Return the state at node i + 1 from that at node i; NaN where the solve fails."""
        return self.solve(i, y).y[-1]

    def residual(self, y: NDArray[Any]) -> NDArray[Any]:
        ends = np.stack([self.end(i, y[i]) for i in range(len(y) - 1)])
        return np.concatenate((np.reshape(self.conditions(y[0], y[-1]), (1, -1)), y[1:] - ends))

    def matrix(self, y: NDArray[Any]) -> csc_array:
        flows = np.stack([jacfwd(lambda s, i=i: self.end(i, s))(y[i]) for i in range(len(y) - 1)])
        first, last = (jacobian(self.conditions, argnums=i)(y[0], y[-1]) for i in (0, 1))
        return block_matrix(-flows, np.broadcast_to(np.eye(y.shape[1]), flows.shape), first, last)

    def is_solved(self, y: NDArray[Any], residual: NDArray[Any], tol: float) -> bool:
        return bool(np.max(np.abs(residual)) <= tol * (1 + np.max(np.abs(y))))

    def dense(self, y: NDArray[Any]) -> DenseOutput:
        """Return the solutions of all intervals as one function of time."""
        parts: list[Any] = [self.solve(i, y[i], is_dense=True).sol for i in range(len(y) - 1)]

        def joined(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(sol, name) for sol in parts])

        starts, ends, sizes = joined("starts"), joined("ends"), joined("sizes")
        return DenseOutput(starts, ends, sizes, joined("states"), joined("coefficients"), parts[0].leaves)


def shoot(
    f: Callable[..., Any],
    conditions: Callable[..., Any],
    ts: ArrayLike,
    guess: ArrayLike,
    *args: Any,
    tol: float = 1e-6,
    method: str | Method = "tsit5",
    rtol: ArrayLike = 1e-8,
    atol: ArrayLike = 1e-9,
    max_steps: int = 100_000,
    throw: bool = True,
) -> BoundarySolution:
    """Solve y' = f(t, y, *args) with conditions(y(a), y(b), *args) = 0 by multiple shooting; the solution is differentiable.

    The unknowns are the states at the nodes; between them ``odesolve`` takes its own steps. More nodes help if solutions from
    one end grow fast or end early; with 2 nodes it is simple shooting. Newton's method is damped.

    Args:
        f: ``f(t, y, *args)`` as in ``odesolve``: one time and one state (n,).
        conditions: takes the states (n,) at both ends, and returns n numbers that are zero.
        ts: (m,) rising nodes from a to b.
        guess: (m, n) states there to begin with. Of several solutions, the one near the guess is found.
        args: further arguments of both functions; gradients reach them.
        tol: the bound on the jumps at the nodes and the conditions, relative to 1 + the largest number of y.
        method, rtol, atol, max_steps: of ``odesolve``; the tolerances should be well below ``tol``.
        throw: whether to raise an error if no solution is found; else the solution's ``status`` tells.

    Returns:
        A ``BoundarySolution``; its ``residual`` is the largest jump or condition, and ``sol`` has the order of the method.

    Raises:
        BadInput: an argument has the wrong type, shape or value, a function returns the wrong shape, a solve from the guess does
            not reach the next node, or the call is in a compiled function.
        BoundaryProblemFailed: no solution was found; its ``solution`` has the last iterate.

    Source: J. Stoer, R. Bulirsch, Introduction to Numerical Analysis (2002), 7.3.5; U. Ascher, R. Mattheij, R. Russell,
    Numerical Solution of Boundary Value Problems for Ordinary Differential Equations (1995), 4.3 and 8.1.

    >>> swing = lambda t, y: np.array([y[1], -np.sin(y[0])])
    >>> ends = lambda left, right: np.array([left[0], right[0] - 1.0])
    >>> bool(abs(shoot(swing, ends, [0.0, 1.0], np.zeros((2, 2))).y[-1, 0] - 1.0) < 1e-6)
    True
    """
    nodes, y = checked(f, conditions, ts, guess, args, tol)
    options = {"method": method, "rtol": rtol, "atol": atol, "max_steps": max_steps}
    problem = Shooting(
        lambda t, y: f(t, y, *args), lambda left, right: np.asarray(conditions(left, right, *args)), nodes, options
    )
    _check_guess(problem, y)
    y, iterations, status = newton(problem, y, float(tol))
    if status == BoundaryStatus.SUCCESS:
        y = attached(problem, y)
    residual = float(np.max(np.abs(stop_gradient(problem.residual(y)))))
    solution = BoundarySolution(nodes, y, problem.dense(y), residual, iterations, status)
    if throw and not solution.success:
        raise BoundaryProblemFailed(
            f"{status.message}: the largest jump at a node is {residual:.3g}, tol = {tol:.3g}; give a better guess or more nodes, or "
            "check whether the problem has a solution",
            solution,
        )
    return solution


@constant
def _check_guess(problem: Shooting, y: NDArray[Any]) -> None:
    for i in range(len(y) - 1):
        solution = problem.solve(i, y[i])
        if not solution.success:
            raise BadInput(
                f"the solve from guess[{i}] does not reach ts[{i + 1}] = {problem.nodes[i + 1]:.6g}: {solution.message}; give "
                "more nodes or a better guess"
            )


refused_when_compiled(
    shoot, outside_of_programs(shoot, "its equations are solved by sparse factors", "f and conditions")
)
