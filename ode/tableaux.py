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

    def rows(self, dtype: np.dtype[Any]) -> list[NDArray[Any]]:
        """Return the rows of ``a`` up to their diagonal.

        Args:
            dtype: the dtype of the state.

        >>> tableau("heun", 2, [(1.0, 1.0), (1.0, 0.5, 0.5)]).rows(np.float64)[-1].tolist()
        [0.5, 0.5]
        """
        return [row[: i + 1].astype(dtype) for i, row in enumerate(self.a)]

    def extra_rows(self, dtype: np.dtype[Any]) -> list[NDArray[Any]]:
        """Return the rows of ``extra_a`` up to their diagonal.

        Args:
            dtype: the dtype of the state.

        >>> tableau("heun", 2, [(1.0, 1.0), (1.0, 0.5, 0.5)]).extra_rows(np.float64)
        []
        """
        return [row[: len(self.a) + i + 1].astype(dtype) for i, row in enumerate(self.extra_a)]


def tableau(
    name: str,
    order: int,
    stages: Rows,
    error: Rows = (),
    error_order: int = 0,
    interpolant: Rows | NDArray[np.float64] | None = None,
    extra: Rows = (),
) -> Tableau:
    """Make a ``Tableau`` from the rows of a printed one.

    Args:
        name: what error messages call the method.
        order: the order of convergence.
        stages: s rows c_i, a_i1, a_i2, ... from the second stage on; the last is 1 and the weights b.
        error: rows of s + 1 weights of the error estimate: none for fixed steps only, one, or the two of DOP853.
        error_order: the power of h to which the estimate is proportional; ``order`` by default.
        interpolant: (degree, s + 1 + extra) coefficients of theta^1, theta^2, ... of the dense output; the cubic
            Hermite polynomial by default.
        extra: rows of further stages that only the dense output needs.

    Returns:
        A method for ``odesolve``.

    Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.1 and II.6.

    >>> ralston = tableau("ralston", 2, stages=[[2 / 3, 2 / 3], [1, 1 / 4, 3 / 4]])
    >>> ralston.a.tolist()[1], ralston.c.tolist()[1]
    ([0.25, 0.75], 1.0)
    """
    a, c = _lower_triangle(stages, len(stages))
    extra_a, extra_c = _lower_triangle(extra, len(stages) + len(extra))
    dense = _hermite(a[-1]) if interpolant is None else np.array(interpolant, dtype=float)
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


def _lower_triangle(rows: Rows, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        a[i, : len(row) - 1] = row[1:]
    return a, np.array([row[0] for row in rows], dtype=float)


def _hermite(b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cubic that matches value and slope at both ends of the step (Hairer, Norsett, Wanner I, II.6.7)."""
    step, first, last = np.append(b, 0.0), np.eye(len(b) + 1)[0], np.eye(len(b) + 1)[-1]
    return np.stack([first, 3 * step - 2 * first - last, first + last - 2 * step])


EULER = tableau("euler", 1, stages=[[1, 1]])

# Runge 1895; the error estimate is the difference from Euler's method.
MIDPOINT = tableau(
    "midpoint", 2,
    stages=[[1 / 2, 1 / 2],
            [1, 0, 1]],
    error=[[-1, 1, 0]],
)  # fmt: skip

# Heun 1900 (the explicit trapezoidal rule), with Euler's method embedded.
HEUN = tableau(
    "heun", 2,
    stages=[[1, 1],
            [1, 1 / 2, 1 / 2]],
    error=[[-1 / 2, 1 / 2, 0]],
)  # fmt: skip

# Kutta 1901.
RK4 = tableau(
    "rk4", 4,
    stages=[[1 / 2, 1 / 2],
            [1 / 2, 0, 1 / 2],
            [1, 0, 0, 1],
            [1, 1 / 6, 1 / 3, 1 / 3, 1 / 6]],
)  # fmt: skip

# P. Bogacki, L. F. Shampine, A 3(2) pair of Runge-Kutta formulas, Appl. Math. Lett. 2 (1989) 321.
BOSH3 = tableau(
    "bosh3", 3,
    stages=[[1 / 2, 1 / 2],
            [3 / 4, 0, 3 / 4],
            [1, 2 / 9, 1 / 3, 4 / 9]],
    error=[[2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8]],
)  # fmt: skip

# J. R. Dormand, P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comput. Appl. Math. 6 (1980) 19;
# dense output: L. F. Shampine, Some practical Runge-Kutta formulas, Math. Comp. 46 (1986) 135, with its optimal c*.
DOPRI5 = tableau(
    "dopri5", 5,
    stages=[[1 / 5, 1 / 5],
            [3 / 10, 3 / 40, 9 / 40],
            [4 / 5, 44 / 45, -56 / 15, 32 / 9],
            [8 / 9, 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [1, 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
            [1, 35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]],
    error=[[71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]],
    interpolant=np.array([
        [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
        [0, 0, 0, 0],
        [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
        [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
        [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
        [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
        [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
    ]).T,
)  # fmt: skip

# Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption,
# Comput. Math. Appl. 62 (2011) 770. The paper prints the dense output in factors, which are multiplied out here.
TSIT5 = tableau(
    "tsit5", 5,
    stages=[[0.161, 0.161],
            [0.327, -0.008480655492356988544, 0.3354806554923569885],
            [0.9, 2.897153057105493432, -6.359448489975074843, 4.362295432869581411],
            [0.9800255409045096857, 5.325864828439256604, -11.74888356406282787, 7.495539342889836208,
             -0.09249506636175524925],
            [1, 5.861455442946420029, -12.92096931784710929, 8.159367898576158643, -0.07158497328140099722,
             -0.02826905039406838291],
            [1, 0.09646076681806522952, 0.01, 0.4798896504144995748, 1.379008574103741893, -3.290069515436080680,
             2.324710524099773982]],
    error=[[0.001780011052225771443, 0.0008164344596567469032, -0.007880878010261996010, 0.1447110071732629075,
            -0.5823571654525552251, 0.4580821059291869466, -1 / 66]],
    interpolant=np.array([
        [-1.0530884977290216 * w for w in
         np.polymul([1, -1.3299890189751412], [1, -1.4364028541716351, 0.7139816917074209])[::-1]],
        [0, *(0.1017 * np.array([1.2949852507374631, -2.1966568338249754, 1]))],
        [0, *(2.490627285651252793 * np.array([1.57803468208092486, -2.38535645472061657, 1]))],
        [0, *(-16.54810288924490272 * np.poly([1.21712927295533244, 0.61620406037800089])[::-1])],
        [0, *(47.37952196281928122 * np.poly([1.203071208372362603, 0.658047292653547382])[::-1])],
        [0, *(-34.87065786149660974 * np.poly([1.2, 2 / 3])[::-1])],
        [0, *(2.5 * np.poly([1, 0.6])[::-1])],
    ]).T,
)  # fmt: skip
