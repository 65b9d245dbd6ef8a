"""The integral of (df/dp)^T l for any parameters: f is evaluated at nodes of the forward solve, where its cotangents enter.

Along the solution, f is a smooth function of t on the steps of the forward solve, even where l has layers that these steps do not
resolve. So f is interpolated between the nodes of each step, and the cotangent of f at a node is the integral of l times
the node's basis polynomial; both are polynomials between the ends of the steps of y and of l.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from ...core import constant
from .records import Record


def nodes(count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the nodes and weights of Gauss' quadrature on (0, 1).

    >>> nodes(1)
    (array([0.5]), array([1.]))
    """
    x, w = leggauss(count)
    return 0.5 * (x + 1.0), 0.5 * w


def forcing(
    record: Record, rhs: Callable[[Any, NDArray[Any]], NDArray[Any]], places: NDArray[Any], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return f (k, q, n) at the places (q,) of each of the k steps, as a function of what rhs refers to."""
    times, states = _along(record, places)
    found = np.zeros(states.shape, dtype)
    for i in range(len(times)):
        for j in range(len(places)):
            found[i, j] = rhs(times[i, j], states[i, j])
    return found


def _along(record: Record, places: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the times (k, q) and states (k, q, n) at the places of each step."""
    starts, sizes, states, coefficients = record[1:5]
    powers = places[:, None] ** np.arange(1.0, coefficients.shape[1] + 1)
    times = starts[:, None] + sizes[:, None] * places
    return times, states[:, None] + np.matmul(powers.astype(coefficients.dtype), coefficients)


def pulled_forcing(record: Record, adjoint: list[Any], skip: int, n: int, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the cotangent of the forcing, of ``shape`` (k, q, n).

    adjoint: the steps of the backward solve, whose state has l at ``skip`` to ``skip`` + n.
    """
    starts, sizes = record[1], record[2]
    begin, length = (np.array([step[i] for step in adjoint]) for i in (0, 2))
    states, coefficients = (np.stack([step[i] for step in adjoint])[..., skip : skip + n] for i in (3, 4))
    places = nodes(shape[1])[0]
    inner, weights = nodes((shape[1] + coefficients.shape[1] + 2) // 2)
    sign = 1.0 if sizes[0] > 0 else -1.0
    ends = np.sort(np.concatenate([sign * starts, sign * begin]))
    widths = np.diff(ends)
    at = sign * (ends[:-1, None] + widths[:, None] * inner).reshape(-1)
    middles = (sign * (ends[:-1] + 0.5 * widths)[:, None] + np.zeros(len(inner))).reshape(-1)
    weight = (widths[:, None] * weights).reshape(-1)
    k, j = _steps(starts, middles, sign), _steps(begin, middles, -sign)
    theta = ((at - begin[j]) / length[j])[:, None].astype(states.dtype)
    total = np.zeros_like(states[j])
    for d in range(coefficients.shape[1] - 1, -1, -1):
        total = coefficients[j, d] + theta * total
    lam = states[j] + theta * total
    basis = _lagrange(places, (at - starts[k]) / sizes[k])
    shares = (sign * weight[:, None] * basis).astype(lam.dtype)
    found = np.zeros(shape, lam.dtype)
    np.add.at(found, k, shares[:, :, None] * lam[:, None, :])
    return found


@constant
def _steps(starts: NDArray[Any], at: NDArray[Any], sign: float) -> NDArray[Any]:
    """Return the step that each time belongs to, for steps in the direction of ``sign``."""
    return np.maximum(np.searchsorted(sign * starts, sign * at, side="right") - 1, 0)


def _lagrange(places: NDArray[Any], theta: NDArray[Any]) -> NDArray[Any]:
    """Return the basis polynomials of the places (q,) at theta (m,), (m, q)."""
    rows = []
    for i in range(len(places)):
        others = np.delete(places, i)
        rows.append(np.prod((theta[:, None] - others) / (places[i] - others), axis=1))
    return np.stack(rows, axis=1)
