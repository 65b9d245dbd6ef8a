"""Methods for stochastic differential equations, as coefficients with the papers that they are from.

Two families of stochastic Runge-Kutta methods share the notation h for the step, W for the increments of the Brownian motions,
and f, g for drift and diffusion.

``RosslerTableau``, for Ito equations:
    H0_i = y + h sum_j A0_ij f(t + c0_j h, H0_j) + sum_j B0_ij g(t + c1_j h, H1_j) I10 / h
    H1_i = y + h sum_j A1_ij f(t + c0_j h, H0_j) + sqrt(h) sum_j B1_ij g(t + c1_j h, H1_j)
    y'   = y + h sum_i alpha_i f(t + c0_i h, H0_i) + sum_i (beta_1i W + beta_2i I11 / sqrt(h) + beta_3i I10 / h
             + beta_4i I111 / h) g(t + c1_i h, H1_i)
with I10 the integral of W over the step, I11 = (W^2 - h) / 2 and I111 = (W^3 - 3 h W) / 6.

``StratonovichTableau``: a Runge-Kutta method in which h f + g W takes the place of h f.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

ITO, STRATONOVICH = "ito", "stratonovich"
DIAGONAL, SCALAR, GENERAL = "diagonal", "scalar", "general"


Row = tuple[float, ...]
Matrix = tuple[Row, ...]


@dataclass(frozen=True)
class RosslerTableau:
    """A stochastic Runge-Kutta method of the form above with s stages; ``rossler`` makes it."""

    name: str
    order: float
    """The strong order of convergence."""
    A0: Matrix
    B0: Matrix
    A1: Matrix
    B1: Matrix
    """(s, s): the weights of the stages, strictly lower triangular."""
    alpha: Row
    """(s,): the weights of the drift."""
    beta: Matrix
    """(s, 4): the weights of the diffusion of each stage."""
    c0: Row
    c1: Row
    """(s,): the times of drift and diffusion in units of the step."""
    takes_drift: tuple[bool, ...]
    """(s,): whether the drift of a stage is used."""
    noises: tuple[str, ...]
    """The forms of noise for which the method has its order."""
    is_additive: bool = False
    """Whether the method needs a g that does not depend on y."""
    interpretation: str = field(default=ITO, init=False)


@dataclass(frozen=True)
class StratonovichTableau:
    """An explicit Runge-Kutta method for Stratonovich equations; order 1 if the noise commutes, else 1/2."""

    name: str
    a: Matrix
    """(s, s), strictly lower triangular."""
    b: Row
    """(s,): the weights."""
    c: Row
    """(s,): the times in units of the step."""
    order: float = 1.0
    interpretation: str = field(default=STRATONOVICH, init=False)
    noises: tuple[str, ...] = field(default=(DIAGONAL, SCALAR, GENERAL), init=False)
    is_additive: bool = field(default=False, init=False)


@dataclass(frozen=True)
class Milstein:
    """The method of G. N. Milstein (1975), with the derivative of g along g by forward mode; for both interpretations.

    P. E. Kloeden, E. Platen, Numerical Solution of Stochastic Differential Equations (1992), 10.3.
    """

    name: str = "milstein"
    order: float = 1.0
    interpretation: str = field(default="", init=False)
    noises: tuple[str, ...] = field(default=(DIAGONAL, SCALAR), init=False)
    is_additive: bool = field(default=False, init=False)


Method = RosslerTableau | StratonovichTableau | Milstein
Triangle = dict[tuple[int, int], float]


def rossler(
    name: str,
    order: float,
    alpha: list[float],
    beta: list[list[float]],
    A0: Triangle,
    B0: Triangle,
    A1: Triangle | None = None,
    B1: Triangle | None = None,
    c1: list[float] | None = None,
    is_additive: bool = False,
) -> RosslerTableau:
    """Make a ``RosslerTableau`` from the entries of its triangles, which are counted from 1 as in print.

    Args:
        name: what error messages call the method.
        order: its strong order.
        alpha: (s,) weights of the drift.
        beta: (4, s) weights of the diffusion; (2, s), those of W and I10, for additive noise.
        A0, B0, A1, B1: row and column -> entry; other entries are 0.
        c1: the times of the diffusion; by default the sums of the rows of A1.
        is_additive: whether g must not depend on y.

    Returns:
        A method for ``sdesolve``.

    Source: A. Rossler, Runge-Kutta methods for the strong approximation of solutions of stochastic differential equations,
    SIAM J. Numer. Anal. 48 (2010) 922.

    >>> rossler("euler_maruyama", 0.5, [1.0], [[1.0], [0.0]], A0={}, B0={}).order
    0.5
    """
    s = len(alpha)

    def filled(entries: Triangle | None) -> NDArray[np.float64]:
        matrix = np.zeros((s, s))
        for (row, column), value in (entries or {}).items():
            matrix[row - 1, column - 1] = value
        return matrix

    weights = np.zeros((4, s))
    weights[[0, 2] if len(beta) == 2 else [0, 1, 2, 3]] = beta
    first, second, third, fourth = filled(A0), filled(B0), filled(A1), filled(B1)
    is_used = np.array(alpha, dtype=bool) | first.any(0) | third.any(0)
    return RosslerTableau(
        name=name,
        order=order,
        A0=_rows(first),
        B0=_rows(second),
        A1=_rows(third),
        B1=_rows(fourth),
        alpha=tuple(map(float, alpha)),
        beta=_rows(weights.T),
        c0=tuple(first.sum(1).tolist()),
        c1=tuple(map(float, c1)) if c1 is not None else tuple(third.sum(1).tolist()),
        takes_drift=tuple(is_used.tolist()),
        noises=(DIAGONAL, SCALAR) if B1 else (DIAGONAL, SCALAR, GENERAL),
        is_additive=is_additive,
    )


def _rows(matrix: NDArray[np.float64]) -> Matrix:
    return tuple(map(tuple, matrix.tolist()))


# G. Maruyama, Rend. Circ. Mat. Palermo 4 (1955) 48.
EULER_MARUYAMA = rossler("euler_maruyama", 0.5, [1.0], [[1.0], [0.0]], A0={}, B0={})

# A. Rossler (2010), SRI1W1 and SRI2W1; tables 6.1 and 6.2.
SRIW1 = rossler(
    "sriw1",
    1.5,
    alpha=[1 / 3, 2 / 3, 0, 0],
    beta=[[-1, 4 / 3, 2 / 3, 0], [-1, 4 / 3, -1 / 3, 0], [2, -4 / 3, -2 / 3, 0], [-2, 5 / 3, -2 / 3, 1]],
    A0={(2, 1): 3 / 4},
    B0={(2, 1): 3 / 2},
    A1={(2, 1): 1 / 4, (3, 1): 1, (4, 3): 1 / 4},
    B1={(2, 1): 1 / 2, (3, 1): -1, (4, 1): -5, (4, 2): 3, (4, 3): 1 / 2},
)
SRIW2 = rossler(
    "sriw2",
    1.5,
    alpha=[1 / 6, 1 / 6, 2 / 3, 0],
    beta=[[-1, 4 / 3, 2 / 3, 0], [1, -4 / 3, 1 / 3, 0], [2, -4 / 3, -2 / 3, 0], [-2, 5 / 3, -2 / 3, 1]],
    A0={(2, 1): 1, (3, 1): 1 / 4, (3, 2): 1 / 4},
    B0={(3, 1): 1, (3, 2): 1 / 2},
    A1={(2, 1): 1 / 4, (3, 1): 1, (4, 3): 1 / 4},
    B1={(2, 1): -1 / 2, (3, 1): 1, (4, 1): 2, (4, 2): -1, (4, 3): 1 / 2},
)

# C. Rackauckas, Q. Nie, Stability-optimized high order methods and stiffness detection for pathwise stiff stochastic
# differential equations, IEEE HPEC (2020): large regions of stability.
SOSRI = rossler(
    "sosri",
    1.5,
    alpha=[1.140099274172029, -0.6401334255743456, 0.4736296532772559, 0.026404498125060714],
    beta=[
        [-1.8453464565104432, 2.688764531100726, -0.2523866501071323, 0.40896857551684956],
        [0.4969658141589478, -0.5771202869753592, -0.12919702470322217, 0.2093514975196336],
        [2.8453464565104425, -2.688764531100725, 0.2523866501071322, -0.40896857551684945],
        [0.11522663875443433, -0.57877086147738, 0.2857851028163886, 0.17775911990655704],
    ],
    A0={
        (2, 1): -0.04199224421316468, (3, 1): 2.842612915017106, (3, 2): -2.0527723684000727,
        (4, 1): 4.338237071435815, (4, 2): -2.8895936137439793, (4, 3): 2.3017575594644466,
    },
    B0={
        (2, 1): -0.21641093549612528, (3, 1): 1.5336352863679572, (3, 2): 0.26066223492647056,
        (4, 1): -1.0536037558179159, (4, 2): 1.7015284721089472, (4, 3): -0.20725685784180017,
    },
    A1={
        (2, 1): 0.26204282091330466, (3, 1): 0.20903646383505375, (3, 2): -0.1502377115150361,
        (4, 1): 0.05836595312746999, (4, 2): 0.6149440396332373, (4, 3): 0.08535117634046772,
    },
    B1={
        (2, 1): -0.5119011827621657, (3, 1): 2.67767339866713, (3, 2): -4.9395031322250995,
        (4, 1): 0.15580956238299215, (4, 2): 3.2361551006624674, (4, 3): -1.4223118283355949,
    },
)  # fmt: skip

# A. Rossler (2010), SRA1 and SRA3; table 6.3.
SRA1 = rossler(
    "sra1",
    1.5,
    alpha=[1 / 3, 2 / 3],
    beta=[[1, 0], [-1, 1]],
    A0={(2, 1): 3 / 4},
    B0={(2, 1): 3 / 2},
    c1=[1, 0],
    is_additive=True,
)
SRA3 = rossler(
    "sra3",
    1.5,
    alpha=[1 / 6, 1 / 6, 2 / 3],
    beta=[[1, 0, 0], [-1, 1, 0]],
    A0={(2, 1): 1, (3, 1): 1 / 4, (3, 2): 1 / 4},
    B0={(3, 1): 1, (3, 2): 1 / 2},
    c1=[1, 0, 0],
    is_additive=True,
)
# C. Rackauckas, Q. Nie (2020).
SOSRA = rossler(
    "sosra",
    1.5,
    alpha=[0.2889874966892885, 0.6859880440839937, 0.025024459226717772],
    beta=[
        [-16.792534242221663, 17.514995785380226, 0.27753845684143835],
        [0.4237535769069274, 0.6010381474428539, -1.0247917243497813],
    ],
    A0={(2, 1): 0.6923962376159507, (3, 1): -3.1609142252828395, (3, 2): 4.1609142252828395},
    B0={(2, 1): 1.3371632704399763, (3, 1): 1.442371048468624, (3, 2): 1.8632741501139225},
    c1=[0, 0.041248171110700504, 1],
    is_additive=True,
)

# W. Rumelin, SIAM J. Numer. Anal. 19 (1982) 604.
STOCHASTIC_HEUN = StratonovichTableau("heun", ((0.0, 0.0), (1.0, 0.0)), (0.5, 0.5), (0.0, 1.0))
STOCHASTIC_MIDPOINT = StratonovichTableau("midpoint", ((0.0, 0.0), (0.5, 0.0)), (0.0, 1.0), (0.0, 0.5))
MILSTEIN = Milstein()

METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        EULER_MARUYAMA, MILSTEIN, SRIW1, SRIW2, SOSRI, SRA1, SRA3, SOSRA, STOCHASTIC_HEUN, STOCHASTIC_MIDPOINT,
    )
}  # fmt: skip
"""The name of a method -> its coefficients."""
