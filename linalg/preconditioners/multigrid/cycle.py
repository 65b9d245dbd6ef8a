"""The multigrid cycle: smooth the error on each grid, and correct what is smooth from the next coarser one.

U. Trottenberg, C.W. Oosterlee and A. Schueller, Multigrid (2001), section 2.4; the smoother is Chebyshev's polynomial in
D^-1 A, as in M. Adams, M. Brezina, J. Hu and R. Tuminaro, "Parallel multigrid smoothing: polynomial versus Gauss-Seidel",
J. Comput. Phys. 188 (2003) 593-610. It uses products only, is symmetric if A is, and is Jacobi's method for degree 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ....core import BadInput, MorulaError
from ...operators import LinearOperator, Sparse, as_operator
from ...operators.linear_operator import columns_times

CYCLES = ("V", "W", "F")
COARSEST = 400
"""Matrices of at most so many rows are inverted as dense ones."""
LARGEST_DENSE = 4000
SMOOTHED = 0.3
"""The smoother damps the eigenvalues of D^-1 A above this part of the largest."""


@dataclass
class Level:
    """One grid of a hierarchy, with the ways to and from the next coarser one."""

    A: LinearOperator
    """The matrix of this grid, (n, n)."""
    inverse_diagonal: Any
    """1 / diag(A), and 0 where the diagonal is zero, (n,)."""
    bound: Any
    """An upper bound of the eigenvalues of D^-1 A."""
    prolongation: LinearOperator
    """From the coarser grid to this one, (n, m)."""
    restriction: LinearOperator
    """From this grid to the coarser one, (m, n)."""

    def transposed(self) -> Level:
        return Level(self.A.T, self.inverse_diagonal, self.bound, self.restriction.T, self.prolongation.T)


class Multigrid(LinearOperator):
    """One multigrid cycle from x = 0, as an operator (n, n) that approximates the inverse of a matrix.

    Use it as ``preconditioner=`` of an iterative method; with ``richardson`` it is a solver of its own. It runs in compiled
    code, is constant in derivatives, and is Hermitian if the matrix is.

    Args:
        levels: the grids from the finest to the one before the coarsest.
        coarsest: the inverse of the coarsest matrix, a dense array.
        cycle: ``"V"`` visits each coarser grid once, ``"W"`` twice, ``"F"`` once and then by a V cycle.
        degree: the degree of the smoothing polynomial before and after each correction; 1 is damped Jacobi.

    Raises:
        BadInput: the cycle is unknown or the degree is not positive.

    Source: Trottenberg, Oosterlee and Schueller (2001), section 2.4.

    >>> from morula.linalg import cg, tridiagonal
    >>> from morula.linalg.preconditioners import geometric_multigrid
    >>> A = tridiagonal(np.full(998, -1.0), np.full(999, 2.0), np.full(998, -1.0))
    >>> matrix = csr_array(A.todense())
    >>> cg(A, np.ones(999), preconditioner=geometric_multigrid(matrix, (999,))).iterations < 12
    True
    """

    def __init__(self, levels: list[Level], coarsest: Any, cycle: str = "V", degree: int = 2) -> None:
        if cycle not in CYCLES:
            raise BadInput(f'multigrid: cycle is {cycle!r}, expected "V", "W" or "F"')
        if degree < 1:
            raise BadInput(f"multigrid: degree is {degree!r}, expected a positive int")
        self.levels, self.coarsest, self.cycle, self.degree = levels, coarsest, cycle, degree

    @property
    def shape(self) -> tuple[int, int]:
        return self.levels[0].A.shape if self.levels else self.coarsest.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.coarsest.dtype

    @property
    def sizes(self) -> list[int]:
        """The numbers of unknowns of the grids, from the finest to the coarsest."""
        return [level.A.shape[0] for level in self.levels] + [self.coarsest.shape[0]]

    @property
    def operator_complexity(self) -> float:
        """The stored entries of all matrices, as a multiple of those of the finest."""
        entries = [level.A.data.shape[0] for level in self.levels if isinstance(level.A, Sparse)]
        return (sum(entries) + self.coarsest.size) / (entries[0] if entries else self.coarsest.size)

    def matvec(self, x: Any) -> Any:
        return self._corrected(0, x, self.cycle)

    def matmat(self, x: Any) -> Any:
        return self._corrected(0, x, self.cycle)

    def transpose(self) -> LinearOperator:
        turned = [level.transposed() for level in self.levels]
        return Multigrid(turned, np.transpose(self.coarsest), self.cycle, self.degree)

    def _corrected(self, k: int, b: Any, cycle: str) -> Any:
        """Return the approximate solution of A x = b on the k-th grid."""
        if k == len(self.levels):
            return self.coarsest @ b
        level = self.levels[k]
        x, residual = self._smoothed(level, b)
        coarse = level.restriction @ residual
        e = self._corrected(k + 1, coarse, cycle)
        if cycle != "V" and k + 1 < len(self.levels):
            again = coarse - self.levels[k + 1].A @ e
            e = e + self._corrected(k + 1, again, "W" if cycle == "W" else "V")
        correction = level.prolongation @ e
        more, _ = self._smoothed(level, residual - level.A @ correction, last=True)
        return x + correction + more

    def _smoothed(self, level: Level, b: Any, last: bool = False) -> tuple[Any, Any]:
        """Return the polynomial in D^-1 A times D^-1 b, and the residual unless it is the ``last`` smoothing."""
        high, low = level.bound, SMOOTHED * level.bound
        middle, radius = (high + low) / 2.0, (high - low) / 2.0
        rho = radius / middle
        step = columns_times(level.inverse_diagonal, b) / middle
        x, residual = step, b
        for _ in range(1, self.degree):
            residual = residual - level.A @ step
            following = 1.0 / (2.0 * middle / radius - rho)
            step = (following * rho) * step + columns_times(level.inverse_diagonal, residual) * (
                2.0 * following / radius
            )
            x, rho = x + step, following
        return x, residual if last else residual - level.A @ step


def level_of(A: Any, P: Any) -> Level:
    """Return the level of a CSR matrix with this prolongation; it restricts by the conjugate transpose."""
    inverse = inverse_of_diagonal(A)
    return Level(operator(A), inverse, largest_eigenvalue(A, inverse), operator(P), operator(csr_array(P.conj().T)))


def operator(matrix: Any) -> LinearOperator:
    return as_operator(csr_array(matrix))


def inverse_of_diagonal(A: Any) -> Any:
    diagonal = A.diagonal()
    return np.where(diagonal != 0, 1.0 / np.where(diagonal != 0, diagonal, 1.0), 0.0)


def largest_eigenvalue(A: Any, inverse_diagonal: Any) -> float:
    """Return an upper bound of the eigenvalues of D^-1 A: by powers with a margin, at most the largest row sum."""
    sums = np.abs(inverse_diagonal) * (abs(A) @ np.ones(A.shape[1]))
    v = np.cos(np.arange(1.0, A.shape[0] + 1) ** 2)
    found = 0.0
    for _ in range(15):
        v = inverse_diagonal * (A @ v)
        found = float(np.linalg.norm(v))
        if not found > 0.0:
            return 1.0
        v = v / found
    return min(1.1 * found, float(np.max(sums)))


def inverse_of_coarsest(A: Any, name: str) -> Any:
    """Return the dense inverse; that of a singular matrix inverts it on its range."""
    if A.shape[0] > LARGEST_DENSE:
        raise MorulaError(
            f"{name}: the coarsest matrix still has {A.shape[0]} rows, since few entries are strong; lower strength"
        )
    dense = A.toarray()
    is_hermitian = bool(np.allclose(dense, dense.conj().T, rtol=1e-10, atol=0.0))
    return np.linalg.pinv(dense, rcond=1e-12, hermitian=is_hermitian)
