"""Euclidean projections onto convex sets; each is differentiable with respect to the point and the set.

N. Parikh and S. Boyd, Proximal algorithms, Found. Trends Optim. 1 (2014) 127-239, chapter 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import BadInput

__all__ = [
    "affine",
    "ball",
    "box",
    "halfspace",
    "l1_ball",
    "nonnegative",
    "second_order_cone",
    "semidefinite",
    "simplex",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def nonnegative(x: Any) -> Any:
    """Return the nearest array without negative entries.

    >>> nonnegative(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return np.maximum(x, 0.0)


def box(x: Any, lower: Any, upper: Any) -> Any:
    """Return the nearest array with ``lower <= x <= upper``.

    >>> box(np.array([-1.0, 2.0]), 0.0, 1.0).tolist()
    [0.0, 1.0]
    """
    return np.minimum(np.maximum(x, lower), upper)


def simplex(x: Any, total: Any = 1.0) -> Any:
    """Return the nearest vector (n,) of nonnegative entries with sum ``total``, which is positive.

    Source: J. Duchi et al., Efficient projections onto the l1-ball (2008), figure 1.

    >>> simplex(np.array([0.5, 1.0, -2.0])).tolist()
    [0.25, 0.75, 0.0]
    """
    if np.ndim(x) != 1:
        raise BadInput(f"simplex: x has shape {np.shape(x)}, expected a vector (n,)")
    descending = -np.sort(-x)
    thresholds = (np.cumsum(descending) - total) / np.arange(1.0, len(x) + 1.0)
    count = np.sum(descending > thresholds)
    return np.maximum(x - thresholds[count - 1], 0.0)


def l1_ball(x: Any, radius: Any = 1.0) -> Any:
    """Return the nearest vector (n,) whose absolute values sum to at most ``radius``, which is positive.

    >>> l1_ball(np.array([3.0, -2.0]), 2.0).tolist()
    [1.5, -0.5]
    """
    if np.sum(abs(x)) <= radius:
        return x + 0.0
    return np.sign(x) * simplex(abs(x), radius)


def ball(x: Any, radius: Any = 1.0, centre: Any = 0.0) -> Any:
    """Return the nearest array within the Euclidean ``radius`` of ``centre``.

    >>> ball(np.array([3.0, 4.0])).round(6).tolist()
    [0.6, 0.8]
    """
    away = x - centre
    square = np.sum(away**2)
    if square <= radius**2:
        return x + 0.0
    return centre + radius / square**0.5 * away


def halfspace(x: Any, a: Any, b: Any) -> Any:
    """Return the nearest vector with ``a·x <= b``.

    >>> halfspace(np.array([2.0, 2.0]), np.array([1.0, 0.0]), 1.0).tolist()
    [1.0, 2.0]
    """
    return x - np.maximum(a @ x - b, 0.0) / (a @ a) * a


def affine(x: Any, A: Any, b: Any) -> Any:
    """Return the nearest vector with ``A x = b``; the rows of A (m, n) are independent.

    >>> affine(np.zeros(2), np.array([[1.0, 1.0]]), np.array([1.0])).tolist()
    [0.5, 0.5]
    """
    return x - A.T @ np.linalg.solve(A @ A.T, A @ x - b)


def second_order_cone(x: Any, t: Any) -> tuple[Any, Any]:
    """Return the nearest pair (x, t) with ``|x| <= t``.

    >>> second_order_cone(np.array([3.0, 4.0]), 0.0)[1].item()
    2.5
    """
    norm = np.sum(x**2) ** 0.5
    if norm <= t:
        return x + 0.0, t + 0.0
    if norm <= -t:
        return 0.0 * x, 0.0 * t
    mean = 0.5 * (norm + t)
    return mean / norm * x, mean


def semidefinite(X: Any) -> Any:
    """Return the nearest symmetric positive semidefinite matrix to a matrix (n, n), in the Frobenius norm.

    >>> semidefinite(np.diag([1.0, -1.0])).round(6).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh(0.5 * (X + X.T))
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
