"""Multigrid from the entries of a matrix, by smoothed aggregation.

P. Vanek, J. Mandel and M. Brezina, "Algebraic multigrid by smoothed aggregation for second and fourth order elliptic
problems", Computing 56 (1996) 179-196. The aggregates surround the members of a maximal set of nodes more than two edges
apart, found for all nodes at once: N. Bell, S. Dalton and L. Olson, "Exposing fine-grained parallelism in algebraic multigrid
methods", SIAM J. Sci. Comput. 34 (2012) C123-C152.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from ....core import BadInput, constant
from ..incomplete import stored
from .cycle import COARSEST, Multigrid, inverse_of_coarsest, inverse_of_diagonal, largest_eigenvalue, level_of


@constant
def smoothed_aggregation(
    A: Any,
    near_null_space: Any = None,
    strength: float = 0.08,
    cycle: str = "V",
    degree: int = 2,
    coarsest: int = COARSEST,
) -> Multigrid:
    """Return a multigrid preconditioner that needs only the matrix.

    Args:
        A: Hermitian positive definite sparse matrix, ``Sparse`` operator or array, (n, n), such as that of a diffusion or
            elasticity problem on any mesh. Mildly unsymmetric matrices work too, for methods that take them.
        near_null_space: vectors that A maps to almost nothing, (n,) or (n, k): ones by default; the rigid motions for
            elasticity.
        strength: neighbours are aggregated if ``|a_ij| > strength * sqrt(|a_ii a_jj|)``; halved on each coarser grid.
        cycle: ``"V"``, ``"W"`` or ``"F"``.
        degree: the degree of the smoothing polynomial.
        coarsest: matrices of at most so many rows are inverted.

    Returns:
        A ``Multigrid`` operator (n, n), constant in derivatives.

    Raises:
        BadInput: A is not square, its entries are not stored, or an option is out of range.
        MorulaError: too few entries are strong to make a coarser matrix.

    Source: Vanek, Mandel and Brezina (1996); Bell, Dalton and Olson (2012), algorithms 5 and 6.

    >>> from scipy.sparse import diags_array
    >>> A = diags_array([-np.ones(999), np.full(1000, 2.0), -np.ones(999)], offsets=[-1, 0, 1]).tocsr()
    >>> M = smoothed_aggregation(A)
    >>> from morula.linalg import cg
    >>> M.sizes[0], len(M.sizes), cg(A, np.ones(1000), preconditioner=M).iterations < 20
    (1000, 2, True)
    """
    matrix: Any = stored(A, "smoothed_aggregation")
    if not 0.0 <= strength < 1.0:
        raise BadInput(f"smoothed_aggregation: strength is {strength!r}, expected a number from 0 to 1")
    n = matrix.shape[0]
    B = np.ones(n) if near_null_space is None else np.asarray(near_null_space)
    if B.ndim not in (1, 2) or B.shape[0] != n:
        raise BadInput(
            f"smoothed_aggregation: near_null_space has shape {B.shape}, expected ({n},) or ({n}, k) for A of shape {matrix.shape}"
        )
    B = np.reshape(B, (n, -1))
    levels = []
    while matrix.shape[0] > coarsest:
        kept = strong_part(matrix, strength)
        groups = aggregates(kept)
        T, coarse_B = tentative(groups, B)
        if T.shape[1] >= 0.9 * matrix.shape[0]:
            break
        inverse = inverse_of_diagonal(kept)
        factor = 4.0 / (3.0 * largest_eigenvalue(kept, inverse))
        P: Any = csr_array(T - diags_array(factor * inverse) @ (kept @ T))
        levels.append(level_of(matrix, P))
        matrix = csr_array(P.conj().T @ (matrix @ P))
        B, strength = coarse_B, 0.5 * strength
    return Multigrid(levels, inverse_of_coarsest(matrix, "smoothed_aggregation"), cycle, degree)


def strong_part(A: Any, strength: float) -> Any:
    """Return A without its weak entries, which are added to the diagonal; the diagonal is stored everywhere."""
    n = A.shape[0]
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    size = np.sqrt(np.abs(A.diagonal()))
    is_kept = (np.abs(A.data) > strength * size[rows] * size[A.indices]) & (rows != A.indices)
    diagonal = A.diagonal() + _added(rows, np.where(is_kept | (rows == A.indices), 0.0, A.data), n)
    entries = np.concatenate([A.data[is_kept], diagonal])
    place = np.concatenate([rows[is_kept], np.arange(n)]), np.concatenate([A.indices[is_kept], np.arange(n)])
    return csr_array((entries, place), shape=A.shape)


def aggregates(A: Any) -> Any:
    """Return the number of the aggregate of each node, (n,), of a matrix that stores its diagonal.

    Members of the set are more than two edges apart. A neighbour joins its member, and the others join a neighbour that has.
    """
    n = A.shape[0]
    pattern = csr_array((np.ones(len(A.indices)), A.indices, A.indptr), shape=A.shape)
    pattern = csr_array(pattern + pattern.T)
    begins, indices = pattern.indptr[:-1], pattern.indices

    def largest_near(x: Any) -> Any:
        return np.maximum.reduceat(x[indices], begins)

    out, open_, member = 0, 1, 2
    rank = np.argsort(np.random.default_rng(0).random(n))
    state = np.full(n, open_)
    while np.any(state == open_):
        best = largest_near(largest_near(state * n + rank))
        state = np.where(
            state != open_, state, np.where(best == state * n + rank, member, np.where(best >= member * n, out, open_))
        )
    number = np.where(state == member, np.cumsum(state == member), 0)
    near = largest_near(number)
    return np.where(near > 0, near, largest_near(near)) - 1


def tentative(groups: Any, B: Any) -> tuple[Any, Any]:
    """Return the prolongation with orthonormal columns whose range holds B, and B on the coarser grid.

    Each aggregate has one unknown for each vector; the factors of its part of B, by QR, are its rows of both.
    """
    n, k = B.shape
    order = np.argsort(groups, kind="stable")
    counts = np.bincount(groups)
    m, height = len(counts), max(int(np.max(counts)), k)
    within = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    padded = np.zeros((m, height, k), B.dtype)
    padded[groups[order], within] = B[order]
    if k == 1:
        length = np.linalg.norm(padded, axis=1)[:, None]
        q, r = padded / np.where(length > 0, length, 1.0), length
    else:
        q, r = np.linalg.qr(padded)
    values = q[groups[order], within]
    columns = groups[order][:, None] * k + np.arange(k)
    rows = np.broadcast_to(order[:, None], columns.shape)
    P = csr_array((np.ravel(values), (np.ravel(rows), np.ravel(columns))), shape=(n, m * k))
    return P, np.reshape(r, (m * k, k))


def _added(rows: Any, values: Any, n: int) -> Any:
    total = np.zeros(n, values.dtype)
    np.add.at(total, rows, values)
    return total
