"""Multigrid on a regular grid, which is coarsened by two along each axis; the coarser matrices are those of Galerkin.

U. Trottenberg, C.W. Oosterlee and A. Schueller, Multigrid (2001), sections 2.3 and 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, kron

from ....core import BadInput, constant
from ..incomplete import stored
from .cycle import COARSEST, Multigrid, inverse_of_coarsest, level_of

PLACES = ("vertices", "cells")


@constant
def geometric_multigrid(
    A: Any,
    shape: Sequence[int],
    unknowns: str = "vertices",
    cycle: str = "V",
    degree: int = 2,
    coarsest: int = COARSEST,
) -> Multigrid:
    """Return a multigrid preconditioner for a matrix of a regular grid.

    Args:
        A: sparse matrix, ``Sparse`` operator or array, (n, n): a discretisation with local stencils, whose unknowns are those
            of an array of ``shape``, row by row.
        shape: the numbers of unknowns along each axis; their product is n.
        unknowns: ``"vertices"``: points between boundaries on which the solution is zero; ``"cells"``: centres of cells.
        cycle: ``"V"``, ``"W"`` or ``"F"``.
        degree: the degree of the smoothing polynomial.
        coarsest: matrices of at most so many rows are inverted.

    Returns:
        A ``Multigrid`` operator (n, n), constant in derivatives.

    Raises:
        BadInput: A is not square, its entries are not stored, the shape does not fit, or an option is out of range.

    Source: Trottenberg, Oosterlee and Schueller (2001), sections 2.3.3 and 2.8.4.

    >>> from scipy.sparse import diags_array
    >>> A = diags_array([-np.ones(998), np.full(999, 2.0), -np.ones(998)], offsets=[-1, 0, 1]).tocsr()
    >>> geometric_multigrid(A, (999,)).sizes
    [999, 499, 249]
    """
    matrix: Any = stored(A, "geometric_multigrid")
    grid = tuple(shape)
    if unknowns not in PLACES:
        raise BadInput(f'geometric_multigrid: unknowns is {unknowns!r}, expected "vertices" or "cells"')
    if int(np.prod(grid)) != matrix.shape[0]:
        raise BadInput(
            f"geometric_multigrid: the grid {grid} has {int(np.prod(grid))} unknowns, but A has shape {matrix.shape}"
        )
    levels = []
    while matrix.shape[0] > coarsest and max(grid) > 2:
        P, grid = interpolation(grid, unknowns)
        levels.append(level_of(matrix, P))
        matrix = csr_array(P.T @ (matrix @ P))
    return Multigrid(levels, inverse_of_coarsest(matrix, "geometric_multigrid"), cycle, degree)


def interpolation(grid: tuple[int, ...], unknowns: str) -> tuple[Any, tuple[int, ...]]:
    """Return the multilinear interpolation from the coarser grid, and its shape; axes of length 1 and 2 remain."""
    P: Any = csr_array(np.ones((1, 1)))
    coarser = []
    for n in grid:
        line: Any = (
            csr_array(np.eye(n)) if n <= 2 else _between_vertices(n) if unknowns == "vertices" else _between_cells(n)
        )
        P = csr_array(kron(P, line))
        coarser.append(line.shape[1])
    return P, tuple(coarser)


def _between_vertices(n: int) -> Any:
    """Every second point remains; those between are means of their neighbours, and the boundary is zero."""
    m = n // 2
    j = np.arange(m)
    rows, columns = np.concatenate([2 * j + 1, 2 * j, 2 * j + 2]), np.concatenate([j, j, j])
    values = np.repeat([1.0, 0.5, 0.5], m)
    is_in = rows < n
    return csr_array((values[is_in], (rows[is_in], columns[is_in])), shape=(n, m))


def _between_cells(n: int) -> Any:
    """Two cells make one; each takes three quarters of its own and one of the nearest, the first and last all of their own."""
    m = (n + 1) // 2
    i = np.arange(n)
    own = i // 2
    other = np.clip(own + np.where(i % 2 == 0, -1, 1), 0, m - 1)
    rows, columns = np.concatenate([i, i]), np.concatenate([own, other])
    return csr_array((np.repeat([0.75, 0.25], n), (rows, columns)), shape=(n, m))
