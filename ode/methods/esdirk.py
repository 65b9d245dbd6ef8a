"""Diagonally implicit Runge-Kutta methods with an explicit first stage, whose last stage is the step.

Stage i solves u_i = y + h sum_(j < i) a_ij k_j + h gamma f(t + c_i h, u_i), and the step is the last u; so L-stable methods
damp stiff components at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class EsdirkTableau:
    """An ESDIRK method of s stages, the first of which is explicit; ``esdirk`` makes it."""

    name: str
    order: int
    error_order: int
    """The power of h to which the error estimate is proportional."""
    gamma: float
    a: NDArray[np.float64]
    """(s, s): strictly lower triangular."""
    c: NDArray[np.float64]
    """(s,): the times of the stages in units of the step."""
    error: NDArray[np.float64]
    """(s,): the weights of the error estimate; empty for a method with fixed steps only."""


def esdirk(
    name: str, order: int, gamma: float, a: Sequence[Sequence[float]], error: Sequence[float] = (), error_order: int = 0
) -> EsdirkTableau:
    """Make an ``EsdirkTableau``.

    Args:
        name, order, gamma: of the method; gamma is the diagonal of all stages but the first.
        a: the rows of the second and later stages, left of the diagonal; the last one is that of the step.
        error: (s,) weights of the error estimate; none for fixed steps only.
        error_order: the power of h to which the estimate is proportional; ``order`` by default.

    Returns:
        A method for ``odesolve``.

    Source: C. A. Kennedy, M. H. Carpenter, Diagonally implicit Runge-Kutta methods for ordinary differential equations: a
    review, NASA TM-2016-219173.

    >>> esdirk("trapezoid", 2, 0.5, [[0.5]]).c.tolist()
    [0.0, 1.0]
    """
    s = len(a) + 1
    matrix = np.zeros((s, s))
    for i, row in enumerate(a):
        matrix[i + 1, : len(row)] = row
    c = matrix.sum(axis=1) + np.append(0.0, np.full(s - 1, gamma))
    c[-1] = 1.0
    return EsdirkTableau(name, order, error_order or order, gamma, matrix, c, np.array(error, dtype=float))


# The estimate is the difference from the trapezoidal rule.
IMPLICIT_EULER = esdirk("implicit_euler", 1, 1.0, a=[[0]], error=[-0.5, 0.5], error_order=2)

TRAPEZOID = esdirk("trapezoid", 2, 0.5, a=[[0.5]])

# R. E. Bank et al., Transient simulation of silicon devices and circuits, IEEE Trans. CAD 4 (1985) 436; M. E. Hosea, L. F.
# Shampine, Analysis and implementation of TR-BDF2, Appl. Numer. Math. 20 (1996) 21, with its embedded method of order 3.
_G = 1 - sqrt(2) / 2
TRBDF2 = esdirk(
    "trbdf2", 2, _G,
    a=[[_G], [sqrt(2) / 4, sqrt(2) / 4]],
    error=[(1 - sqrt(2) / 4) / 3 - sqrt(2) / 4, (3 * sqrt(2) / 4 + 1) / 3 - sqrt(2) / 4, _G / 3 - _G],
    error_order=3,
)  # fmt: skip

# A. Kvaerno, Singly diagonally implicit Runge-Kutta methods with an explicit first stage, BIT 44 (2004) 489.
KVAERNO3 = esdirk(
    "kvaerno3", 3, 0.4358665215,
    a=[
        [0.4358665215],
        [0.4905633884191082, 0.0735700900808919],
        [0.30880996997303606, 1.490563388254108, -1.2352398797271447],
    ],
    error=[-0.18175341844607212, 1.416993298173216, -1.6711064012271446, 0.4358665215],
)  # fmt: skip

KVAERNO4 = esdirk(
    "kvaerno4", 4, 0.5728160625,
    a=[
        [0.5728160625],
        [0.16723546204189954, -0.14294653686128728],
        [0.26260329027397794, -0.3119043274147849, 0.4764849746408077],
        [0.1972165483210286, 0.1768437839066134, 0.8154421814035516, -0.762318576131193],
    ],
    error=[-0.06538674195294933, 0.4887481113213983, 0.33895720676274393, -1.3351346386311929, 0.5728160625],
)  # fmt: skip

KVAERNO5 = esdirk(
    "kvaerno5", 5, 0.26,
    a=[
        [0.26],
        [0.13, 0.8403332099679081],
        [0.22371961478320504, 0.476755323197997, -0.06470895363112615],
        [0.16648564323248322, 0.1045001884159172, 0.03631482272098715, -0.13090704451073998],
        [0.13855640231268224, 0, -0.04245337201752043, 0.02446657898003141, 0.6194303907248068],
        [0.13659751177640292, 0, -0.05496908796538376, -0.04118626728321046, 0.629933048990164, 0.06962479448202728],
    ],
    error=[-0.0019588905362793174, 0, -0.012515715947863326, -0.06565284626324187, 0.010502658265357234,
     -0.1903752055179727, 0.26],
)  # fmt: skip

# C. A. Kennedy, M. H. Carpenter, Additive Runge-Kutta schemes for convection-diffusion-reaction equations, Appl. Numer.
# Math. 44 (2003) 139: the implicit parts of ARK3(2)4L[2]SA, ARK4(3)6L[2]SA and ARK5(4)8L[2]SA.
KENCARP3 = esdirk(
    "kencarp3", 3, 0.435866521508459,
    a=[
        [0.435866521508459],
        [0.2576482460664272, -0.09351476757488625],
        [0.18764102434672383, -0.595297473576955, 0.9717899277217721],
    ],
    error=[-0.02709926187666531, -0.11013520969201585, 0.10306492520138455, 0.03416954636729658],
)  # fmt: skip

KENCARP4 = esdirk(
    "kencarp4", 4, 0.25,
    a=[
        [0.25],
        [0.137776, -0.055776],
        [0.14463686602698217, -0.22393190761334475, 0.4492950415863626],
        [0.09825878328356477, -0.5915442428196704, 0.8101210538282996, 0.283164405707806],
        [0.15791629516167136, 0, 0.18675894052400077, 0.6805652953093346, -0.27524053099500667],
    ],
    error=[0.0032044943984591845, 0, -0.002446251136679456, -0.021480075919587227, 0.04394686806857245,
     -0.02322503541076487],
)  # fmt: skip

KENCARP5 = esdirk(
    "kencarp5", 5, 0.205,
    a=[
        [0.205],
        [0.1025, -0.047570415551619845],
        [0.07389944079200692, 0, -0.08074895409950329],
        [0.299218118308015, 0, 2.4638206661140414, -2.0480387844220567],
        [0.14689238442881303, 0, 0.11740332879881549, -0.221701968002454, -0.007593745225174481],
        [0.17845729560319554, 0, 1.0197467452199207, -0.22154535039396367, -0.03612491620526532, -0.5455337742259782],
        [-0.09554858675139874, 0, 0, 2.3386928037652464, -0.14043175608247527, -2.070587707956559,
         0.7628752470251866],
    ],
    error=[0.004028378053609991, 0, 0, -0.0684700762345285, 0.019716427003038328, 0.07364888848796758,
     -0.016690375399811663, -0.01223324191027586],
)  # fmt: skip
