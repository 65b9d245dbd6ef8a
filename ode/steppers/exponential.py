"""Steps of exponential Rosenbrock methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from ...core import constant
from ..methods.exponential import ExponentialTableau
from ..problem import Problem
from .stepper import Stepper, cubic_hermite


class ExponentialStepper(Stepper):
    """The step of an ``ExponentialTableau``. The memory is f at the start of the step (n,).

    The Jacobian is differentiated like everything else in a step: the order of the gradient rests on it.

    tableau: the method. dtype: of the state.
    """

    is_implicit = True
    degree = 3

    def __init__(self, tableau: ExponentialTableau, dtype: np.dtype[Any]) -> None:
        self.name, self.order, self.error_order = tableau.name, tableau.order, tableau.error_order
        self.c = tableau.c.tolist()
        self.a, self.b, self.error_weights = (w.astype(dtype) for w in (tableau.a, tableau.b, tableau.error))

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> NDArray[Any]:
        return slope

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: NDArray[Any]) -> Any:
        h, s = t_new - t, len(self.c)
        matrix = problem.jacobian.entries(problem.rhs, t, y)
        drift = problem.time_derivative(t, y)
        rest = np.zeros((s, len(y)), y.dtype)
        for i in range(s):
            c = self.c[i]
            moved = phi_sum(c * h * matrix, _terms(c * h, memory, drift) + h * np.dot(self.a[i].T, rest))
            time = t_new if c == 1.0 else t + c * h  # not t + h, which may lie behind a stop
            rest[i] = problem.rhs(time, y + moved) - memory - np.dot(matrix, moved) - (c * h) * drift
        error = phi_sum(h * matrix, h * np.dot(self.error_weights.T, rest))
        y_new = y + phi_sum(h * matrix, _terms(h, memory, drift) + h * np.dot(self.b.T, rest))
        return y_new, (memory, problem.rhs(t_new, y_new), y_new, error)

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return stages[3][None]

    def spent(self, stages: Any) -> int:
        return len(self.c) + 1

    def matrices(self, stages: Any) -> tuple[int, int]:
        return 1, 0

    def advance(self, stages: Any) -> NDArray[Any]:
        return stages[1]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        return cubic_hermite(t_new - t, stages[2] - y, stages[0], stages[1])


def _terms(h: float, f: NDArray[Any], drift: NDArray[Any]) -> NDArray[Any]:
    """Return what phi_1 to phi_4 are multiplied by for f and its drift, (4, n)."""
    none = np.zeros_like(f)
    return np.stack([h * f, h * h * drift, none, none])


def phi_sum(matrix: NDArray[Any], terms: NDArray[Any]) -> NDArray[Any]:
    """Return sum_k phi_k(matrix) terms[k - 1] (n,), for terms (p, n), by the exponential of a matrix with p rows more.

    Source: A. H. Al-Mohy, N. J. Higham, SIAM J. Sci. Comput. 33 (2011) 488, theorem 2.1. The terms are divided by their
    size, so that they do not make the norm of the matrix larger.
    """
    n, p = len(matrix), len(terms)
    size = _size(terms)
    shift = np.diag(np.ones(p - 1), 1).astype(matrix.dtype)
    top = np.concatenate([matrix, terms[::-1].T / size], axis=1)
    whole = np.concatenate([top, np.concatenate([np.zeros((p, n), matrix.dtype), shift], axis=1)])
    return size * expm(whole)[:n, -1]


@constant
def _size(terms: NDArray[Any]) -> float:
    size = float(np.max(np.abs(terms), initial=0.0))
    return size if 0.0 < size < np.inf else 1.0
