"""The Jacobian of f in the forms that implicit methods use, and the linear systems with it.

A form has the matrix's structure: ``DenseJacobian`` and ``BandedJacobian`` are found by forward mode, ``GivenJacobian`` is
the user's. Each has ``entries(rhs, t, y)``, the numbers of J in an array of its own kind, and from these

    solver(entries, shift, is_transposed)               of (shift - J) x = b, or (shift - J^T) x = b
    coupled(entries, mixing, is_transposed)             of sum_j mixing_ij x_j - J_i x_i = b_i, or with J_i^T

where ``mixing`` is (s, s), the entries of the last are those of s Jacobians (s, ...), and x and b are (s, n). All are
differentiable like the rest of a step. A shift may be complex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve, solve_banded

from ..core import BadInput, jacfwd

VectorField = Callable[[float, NDArray[Any]], NDArray[Any]]
Solver = Callable[[NDArray[Any]], NDArray[Any]]

SMALL = 16
"""Up to this many components, the inverse is formed: its products need no call of LAPACK."""


class DenseJacobian:
    """The Jacobian by forward mode, one run of f for each component."""

    def entries(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return J (n, n)."""
        return jacfwd(lambda y: rhs(t, y))(y)

    def solver(self, entries: NDArray[Any], shift: Any, is_transposed: bool) -> Solver:
        n = len(entries)
        matrix = shift * np.eye(n, dtype=entries.dtype) - entries
        if n <= SMALL:
            inverse = np.linalg.inv(matrix)
            if is_transposed:
                inverse = inverse.T
            return lambda b: np.dot(inverse, b)
        factors = lu_factor(matrix, check_finite=False)
        return lambda b: lu_solve(factors, b, 1 if is_transposed else 0, check_finite=False)

    def coupled(self, entries: NDArray[Any], mixing: NDArray[Any], is_transposed: bool) -> Solver:
        s, n = entries.shape[:2]
        blocks = mixing[:, None, :, None] * np.eye(n)[None, :, None, :]
        for i in range(s):
            blocks[i, :, i, :] -= entries[i].T if is_transposed else entries[i]
        matrix = blocks.reshape(s * n, s * n)
        return lambda b: np.linalg.solve(matrix, b.reshape(-1)).reshape(b.shape)


class GivenJacobian(DenseJacobian):
    """The user's function of the Jacobian.

    function: ``function(t, y, *args)`` returns (n, n) for a state that is a vector (n,). args: of the user's f.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function, self.args = function, args

    def entries(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
        found = np.asarray(self.function(t, y, *self.args))
        if found.shape != (len(y), len(y)):
            raise BadInput(
                f"jacobian returned shape {found.shape}; the state has {len(y)} components: expected {(len(y),) * 2}"
            )
        return found.astype(y.dtype)


class BandedJacobian:
    """A Jacobian with few diagonals, by lower + upper + 1 runs of f: columns that share no row are found in one.

    lower, upper: the numbers of diagonals below and above the main one.

    Source: A. R. Curtis, M. J. D. Powell, J. K. Reid, On the estimation of sparse Jacobian matrices, IMA J. Appl. Math.
    13 (1974) 117.
    """

    def __init__(self, lower: int, upper: int) -> None:
        self.lower, self.upper = lower, upper

    def entries(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of columns that are lower + upper + 1 apart, (n, lower + upper + 1)."""
        groups = self.lower + self.upper + 1
        seeds = (np.arange(len(y)) % groups == np.arange(groups)[:, None]).astype(y.dtype)
        return jacfwd(lambda e: rhs(t, y + np.dot(e, seeds)))(np.zeros(groups, y.dtype))

    def bands(self, entries: NDArray[Any], is_transposed: bool) -> NDArray[Any]:
        """Return the diagonals of J or J^T in the form of ``scipy.linalg.solve_banded``, (lower + upper + 1, n)."""
        n, groups = len(entries), self.lower + self.upper + 1
        here = np.arange(n)
        if is_transposed:
            there = here + np.arange(-self.lower, self.upper + 1)[:, None]
            rows, columns = np.broadcast_to(here, there.shape), there
        else:
            there = here + np.arange(-self.upper, self.lower + 1)[:, None]
            rows, columns = there, np.broadcast_to(here, there.shape)
        return np.where((there >= 0) & (there < n), entries[np.clip(rows, 0, n - 1), columns % groups], 0.0)

    def solver(self, entries: NDArray[Any], shift: Any, is_transposed: bool) -> Solver:
        below, above = (self.upper, self.lower) if is_transposed else (self.lower, self.upper)
        diagonal = (np.arange(below + above + 1) == above).astype(entries.dtype)
        bands = (shift * diagonal)[:, None] - self.bands(entries, is_transposed)
        return lambda b: solve_banded((below, above), bands, b, check_finite=False)

    def coupled(self, entries: NDArray[Any], mixing: NDArray[Any], is_transposed: bool) -> Solver:
        """The unknowns are taken component by component, which keeps the matrix banded."""
        s, n = entries.shape[:2]
        below, above = (self.upper, self.lower) if is_transposed else (self.lower, self.upper)
        wide = above * s + s - 1
        bands = np.zeros(((below + above) * s + 2 * s - 1, n, s))
        for j in range(s):
            for i in range(s):
                bands[wide + i - j, :, j] += mixing[i, j]
            own = self.bands(entries[j], is_transposed)
            for k in range(below + above + 1):
                bands[wide + (k - above) * s, :, j] -= own[k]
        flat = bands.reshape(-1, n * s)
        widths = (below * s + s - 1, wide)
        return lambda b: solve_banded(widths, flat, b.T.reshape(-1), check_finite=False).reshape(n, s).T


def jacobian_of(given: Any, args: tuple[Any, ...], size: int, is_vector: bool) -> Any:
    """Return the form for the argument ``jacobian`` of ``odesolve``."""
    if given is None:
        return DenseJacobian()
    if callable(given):
        if not is_vector:
            raise BadInput("jacobian is a function, which needs a state that is a vector (n,); give y0 as a vector")
        return GivenJacobian(given, args)
    if (
        isinstance(given, tuple)
        and len(given) == 2
        and all(isinstance(k, int) and 0 <= k < max(size, 1) for k in given)
    ):
        return BandedJacobian(*given)
    raise BadInput(
        f"jacobian is {given!r}; expected None, a function jacobian(t, y, *args) that returns (n, n), or the numbers of "
        f"diagonals (lower, upper) below and above the main one, each from 0 to {size - 1}"
    )
