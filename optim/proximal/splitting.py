"""``admm``: two terms with proximal operators, joined by a linear map.

N. Parikh and S. Boyd, "Block splitting for distributed optimization", Math. Program. Comput. 6 (2014) 77-102; C. Fougner and S. Boyd,
"Parameter selection and preconditioning for a graph form solver" (2018), for the residuals, the relaxation and the penalty.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from ...core import BadInput, constant, nestlevel, stop_gradient
from ..flatten import Vector
from ..implicit import Equation, attached, check_adjoint
from ..loop import Search, searched
from ..problem import check_limits
from ..results import CONVERGED, RUNNING, Result
from .terms import Term, check_term

SADDLE = Equation("minimum", "matrix of the optimality conditions", "drop rows of K that depend on others")
RELAXATION = 1.6
BALANCE, EVERY = 3.0, 10
"""The penalty changes after this number of steps, if one residual exceeds the other by this factor."""


@dataclass
class Splitting(Result):
    """The result of ``admm``."""

    value: Any
    """``g(x) + h(K x)``."""
    multipliers: Any
    """A subgradient of h at ``K x``, (m,); ``-Kᵀ multipliers`` is one of g at ``x``."""


def admm(
    g: Term,
    h: Term,
    K: Any,
    x0: Any = None,
    *,
    tol: float = 1e-8,
    max_iterations: int = 20_000,
    adjoint: str = "implicit",
    callback: Callable[[Splitting], Any] | None = None,
    history: bool = False,
    progress: bool = False,
    resumable: bool = False,
    resume: Any = None,
) -> Splitting:
    """Minimise ``g(x) + h(K x)`` over a vector x by the alternating direction method of multipliers, in graph form.

    Args:
        g, h: terms of ``morula.optim.proximal`` of a vector; ``LeastSquares`` and ``Indicator`` are among them.
        K: a matrix (m, n), an array or a matrix of ``scipy.sparse``; factorised once.
        x0: the initial guess (n,); zeros for None.
        tol: converged when the distance of ``K x`` from where h was evaluated, and the sum of the subgradients, are at most ``tol`` in
            the largest entry, relative to their parts or to 1.
        max_iterations: the largest number of steps.
        adjoint: ``"implicit"`` or ``"krylov"``, as for ``minimize``.
        callback, history, progress, resumable, resume: as for ``minimize``.

    Returns:
        A ``Splitting``. Inside a differentiated function, ``x``, ``value`` and ``multipliers`` are differentiable with respect to
        what g, h and an array K hold.

    Raises:
        BadInput: an argument has the wrong type or shape.
        MorulaError: a derivative is taken of a result that did not converge, or that is not unique.

    >>> from morula.optim.proximal import L1, SquaredL2, Shifted
    >>> steps = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    >>> admm(Shifted(SquaredL2(), np.array([0.0, 0.3, 5.0])), L1(0.5), steps).x.round(5).tolist()
    [0.4, 0.4, 4.5]
    """
    check_limits("admm", tol, max_iterations)
    check_adjoint("admm", adjoint)
    check_term("admm", g, "g")
    check_term("admm", h, "h")
    if adjoint == "unrolled":
        raise BadInput("admm: adjoint is 'unrolled', expected 'implicit' or 'krylov'")
    if np.ndim(K) != 2:
        raise BadInput(f"admm: K has shape {np.shape(K)}, expected a matrix (m, n)")
    if x0 is not None and np.shape(x0) != (K.shape[1],):
        raise BadInput(f"admm: x0 has shape {np.shape(x0)}, expected ({K.shape[1]},) for K of shape {K.shape}")
    found = _search(g, h, K, x0, tol, max_iterations, callback, history, progress, resumable, resume)
    if nestlevel() == 0:
        return found

    def conditions(unknowns: Any) -> Any:
        x, y = unknowns
        image = K @ x
        return x - g.prox(x - K.T @ y, 1.0), image - h.prox(image + y, 1.0)

    x, y = attached((found.x, found.multipliers), conditions, found.code, adjoint, SADDLE)
    return Splitting(
        x,
        found.iterations,
        found.evaluations,
        found.code,
        found.history,
        found.state,
        g.value(x) + h.value(K @ x),
        y,
    )


class GraphForm:
    """Both proximal operators as one function of (x, y), and the projection onto the points with y = K x."""

    def __init__(self, g: Term, h: Term, K: Any) -> None:
        self.g, self.h, self.K, self.n = g, h, K, K.shape[1]
        self.solve: Callable[[Any], Any]
        if scipy.sparse.issparse(K):
            normal = scipy.sparse.csc_array(scipy.sparse.eye_array(self.n) + K.T @ K)
            self.solve = scipy.sparse.linalg.splu(normal).solve
        else:
            inverse = np.linalg.inv(np.eye(self.n) + K.T @ K)  # its condition number is at most 1 + |K|²
            self.solve = lambda right: inverse @ right

    def __call__(self, trial: tuple[Vector, float]) -> Vector:
        """Return the proximal operators with step 1/penalty at the vector (n + m,) of both arguments."""
        ahead, penalty = trial
        n = self.n
        return np.concatenate([self.g.prox(ahead[:n], 1.0 / penalty), self.h.prox(ahead[n:], 1.0 / penalty)])

    def projected(self, z: Vector) -> Vector:
        """Return the nearest vector (x, K x)."""
        x = self.solve(z[: self.n] + self.K.T @ z[self.n :])
        return np.concatenate([x, self.K @ x])

    def value(self, z: Vector) -> float:
        """Return g + h at the two parts of a vector."""
        return float(np.reshape(self.g.value(z[: self.n]) + self.h.value(z[self.n :]), ()))


class SplittingSearch(Search):
    """Alternate the proximal operators and the projection; ``dual`` is the scaled dual variable."""

    def __init__(self, problem: GraphForm, x: Vector, tol: float) -> None:
        self.tol, self.penalty = tol, 1.0
        self.point, self.multipliers = x.copy(), np.zeros(problem.K.shape[0])
        self.consistent = problem.projected(np.concatenate([x, problem.K @ x]))
        self.dual = np.zeros(len(self.consistent))
        self.trial: tuple[Vector, float] = (self.consistent.copy(), 1.0)
        self.value = self.measure = math.inf
        self.moved, self.code, self.iterations, self.evaluations = False, RUNNING, 0, 0

    def learn(self, problem: GraphForm, evaluation: Vector) -> None:
        n, K = problem.n, problem.K
        forces = self.penalty * (self.consistent - self.dual - evaluation)  # subgradients of g and h at the evaluation
        image, slope = K @ evaluation[:n], K.T @ forces[n:]
        apart, unbalanced = evaluation[n:] - image, forces[:n] + slope
        primal = _largest(apart) / max(1.0, _largest(image))
        dual = _largest(unbalanced) / max(1.0, _largest(slope))
        self.point, self.multipliers = evaluation[:n].copy(), forces[n:].copy()
        self.value, self.measure, self.moved = problem.value(evaluation), max(primal, dual), True
        relaxed = RELAXATION * evaluation + (1.0 - RELAXATION) * self.consistent
        self.consistent = problem.projected(relaxed + self.dual)
        self.dual = self.dual + relaxed - self.consistent
        if self.iterations % EVERY == EVERY - 1 and max(primal, dual) > BALANCE * min(primal, dual):
            factor = min(max((primal / max(dual, 1e-300)) ** 0.5, 0.1), 10.0)
            self.penalty, self.dual = self.penalty * factor, self.dual / factor
        self.trial = (self.consistent - self.dual, self.penalty)
        if self.measure <= self.tol:
            self.code = CONVERGED


def _largest(v: Vector) -> float:
    return float(np.max(np.abs(v), initial=0.0))


@constant
def _search(
    g: Term,
    h: Term,
    K: Any,
    x0: Any,
    tol: float,
    max_iterations: int,
    callback: Callable[[Splitting], Any] | None,
    history: bool,
    progress: bool,
    resumable: bool,
    resume: Any,
) -> Splitting:
    problem = GraphForm(g, h, K)
    start = np.zeros(K.shape[1]) if x0 is None else np.asarray(stop_gradient(x0), dtype=np.float64)
    search = SplittingSearch(problem, start, tol) if resume is None else copy.deepcopy(resume)

    def found() -> Splitting:
        return Splitting(
            search.point,
            search.iterations,
            search.evaluations,
            search.code,
            None,
            None,
            search.value,
            search.multipliers,
        )

    return searched(problem, search, found, max_iterations, callback, history, progress, resumable)
