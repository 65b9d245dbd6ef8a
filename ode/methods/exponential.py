"""Exponential Rosenbrock methods: the linear part of f at the start of a step is solved exactly, by functions phi_k of h J.

With J = f_y and v = f_t at the start of the step, and D_j = f(t + c_j h, U_j) - f - J (U_j - y) - c_j h v, stage i is

    U_i = y + c_i h phi_1(c_i h J) f + (c_i h)^2 phi_2(c_i h J) v + h sum_(j < i) sum_k a_ijk phi_k(c_i h J) D_j,

and the step is the same with c = 1 and weights b_jk. phi_1(z) = (e^z - 1) / z, phi_(k + 1)(z) = (phi_k(z) - 1 / k!) / z.

Source: M. Hochbruck, A. Ostermann, J. Schweitzer, Exponential Rosenbrock-type methods, SIAM J. Numer. Anal. 47 (2009) 786.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HIGHEST = 4
"""The highest k of phi_k."""


@dataclass(frozen=True, eq=False)
class ExponentialTableau:
    """An exponential Rosenbrock method of s stages besides y; ``exponential`` makes it."""

    name: str
    order: int
    error_order: int
    """The power of h to which the error estimate is proportional."""
    c: NDArray[np.float64]
    """(s,): the times of the stages in units of the step."""
    a: NDArray[np.float64]
    """(s, s, 4): the weights a_ijk."""
    b: NDArray[np.float64]
    """(s, 4): the weights b_jk."""
    error: NDArray[np.float64]
    """(s, 4): the weights of the error estimate."""


Weights = Sequence[Sequence[float]]


def exponential(
    name: str, order: int, c: Sequence[float], a: Sequence[Weights], b: Weights, error: Weights, error_order: int = 0
) -> ExponentialTableau:
    """Make an ``ExponentialTableau``.

    Args:
        name, order: of the method.
        c: (s,) the times of its stages.
        a: of the second and later stages, (i, 4) weights of phi_1 to phi_4 for the stages before it.
        b, error: (s, 4) such weights in the step and in the error estimate.
        error_order: the power of h to which the error estimate is proportional; ``order`` by default.

    Returns:
        A method for ``odesolve``.

    >>> exponential("exprb32", 3, [1.0], [], b=[[0, 0, 2, 0]], error=[[0, 0, 2, 0]]).a.shape
    (1, 1, 4)
    """
    s = len(c)
    stages = np.zeros((s, s, HIGHEST))
    for i, rows in enumerate(a):
        stages[i + 1, : i + 1] = rows
    return ExponentialTableau(
        name,
        order,
        error_order or order,
        np.array(c, dtype=float),
        stages,
        np.array(b, dtype=float),
        np.array(error, dtype=float),
    )


EXPRB32 = exponential("exprb32", 3, [1.0], [], b=[[0, 0, 2, 0]], error=[[0, 0, 2, 0]])
EXPRB43 = exponential(
    "exprb43",
    4,
    [0.5, 1.0],
    [[[1, 0, 0, 0]]],
    b=[[0, 0, 16, -48], [0, 0, -2, 12]],
    error=[[0, 0, 0, -48], [0, 0, 0, 12]],
)
