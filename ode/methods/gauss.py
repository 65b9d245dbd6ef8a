"""Gauss methods: collocation at the zeros of the Legendre polynomial, implicit, symmetric and symplectic, of order 2 s.

They conserve quadratic invariants to rounding, and the energy of a Hamiltonian system does not drift, separable or not.
The stages U_i = y + Z_i solve (1 / h) sum_j inverse_ij Z_j = f(t + c_i h, U_i), as those of the Radau methods do.

Source: E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2nd edition, Springer 2006, II.1.3, IV.2, VI.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class GaussTableau:
    """A Gauss method of s stages; ``gauss`` makes it."""

    name: str
    order: int
    c: NDArray[Any]
    """(s,): the times of the stages in units of the step."""
    inverse: NDArray[Any]
    """(s, s): the inverse of the Butcher matrix."""
    interpolant: NDArray[Any]
    """(s, s): the collocation polynomial in Z, from theta^1 upwards."""
    error: tuple[()] = ()
    """There is no error estimate: symplectic methods take equal steps."""


def gauss(name: str, s: int) -> GaussTableau:
    """Make the method of s stages.

    >>> gauss("implicit_midpoint", 1).c.tolist()
    [0.5]
    """
    c = (1 + np.polynomial.legendre.leggauss(s)[0]) / 2
    powers = c[:, None] ** np.arange(s)
    a = np.linalg.solve(powers.T, (powers * c[:, None] / np.arange(1, s + 1)).T).T
    return GaussTableau(name, 2 * s, c, np.linalg.inv(a), np.linalg.inv(powers * c[:, None]))


IMPLICIT_MIDPOINT = gauss("implicit_midpoint", 1)
GAUSS4 = gauss("gauss4", 2)
GAUSS6 = gauss("gauss6", 3)
