"""Newton's method for the equations of a boundary-value problem, the derivative of what it finds, and how it ended."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from ...core import constant, implicit

MOST_STEPS = 12
"""The most steps of Newton's method on one mesh."""

MOST_HALVINGS = 10
"""How often a step of Newton's method is tried at half its length."""


class BoundaryStatus(IntEnum):
    """How a boundary-value problem ended.

    >>> BoundaryStatus.MAX_NODES.message
    'the tolerance needs more than max_nodes nodes'
    """

    SUCCESS = 0
    MAX_NODES = 1
    SINGULAR = 2
    NOT_CONVERGED = 3

    @property
    def message(self) -> str:
        """What happened, in words."""
        return _MESSAGES[self]


_MESSAGES = {
    BoundaryStatus.SUCCESS: "the residual is within the tolerance",
    BoundaryStatus.MAX_NODES: "the tolerance needs more than max_nodes nodes",
    BoundaryStatus.SINGULAR: "the equations have a singular Jacobian",
    BoundaryStatus.NOT_CONVERGED: "Newton's method did not converge",
}


class Equations(Protocol):
    """Equations for states (m, n) at nodes: conditions at the ends, and one vector for each interval."""

    def residual(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return all equations (m, n)."""
        ...

    def matrix(self, y: NDArray[Any]) -> csc_array:
        """Return their Jacobian (m n, m n)."""
        ...

    def is_solved(self, y: NDArray[Any], residual: NDArray[Any], tol: float) -> bool:
        """Return whether the residual is small enough."""
        ...


def block_matrix(left: Any, right: Any, first: NDArray[Any], last: NDArray[Any]) -> csc_array:
    """Return the Jacobian (m n, m n) from the blocks (m - 1, n, n) of both ends of the intervals, and those of the conditions (n, n)."""
    m, n = len(left) + 1, len(first)
    rows = np.arange(m * n).reshape(m, n)
    row, column = rows[1:, :, None] + np.zeros((1, 1, n), int), np.zeros((1, n, 1), int)
    entries = [left, right, first[None], last[None]]
    at_rows = [row, row, *[rows[:1, :, None] + np.zeros((1, 1, n), int)] * 2]
    at_columns = [
        rows[:-1, None] + column,
        rows[1:, None] + column,
        rows[:1, None] + column,
        rows[-1:, None] + column,
    ]
    place = np.concatenate([a.ravel() for a in at_rows]), np.concatenate([a.ravel() for a in at_columns])
    return csc_array((np.concatenate([e.ravel() for e in entries]), place), shape=(m * n, m * n))


def attached(problem: Equations, y: NDArray[Any]) -> NDArray[Any]:
    """Return y as a differentiable function of all that the equations use."""
    factors: list[Any] = []

    @constant
    def solved(b: Any, is_transposed: bool) -> Any:
        if not factors:
            factors.append(splu(problem.matrix(y)))
        return factors[0].solve(b, "T" if is_transposed else "N")

    def transposed(pull: Any, b: Any) -> Any:
        return implicit(solved(b, True), lambda u: pull(u) - b, (direct, transposed))

    def direct(push: Any, b: Any) -> Any:
        return implicit(solved(b, False), lambda u: push(u) - b, (transposed, direct))

    return implicit(y, problem.residual, (transposed, direct))


def newton(problem: Equations, y: NDArray[Any], tol: float) -> tuple[NDArray[Any], int, BoundaryStatus]:
    """Solve the equations on a mesh by Newton's method, damped so that the simplified next step is shorter."""
    for count in range(MOST_STEPS):
        try:
            factors = splu(problem.matrix(y))
        except RuntimeError:
            return y, count, BoundaryStatus.SINGULAR
        step = factors.solve(problem.residual(y).reshape(-1))
        size = float(np.dot(step, step))
        if not np.isfinite(size):
            return y, count, BoundaryStatus.SINGULAR
        trial = residual = y
        for halvings in range(MOST_HALVINGS):
            damping = 0.5**halvings
            trial = y - damping * step.reshape(y.shape)
            residual = problem.residual(trial)
            after = factors.solve(np.where(np.isfinite(residual), residual, 1e300).reshape(-1))
            if np.dot(after, after) <= (1 - 0.4 * damping) * size:
                break
        y = trial
        if problem.is_solved(y, residual, tol):
            return y, count + 1, BoundaryStatus.SUCCESS
    return y, MOST_STEPS, BoundaryStatus.NOT_CONVERGED
