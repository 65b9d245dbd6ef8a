"""The Jacobian of f in the forms that implicit methods use, and the linear systems with it.

A form has the matrix's structure: ``DenseJacobian`` and ``BandedJacobian`` are found by forward mode, ``GivenJacobian`` is
the user's. Each returns the solver of (shift - J) x = b, which is differentiable like the rest of a step.
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

    def matrix(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return J (n, n)."""
        return jacfwd(lambda y: rhs(t, y))(y)

    def solver(self, rhs: VectorField, t: float, y: NDArray[Any], shift: Any, is_transposed: bool) -> Solver:
        """Return the function that solves (shift - J) x = b, or (shift - J^T) x = b."""
        matrix = shift * np.eye(len(y), dtype=y.dtype) - self.matrix(rhs, t, y)
        if len(y) <= SMALL:
            inverse = np.linalg.inv(matrix)
            if is_transposed:
                inverse = inverse.T
            return lambda b: np.dot(inverse, b)
        factors = lu_factor(matrix, check_finite=False)
        return lambda b: lu_solve(factors, b, 1 if is_transposed else 0, check_finite=False)


class GivenJacobian(DenseJacobian):
    """The user's function of the Jacobian.

    function: ``function(t, y, *args)`` returns (n, n) for a state that is a vector (n,). args: of the user's f.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function, self.args = function, args

    def matrix(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
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

    def bands(self, rhs: VectorField, t: float, y: NDArray[Any], is_transposed: bool) -> NDArray[Any]:
        """Return the diagonals of J or J^T in the form of ``scipy.linalg.solve_banded``, (lower + upper + 1, n)."""
        n, groups = len(y), self.lower + self.upper + 1
        here = np.arange(n)
        seeds = (here % groups == np.arange(groups)[:, None]).astype(y.dtype)
        compressed = jacfwd(lambda e: rhs(t, y + np.dot(e, seeds)))(np.zeros(groups, y.dtype))
        if is_transposed:
            there = here + np.arange(-self.lower, self.upper + 1)[:, None]
            rows, columns = np.broadcast_to(here, there.shape), there
        else:
            there = here + np.arange(-self.upper, self.lower + 1)[:, None]
            rows, columns = there, np.broadcast_to(here, there.shape)
        entries = compressed[np.clip(rows, 0, n - 1), columns % groups]
        return np.where((there >= 0) & (there < n), entries, 0.0)

    def solver(self, rhs: VectorField, t: float, y: NDArray[Any], shift: Any, is_transposed: bool) -> Solver:
        """Return the function that solves (shift - J) x = b, or (shift - J^T) x = b."""
        below, above = (self.upper, self.lower) if is_transposed else (self.lower, self.upper)
        diagonal = (np.arange(below + above + 1) == above).astype(y.dtype)
        bands = (shift * diagonal)[:, None] - self.bands(rhs, t, y, is_transposed)
        return lambda b: solve_banded((below, above), bands, b, check_finite=False)


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
