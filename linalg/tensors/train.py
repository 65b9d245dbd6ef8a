"""Tensor trains: products of a row of small tensors, one for each axis.

Source: I. Oseledets, "Tensor-train decomposition", SIAM J. Sci. Comput. 33 (2011) 2295-2317: algorithm 1 (TT-SVD), algorithm 2
(rounding), section 4 (operations).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput
from .unfolding import are_ranks, as_tensor


@dataclass
class TensorTrain:
    """x[i1, ..., id] = cores[0][:, i1] @ ... @ cores[-1][:, id], a matrix (1, 1)."""

    cores: list[Any]
    """One array (r_(k-1), n_k, r_k) for each axis, with r_0 = r_d = 1."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple([core.shape[1] for core in self.cores])

    @property
    def ranks(self) -> tuple[int, ...]:
        """r_1, ..., r_(d-1)."""
        return tuple([core.shape[2] for core in self.cores[:-1]])

    def to_array(self) -> Any:
        """Return the array that the train represents.

        >>> tensor_train(np.array([[1.0, 2.0], [3.0, 4.0]])).to_array().round(9)
        array([[1., 2.],
               [3., 4.]])
        """
        found = self.cores[0]
        for core in self.cores[1:]:
            found = np.tensordot(found, core, axes=(-1, 0))
        return np.reshape(found, self.shape)

    def __getitem__(self, index: tuple[int, ...]) -> Any:
        """Return one element, without forming the array."""
        if len(index) != len(self.cores):
            raise BadInput(f"TensorTrain: got {len(index)} indices; expected one for each of {len(self.cores)} axes")
        row = self.cores[0][:, index[0]]
        for core, i in zip(self.cores[1:], index[1:]):
            row = row @ core[:, i]
        return row[0, 0]

    def inner(self, other: TensorTrain) -> Any:
        """Return sum(conj(x) * y) for the represented arrays x and y, in O(d n r^3) operations.

        Args:
            other: a train that represents an array of the same shape.

        Returns:
            A number.

        Raises:
            BadInput: the shapes differ.

        Source: Oseledets (2011), section 4.2.

        >>> x = tensor_train(np.ones((2, 3, 4)))
        >>> round(float(x.inner(x)), 9)
        24.0
        """
        if self.shape != other.shape:
            raise BadInput(f"TensorTrain.inner: the shapes are {self.shape} and {other.shape}; expected equal ones")
        middle = np.ones((1, 1))
        for a, b in zip(self.cores, other.cores):
            middle = np.tensordot(np.conj(a), np.tensordot(middle, b, axes=(1, 0)), axes=((0, 1), (0, 1)))
        return middle[0, 0]

    def norm(self) -> Any:
        """Return the Euclidean norm of the represented array, from an orthogonal form: accurate also for small norms.

        >>> round(float(tensor_train(np.ones((2, 2, 4))).norm()), 9)
        4.0
        """
        return np.linalg.norm(np.ravel(_orthogonal(self.cores)[0]))

    def __add__(self, other: TensorTrain) -> TensorTrain:
        """Return the sum of the represented arrays; the ranks add, see ``rounded``."""
        if self.shape != other.shape:
            raise BadInput(f"TensorTrain: the shapes are {self.shape} and {other.shape}; expected equal ones to add")
        cores, last = [], len(self.cores) - 1
        for k, (a, b) in enumerate(zip(self.cores, other.cores)):
            if last == 0:
                cores.append(a + b)
                continue
            above = a if k == last else np.concatenate([a, np.zeros((a.shape[0], a.shape[1], b.shape[2]))], axis=2)
            below = b if k == last else np.concatenate([np.zeros((b.shape[0], b.shape[1], a.shape[2])), b], axis=2)
            cores.append(np.concatenate([a, b], axis=2) if k == 0 else np.concatenate([above, below], axis=0))
        return TensorTrain(cores)

    def rounded(self, ranks: int | Sequence[int] | None = None, rtol: float = 0.0) -> TensorTrain:
        """Return a train of lower ranks, without forming the array.

        Args:
            ranks: the largest ranks, as for ``tensor_train``.
            rtol: the allowed relative error, as for ``tensor_train``.

        Returns:
            A ``TensorTrain`` that approximates this one.

        Raises:
            BadInput: a rank is below 1, or the number of ranks is not d - 1.
            NoDerivative: a gradient is asked for, and the rows of a core are linearly dependent, as in the sum of a train with
                itself; round ``tensor_train(train.to_array(), ranks)`` instead.

        Source: Oseledets (2011), algorithm 2.

        >>> x = tensor_train(np.ones((2, 3, 4)), 1)
        >>> (x + x).ranks, (x + x).rounded(rtol=1e-12).ranks
        ((2, 2), (1, 1))
        """
        cores = _orthogonal(self.cores)
        limits, delta = _limits(ranks, self.shape), _allowed(rtol, np.ravel(cores[0]), len(cores))
        found, carried = [], np.ones((1, 1))
        for k, core in enumerate(cores[:-1]):
            core = np.tensordot(carried, core, axes=(1, 0))
            left, carried = _split(np.reshape(core, (-1, core.shape[2])), limits[k], delta)
            found.append(np.reshape(left, (core.shape[0], core.shape[1], left.shape[1])))
        return TensorTrain([*found, np.tensordot(carried, cores[-1], axes=(1, 0))])


def tensor_train(x: Any, ranks: int | Sequence[int] | None = None, rtol: float = 0.0) -> TensorTrain:
    """Approximate an array by a tensor train, by truncated singular value decompositions.

    Args:
        x: array of at least one axis, real or complex.
        ranks: the largest ranks: one number, or one for each of the d - 1 places between axes; by default without limit.
        rtol: the allowed relative error in the Euclidean norm, by which smaller ranks are chosen. Ranks then depend on the
            values of ``x``, which compiled code does not allow: there, leave it at 0.

    Returns:
        A ``TensorTrain`` with orthonormal columns in all cores but the last. The error is at most sqrt(d - 1) times that of
        the best approximation with these ranks. Functions of the represented array have gradients, except where a
        singular value that is kept equals one that is cut off.

    Raises:
        BadInput: ``x`` is empty or a number, or holds NaN or Inf; a rank is below 1, or the number of ranks is not d - 1.

    Source: Oseledets (2011), algorithm 1.

    >>> x = np.add.outer(np.arange(3.0), np.add.outer(np.arange(4.0), np.arange(5.0)))
    >>> train = tensor_train(x, rtol=1e-12)
    >>> train.ranks
    (2, 2)
    >>> bool(np.allclose(train.to_array(), x)), round(float(train[1, 2, 3]), 9)
    (True, 6.0)
    """
    x = as_tensor(x, 1, "tensor_train")
    shape = x.shape
    limits, delta = _limits(ranks, shape), _allowed(rtol, np.ravel(x), x.ndim)
    cores, rank, rest = [], 1, x
    for k in range(len(shape) - 1):
        left, rest = _split(np.reshape(rest, (rank * shape[k], -1)), limits[k], delta)
        cores.append(np.reshape(left, (rank, shape[k], left.shape[1])))
        rank = left.shape[1]
    return TensorTrain([*cores, np.reshape(rest, (rank, shape[-1], 1))])


def _limits(ranks: int | Sequence[int] | None, shape: tuple[int, ...]) -> list[int | None]:
    """Return the largest rank at each place, None without limit."""
    count = len(shape) - 1
    limits: list[int | None] = list(ranks) if isinstance(ranks, Sequence) else [ranks] * count
    if len(limits) != count or not are_ranks([r for r in limits if r is not None]):
        raise BadInput(
            f"the ranks are {ranks}; expected a number from 1, or one for each of {count} places between axes"
        )
    return limits


def _allowed(rtol: float, entries: Any, order: int) -> Any:
    """Return the error that each of the d - 1 truncations may have."""
    return rtol / max(order - 1, 1) ** 0.5 * np.linalg.norm(entries) if rtol else 0.0


def _split(matrix: Any, limit: int | None, delta: Any) -> tuple[Any, Any]:
    """Return U and S V^H of rank ``limit`` at most; the values that are cut off have a norm of ``delta`` at most."""
    u, s, vh = np.linalg.svd(matrix, full_matrices=False)
    rank = s.shape[0] if limit is None else min(limit, s.shape[0])
    if isinstance(delta, float) and delta == 0.0:
        return u[:, :rank], s[:rank, None] * vh[:rank]
    tails = np.sqrt(np.cumsum(s[::-1] ** 2)[::-1])  # tails[k]: the error of rank k
    rank = max(1, min(rank, int(np.sum(tails > delta))))
    return u[:, :rank], s[:rank, None] * vh[:rank]


def _orthogonal(cores: Sequence[Any]) -> list[Any]:
    """Return cores of the same array, of which all but the first have orthonormal rows."""
    found = list(cores)
    for k in range(len(found) - 1, 0, -1):
        rank, n, after = found[k].shape
        q, r = np.linalg.qr(np.conj(np.reshape(found[k], (rank, n * after))).T)
        found[k] = np.reshape(np.conj(q).T, (q.shape[1], n, after))
        found[k - 1] = np.tensordot(found[k - 1], np.conj(r).T, axes=(2, 0))
    return found
