"""Problems with constraints, and their published optima.

W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes, Lecture Notes in Economics and Mathematical Systems
187, Springer (1981): the number of a problem is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from morula.optim import Constraint

INF = math.inf


@dataclass(frozen=True)
class Problem:
    f: Callable[..., Any]
    start: Any
    optimum: float
    equations: Callable[..., Any] | None = None
    inequalities: Callable[..., Any] | None = None
    """Of which every entry is at least 0."""
    lower: Any = -INF
    upper: Any = INF
    others: tuple[float, ...] = ()
    """The values of further local minima."""

    @property
    def x0(self):
        return np.array(self.start, dtype=float)

    @property
    def constraints(self):
        equations = [] if self.equations is None else [Constraint(self.equations, equals=0.0)]
        return equations + ([] if self.inequalities is None else [Constraint(self.inequalities, lower=0.0)])

    @property
    def bounds(self):
        return tuple(np.broadcast_to(np.array(b, float), (len(self.start),)) for b in (self.lower, self.upper))


def stack(*entries):
    return np.stack(entries)


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


PROBLEMS = {
    6: Problem(lambda x: (1 - x[0]) ** 2, [-1.2, 1], 0.0, lambda x: 10 * (x[1] - x[0] ** 2)),
    7: Problem(lambda x: np.log(1 + x[0] ** 2) - x[1], [2, 2], -math.sqrt(3), lambda x: (1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4),
    9: Problem(lambda x: np.sin(np.pi * x[0] / 12) * np.cos(np.pi * x[1] / 16), [0, 0], -0.5, lambda x: 4 * x[0] - 3 * x[1]),
    10: Problem(
        lambda x: x[0] - x[1], [-10, 10], -1.0, None, lambda x: -3 * x[0] ** 2 + 2 * x[0] * x[1] - x[1] ** 2 + 1
    ),
    11: Problem(lambda x: (x[0] - 5) ** 2 + x[1] ** 2 - 25, [4.9, 0.1], -8.498464223, None, lambda x: x[1] - x[0] ** 2),
    12: Problem(
        lambda x: 0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1], [0, 0], -30.0, None,
        lambda x: 25 - 4 * x[0] ** 2 - x[1] ** 2,
    ),
    14: Problem(
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, [2, 2], 9 - 2.875 * math.sqrt(7), lambda x: x[0] - 2 * x[1] + 1,
        lambda x: -0.25 * x[0] ** 2 - x[1] ** 2 + 1,
    ),
    15: Problem(
        rosenbrock, [-2, 1], 306.5, None, lambda x: stack(x[0] * x[1] - 1, x[0] + x[1] ** 2), -INF, [0.5, INF],
        others=(360.379767,),
    ),
    16: Problem(
        rosenbrock, [-2, 1], 0.25, None, lambda x: stack(x[0] + x[1] ** 2, x[0] ** 2 + x[1]), [-0.5, -INF], [0.5, 1],
        others=(3.98208043, 23.1446609),
    ),
    17: Problem(
        rosenbrock, [-2, 1], 1.0, None, lambda x: stack(x[1] ** 2 - x[0], x[0] ** 2 - x[1]), [-0.5, -INF], [0.5, 1]
    ),
    18: Problem(
        lambda x: 0.01 * x[0] ** 2 + x[1] ** 2, [2, 2], 5.0, None,
        lambda x: stack(x[0] * x[1] - 25, x[0] ** 2 + x[1] ** 2 - 25), [2, 0], [50, 50],
    ),
    19: Problem(
        lambda x: (x[0] - 10) ** 3 + (x[1] - 20) ** 3, [20.1, 5.84], -6961.81381, None,
        lambda x: stack((x[0] - 5) ** 2 + (x[1] - 5) ** 2 - 100, 82.81 - (x[1] - 5) ** 2 - (x[0] - 6) ** 2), [13, 0], [100, 100],
    ),
    20: Problem(
        rosenbrock, [-2, 1], 81.5 - 25 * math.sqrt(3), None,
        lambda x: stack(x[0] + x[1] ** 2, x[0] ** 2 + x[1], x[0] ** 2 + x[1] ** 2 - 1), [-0.5, -INF], [0.5, INF],
        others=(40.19872981,),
    ),
    21: Problem(
        lambda x: 0.01 * x[0] ** 2 + x[1] ** 2 - 100, [-1, -1], -99.96, None, lambda x: 10 * x[0] - x[1] - 10, [2, -50], [50, 50]
    ),
    22: Problem(
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, [2, 2], 1.0, None, lambda x: stack(2 - x[0] - x[1], x[1] - x[0] ** 2)
    ),
    23: Problem(
        lambda x: x[0] ** 2 + x[1] ** 2, [3, 1], 2.0, None,
        lambda x: stack(
            x[0] + x[1] - 1, x[0] ** 2 + x[1] ** 2 - 1, 9 * x[0] ** 2 + x[1] ** 2 - 9, x[0] ** 2 - x[1], x[1] ** 2 - x[0]
        ), -50, 50,
        others=(9.47222,),
    ),
    24: Problem(
        lambda x: ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * math.sqrt(3)), [1, 0.5], -1.0, None,
        lambda x: stack(x[0] / math.sqrt(3) - x[1], x[0] + math.sqrt(3) * x[1], 6 - x[0] - math.sqrt(3) * x[1]), 0,
    ),
    26: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, [-2.6, 2, 2], 0.0, lambda x: (1 + x[1] ** 2) * x[0] + x[2] ** 4 - 3
    ),
    27: Problem(
        lambda x: 0.01 * (x[0] - 1) ** 2 + (x[1] - x[0] ** 2) ** 2, [2, 2, 2], 0.04, lambda x: x[0] + x[2] ** 2 + 1
    ),
    28: Problem(
        lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2, [-4, 1, 1], 0.0, lambda x: x[0] + 2 * x[1] + 3 * x[2] - 1
    ),
    29: Problem(
        lambda x: -x[0] * x[1] * x[2], [1, 1, 1], -16 * math.sqrt(2), None,
        lambda x: -(x[0] ** 2) - 2 * x[1] ** 2 - 4 * x[2] ** 2 + 48,
    ),
    30: Problem(
        lambda x: np.sum(x**2), [1, 1, 1], 1.0, None, lambda x: x[0] ** 2 + x[1] ** 2 - 1, [1, -10, -10], 10
    ),
    31: Problem(
        lambda x: 9 * x[0] ** 2 + x[1] ** 2 + 9 * x[2] ** 2, [1, 1, 1], 6.0, None, lambda x: x[0] * x[1] - 1,
        [-10, 1, -10], [10, 10, 1],
    ),
    32: Problem(
        lambda x: (x[0] + 3 * x[1] + x[2]) ** 2 + 4 * (x[0] - x[1]) ** 2, [0.1, 0.7, 0.2], 1.0, lambda x: 1 - np.sum(x),
        lambda x: 6 * x[1] + 4 * x[2] - x[0] ** 3 - 3, 0,
    ),
    33: Problem(
        lambda x: (x[0] - 1) * (x[0] - 2) * (x[0] - 3) + x[2], [0, 0, 3], math.sqrt(2) - 6, None,
        lambda x: stack(x[2] ** 2 - x[1] ** 2 - x[0] ** 2, np.sum(x**2) - 4), 0, [INF, INF, 5],
        others=(-4.0,),
    ),
    34: Problem(
        lambda x: -x[0], [0, 1.05, 2.9], -math.log(math.log(10)), None,
        lambda x: stack(x[1] - np.exp(x[0]), x[2] - np.exp(x[1])), 0, [100, 100, 10],
    ),
    35: Problem(
        lambda x: 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2 + 2 * x[0] * x[1]
        + 2 * x[0] * x[2],
        [0.5, 0.5, 0.5], 1 / 9, None, lambda x: 3 - x[0] - x[1] - 2 * x[2], 0,
    ),
    36: Problem(
        lambda x: -x[0] * x[1] * x[2], [10, 10, 10], -3300.0, None, lambda x: 72 - x[0] - 2 * x[1] - 2 * x[2], 0, [20, 11, 42]
    ),
    37: Problem(
        lambda x: -x[0] * x[1] * x[2], [10, 10, 10], -3456.0, None,
        lambda x: stack(72 - x[0] - 2 * x[1] - 2 * x[2], x[0] + 2 * x[1] + 2 * x[2]), 0, 42,
    ),
    39: Problem(
        lambda x: -x[0], [2, 2, 2, 2], -1.0, lambda x: stack(x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2)
    ),
    40: Problem(
        lambda x: -np.prod(x), [0.8, 0.8, 0.8, 0.8], -0.25,
        lambda x: stack(x[0] ** 3 + x[1] ** 2 - 1, x[0] ** 2 * x[3] - x[2], x[3] ** 2 - x[1]),
    ),
    41: Problem(lambda x: 2 - x[0] * x[1] * x[2], [2, 2, 2, 2], 52 / 27, lambda x: x[0] + 2 * x[1] + 2 * x[2] - x[3], None, 0, [1, 1, 1, 2]),
    42: Problem(
        lambda x: np.sum((x - np.arange(1.0, 5.0)) ** 2), [1, 1, 1, 1], 28 - 10 * math.sqrt(2),
        lambda x: stack(x[0] - 2, x[2] ** 2 + x[3] ** 2 - 2),
    ),
    43: Problem(
        lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
        [0, 0, 0, 0], -44.0, None,
        lambda x: stack(
            8 - np.sum(x**2) - x[0] + x[1] - x[2] + x[3],
            10 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - 2 * x[3] ** 2 + x[0] + x[3],
            5 - 2 * x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - 2 * x[0] + x[1] + x[3],
        ),
    ),
    44: Problem(
        lambda x: x[0] - x[1] - x[2] - x[0] * x[2] + x[0] * x[3] + x[1] * x[2] - x[1] * x[3], [0, 0, 0, 0], -15.0, None,
        lambda x: stack(
            8 - x[0] - 2 * x[1], 12 - 4 * x[0] - x[1], 12 - 3 * x[0] - 4 * x[1], 8 - 2 * x[2] - x[3], 8 - x[2] - 2 * x[3],
            5 - x[2] - x[3],
        ), 0,
        others=(-13.0,),
    ),
    46: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[2] - 1) ** 2 + (x[3] - 1) ** 4 + (x[4] - 1) ** 6,
        [math.sqrt(2) / 2, 1.75, 0.5, 2, 2], 0.0,
        lambda x: stack(x[0] ** 2 * x[3] + np.sin(x[3] - x[4]) - 1, x[1] + x[2] ** 4 * x[3] ** 2 - 2),
    ),
    48: Problem(
        lambda x: (x[0] - 1) ** 2 + (x[1] - x[2]) ** 2 + (x[3] - x[4]) ** 2, [3, 5, -3, 2, -2], 0.0,
        lambda x: stack(np.sum(x) - 5, x[2] - 2 * (x[3] + x[4]) + 3),
    ),
    50: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 2, [35, -31, 11, 5, -5], 0.0,
        lambda x: stack(
            x[0] + 2 * x[1] + 3 * x[2] - 6, x[1] + 2 * x[2] + 3 * x[3] - 6, x[2] + 2 * x[3] + 3 * x[4] - 6
        ),
    ),
    51: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] + x[2] - 2) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 2, [2.5, 0.5, 2, -1, 0.5], 0.0,
        lambda x: stack(x[0] + 3 * x[1] - 4, x[2] + x[3] - 2 * x[4], x[1] - x[4]),
    ),
    52: Problem(
        lambda x: (4 * x[0] - x[1]) ** 2 + (x[1] + x[2] - 2) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 2, [2, 2, 2, 2, 2],
        1859 / 349, lambda x: stack(x[0] + 3 * x[1], x[2] + x[3] - 2 * x[4], x[1] - x[4]),
    ),
    53: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] + x[2] - 2) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 2, [2, 2, 2, 2, 2],
        176 / 43, lambda x: stack(x[0] + 3 * x[1], x[2] + x[3] - 2 * x[4], x[1] - x[4]), None, -10, 10,
    ),
    60: Problem(
        lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, [2, 2, 2], 0.03256820025,
        lambda x: x[0] * (1 + x[1] ** 2) + x[2] ** 4 - 4 - 3 * math.sqrt(2), None, -10, 10,
    ),
    61: Problem(
        lambda x: 4 * x[0] ** 2 + 2 * x[1] ** 2 + 2 * x[2] ** 2 - 33 * x[0] + 16 * x[1] - 24 * x[2], [0, 0, 0], -143.6461422,
        lambda x: stack(3 * x[0] - 2 * x[1] ** 2 - 7, 4 * x[0] - x[2] ** 2 - 11),
    ),
    63: Problem(
        lambda x: 1000 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - x[0] * x[1] - x[0] * x[2], [2, 2, 2], 961.7151721,
        lambda x: stack(8 * x[0] + 14 * x[1] + 7 * x[2] - 56, np.sum(x**2) - 25), None, 0,
    ),
    64: Problem(
        lambda x: 5 * x[0] + 50000 / x[0] + 20 * x[1] + 72000 / x[1] + 10 * x[2] + 144000 / x[2], [1, 1, 1], 6299.842428, None,
        lambda x: 1 - 4 / x[0] - 32 / x[1] - 120 / x[2], 1e-5,
    ),
    65: Problem(
        lambda x: (x[0] - x[1]) ** 2 + (x[0] + x[1] - 10) ** 2 / 9 + (x[2] - 5) ** 2, [-5, 5, 0], 0.9535288567, None,
        lambda x: 48 - np.sum(x**2), [-4.5, -4.5, -5], [4.5, 4.5, 5],
    ),
    66: Problem(
        lambda x: 0.2 * x[2] - 0.8 * x[0], [0, 1.05, 2.9], 0.5181632741, None,
        lambda x: stack(x[1] - np.exp(x[0]), x[2] - np.exp(x[1])), 0, [100, 100, 10],
    ),
    71: Problem(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], [1, 5, 5, 1], 17.0140173, lambda x: np.sum(x**2) - 40,
        lambda x: np.prod(x) - 25, 1, 5,
    ),
    76: Problem(
        lambda x: x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2 - x[0] * x[2] + x[2] * x[3] - x[0] - 3 * x[1] + x[2] - x[3],
        [0.5, 0.5, 0.5, 0.5], -4.681818181, None,
        lambda x: stack(5 - x[0] - 2 * x[1] - x[2] - x[3], 4 - 3 * x[0] - x[1] - 2 * x[2] + x[3], x[1] + 4 * x[2] - 1.5), 0,
    ),
    77: Problem(
        lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[2] - 1) ** 2 + (x[3] - 1) ** 4 + (x[4] - 1) ** 6, [2, 2, 2, 2, 2],
        0.24150513,
        lambda x: stack(
            x[0] ** 2 * x[3] + np.sin(x[3] - x[4]) - 2 * math.sqrt(2), x[1] + x[2] ** 4 * x[3] ** 2 - 8 - math.sqrt(2)
        ),
    ),
    78: Problem(
        lambda x: np.prod(x), [-2, 1.5, 2, -1, -1], -2.91970041,
        lambda x: stack(np.sum(x**2) - 10, x[1] * x[2] - 5 * x[3] * x[4], x[0] ** 3 + x[1] ** 3 + 1),
    ),
    79: Problem(
        lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 4,
        [2, 2, 2, 2, 2], 0.0787768209,
        lambda x: stack(
            x[0] + x[1] ** 2 + x[2] ** 3 - 2 - 3 * math.sqrt(2), x[1] - x[2] ** 2 + x[3] + 2 - 2 * math.sqrt(2), x[0] * x[4] - 2
        ),
    ),
    80: Problem(
        lambda x: np.exp(np.prod(x)), [-2, 2, 2, -1, -1], 0.0539498478,
        lambda x: stack(np.sum(x**2) - 10, x[1] * x[2] - 5 * x[3] * x[4], x[0] ** 3 + x[1] ** 3 + 1), None,
        [-2.3, -2.3, -3.2, -3.2, -3.2], [2.3, 2.3, 3.2, 3.2, 3.2],
    ),
    93: Problem(
        lambda x: 0.0204 * x[0] * x[3] * (x[0] + x[1] + x[2]) + 0.0187 * x[1] * x[2] * (x[0] + 1.57 * x[1] + x[3])
        + 0.0607 * x[0] * x[3] * x[4] ** 2 * (x[0] + x[1] + x[2]) + 0.0437 * x[1] * x[2] * x[5] ** 2 * (x[0] + 1.57 * x[1] + x[3]),
        [5.54, 4.4, 12.02, 11.82, 0.702, 0.852], 135.075961, None,
        lambda x: stack(
            0.001 * np.prod(x) - 2.07,
            1 - 0.00062 * x[0] * x[3] * x[4] ** 2 * (x[0] + x[1] + x[2]) - 0.00058 * x[1] * x[2] * x[5] ** 2 * (x[0] + 1.57 * x[1] + x[3]),
        ), 0,
    ),
    100: Problem(
        lambda x: (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6 + 7 * x[5] ** 2
        + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6],
        [1, 2, 0, 4, 0, 1, 1], 680.6300573, None,
        lambda x: stack(
            127 - 2 * x[0] ** 2 - 3 * x[1] ** 4 - x[2] - 4 * x[3] ** 2 - 5 * x[4],
            282 - 7 * x[0] - 3 * x[1] - 10 * x[2] ** 2 - x[3] + x[4],
            196 - 23 * x[0] - x[1] ** 2 - 6 * x[5] ** 2 + 8 * x[6],
            -4 * x[0] ** 2 - x[1] ** 2 + 3 * x[0] * x[1] - 2 * x[2] ** 2 - 5 * x[5] + 11 * x[6],
        ),
    ),
    113: Problem(
        lambda x: x[0] ** 2 + x[1] ** 2 + x[0] * x[1] - 14 * x[0] - 16 * x[1] + (x[2] - 10) ** 2 + 4 * (x[3] - 5) ** 2
        + (x[4] - 3) ** 2 + 2 * (x[5] - 1) ** 2 + 5 * x[6] ** 2 + 7 * (x[7] - 11) ** 2 + 2 * (x[8] - 10) ** 2
        + (x[9] - 7) ** 2 + 45,
        [2, 3, 5, 5, 1, 2, 7, 3, 6, 10], 24.3062091, None,
        lambda x: stack(
            105 - 4 * x[0] - 5 * x[1] + 3 * x[6] - 9 * x[7],
            -10 * x[0] + 8 * x[1] + 17 * x[6] - 2 * x[7],
            8 * x[0] - 2 * x[1] - 5 * x[8] + 2 * x[9] + 12,
            -3 * (x[0] - 2) ** 2 - 4 * (x[1] - 3) ** 2 - 2 * x[2] ** 2 + 7 * x[3] + 120,
            -5 * x[0] ** 2 - 8 * x[1] - (x[2] - 6) ** 2 + 2 * x[3] + 40,
            -0.5 * (x[0] - 8) ** 2 - 2 * (x[1] - 4) ** 2 - 3 * x[4] ** 2 + x[5] + 30,
            -(x[0] ** 2) - 2 * (x[1] - 2) ** 2 + 2 * x[0] * x[1] - 14 * x[4] + 6 * x[5],
            3 * x[0] - 6 * x[1] - 12 * (x[8] - 8) ** 2 + 7 * x[9],
        ),
    ),
}  # fmt: skip
