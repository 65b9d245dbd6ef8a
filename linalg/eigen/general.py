"""The front of the eigenproblems of general matrices: the derivative, and the pairs in the wanted order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import MorulaError, adjoint, constant, nestlevel, stop_gradient, tangent
from ..operators import Dense, LinearOperator
from ..solving import Inverse
from .invariant_subspace import RESOLUTION, Problem, images, invariant
from .loop import CONVERGED
from .ordering import order_of
from .results import Eigenpairs


class Complexified(LinearOperator):
    """An operator whose products are complex; a real one is applied to real and imaginary parts side by side."""

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.operator.dtype, np.complex64)

    def matvec(self, x: Any) -> Any:
        return self.matmat(x[:, None])[:, 0]

    def matmat(self, x: Any) -> Any:
        if self.operator.dtype.kind == "c":
            return self.operator @ x
        k = x.shape[1]
        both = self.operator @ np.concatenate([np.real(x), np.imag(x)], axis=1)
        return both[:, :k] + 1j * both[:, k:]

    def transpose(self) -> LinearOperator:
        return Complexified(self.operator.T)


@constant
def dense_basis(name: str, A: LinearOperator, k: int, which: str, sigma: Any) -> Any:
    """Return an orthonormal basis of the wanted space from all eigenvectors, for small matrices."""
    matrix = A.todense()
    if not np.all(np.isfinite(matrix)):
        raise MorulaError(f"{name}: A holds NaN or Inf, expected finite numbers")
    values, Y = np.linalg.eig(matrix.astype(np.result_type(matrix, np.complex64)))
    return np.linalg.qr(Y[:, order_of(values, which, sigma)[:k]])[0]


def without_mass(A: LinearOperator, M: LinearOperator) -> LinearOperator:
    """Return the operator M^-1 A."""
    if isinstance(M, Dense):
        return Dense(np.linalg.solve(M.matrix, A.todense()))
    return Inverse(M, rtol=1e-12) @ A


def finite(name: str, inverted: Any, sigma: Any) -> Any:
    """Return the eigenvalues of A x = lambda M x, from those of (A - sigma M)^-1 M, which are 1 / (lambda - sigma)."""
    size = np.abs(stop_gradient(inverted))
    if np.any(size <= 1e3 * np.finfo(size.dtype).eps * np.max(size)):
        raise MorulaError(f"{name}: M is singular, and fewer than the k wanted eigenvalues are finite; ask for fewer")
    return stop_gradient(sigma) + 1.0 / inverted


def result(
    problem: Problem,
    A: LinearOperator,
    M: LinearOperator | None,
    Q: Any,
    iterations: int,
    history: Any,
    code: int,
    which: str,
    sigma: Any,
    vectors: bool,
    shift: Any = None,
) -> Eigenpairs:
    """Return the pairs of A and M in the space of Q, the most wanted first, with their derivative.

    ``problem`` is the standard problem of M^-1 A; with a ``shift``, that of (A - shift M)^-1 M.
    """
    AQ = images(problem, Q)[0]
    basis, S = invariant(problem, Q, AQ, code == CONVERGED)
    values, Y = np.linalg.eig(S if nestlevel() == 0 else _diagonalisable(S, problem.name))
    if shift is not None:
        values = finite(problem.name, values, shift)
    order = order_of(stop_gradient(values), which, sigma)
    values, X = values[order], basis @ Y[:, order]
    if nestlevel() > 0:
        X = _told_apart(X, stop_gradient(values), problem.name)
        # eig fixes the phases in the coordinates of the basis: turn them back, to parallel transport.
        along = np.sum(np.conj(stop_gradient(X)) * X, axis=0)
        X = X * (np.conj(along) / np.abs(along))
    norms = residual_norms(A, M, X, values)
    return Eigenpairs(values, X if vectors else None, iterations, norms, history[: iterations + 1], code, problem.name)


@constant
def residual_norms(A: LinearOperator, M: LinearOperator | None, X: Any, values: Any) -> Any:
    """Return the norms of A x - lambda M x."""
    MX = X if M is None else Complexified(M) @ X
    return np.linalg.norm(Complexified(A) @ X - MX * values, axis=0)


def _diagonalisable(S: Any, name: str) -> Any:
    """Return S; its derivatives are refused if its eigenvectors are nearly dependent."""
    return np.copy(S)


def _refuse_defective(S: Any, name: str) -> None:
    condition = np.linalg.cond(np.linalg.eig(S)[1])
    if not condition < np.finfo(S.dtype).eps ** -0.5:
        raise MorulaError(
            f"{name}: no derivative, since the eigenvectors are linearly dependent to rounding (the condition number of their"
            f" matrix is {condition:.3g}): the matrix is defective, or nearly so"
        )


@adjoint(_diagonalisable)
def _diagonalisable_with_pullback(S: Any, name: str) -> tuple[Any, Any]:
    def back(dS: Any) -> tuple[Any, Any]:
        _refuse_defective(S, name)
        return dS, None

    return np.copy(S), back


@tangent(_diagonalisable)
def _diagonalisable_with_tangent(S: Any, name: str) -> tuple[Any, Any]:
    def forward(dS: Any, *others: Any) -> Any:
        _refuse_defective(S, name)
        return dS

    return np.copy(S), forward


def _told_apart(X: Any, values: Any, name: str) -> Any:
    """Return X; its pullback refuses cotangents of vectors of repeated eigenvalues."""
    return np.copy(X)


def _repeated(values: Any) -> Any:
    """Return a mask of the values that equal another one to rounding."""
    near = np.abs(values[:, None] - values[None, :]) <= RESOLUTION * np.finfo(values.dtype).eps * np.max(np.abs(values))
    return np.sum(near, axis=1) > 1


@adjoint(_told_apart)
def _told_apart_with_pullback(X: Any, values: Any, name: str) -> tuple[Any, Any]:
    def back(dX: Any) -> tuple[Any, Any, Any]:
        if np.any(_repeated(values) & (np.max(np.abs(dX), axis=0) > 0.0)):
            raise MorulaError(
                f"{name}: no gradient, since the loss depends on vectors of a repeated eigenvalue, which are not determined"
            )
        return dX, None, None

    return np.copy(X), back


@tangent(_told_apart)
def _told_apart_with_tangent(X: Any, values: Any, name: str) -> tuple[Any, Any]:
    return np.copy(X), lambda dX, *others: dX
