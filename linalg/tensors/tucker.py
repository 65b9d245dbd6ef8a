"""Tucker decompositions: a small tensor, multiplied along each axis by a matrix with orthonormal columns.

Sources: L. De Lathauwer, B. De Moor, J. Vandewalle, "A multilinear singular value decomposition", SIAM J. Matrix Anal. Appl. 21 (2000)
1253-1278 (HOSVD), and "On the best rank-1 and rank-(R1, ..., RN) approximation of higher-order tensors", ibid. 1324-1342 (HOOI).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput
from .unfolding import along, are_ranks, as_tensor, unfold


@dataclass
class Tucker:
    """x = core x_1 factors[0] x_2 factors[1] ..., where x_k multiplies along an axis."""

    core: Any
    """Array (r_1, ..., r_d)."""
    factors: list[Any]
    """One matrix (n_k, r_k) with orthonormal columns for each axis."""

    def to_array(self) -> Any:
        """Return the array that the decomposition represents.

        >>> Tucker(np.ones((1, 1)), [np.ones((2, 1)), np.ones((3, 1))]).to_array().shape
        (2, 3)
        """
        x = self.core
        for axis, factor in enumerate(self.factors):
            x = along(x, factor, axis)
        return x

    def norm(self) -> Any:
        """Return the Euclidean norm of the represented array: that of the core.

        >>> round(float(tucker(np.ones((2, 2, 4)), 1).norm()), 9)
        4.0
        """
        return np.linalg.norm(np.ravel(self.core))


def tucker(x: Any, ranks: int | Sequence[int], iterations: int = 0) -> Tucker:
    """Approximate an array by a Tucker decomposition of given ranks.

    Args:
        x: array of at least two axes, real or complex.
        ranks: one number, or one for each axis; at most the axis's length and the product of the other ranks.
        iterations: the number of sweeps of higher-order orthogonal iteration (HOOI), which improve the truncated
            HOSVD; gradients go through them.

    Returns:
        A ``Tucker`` decomposition. Without iterations, its error is at most sqrt(d) times that of the best approximation of
        these ranks. Functions of the represented array have gradients, except where a singular value of an unfolding
        that is kept equals one that is cut off.

    Raises:
        BadInput: ``x`` is empty, has less than two axes, or holds NaN or Inf; a rank is out of range, or the number of ranks is not that of axes.

    Source: De Lathauwer, De Moor and Vandewalle (2000).

    >>> x = np.einsum("i,j,k->ijk", np.arange(3.0), np.arange(4.0), np.arange(5.0))
    >>> t = tucker(x, 1)
    >>> t.core.shape, bool(np.allclose(t.to_array(), x))
    ((1, 1, 1), True)
    """
    x = as_tensor(x, 2, "tucker")
    sizes = list(ranks) if isinstance(ranks, Sequence) else [ranks] * x.ndim
    if len(sizes) != x.ndim or not are_ranks(sizes) or any(r > n for r, n in zip(sizes, x.shape)):
        raise BadInput(
            f"tucker: the ranks are {ranks}; expected a number from 1 to the length of each axis of {x.shape}"
        )
    for axis, rank in enumerate(sizes):
        others = int(np.prod(sizes[:axis] + sizes[axis + 1 :]))
        if rank > others:
            raise BadInput(f"tucker: rank {rank} of axis {axis} is above the product of the others, {others}; lower it")
    factors = [_leading(unfold(x, axis), rank) for axis, rank in enumerate(sizes)]
    for _ in range(iterations):
        for axis, rank in enumerate(sizes):
            factors[axis] = _leading(unfold(_projected(x, factors, axis), axis), rank)
    return Tucker(_projected(x, factors), factors)


def _leading(matrix: Any, rank: int) -> Any:
    """Return the leading left singular vectors."""
    return np.linalg.svd(matrix, full_matrices=False)[0][:, :rank]


def _projected(x: Any, factors: Sequence[Any], but: int = -1) -> Any:
    """Return the products of ``x`` with the adjoint factors along all axes but one."""
    for axis, factor in enumerate(factors):
        if axis != but:
            x = along(x, np.conj(factor).T, axis)
    return x
