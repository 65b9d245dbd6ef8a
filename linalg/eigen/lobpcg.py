"""``lobpcg``: extreme eigenvalues of Hermitian problems with a preconditioner.

A.V. Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block preconditioned conjugate gradient
method", SIAM J. Sci. Comput. 23 (2001) 517-541; the directions are orthonormalised in the coordinates of the former basis,
as in U. Hetmaniuk and R. Lehoucq, "Basis selection in LOBPCG", J. Comput. Phys. 218 (2006) 324-332.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput
from ..operators import as_operator
from .bases import dagger, extension, orthonormal, start_block, times
from .hermitian import check_hermitian_operator, check_iteration, dense_basis, found, result, square
from .invariant_subspace import Problem
from .loop import Cycle, Method
from .ordering import check_which, order_of
from .results import Eigenpairs


def lobpcg(
    A: Any,
    k: int = 4,
    which: str = "smallest",
    M: Any = None,
    preconditioner: Any = None,
    start: Any = None,
    vectors: bool = True,
    key: Any = 0,
    rtol: float = 1e-9,
    max_iterations: int = 500,
) -> Eigenpairs:
    """Return the k smallest or largest eigenpairs of A x = lambda x, or A x = lambda M x, for a Hermitian A.

    Use it where a good preconditioner is known, for instance multigrid; it keeps 3 k vectors, and finds repeated
    eigenvalues.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n), real symmetric or complex Hermitian.
        k: the number of pairs.
        which: ``"smallest"`` or ``"largest"``, by value.
        M: operator or matrix (n, n), Hermitian positive definite; None for the identity. It is only multiplied with.
        preconditioner: operator or matrix (n, n) that approximates the inverse of A, Hermitian positive definite.
        start: the first approximations, the columns of (n, k), linearly independent; random by default.
        vectors: whether to return vectors.
        key: an int or a ``mo.random.Generator``, for the start vectors.
        rtol: converged when each ``|A x - lambda M x| <= rtol * |A|``, where the norm is estimated.
        max_iterations: the largest number of steps; a step takes k products with A.

    Returns:
        ``Eigenpairs``, as for ``eigsh``, with its derivative; the deflated solve is done by MINRES with the preconditioner.

    Raises:
        BadInput, MorulaError: as for ``eigsh``.

    Source: Knyazev (2001); Hetmaniuk and Lehoucq (2006).

    >>> found = lobpcg(np.diag(np.arange(1.0, 101.0)), k=2, preconditioner=np.diag(1 / np.arange(1.0, 101.0)))
    >>> found.values.round(9).tolist(), found.converged
    ([1.0, 2.0], True)
    """
    name = "lobpcg"
    A, M = square(name, A, k, M)
    check_which(name, which, ("smallest", "largest"))
    check_iteration(name, rtol, max_iterations)
    n = A.shape[0]
    T = None if preconditioner is None else as_operator(preconditioner, f"{name}: the preconditioner")
    if T is not None and T.shape != A.shape:
        raise BadInput(f"{name}: the preconditioner has shape {T.shape}, expected {A.shape} like A")
    if start is not None and np.shape(start) != (n, k):
        raise BadInput(f"{name}: start has shape {np.shape(start)}, expected ({n}, {k}) for A of shape {A.shape}")
    dtype = np.result_type(A.dtype, np.float32) if M is None else np.result_type(A.dtype, M.dtype, np.float32)
    problem = Problem(name, A, M, True, T, True, remedy="raise max_iterations, loosen rtol or give a preconditioner")
    if 3 * k > n:
        Q = dense_basis(name, A, M, k, which, None)
        return result(problem, Q, 0, np.zeros(1), 0, which, None, vectors)
    check_hermitian_operator(name, A, key, dtype)

    def begin() -> Cycle:
        columns = start_block(key, n, 2 * k, dtype)
        X = columns[:, :k] if start is None else start.astype(dtype)
        return LocallyOptimal(name, A, M, T, X, columns[:, k:], which)

    Q, iterations, history, code = found(Method(name, begin), rtol, max_iterations)
    return result(problem, Q, iterations, history, code, which, None, vectors)


class LocallyOptimal(Cycle):
    """The approximations X and the directions P, together orthonormal in the inner product of M, and their images."""

    def __init__(self, name: str, A: Any, M: Any, T: Any, X: Any, P: Any, which: str) -> None:
        self.name, self.A, self.M, self.T, self.which = name, A, M, T, which
        self.k = X.shape[1]
        X = orthonormal(X, M, name)[0]
        P = extension(P, X, M, 1.0, name)[0]
        basis = np.concatenate([X, P], axis=1)
        self.choose(basis, A @ basis)

    def choose(self, B: Any, AB: Any) -> None:
        """Choose the best approximations in the span of B, and the directions that led to them."""
        k = self.k
        G = dagger(B) @ AB
        values, Y = np.linalg.eigh(0.5 * (G + dagger(G)))
        self.scale = np.max(np.abs(values))
        order = order_of(values, self.which, None)[:k]
        values, Y = values[order], Y[:, order]
        step = np.where(np.arange(Y.shape[0])[:, None] < k, 0.0, Y)
        Z = extension(step, Y, None, 1.0, self.name)[0]
        self.X, self.AX = B @ Y, AB @ Y
        self.P, self.AP = B @ Z, AB @ Z
        self.R = self.AX - times(self.M, self.X) * values
        self.norms = np.linalg.norm(self.R, axis=0)

    def step(self) -> None:
        known = np.concatenate([self.X, self.P], axis=1)
        W = extension(times(self.T, self.R), known, self.M, 1.0, self.name)[0]
        self.choose(np.concatenate([known, W], axis=1), np.concatenate([self.AX, self.AP, self.A @ W], axis=1))

    def basis(self) -> Any:
        return self.X
