"""SciPy's linear operators as operators of this package."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator as ScipyLinearOperator, aslinearoperator

from .linear_operator import CONVERSIONS, LinearOperator


class ScipyOperator(LinearOperator):
    """The operator that a ``scipy.sparse.linalg.LinearOperator`` defines.

    Its ``matvec`` and ``rmatvec`` are differentiated like other Python code, so gradients reach what they compute with.
    An operator without ``rmatvec`` can be used where no product with the transpose is needed.

    Args:
        operator: SciPy's linear operator, of shape (m, n).

    >>> from scipy.sparse.linalg import aslinearoperator
    >>> (ScipyOperator(aslinearoperator(np.diag([1.0, 2.0]))) @ np.ones(2)).tolist()
    [1.0, 2.0]
    """

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        # SciPy's own matmat keeps the columns that matvec returns, uncopied, and matvec may fill and return one array.
        owner = type(operator)
        self._has_block_product = owner is _OF_A_MATRIX or not owner._matmat.__module__.startswith("scipy.")

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        # SciPy leaves the dtype open for some combinations of operators.
        return np.dtype(np.float64) if self.operator.dtype is None else np.result_type(self.operator.dtype, np.float32)

    def matvec(self, x: Any) -> Any:
        return np.copy(self.operator.matvec(x))  # it may fill and return one and the same array in all calls

    def matmat(self, x: Any) -> Any:
        return np.copy(self.operator.matmat(x)) if self._has_block_product else super().matmat(x)

    def transpose(self) -> LinearOperator:
        return ScipyTranspose(self)


class ScipyTranspose(LinearOperator):
    """The transpose of a ``ScipyOperator``, by SciPy's ``rmatvec``.

    Args:
        operator: the operator of shape (m, n).

    >>> from scipy.sparse.linalg import aslinearoperator
    >>> A = ScipyOperator(aslinearoperator(np.array([[1.0, 2j]])))
    >>> A.T.todense().tolist()
    [[(1-0j)], [2j]]
    """

    def __init__(self, operator: ScipyOperator) -> None:
        self.operator = operator

    @property
    def shape(self) -> tuple[int, int]:
        return (self.operator.shape[1], self.operator.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.operator.dtype

    def matvec(self, x: Any) -> Any:
        # rmatvec is the conjugate transpose.
        if self.dtype.kind == "c" or np.iscomplexobj(x):
            return np.conj(self.operator.operator.rmatvec(np.conj(x)))
        return np.copy(self.operator.operator.rmatvec(x))

    def transpose(self) -> LinearOperator:
        return self.operator

    def diag(self) -> Any:
        return self.operator.diag()

    def logdet(self) -> Any:
        return self.operator.logdet()


_OF_A_MATRIX = type(aslinearoperator(np.ones((1, 1))))

CONVERSIONS.append((ScipyLinearOperator, ScipyOperator))
