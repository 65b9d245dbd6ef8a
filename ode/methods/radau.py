"""Radau IIA methods: collocation at the zeros of the Radau polynomial, implicit, L-stable, of order 2 s - 1.

The stages U_i = y + Z_i solve (1 / h) sum_j inverse_ij Z_j = f(t + c_i h, U_i), with the inverse of the Butcher matrix; the
last stage is the step. Newton's method is carried out in the eigenvectors of the inverse: one real system and (s - 1) / 2
complex ones of the size of y' = f in place of one of s times the size.

Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II (1996), IV.5 and IV.8; Stiff differential equations
solved by Radau methods, J. Comput. Appl. Math. 111 (1999) 93.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RadauTableau:
    """A Radau IIA method of s stages; ``radau_iia`` makes it."""

    name: str
    order: int
    c: NDArray[Any]
    """(s,): the times of the stages in units of the step."""
    inverse: NDArray[Any]
    """(s, s): the inverse of the Butcher matrix."""
    shift: float
    """The real eigenvalue of the inverse."""
    shifts: NDArray[Any]
    """((s - 1) / 2,): one of each pair of the other eigenvalues."""
    to_modes: NDArray[Any]
    """((s + 1) / 2, s): the left eigenvectors, that of ``shift`` first."""
    from_modes: NDArray[Any]
    """(s, (s + 1) / 2): the real part of a product with it undoes ``to_modes``."""
    error: NDArray[Any]
    """(s,): the weights of Z / h in the error estimate, which has f at the start of the step too."""
    interpolant: NDArray[Any]
    """(s, s): the collocation polynomial in Z, from theta^1 upwards."""


@dataclass(frozen=True, eq=False)
class RadauFamily:
    """Radau IIA methods of several orders, of which each step takes one: that which Newton's method converges well enough for.

    >>> [method.order for method in RADAU.methods]
    [5, 9, 13]
    """

    name: str
    methods: tuple[RadauTableau, ...]
    """From the lowest order up."""

    @property
    def order(self) -> int:
        """The lowest order."""
        return self.methods[0].order


def radau_iia(name: str, s: int) -> RadauTableau:
    """Make the method of an odd number of stages.

    >>> radau_iia("radau5", 3).c.round(4).tolist()
    [0.1551, 0.6449, 1.0]
    """
    c = _nodes(s)
    powers = c[:, None] ** np.arange(s)
    a = np.linalg.solve(powers.T, (powers * c[:, None] / np.arange(1, s + 1)).T).T
    inverse = np.linalg.inv(a)
    decomposed = np.linalg.eig(inverse)
    values, vectors = decomposed.eigenvalues.astype(complex), decomposed.eigenvectors.astype(complex)
    keep = np.argsort(np.imag(values))[s // 2 :]  # the real one and those with a positive imaginary part
    shifts = values[keep]
    shift = float(shifts[0].real)
    # The embedded formula of order s also takes f at the start of the step, with the weight 1 / shift.
    unit = np.eye(s)[0]
    difference = np.linalg.solve(powers.T, -unit / shift)
    return RadauTableau(
        name=name,
        order=2 * s - 1,
        c=c,
        inverse=inverse,
        shift=shift,
        shifts=shifts[1:],
        to_modes=np.linalg.inv(vectors)[keep],
        from_modes=vectors[:, keep] * np.where(np.arange(len(keep)) > 0, 2.0, 1.0),
        error=shift * difference @ inverse,
        interpolant=np.linalg.inv(powers * c[:, None]),
    )


def _nodes(s: int) -> NDArray[Any]:
    """Return the zeros of the derivative of order s - 1 of x^(s - 1) (x - 1)^s."""
    p = (Polynomial([0.0, 1.0]) ** (s - 1) * Polynomial([-1.0, 1.0]) ** s).deriv(s - 1)
    x = np.sort(p.roots().real)
    for _ in range(3):
        x = x - p(x) / p.deriv()(x)
    x[-1] = 1.0
    return x


RADAU5 = radau_iia("radau5", 3)
RADAU9 = radau_iia("radau9", 5)
RADAU13 = radau_iia("radau13", 7)
RADAU = RadauFamily("radau", (RADAU5, RADAU9, RADAU13))
