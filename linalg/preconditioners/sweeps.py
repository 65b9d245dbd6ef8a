"""Forward and backward substitution with sparse triangular matrices, as operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, jit, lowering
from ..operators import LinearOperator


@functools.cache
def compiled(loop: Callable[..., Any], *signature: Any) -> Callable[..., Any]:
    """Return the compiled form of a loop over single entries, which is slow in Python.

    There is one for each signature, since jit warns of a function that it compiles again and again.
    """
    return jit(loop, target="native")


class InverseTriangular(LinearOperator):
    """The inverse of a sparse triangular matrix, applied by substitution.

    Args:
        data, indices, indptr: the entries beside the diagonal, in compressed rows.
        diagonal: the diagonal (n,), without zeros.
        lower: whether the entries are those below the diagonal, else above.
        transposed: whether the operator is the inverse of the transpose.

    >>> L = InverseTriangular(np.array([3.0]), np.array([0]), np.array([0, 0, 1]), np.array([1.0, 2.0]))
    >>> L.todense().tolist(), L.T.todense().tolist()
    ([[1.0, 0.0], [-1.5, 0.5]], [[1.0, -1.5], [0.0, 0.5]])
    """

    def __init__(
        self, data: Any, indices: Any, indptr: Any, diagonal: Any, lower: bool = True, transposed: bool = False
    ) -> None:
        self.data, self.indices, self.indptr, self.diagonal = data, indices, indptr, diagonal
        self.lower, self.transposed = lower, transposed

    @property
    def shape(self) -> tuple[int, int]:
        return (self.diagonal.shape[0], self.diagonal.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    def matvec(self, x: Any) -> Any:
        x = np.asarray(x, np.result_type(self.data, x))
        substitute = _by_columns if self.transposed else _by_rows
        return substitute(self.data, self.indices, self.indptr, self.diagonal, x, self.lower != self.transposed)

    def transpose(self) -> LinearOperator:
        return InverseTriangular(self.data, self.indices, self.indptr, self.diagonal, self.lower, not self.transposed)


class Permutation(LinearOperator):
    """A permutation matrix: ``(P @ x)[i] == x[order[i]]``.

    Args:
        order: a permutation of 0 to n - 1.
        inverse: the inverse permutation, computed by default.

    Raises:
        BadInput: ``order`` is not a permutation.

    >>> (Permutation(np.array([2, 0, 1])) @ np.array([1.0, 2.0, 3.0])).tolist()
    [3.0, 1.0, 2.0]
    """

    def __init__(self, order: Any, inverse: Any = None) -> None:
        self.order = np.asarray(order)
        if inverse is None:
            if not np.array_equal(np.sort(self.order), np.arange(len(self.order))):
                raise BadInput("Permutation: order is not a permutation of 0 to n - 1")
            inverse = np.argsort(self.order)
        self.inverse = inverse

    @property
    def shape(self) -> tuple[int, int]:
        return (self.order.shape[0], self.order.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32)

    def matvec(self, x: Any) -> Any:
        return x[self.order]

    def matmat(self, x: Any) -> Any:
        return x[self.order]

    def transpose(self) -> LinearOperator:
        return Permutation(self.inverse, self.order)


def _rows(data: Any, indices: Any, indptr: Any, diagonal: Any, b: Any, ascending: bool) -> Any:
    x = b.copy()
    n = len(b)
    for turn in range(n):
        i = turn if ascending else n - 1 - turn
        total = x[i]
        for k in range(indptr[i], indptr[i + 1]):
            total -= data[k] * x[indices[k]]
        x[i] = total / diagonal[i]
    return x


def _columns(data: Any, indices: Any, indptr: Any, diagonal: Any, b: Any, ascending: bool) -> Any:
    """Solve with the transpose: the rows of the matrix are its columns."""
    x = b.copy()
    n = len(b)
    for turn in range(n):
        i = turn if ascending else n - 1 - turn
        found = x[i] / diagonal[i]
        x[i] = found
        for k in range(indptr[i], indptr[i + 1]):
            x[indices[k]] -= data[k] * found
    return x


def _by_rows(*args: Any) -> Any:
    return compiled(_rows, *_signature(*args))(*args)


def _by_columns(*args: Any) -> Any:
    return compiled(_columns, *_signature(*args))(*args)


def _signature(data: Any, indices: Any, indptr: Any, diagonal: Any, b: Any, ascending: bool) -> tuple[Any, ...]:
    return len(data), len(b), data.dtype, b.dtype


for _target in ("native", "xla"):
    lowering(_by_rows, _target)(_rows)
    lowering(_by_columns, _target)(_columns)
