"""Runge-Kutta-Nystrom methods for q'' = a(t, q): they take positions and velocities apart, with fewer evaluations than methods for y' = f.

Stage i is k_i = a(t + c_i h, q + c_i h v + h^2 sum_(j < i) a_ij k_j), and the step is
    q_new = q + h v + h^2 sum_j b_j k_j,        v_new = v + h sum_j w_j k_j.
The rows of ``stages`` are written as in print: c_i, a_i1, a_i2, ... The last is 1 and the weights b, so that the acceleration at the new
position is a stage, which the next step starts from.

The dense output is a polynomial q + theta h v + h^2 sum_j p_j(theta) k_j with p_j(theta) = sum_m interpolant[m, j] theta^(m + 2); the
velocity is its derivative.

Source: J. R. Dormand, M. E. A. El-Mikkawy, P. J. Prince, Families of Runge-Kutta-Nystrom formulae, IMA J. Numer. Anal. 7 (1987) 235,
and High-order embedded Runge-Kutta-Nystrom formulae, IMA J. Numer. Anal. 7 (1987) 423; E. Hairer, S. P. Norsett, G. Wanner, Solving
Ordinary Differential Equations I (1993), II.14.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .tableau import Rows, lower_triangle


@dataclass(frozen=True, eq=False)
class NystromTableau:
    """A Runge-Kutta-Nystrom method of s + 1 stages; ``nystrom`` makes it."""

    name: str
    order: int
    a: NDArray[np.float64]
    """(s, s): row i holds the i + 1 weights that lead to stage i + 2; the last row is b."""
    c: NDArray[np.float64]
    """(s,): the times of these stages in units of the step."""
    velocity: NDArray[np.float64]
    """(s + 1,): the weights w of the velocity."""
    error: NDArray[np.float64]
    """(2, s + 1): the weights of the error estimates of the position and of the velocity; (0, s + 1) for fixed steps only."""
    error_order: int
    """The power of h to which the error estimate of a smooth solution is proportional."""
    interpolant: NDArray[np.float64]
    """(degree - 1, s + 1 + extra): the coefficients of the dense output, from theta^2 upwards."""
    extra_a: NDArray[np.float64]
    """(extra, s + extra): weights of further stages that only the dense output needs."""
    extra_c: NDArray[np.float64]
    """(extra,): the times of the further stages."""


def nystrom(
    name: str,
    order: int,
    stages: Rows,
    velocity: Sequence[float],
    error: Rows = (),
    error_order: int = 0,
    dense_order: int = 5,
) -> NystromTableau:
    """Make a ``NystromTableau`` from the rows of a printed one.

    Args:
        name: what error messages call the method.
        order: the order of convergence.
        stages: s rows c_i, a_i1, a_i2, ... from the second stage on; the last is 1 and the weights b.
        velocity: the s + 1 weights of the velocity.
        error: the weights of the error estimates: none, or one row for the position and one for the velocity.
        error_order: the power of h to which the estimates are proportional; ``order`` by default.
        dense_order: 5, 7 or 9, the order of the dense output.

    Returns:
        A method for ``odesolve`` with a ``SecondOrder``.

    >>> verlet = nystrom("verlet", 2, stages=[[1, 1 / 2]], velocity=[1 / 2, 1 / 2])
    >>> verlet.interpolant.shape
    (4, 2)
    """
    a, c = lower_triangle(stages, len(stages))
    weights = np.array(velocity, dtype=float)
    extra, interpolant = _continuous_extension(a[-1], weights, dense_order)
    extra_a, extra_c = lower_triangle(extra, len(stages) + len(extra))
    errors = np.array(error, dtype=float).reshape(len(error), len(weights))
    return NystromTableau(name, order, a, c, weights, errors, error_order or order, interpolant, extra_a, extra_c)


# Where the polynomial of a degree takes the acceleration, besides the ends of the step.
_POINTS = {7: [0.2, 0.65], 9: [0.1, 0.35, 0.75, 0.9]}


def _continuous_extension(
    b: NDArray[np.float64], velocity: NDArray[np.float64], order: int
) -> tuple[list[list[float]], NDArray[np.float64]]:
    """Return the rows of further stages, and the interpolant, of a dense output of an order.

    The polynomial of degree 5 that matches position, velocity and acceleration at both ends has order 5. Accelerations at
    points of a polynomial of order p have an error of h^(p + 1), so that the polynomial with these too may have order p + 2.
    """
    width = len(velocity)
    rows: list[list[float]] = []
    polynomial = _matching(b, velocity, width, [], [])
    for degree in range(7, order + 1, 2):
        points = _POINTS[degree]
        begin = width
        for point in points:
            rows.append([point, *(point ** np.arange(2.0, degree - 1) @ polynomial)])
        width += len(points)
        polynomial = _matching(b, velocity, width, points, range(begin, width))
    return rows, polynomial


def _matching(
    b: NDArray[np.float64],
    velocity: NDArray[np.float64],
    width: int,
    points: Sequence[float],
    stages: Sequence[int],
) -> NDArray[np.float64]:
    """Return (degree - 1, width) weights of the polynomial that matches the step, and accelerations at both ends and at ``points``."""
    powers = np.arange(2.0, 6.0 + len(points))
    rows = [powers * (powers - 1) * theta ** (powers - 2) for theta in (0.0, 1.0, *points)]
    values = np.zeros((len(powers), width))
    values[0, : len(b)] = b
    values[1, : len(velocity)] = velocity
    for i, stage in enumerate((0, len(velocity) - 1, *stages)):
        values[2 + i, stage] = 1.0
    return np.asarray(np.linalg.solve(np.stack([np.ones_like(powers), powers, *rows]), values), dtype=np.float64)


_R = sqrt(8581)

# RKN6(4)6FD of the first paper.
_B6 = [329 / 4212, 0, (84119543 + 366727 * _R) / 409622616, (84119543 - 366727 * _R) / 409622616, 200 / 17901, 0]
_W6 = [
    329 / 4212, 0, (389225579 + 96856 * _R) / 1024056540, (389225579 - 96856 * _R) / 1024056540, 2000 / 17901, 1 / 20,
]  # fmt: skip
DPRKN6 = nystrom(
    "dprkn6",
    6,
    [
        [(209 - _R) / 900, (26131 - 209 * _R) / 810000],
        [(209 - _R) / 450, (26131 - 209 * _R) / 607500, (26131 - 209 * _R) / 303750],
        [
            (209 + _R) / 450,
            (980403512254 + 7781688431 * _R) / 11694469921875,
            -(1262884486208 + 15385481287 * _R) / 11694469921875,
            (7166233891441 + 78694563299 * _R) / 46777879687500,
        ],
        [
            9 / 10,
            -9 * (329260 + 3181 * _R) / 27040000,
            27 * (35129 + 3331 * _R) / 13520000,
            -27 * (554358343 + 31040327 * _R) / 464060480000,
            153 * (8555257 - 67973 * _R) / 2745920000,
        ],
        [1, *_B6[:-1]],
    ],
    _W6,
    error=[
        [
            _B6[0] - (2701 + 23 * _R) / 4563,
            (9829 + 131 * _R) / 9126,
            _B6[2] - 5 * (1798 + 17 * _R) / 9126,
            *_B6[3:],
        ],
        [
            _W6[0] - 115 / 2106,
            0,
            _W6[2] - (84119543 + 366727 * _R) / 256014135,
            _W6[3] - (84119543 - 366727 * _R) / 256014135,
            _W6[4] - 6950 / 17901,
            _W6[5] + 1 / 10,
        ],
    ],
    error_order=5,
    dense_order=7,
)

# RKN8(6)9FM of the second paper.
_B8 = [223 / 7938, 0, 1175 / 8064, 925 / 6048, 41 / 448, 925 / 14112, 1175 / 72576, 0, 0]
_W8 = [223 / 7938, 0, 5875 / 36288, 4625 / 21168, 41 / 224, 4625 / 21168, 5875 / 36288, 223 / 7938, 0]
DPRKN8 = nystrom(
    "dprkn8",
    8,
    [
        [1 / 20, 1 / 800],
        [1 / 10, 1 / 600, 1 / 300],
        [3 / 10, 9 / 200, -9 / 100, 9 / 100],
        [1 / 2, -66701 / 197352, 28325 / 32892, -2665 / 5482, 2170 / 24669],
        [7 / 10, 227015747 / 304251000, -54897451 / 30425100, 12942349 / 10141700, -9499 / 304251, 539 / 9250],
        [
            9 / 10,
            -1131891597 / 901789000,
            41964921 / 12882700,
            -6663147 / 3220675,
            270954 / 644135,
            -108 / 5875,
            114 / 1645,
        ],
        [
            1,
            13836959 / 3667458,
            -17731450 / 1833729,
            1063919505 / 156478208,
            -33213845 / 39119552,
            13335 / 28544,
            -705 / 14272,
            1645 / 57088,
        ],
        [1, *_B8[:-1]],
    ],
    _W8,
    error=[
        [
            _B8[0] - 7987313 / 109941300,
            0,
            _B8[2] - 1610737 / 44674560,
            _B8[3] - 10023263 / 33505920,
            _B8[4] + 497221 / 12409600,
            _B8[5] - 10023263 / 78180480,
            _B8[6] - 1610737 / 402071040,
            0,
            0,
        ],
        [
            _W8[0] - 7987313 / 109941300,
            0,
            _W8[2] - 1610737 / 40207104,
            _W8[3] - 10023263 / 23454144,
            _W8[4] + 497221 / 6204800,
            _W8[5] - 10023263 / 23454144,
            _W8[6] - 1610737 / 40207104,
            _W8[7] + 4251941 / 54970650,
            -3 / 20,
        ],
    ],
    error_order=7,
    dense_order=9,
)
