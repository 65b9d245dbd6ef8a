"""Convex terms without a derivative, each with its proximal operator; all are differentiable with respect to their settings.

The proximal operator of h with step t takes x to the minimiser over z of ``t h(z) + |z - x|²/2``. N. Parikh and S. Boyd, Proximal
algorithms, Found. Trends Optim. 1 (2014) 127-239, chapter 6.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput, tree
from ..projections import l1_ball


class Term(ABC):
    """A convex function of an array (of a structure for ``Separable``), which need not have a derivative."""

    @abstractmethod
    def value(self, x: Any) -> Any:
        """Return h(x), a real number, or infinity outside of the domain."""

    @abstractmethod
    def prox(self, x: Any, step: Any) -> Any:
        """Return the minimiser over z of ``step h(z) + |z - x|²/2``, in the shape of ``x``; ``step`` is positive."""


@dataclass
class Zero(Term):
    """h = 0."""

    def value(self, x: Any) -> Any:
        return 0.0

    def prox(self, x: Any, step: Any) -> Any:
        return x + 0.0


@dataclass
class L1(Term):
    """The sum of ``weight |x|``; ``weight`` is a number or an array of nonnegative numbers; x may be complex.

    >>> L1(1.0).prox(np.array([3.0, -0.5]), 2.0).tolist()
    [1.0, -0.0]
    """

    weight: Any

    def value(self, x: Any) -> Any:
        return np.sum(self.weight * abs(x))

    def prox(self, x: Any, step: Any) -> Any:
        return shrunk(x, abs(x), step * self.weight)


@dataclass
class ElasticNet(Term):
    """The sum of ``l1 |x| + l2 x²/2``.

    Source: H. Zou and T. Hastie, J. R. Stat. Soc. B 67 (2005) 301-320.

    >>> ElasticNet(1.0, 1.0).prox(np.array([3.0, -0.5]), 1.0).tolist()
    [1.0, -0.0]
    """

    l1: Any
    l2: Any

    def value(self, x: Any) -> Any:
        return np.sum(self.l1 * abs(x) + 0.5 * self.l2 * abs(x) ** 2)

    def prox(self, x: Any, step: Any) -> Any:
        return shrunk(x, abs(x), step * self.l1) / (1.0 + step * self.l2)


@dataclass
class SquaredL2(Term):
    """The sum of ``weight x²/2``.

    >>> SquaredL2(1.0).prox(np.array([3.0]), 2.0).tolist()
    [1.0]
    """

    weight: Any = 1.0

    def value(self, x: Any) -> Any:
        return 0.5 * np.sum(self.weight * abs(x) ** 2)

    def prox(self, x: Any, step: Any) -> Any:
        return x / (1.0 + step * self.weight)


@dataclass
class GroupNorm(Term):
    """The sum of ``weight`` times the Euclidean norms along ``axis`` (of the whole array for None): the group lasso.

    Source: M. Yuan and Y. Lin, J. R. Stat. Soc. B 68 (2006) 49-67.

    >>> GroupNorm(1.0, axis=1).prox(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0).round(6).tolist()
    [[2.4, 3.2], [0.0, 0.0]]
    """

    weight: Any
    axis: int | None = None

    def value(self, x: Any) -> Any:
        return np.sum(self.weight * self._norms(x))

    def prox(self, x: Any, step: Any) -> Any:
        return shrunk(x, self._norms(x), step * self.weight)

    def _norms(self, x: Any) -> Any:
        return root_of(np.sum(abs(x) ** 2, axis=self.axis, keepdims=self.axis is not None))


@dataclass
class LabelledGroups(Term):
    """The sum of the Euclidean norms of groups of a vector (n,); ``labels`` (n,) holds the number of each entry's group.

    ``weight`` is a number or an array with one for each group; groups are numbered from 0.

    >>> LabelledGroups(1.0, np.array([0, 1, 0])).prox(np.array([3.0, 0.5, 4.0]), 1.0).round(6).tolist()
    [2.4, 0.0, 3.2]
    """

    weight: Any
    labels: Any

    def value(self, x: Any) -> Any:
        norms = self._norms(x)
        return self.weight @ norms[: len(self.weight)] if np.ndim(self.weight) else self.weight * np.sum(norms)

    def prox(self, x: Any, step: Any) -> Any:
        weights = self.weight[self.labels] if np.ndim(self.weight) else self.weight
        return shrunk(x, self._norms(x)[self.labels], step * weights)

    def _norms(self, x: Any) -> Any:
        squares = np.zeros(len(x))  # there are at most as many groups as entries
        np.add.at(squares, self.labels, abs(x) ** 2)
        return root_of(squares)


@dataclass
class LInf(Term):
    """``weight`` times the largest absolute value of a vector (n,).

    >>> LInf(1.0).prox(np.array([3.0, -1.0]), 1.0).tolist()
    [2.0, -1.0]
    """

    weight: Any

    def value(self, x: Any) -> Any:
        return self.weight * np.max(abs(x))

    def prox(self, x: Any, step: Any) -> Any:
        return x - l1_ball(x, step * self.weight)


@dataclass
class Nuclear(Term):
    """``weight`` times the sum of the singular values of a matrix (m, n), for solutions of low rank.

    Source: J.-F. Cai, E.J. Candès and Z. Shen, SIAM J. Optim. 20 (2010) 1956-1982.

    >>> Nuclear(1.0).prox(np.diag([3.0, 0.5]), 1.0).round(6).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """

    weight: Any

    def value(self, x: Any) -> Any:
        return self.weight * np.sum(np.linalg.svd(x, compute_uv=False))

    def prox(self, x: Any, step: Any) -> Any:
        U, S, Vh = np.linalg.svd(x, full_matrices=False)
        return (U * np.maximum(S - step * self.weight, 0.0)) @ Vh


@dataclass
class Huber(Term):
    """``weight`` times the sum of x²/(2 delta) up to ``delta`` and |x| - delta/2 beyond it.

    >>> Huber(1.0, 1.0).prox(np.array([4.0, 1.0]), 1.0).tolist()
    [3.0, 0.5]
    """

    weight: Any
    delta: Any = 1.0

    def value(self, x: Any) -> Any:
        size = abs(x)
        return np.sum(self.weight * np.where(size <= self.delta, size**2 / (2.0 * self.delta), size - 0.5 * self.delta))

    def prox(self, x: Any, step: Any) -> Any:
        t, size = step * self.weight, abs(x)
        far = size > self.delta + t
        return np.where(far, x - t * x / np.where(far, size, 1.0), x * self.delta / (self.delta + t))


@dataclass
class LogBarrier(Term):
    """``-weight`` times the sum of log x, for x > 0.

    >>> LogBarrier(1.0).prox(np.array([0.0]), 1.0).tolist()
    [1.0]
    """

    weight: Any = 1.0

    def value(self, x: Any) -> Any:
        inside = x > 0.0
        return np.where(np.all(inside), -np.sum(self.weight * np.log(np.where(inside, x, 1.0))), math.inf)

    def prox(self, x: Any, step: Any) -> Any:
        return 0.5 * (x + np.sqrt(x**2 + 4.0 * step * self.weight))


@dataclass
class Indicator(Term):
    """Zero on a convex set, infinite outside; ``projection(x)`` returns the nearest point of the set.

    The projections are in ``morula.optim.projections``.

    >>> from morula.optim.projections import simplex
    >>> Indicator(simplex).prox(np.array([0.5, 1.0]), 3.0).tolist()
    [0.25, 0.75]
    """

    projection: Callable[[Any], Any]

    def value(self, x: Any) -> Any:
        away = np.max(abs(x - self.projection(x)))
        return np.where(away <= 1e-9 * (1.0 + np.max(abs(x))), 0.0, math.inf)

    def prox(self, x: Any, step: Any) -> Any:
        return self.projection(x)


@dataclass
class Shifted(Term):
    """``term(x - centre)``.

    >>> Shifted(L1(1.0), np.array([5.0, 5.0])).prox(np.array([5.5, 9.0]), 1.0).tolist()
    [5.0, 8.0]
    """

    term: Term
    centre: Any

    def value(self, x: Any) -> Any:
        return self.term.value(x - self.centre)

    def prox(self, x: Any, step: Any) -> Any:
        return self.centre + self.term.prox(x - self.centre, step)


@dataclass
class LeastSquares(Term):
    """``|A x - b|²/2`` for a matrix A (m, n) and a vector b (m,).

    >>> LeastSquares(np.eye(2), np.array([4.0, 2.0])).prox(np.zeros(2), 1.0).tolist()
    [2.0, 1.0]
    """

    A: Any
    b: Any

    def value(self, x: Any) -> Any:
        return 0.5 * np.sum((self.A @ x - self.b) ** 2)

    def prox(self, x: Any, step: Any) -> Any:
        A, m = self.A, np.shape(self.A)[0]
        if m >= len(x):
            return np.linalg.solve(np.eye(len(x)) + step * (A.T @ A), x + step * (A.T @ self.b))
        # (I + t AᵀA)⁻¹ = I - t Aᵀ (I + t AAᵀ)⁻¹ A: the smaller of the two systems.
        right = x + step * (A.T @ self.b)
        return right - step * (A.T @ np.linalg.solve(np.eye(m) + step * (A @ A.T), A @ right))


@dataclass
class Separable(Term):
    """A sum of terms, one for each part of a structure: ``terms`` has the form of x, with a ``Term`` in place of each array.

    >>> both = Separable({"weights": L1(1.0), "bias": Zero()})
    >>> both.prox({"weights": np.array([3.0]), "bias": 2.0}, 1.0)
    {'weights': array([2.]), 'bias': 2.0}
    """

    terms: Any

    def value(self, x: Any) -> Any:
        values: list[Any] = []
        tree.rebuild(self.terms, lambda _, h, part: values.append(h.value(part)), x, is_leaf=_is_term)
        return sum(values)

    def prox(self, x: Any, step: Any) -> Any:
        return tree.rebuild(self.terms, lambda _, h, part: h.prox(part, step), x, is_leaf=_is_term)


def _is_term(x: Any) -> bool:
    return isinstance(x, Term)


def shrunk(x: Any, size: Any, limit: Any) -> Any:
    """Return ``x (1 - limit / size)`` where ``size`` exceeds ``limit``, else zero; all of x where ``limit`` is zero."""
    kept = (size > limit) | (limit == 0.0)
    return np.where(kept, x - limit * (x / np.where(size > 0.0, size, 1.0)), 0.0 * x)


def root_of(squares: Any) -> Any:
    """Return the square roots, with the subgradient zero at zero."""
    positive = squares > 0.0
    return np.where(positive, np.sqrt(np.where(positive, squares, 1.0)), 0.0)


def check_term(solver: str, term: Any, name: str) -> None:
    """Refuse what is not a term."""
    if not isinstance(term, Term):
        raise BadInput(
            f"{solver}: {name} is a {type(term).__name__}, expected a term of morula.optim.proximal such as L1(0.1); put a"
            " smooth function into f"
        )
