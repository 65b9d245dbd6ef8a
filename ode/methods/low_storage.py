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

# RK5(4)9[2R+]C of Kennedy, Carpenter, Lewis 2000.
_B5 = [
    1051460336009 / 14326298067773,
    930517604889 / 7067438519321,
    -311910530565 / 11769786407153,
    -410144036239 / 7045999268647,
    16692278975653 / 83604524739127,
    3777666801280 / 13181243438959,
    286682614203 / 12966190094317,
    3296161604512 / 22629905347183,
    2993490409874 / 13266828321767,
]
_B5_HAT = [
    3189770262221 / 35077884776239,
    780043871774 / 11919681558467,
    -483824475979 / 5387739450692,
    1306553327038 / 9528955984871,
    6521106697498 / 22565577506855,
    1400555694605 / 19784728594468,
    1183541508418 / 13436305181271,
    3036254792728 / 15493572606329,
    638483435745 / 4187244659458,
]
KENNEDY54 = tableau(
    "kcl54",
    5,
    stages=two_pointers(
        [
            2756167973529 / 16886029417639,
            11436141375279 / 13592993952163,
            88551658327 / 2352971381260,
            1882111988787 / 5590444193957,
            846820081679 / 4754706910573,
            4475289710031 / 6420120086209,
            1183947748311 / 9144450320350,
            3307377157135 / 13111544596386,
        ],
        _B5,
    ),
    error=[[b - other for b, other in zip(_B5, _B5_HAT)] + [0.0]],
    dense_order=5,
)

# M. Calvo, J. M. Franco, L. Randez, A new minimum storage Runge-Kutta scheme for computational acoustics, J. Comput. Phys.
# 201 (2004) 1. Stage i + 1 is y + h (b_1 k_1 + ... + b_i k_i) + h a_(i + 1) k_i, in print.
_A6 = [0.17985400977138, 0.14081893152111, 0.08255631629428, 0.65804425034331, 0.31862993413251]
_B6 = [0.10893125722541, 0.13201701492152, 0.38911623225517, -0.59203884581148, 0.47385028714844, 0.48812405426094]
CALVO64 = tableau("cfrlddrk64", 4, stages=two_pointers([a + b for a, b in zip(_A6, _B6)], _B6), dense_order=4)
