"""The inverse of A - sigma M for shift-invert, factorised once where the structure allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from ...core import MorulaError, callback, constant, implicit, stop_gradient, tree
from ..krylov import gmres, minres
from ..operators import Banded, Conjugate, Dense, Diagonal, Identity, LinearOperator, Scaled, Sparse, Sum


def inverse_of(
    name: str, A: LinearOperator, M: LinearOperator | None, sigma: Any, hermitian: bool = True
) -> LinearOperator:
    """Return the operator of the inverse of A - sigma M, with M the identity by default."""
    # It serves the iteration and preconditions the solves: it is not differentiated.
    A, M = stop_gradient(A), stop_gradient(M)
    if isinstance(A, Sparse) and isinstance(M, Diagonal):
        M = Sparse(M.diagonal, np.arange(A.shape[0]), np.arange(A.shape[0] + 1), A.shape)
    if isinstance(A, Dense) and isinstance(M, (Diagonal, Sparse, Banded)):
        M = Dense(M.todense())
    if isinstance(A, Banded) and (M is None or isinstance(M, Diagonal)):
        on_diagonal = np.arange(len(A.bands))[:, None] == A.upper
        shift = sigma if M is None else sigma * M.diagonal
        return DirectInverse(Banded(A.bands - np.where(on_diagonal, shift, 0.0), A.lower, A.upper))
    if isinstance(A, Dense) and (M is None or isinstance(M, Dense)):
        second = np.eye(A.shape[0]) if M is None else M.matrix
        return DenseInverse(name, A.matrix - sigma * second, sigma)
    if isinstance(A, Sparse) and (M is None or isinstance(M, Sparse)):
        return SparseInverse(name, A, M, sigma)
    if sigma == 0.0 and A.is_solvable:
        return DirectInverse(A)
    if isinstance(A, Diagonal) and M is None:
        return DirectInverse(Diagonal(A.diagonal - sigma))
    second = Identity(A.shape[0]) if M is None else M
    return IterativeInverse(name, Sum(A, Scaled(-sigma, second)), sigma, hermitian)


class _Inverse(LinearOperator):
    """The inverse of an operator of the same shape."""

    operator: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.operator.dtype


class DirectInverse(_Inverse):
    """By the direct method of the structure."""

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator

    def matvec(self, x: Any) -> Any:
        return self.operator.solve(x)

    def matmat(self, x: Any) -> Any:
        return self.operator.solve(x)

    def transpose(self) -> LinearOperator:
        return DirectInverse(self.operator.T)


class DenseInverse(LinearOperator):
    """By an LU factorisation of a matrix, kept."""

    def __init__(self, name: str, matrix: Any, sigma: Any, trans: int = 0, factors: Any = None) -> None:
        self.name, self.matrix, self.sigma, self.trans = name, matrix, sigma, trans
        if factors is None:
            factors = scipy.linalg.lu_factor(matrix, check_finite=False)
            pivots = np.abs(np.diagonal(factors[0]))
            if not np.min(pivots) > np.finfo(matrix.dtype).eps * np.max(pivots):
                raise singular(name, sigma)
        self.factors = factors

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    def matvec(self, x: Any) -> Any:
        return scipy.linalg.lu_solve(self.factors, x, trans=self.trans, check_finite=False)

    def matmat(self, x: Any) -> Any:
        return scipy.linalg.lu_solve(self.factors, x, trans=self.trans, check_finite=False)

    def transpose(self) -> LinearOperator:
        return DenseInverse(self.name, self.matrix, self.sigma, 1 - self.trans, self.factors)


def singular(name: str, sigma: Any) -> MorulaError:
    return MorulaError(f"{name}: A - sigma M is singular for sigma = {sigma!r}: choose a sigma that is no eigenvalue")


class SparseInverse(_Inverse):
    """By SuperLU's factors of A - sigma M, which are kept for the products that follow; compiled code calls it through Python."""

    def __init__(self, name: str, A: Sparse, M: Sparse | None, sigma: Any, trans: bool = False) -> None:
        self.name, self.operator, self.M, self.sigma, self.trans = name, A, M, sigma, trans

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype = np.result_type(self.operator.dtype, np.asarray(self.sigma).dtype)
        return dtype if self.M is None else np.result_type(dtype, self.M.dtype)

    def matvec(self, x: Any) -> Any:
        return self._apply(x)

    def matmat(self, x: Any) -> Any:
        return self._apply(x)

    def _apply(self, x: Any) -> Any:
        A, M = self.operator, self.M
        first = A.data, A.indices, A.indptr, A.by_columns
        second = () if M is None else (M.data, M.indices, M.indptr, M.by_columns)
        like = np.zeros(np.shape(x), np.result_type(self.dtype, x.dtype))
        return callback(_by_superlu, like, self.name, self.sigma, self.trans, x, *first, *second)

    def transpose(self) -> LinearOperator:
        return SparseInverse(self.name, self.operator, self.M, self.sigma, not self.trans)


class IterativeInverse(_Inverse):
    """By MINRES, or GMRES if the operator is not Hermitian."""

    def __init__(self, name: str, operator: LinearOperator, sigma: Any, hermitian: bool) -> None:
        self.name, self.operator, self.sigma, self.hermitian = name, operator, sigma, hermitian

    def matvec(self, x: Any) -> Any:
        if self.hermitian:
            solved = minres(self.operator, x, rtol=1e-12)
        else:
            solved = gmres(self.operator, x, rtol=1e-12, restart=min(self.shape[0], 60))
        if not solved.converged:
            raise MorulaError(
                f"{self.name}: {solved.method} did not solve with A - sigma M for sigma = {self.sigma!r} (residual norm"
                f" {solved.residual_norm:.3g}): choose another sigma, or give inverse"
            )
        return solved.x

    def transpose(self) -> LinearOperator:
        if self.hermitian:
            return Conjugate(self)
        return IterativeInverse(self.name, self.operator.T, self.sigma, False)


class Differentiated(_Inverse):
    """An inverse with the derivative of a solve, whose adjoint system is solved by the same inverse."""

    def __init__(self, operator: LinearOperator, inverse: LinearOperator) -> None:
        self.operator, self.inverse = operator, inverse

    def matvec(self, x: Any) -> Any:
        return self.matmat(x)

    def matmat(self, x: Any) -> Any:
        def along(operator: LinearOperator) -> Callable[[Any, Any], Any]:
            return lambda pull, dy: tree.flatten(operator @ tree.flatten(y)[1](dy))[0]

        y = _product(self.inverse, x)
        solves = along(self.H), along(self)
        return implicit(y, lambda y: self.operator @ y - x, solves, needs_product=False)

    def transpose(self) -> LinearOperator:
        return Differentiated(self.operator.T, self.inverse.T)


@constant
def _product(A: LinearOperator, x: Any) -> Any:
    return A @ x


class _Factors:
    """The last matrix that was factorised, so that the products of one iteration share its factors."""

    def __init__(self) -> None:
        self.key: tuple[Any, ...] = ()
        self.factors: Any = None

    def of(self, name: str, sigma: Any, first: tuple[Any, ...], second: tuple[Any, ...]) -> Any:
        key = (sigma, *first, *second)
        same = len(key) == len(self.key) and all(np.array_equal(a, b) for a, b in zip(key, self.key, strict=True))
        if not same:
            matrix = _matrix(*first) - sigma * (_matrix(*second) if second else _unit(first))
            try:
                self.factors = splu(csc_array(matrix))
            except RuntimeError as error:
                raise singular(name, sigma) from error
            self.key = tuple(np.copy(x) for x in key)
        return self.factors


_last = _Factors()


def _by_superlu(name: str, sigma: Any, trans: bool, x: Any, *matrices: Any) -> Any:
    factors = _last.of(name, sigma, matrices[:4], matrices[4:])
    solve = "T" if trans else "N"
    if np.iscomplexobj(x) and factors.L.dtype.kind != "c":
        return factors.solve(np.real(x).copy(), solve) + 1j * factors.solve(np.imag(x).copy(), solve)
    return factors.solve(np.asarray(x, factors.L.dtype), solve)


def _matrix(data: Any, indices: Any, indptr: Any, by_columns: bool) -> Any:
    n = len(indptr) - 1
    columns = csc_array((data, indices, indptr), shape=(n, n))
    return columns if by_columns else columns.T.tocsc()


def _unit(first: tuple[Any, ...]) -> Any:
    return scipy.sparse.eye_array(len(first[2]) - 1, dtype=first[0].dtype, format="csc")
