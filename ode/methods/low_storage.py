"""Low-storage Runge-Kutta methods, printed as recurrences of two registers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .tableau import tableau


def two_registers(A: Sequence[float], B: Sequence[float]) -> list[list[float]]:
    """Return the rows of ``tableau`` for the recurrence d = A[i] d + h f(y), y = y + B[i] d.

    Source: J. H. Williamson, Low-storage Runge-Kutta schemes, J. Comput. Phys. 35 (1980) 48.

    >>> two_registers([0.0, -0.5], [0.5, 1.0])
    [[0.5, 0.5], [1.0, 0.0, 1.0]]
    """
    s = len(A)
    d, y, rows = np.zeros(s), np.zeros(s), []
    for i in range(s):
        d = A[i] * d
        d[i] = 1.0
        y = y + B[i] * d
        rows.append([float(y.sum()), *y[: i + 1].tolist()])
    rows[-1][0] = 1.0
    return rows


def two_pointers(a: Sequence[float], b: Sequence[float]) -> list[list[float]]:
    """Return the rows of ``tableau`` for a method whose stage i takes all weights but the last from b.

    Source: C. A. Kennedy, M. H. Carpenter, R. M. Lewis, Low-storage, explicit Runge-Kutta schemes for the compressible
    Navier-Stokes equations, Appl. Numer. Math. 35 (2000) 177.

    >>> two_pointers([0.5], [0.25, 0.75])
    [[0.5, 0.5], [1.0, 0.25, 0.75]]
    """
    rows = [[sum(b[:i]) + a[i], *b[:i], a[i]] for i in range(len(a))]
    return [*rows, [1.0, *b]]


WILLIAMSON3 = tableau("williamson3", 3, stages=two_registers([0, -5 / 9, -153 / 128], [1 / 3, 15 / 16, 8 / 15]))

# M. H. Carpenter, C. A. Kennedy, Fourth-order 2N-storage Runge-Kutta schemes, NASA TM-109112 (1994).
CARPENTER_KENNEDY54 = tableau(
    "ck54",
    4,
    stages=two_registers(
        [
            0,
            -567301805773 / 1357537059087,
            -2404267990393 / 2016746695238,
            -3550918686646 / 2091501179385,
            -1275806237668 / 842570457699,
        ],
        [
            1432997174477 / 9575080441755,
            5161836677717 / 13612068292357,
            1720146321549 / 2090206949498,
            3134564353537 / 4481467310338,
            2277821191437 / 14882151754819,
        ],
    ),
    dense_order=4,
)

# RK4(3)5[2R+]C of Kennedy, Carpenter, Lewis 2000.
_B = [
    1153189308089 / 22510343858157,
    1772645290293 / 4653164025191,
    -1672844663538 / 4480602732383,
    2114624349019 / 3568978502595,
    5198255086312 / 14908931495163,
]
_B_HAT = [
    1016888040809 / 7410784769900,
    11231460423587 / 58533540763752,
    -1563879915014 / 6823010717585,
    606302364029 / 971179775848,
    1097981568119 / 3980877426909,
]
KENNEDY43 = tableau(
    "kcl43",
    4,
    stages=two_pointers(
        [
            970286171893 / 4311952581923,
            6584761158862 / 12103376702013,
            2251764453980 / 15575788980749,
            26877169314380 / 34165994151039,
        ],
        _B,
    ),
    error=[[b - other for b, other in zip(_B, _B_HAT)] + [0.0]],
    dense_order=4,
)
