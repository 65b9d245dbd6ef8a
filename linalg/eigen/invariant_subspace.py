"""The derivative of an invariant subspace, by the implicit function theorem and one deflated solve.

A basis Q of the wanted space and the small matrix S satisfy A Q = M Q S and Q^H M Q = I. A change of A or M moves Q by Z
within the complement, which solves the Sylvester equation P^H (A Z - M Z S) = -P^H (dA Q - dM Q S), where P = I - Q Q^H M
projects onto it. This needs a gap between the wanted eigenvalues and the others, but none among the wanted ones: these are
told apart by the eigenvalues of S, a small dense matrix, whose derivative is that of ``np.linalg.eigh`` or ``eig``. The
Sylvester equation is solved for all columns at the same time by a Krylov method, which is itself differentiated implicitly, so
derivatives may be nested.

G.W. Stewart, "Error and perturbation bounds for subspaces associated with certain eigenvalue problems", SIAM Rev. 15
(1973) 727-764, section 4; J.-G. Sun, Matrix Perturbation Analysis (2001), chapter 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ...core import MorulaError, adjoint, constant, implicit, nestlevel, stop_gradient, tangent, tree
from ..krylov import gmres, minres
from ..operators import LinearOperator
from .bases import dagger, times

RTOL = 1e-11
"""The relative tolerance of the deflated solves."""
RESOLUTION = 1e3
"""Eigenvalues that differ by so many rounding errors of the largest one count as equal."""


@dataclass
class Problem:
    """The eigenproblem A x = lambda M x, and how its deflated systems are solved."""

    name: str
    """What error messages call it: the public function."""
    A: Any
    """The operator of A."""
    M: Any
    """The operator of M, or None for the identity."""
    hermitian: bool
    preconditioner: Any = None
    """An operator that approximates the inverse of A - sigma M, or None."""
    definite: bool = False
    """Whether the preconditioner is positive definite."""
    augmented: bool = False
    """Whether A is [[0, B], [B^H, 0]], for the singular triplets of the operator B (its attribute ``A``)."""
    remedy: str = "raise max_iterations or size, or loosen rtol"
    """What to do about an iteration that has not converged."""


class Deflated(LinearOperator):
    """Z -> P^H (A P Z - M P Z S) + gamma M Q (M Q)^H Z for matrices Z (n, k), as vectors.

    The second term makes it invertible, and does not act on the complement.
    """

    def __init__(self, A: LinearOperator, M: Any, Q: Any, MQ: Any, S: Any, gamma: Any) -> None:
        self.A, self.M, self.Q, self.MQ, self.S, self.gamma = A, M, Q, MQ, S, gamma

    @property
    def shape(self) -> tuple[int, int]:
        size = self.Q.shape[0] * self.Q.shape[1]
        return size, size

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.A.dtype, self.Q)

    def matvec(self, x: Any) -> Any:
        return np.ravel(self.image(np.reshape(x, self.Q.shape)))

    def image(self, Z: Any) -> Any:
        """Return the image of a matrix."""
        inside = dagger(self.MQ) @ Z
        Z = Z - self.Q @ inside
        Y = self.A @ Z - times(self.M, Z) @ self.S
        return Y - self.MQ @ (dagger(self.Q) @ Y - self.gamma * inside)

    def transpose(self) -> LinearOperator:
        return self.turned()

    def turned(self) -> Deflated:
        """Return the transpose."""
        M = None if self.M is None else self.M.T
        return Deflated(self.A.T, M, np.conj(self.Q), np.conj(self.MQ), self.S.T, self.gamma)


class ByColumns(LinearOperator):
    """The same map as ``Deflated``, for k columns Z (n, k) in place of a vector, where S is diagonal.

    A method then has a recurrence for each column, which needs fewer steps than one for all. The entries of S off the diagonal
    are zero, but have derivatives.
    """

    def __init__(self, operator: Deflated) -> None:
        self.operator = operator

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.A.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.operator.dtype

    def matvec(self, x: Any) -> Any:
        raise NotImplementedError("it has a product with k columns only")

    def matmat(self, x: Any) -> Any:
        return self.operator.image(x)

    def transpose(self) -> LinearOperator:
        return ByColumns(self.operator.turned())


class DeflatedInverse(LinearOperator):
    """The preconditioner of ``Deflated`` and ``ByColumns`` from the inverse T of A - sigma M: Y -> P T P^H Y + Q Q^H Y."""

    def __init__(self, inverse: LinearOperator, Q: Any, MQ: Any, for_columns: bool) -> None:
        self.inverse, self.Q, self.MQ, self.for_columns = inverse, Q, MQ, for_columns

    @property
    def shape(self) -> tuple[int, int]:
        size = self.Q.shape[0] * (1 if self.for_columns else self.Q.shape[1])
        return size, size

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.inverse.dtype, self.Q)

    def matvec(self, x: Any) -> Any:
        return np.ravel(self.matmat(np.reshape(x, self.Q.shape)))

    def matmat(self, x: Any) -> Any:
        inside = dagger(self.Q) @ x
        Z = self.inverse @ (x - self.MQ @ inside)
        return Z - self.Q @ (dagger(self.MQ) @ Z - inside)

    def transpose(self) -> LinearOperator:
        return DeflatedInverse(self.inverse.T, np.conj(self.Q), np.conj(self.MQ), self.for_columns)


@constant
def images(problem: Problem, Q: Any) -> tuple[Any, Any]:
    """Return A Q and M Q."""
    return problem.A @ Q, times(problem.M, Q)


def invariant(problem: Problem, Q: Any, AQ: Any, converged: bool) -> tuple[Any, Any]:
    """Return Q and S = Q^H A Q as differentiable functions of the arrays that define A and M.

    Q: an orthonormal basis (n, k) of an invariant subspace, which is taken as a constant.
    AQ: A Q, which is taken as a constant.
    """
    A, M = problem.A, problem.M
    S = dagger(Q) @ AQ
    if problem.hermitian:
        S = 0.5 * (S + dagger(S))
    if nestlevel() == 0:
        return Q, S
    restore = tree.flatten((Q, S))[1]

    def residual(x: Any) -> Any:
        Q, S = x
        MQ = times(M, Q)
        return A @ Q - MQ @ S, 0.5 * (dagger(Q) @ MQ - np.eye(Q.shape[1]))

    def backward(pull: Any, dx: Any) -> Any:
        _refuse(problem, converged)
        q, s = invariant(problem, Q, AQ, converged)
        dQ, dS = restore(dx)
        MQ = times(M, q)
        turn = dagger(q) @ dQ + dagger(s) @ dS - dS @ dagger(s)
        right = dQ if problem.hermitian else dQ + A.H @ (q @ dS)
        right = right - MQ @ (dagger(q) @ right)
        # A loss of the values alone needs no solve, unless the derivatives of this one are taken.
        needs_solve = nestlevel() > 0 or np.any(right)
        W = _solved(problem, q, MQ, s, right, True) if needs_solve else right
        return tree.flatten((W - q @ dS, 0.5 * (turn + dagger(turn))))[0]

    def forward(push: Any, dr: Any) -> Any:
        _refuse(problem, converged)
        q, s = invariant(problem, Q, AQ, converged)
        r, normalisation = restore(dr)
        MQ = times(M, q)
        inside = dagger(q) @ r
        Z = _solved(problem, q, MQ, s, r - MQ @ inside, False)
        C = 0.5 * (normalisation + dagger(normalisation))
        dS = s @ C - C @ s - inside
        if not problem.hermitian:
            dS = dS + dagger(q) @ (A @ Z)
        return tree.flatten((Z + q @ C, dS))[0]

    return implicit((Q, S), residual, (backward, forward), needs_product=False)


def _solved(problem: Problem, Q: Any, MQ: Any, S: Any, right: Any, turned: bool) -> Any:
    """Return the solution (n, k) of the deflated system, or of its adjoint."""
    if not problem.hermitian:
        return _solved_for_all(problem, Q, MQ, S, right, turned)
    # In the basis of the eigenvectors of S each column has an equation of its own.
    Y = _eigenvectors(S)
    Q, MQ, S, right = Q @ Y, MQ @ Y, dagger(Y) @ S @ Y, right @ Y
    S = S - stop_gradient(np.where(np.eye(len(S), dtype=bool), 0.0, S))  # rounding errors would couple the columns
    if problem.augmented:
        values = np.abs(np.diagonal(S))
        if np.min(values) > LEAST_RATIO * np.max(values):
            return _solved_by_halves(problem, Q, S, right) @ dagger(Y)
    if problem.preconditioner is not None and not problem.definite:
        return _solved_for_all(problem, Q, MQ, S, right, turned) @ dagger(Y)
    B = ByColumns(_deflated(problem.A, problem.M, Q, MQ, S))
    T = None if problem.preconditioner is None else DeflatedInverse(problem.preconditioner, Q, MQ, True)
    found = minres(B, right, preconditioner=T, rtol=RTOL, max_iterations=10 * len(Q))
    return _checked(problem, found, right, len(S)) @ dagger(Y)


@constant
def _eigenvectors(S: Any) -> Any:
    return np.linalg.eigh(S)[1]


def _solved_for_all(problem: Problem, Q: Any, MQ: Any, S: Any, right: Any, turned: bool) -> Any:
    """Return the solution for all columns together, which S may couple."""
    B = _deflated(problem.A, problem.M, Q, MQ, S)
    T = None if problem.preconditioner is None else DeflatedInverse(problem.preconditioner, Q, MQ, False)
    n, k = Q.shape
    b = np.ravel(right)
    B = B.H if turned and not problem.hermitian else B
    found = gmres(B, b, preconditioner=T, rtol=RTOL, max_iterations=10 * n, restart=min(n * k, 100))
    return np.reshape(_checked(problem, found, b, k), Q.shape)


def _deflated(A: LinearOperator, M: Any, Q: Any, MQ: Any, S: Any) -> Deflated:
    gamma = stop_gradient(np.max(np.abs(np.diagonal(S))))
    return Deflated(A, M, Q, MQ, S, gamma + 1.0 * (gamma == 0.0))


def _checked(problem: Problem, found: Any, b: Any, count: int) -> Any:
    """Return the solution; raise an error if it has not converged."""
    if not found.converged:
        raise MorulaError(
            f"{problem.name}: no gradient, since the deflated system was not solved (residual norm"
            f" {np.max(found.residual_norm):.3g}, of {np.linalg.norm(b):.3g} at the start). The last of the {count} values may equal"
            " one that is left out: choose k so that they are apart; or give sigma or a preconditioner"
        )
    return found.x


LEAST_RATIO = 1e-3
"""Products with A^H A lose the digits of smaller ratios of singular values, squared."""


def _solved_by_halves(problem: Problem, Q: Any, S: Any, right: Any) -> Any:
    """Return the solution for [[0, A], [A^H, 0]] from one with A^H A, of half the size, in half the iterations.

    With Q = [U; V] / sqrt(2), the rows A y - x S = a and A^H x - y S = b give A^H A y - y S^2 = b S + A^H a for the parts
    outside of the spans of U and V; inside, x = -U c and y = V c with S c + c S = U^H a.
    """
    A = problem.A.A
    m, n = A.shape
    U, V, a, b = 2.0**0.5 * Q[:m], 2.0**0.5 * Q[m:], right[:m], right[m:]
    if m < n:
        A, U, V, a, b = A.H, V, U, b, a
    inside = dagger(U) @ a
    c = scipy.linalg.solve_sylvester(S, S, inside)
    a, b = a - U @ inside, b - V @ (dagger(V) @ b)
    small = b @ S + A.H @ a
    small = small - V @ (dagger(V) @ small)
    B = ByColumns(_deflated(A.H @ A, None, V, V, S @ S))
    y = _checked(problem, minres(B, small, rtol=RTOL, max_iterations=10 * min(m, n)), small, len(S))
    x = np.linalg.solve(S.T, (A @ y - a).T).T
    x, y = x - U @ (dagger(U) @ x) - U @ c, y + V @ c
    return np.concatenate([y, x] if m < n else [x, y])


def _refuse(problem: Problem, converged: bool) -> None:
    if not converged:
        raise MorulaError(f"{problem.name}: no gradient, since the iteration did not converge; {problem.remedy}")


def hermitian_pairs(problem: Problem, Q: Any, S: Any) -> tuple[Any, Any]:
    """Return the eigenvalues of S in ascending order, and the eigenvectors of A in the space of Q.

    Eigenvalues that are equal to rounding are made equal, so that the derivative of ``eigh`` sees that they are repeated.
    """
    if problem.M is not None:
        L = np.linalg.cholesky(dagger(Q) @ (problem.M @ Q))
        inverse = np.linalg.inv(L)
        Q, S = Q @ dagger(inverse), inverse @ S @ dagger(inverse)
    S = 0.5 * (S + dagger(S))
    S = S + stop_gradient(_merged(S) - S)
    values, V = np.linalg.eigh(S)
    X = Q @ V
    return values, X if nestlevel() == 0 else _told_apart(X, stop_gradient(values), problem.name)


def _merged(S: Any) -> Any:
    """Return the nearly diagonal S with entries off the diagonal of the size of rounding removed, and values merged."""
    d = np.real(np.diagonal(S))
    near = _near(d)
    merged = np.min(np.where(near, d[None, :], np.inf), axis=1)
    off = np.where(np.abs(S) <= _resolution(d), 0.0, S)
    return np.where(np.eye(d.shape[0], dtype=bool), merged, off)


def _resolution(values: Any) -> Any:
    return RESOLUTION * np.finfo(values.dtype).eps * np.max(np.abs(values))


def _near(values: Any) -> Any:
    """Return a mask (k, k) of the pairs of values that are equal to rounding."""
    return np.abs(values[:, None] - values[None, :]) <= _resolution(values)


def _told_apart(X: Any, values: Any, name: str) -> Any:
    """Return X; its pullback refuses cotangents that tell the vectors of one eigenspace apart."""
    return np.copy(X)


@adjoint(_told_apart)
def _told_apart_with_pullback(X: Any, values: Any, name: str) -> tuple[Any, Any]:
    def back(dX: Any) -> tuple[Any, Any, Any]:
        G = dagger(X) @ dX
        size = np.max(np.linalg.norm(X, axis=0)) * np.linalg.norm(dX)
        turned = np.where(_near(values), np.abs(G - dagger(G)), 0.0) * (1.0 - np.eye(values.shape[0]))
        if np.max(turned) > np.finfo(values.dtype).eps ** 0.5 * size:
            raise MorulaError(
                f"{name}: no gradient, since the loss depends on single vectors of a repeated eigenvalue, which are not"
                " determined. Use a function of the whole eigenspace, such as its projector X X^H"
            )
        return dX, None, None

    return np.copy(X), back


@tangent(_told_apart)
def _told_apart_with_tangent(X: Any, values: Any, name: str) -> tuple[Any, Any]:
    return np.copy(X), lambda dX, *others: dX
