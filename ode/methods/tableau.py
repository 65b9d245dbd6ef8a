"""Explicit Runge-Kutta methods as data.

A method is its Butcher tableau. The rows of ``stages`` are written as in print: c_i, a_i1, a_i2, ... The first stage,
f(t, y), has no row. The last row is the step itself: c = 1 and the weights b. The derivative at the new point is
therefore a stage too. The next step starts from it and the dense output uses it, so "first same as last" methods are
not a special case.

The dense output is a polynomial in theta = (t - t_n) / h for each weight:
    y(t_n + theta h) = y_n + h sum_i b_i(theta) k_i,        b_i(theta) = sum_j interpolant[j, i] theta^(j+1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit Runge-Kutta method with ``s`` evaluations per step; ``tableau`` makes it."""

    name: str
    order: int
    a: NDArray[np.float64]
    """(s, s): row i holds the i + 1 weights that lead to stage i + 2; the last row is b."""
    c: NDArray[np.float64]
    """(s,): the times of these stages in units of the step."""
    error: NDArray[np.float64]
    """(m, s + 1): weights of the error estimates; m is 0 for a method with fixed steps only, and 2 for DOP853."""
    error_order: int
    """The power of h to which the error estimate of a smooth solution is proportional."""
    interpolant: NDArray[np.float64]
    """(degree, s + 1 + extra): the coefficients of the dense output, from theta^1 upwards."""
    extra_a: NDArray[np.float64]
    """(extra, s + extra): weights of further stages that only the dense output needs."""
    extra_c: NDArray[np.float64]
    """(extra,): the times of the further stages."""

    def dense_output(self, dtype: np.dtype[Any]) -> DenseOutput:
        """Return what the dense output needs.

        Args:
            dtype: the dtype of the state.

        Returns:
            The weights and times of the further stages, and the interpolant.

        >>> tableau("heun", 2, [(1.0, 1.0), (1.0, 0.5, 0.5)]).dense_output(np.float64).interpolant.shape
        (3, 3)
        """
        rows = [row[: len(self.a) + i + 1].astype(dtype) for i, row in enumerate(self.extra_a)]
        return DenseOutput(rows, self.extra_c.tolist(), self.interpolant.astype(dtype))


@dataclass(frozen=True, eq=False)
class DenseOutput:
    """The further stages and the polynomial of a method's dense output."""

    weights: list[NDArray[Any]]
    """The weights of the further stages."""
    fractions: list[float]
    """Their times in units of the step."""
    interpolant: NDArray[Any]
    """(degree, s + 1 + extra): the coefficients, from theta^1 upwards."""


def tableau(
    name: str,
    order: int,
    stages: Rows,
    error: Rows = (),
    error_order: int = 0,
    interpolant: Rows | NDArray[np.float64] | None = None,
    extra: Rows = (),
    dense_order: int = 3,
) -> Tableau:
    """Make a ``Tableau`` from the rows of a printed one.

    Args:
        name: what error messages call the method.
        order: the order of convergence.
        stages: s rows c_i, a_i1, a_i2, ... from the second stage on; the last is 1 and the weights b.
        error: rows of s + 1 weights of the error estimate: none for fixed steps only, one, or the two of DOP853.
        error_order: the power of h to which the estimate is proportional; ``order`` by default.
        interpolant: (degree, s + 1 + extra) coefficients of theta^1, theta^2, ... of the dense output.
        extra: rows of further stages that only the dense output needs.
        dense_order: the order of the dense output that is made (``continuous_extension``) if no ``interpolant`` is given.

    Returns:
        A method for ``odesolve``.

    Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.1 and II.6.

    >>> ralston = tableau("ralston", 2, stages=[[2 / 3, 2 / 3], [1, 1 / 4, 3 / 4]])
    >>> ralston.a.tolist()[1], ralston.c.tolist()[1]
    ([0.25, 0.75], 1.0)
    """
    a, c = lower_triangle(stages, len(stages))
    if interpolant is None:
        extra, dense = continuous_extension(a[-1], dense_order)
    else:
        dense = np.array(interpolant, dtype=float)
    extra_a, extra_c = lower_triangle(extra, len(stages) + len(extra))
    return Tableau(
        name=name,
        order=order,
        a=a,
        c=c,
        error=np.array(error, dtype=float).reshape(len(error), len(stages) + 1),
        error_order=error_order or order,
        interpolant=dense,
        extra_a=extra_a,
        extra_c=extra_c,
    )


def lower_triangle(rows: Rows, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        a[i, : len(row) - 1] = row[1:]
    return a, np.array([row[0] for row in rows], dtype=float)


def continuous_extension(b: NDArray[np.float64], order: int) -> tuple[list[list[float]], NDArray[np.float64]]:
    """Return the rows of further stages, and the interpolant, of a dense output of an order that is made from b.

    The cubic that matches value and slope at both ends of the step has order 3. Each further order takes f at a few points
    of the polynomial found so far, and the polynomial with these slopes too: the extension has (order - 3)(order - 2) / 2
    stages, and joins its neighbours smoothly.

    Source: W. H. Enright, K. R. Jackson, S. P. Norsett, P. G. Thomsen, Interpolants for Runge-Kutta formulas, ACM TOMS 12
    (1986) 193.
    """
    width = len(b) + 1
    rows: list[list[float]] = []
    polynomial = _matching(b, width, len(b), [], [])
    for degree in range(4, order + 1):
        points = _POINTS[degree]
        begin = width
        for point in points:
            rows.append([point, *(point ** np.arange(1.0, degree) @ polynomial)])
        width += len(points)
        polynomial = _matching(b, width, len(b), points, range(begin, width))
    return rows, polynomial


# Where the polynomial of a degree takes f: the values at which the weights of these slopes are nearly smallest.
_POINTS = {
    4: [0.2],
    5: [0.15, 0.85],
    6: [0.15, 0.25, 0.85],
    7: [0.15, 0.25, 0.75, 0.85],
    8: [0.07, 0.2, 0.31, 0.79, 0.94],
}


def _matching(
    b: NDArray[np.float64], width: int, last: int, points: Sequence[float], stages: Sequence[int]
) -> NDArray[np.float64]:
    """Return (degree, width) weights of the polynomial that matches the step, f at both ends, and f at further points."""
    powers = np.arange(1.0, 4.0 + len(points))
    slopes = [powers * theta ** (powers - 1) for theta in (0.0, 1.0, *points)]
    values = np.zeros((len(powers), width))
    values[0, : len(b)] = b
    for i, stage in enumerate((0, last, *stages)):
        values[1 + i, stage] = 1.0
    return np.asarray(np.linalg.solve(np.stack([np.ones_like(powers), *slopes]), values), dtype=np.float64)
