"""``eigsh``: Hermitian eigenproblems by the Lanczos method with thick restart, in blocks.

K. Wu and H. Simon, "Thick-restart Lanczos method for large symmetric eigenvalue problems", SIAM J. Matrix Anal. Appl. 22
(2000) 602-616; T. Ericsson and A. Ruhe, "The spectral transformation Lanczos method for the numerical solution of large
sparse generalized symmetric eigenvalue problems", Math. Comp. 35 (1980) 1251-1268.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput
from ..operators import as_operator
from .bases import start_block
from .completion import completed
from .hermitian import (
    check_hermitian_operator,
    check_iteration,
    dense_basis,
    found,
    result,
    square,
)
from .invariant_subspace import Problem
from .inverse import inverse_of
from .krylov_space import KrylovSpace, dimensions
from .loop import CONVERGED, Cycle, Method
from .ordering import HERMITIAN, check_which, order_of
from .results import Eigenpairs


def eigsh(
    A: Any,
    k: int = 6,
    which: str = "largest",
    M: Any = None,
    sigma: float | None = None,
    inverse: Any = None,
    vectors: bool = True,
    key: Any = 0,
    block: int | None = None,
    size: int | None = None,
    rtol: float = 1e-12,
    max_iterations: int = 300,
    complete: bool = False,
) -> Eigenpairs:
    """Return k eigenpairs of A x = lambda x, or A x = lambda M x, for a Hermitian A.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n), real symmetric or complex Hermitian.
        k: the number of pairs.
        which: ``"largest"`` or ``"smallest"`` (by value), or ``"magnitude"``: the largest by absolute value.
        M: operator or matrix (n, n), Hermitian positive definite; None for the identity. Without ``sigma`` each product is
            followed by a solve with M.
        sigma: a real number; the eigenvalues nearest to it are found, by shift-invert, and ``which`` is not used.
        inverse: operator or matrix (n, n) that applies the inverse of A - sigma M. By default it is made: by factors of
            dense and sparse matrices, by the structure's own ``solve``, else by an iterative method.
        vectors: whether to return vectors.
        key: an int or a ``mo.random.Generator``, for the start vectors.
        block: the number of columns that A is multiplied with at once, from 2 to 10 by default. All copies of an eigenvalue
            are found if it is repeated at most so many times; with ``complete``, all copies are.
        size: the dimension of the Krylov space, about max(2 k + 10, 20) by default.
        rtol: converged when each ``|A x - lambda M x| <= rtol * |A|`` (of the inverse, for shift-invert), where the norm is
            estimated. One below eps ** 0.8 of the dtype (3e-13 in float64) is raised to that.
        max_iterations: the largest number of restarts.
        complete: whether to look for further copies of repeated eigenvalues, by other runs in the complement of what has
            been found, until one finds none; at least twice the work.

    Returns:
        ``Eigenpairs``; vectors have ``x·M x = 1``, and an arbitrary sign or phase. An iteration that has not converged is
        returned as well (see ``status``), but its derivative is an error. If n is so small that the Krylov space would be
        whole, all eigenvalues of the dense matrix are computed.

        The derivative is implicit: one deflated solve with MINRES, or with GMRES and the inverse for shift-invert. It needs
        a gap between the eigenvalues that are returned and the others. Vectors turn by parallel transport:
        ``x·M dx`` is real. Repeated eigenvalues: losses of the whole eigenspace have their gradient; in reverse mode a loss
        of single vectors is an error.

    Raises:
        BadInput: shapes do not match, or an option is out of range.
        MorulaError: A is found not to be Hermitian, M not to be positive definite, A gives NaN or Inf, or A - sigma M is
            singular; or a gradient is taken and the iteration or the deflated solve has not converged.

    Source: Wu and Simon (2000); Ericsson and Ruhe (1980).

    >>> found = eigsh(np.diag(np.arange(100.0)), k=2)
    >>> found.values.round(9).tolist(), found.converged
    ([99.0, 98.0], True)
    >>> eigsh(np.diag(np.arange(100.0)), k=2, sigma=50.2, vectors=False).values.round(9).tolist()
    [50.0, 51.0]
    """
    name = "eigsh"
    A, M = square(name, A, k, M)
    check_which(name, which, HERMITIAN)
    check_iteration(name, rtol, max_iterations)
    if sigma is not None and np.ndim(sigma) != 0:
        raise BadInput(f"{name}: sigma has shape {np.shape(sigma)}, expected a real number")
    if sigma is None and inverse is not None:
        raise BadInput(f"{name}: inverse is given without sigma; give the sigma for which it inverts A - sigma M")
    dims = dimensions(A.shape[0], k, block, size)
    n = A.shape[0]
    dtype = np.result_type(A.dtype, np.float32) if M is None else np.result_type(A.dtype, M.dtype, np.float32)
    problem = Problem(name, A, M, True)
    if dims is None:
        Q = dense_basis(name, A, M, k, which, sigma)
        return result(problem, Q, 0, np.zeros(1), 0, which, sigma, vectors)
    check_hermitian_operator(name, A, key, dtype)
    b, kept, m = dims
    if sigma is not None:
        T = inverse_of(name, A, M, sigma) if inverse is None else as_operator(inverse, f"{name}: inverse")
        problem.preconditioner = T
        operator = T if M is None else T @ M
        wanted = "magnitude"
    else:
        operator = A if M is None else inverse_of(name, M, None, 0.0) @ A
        wanted = which

    def start() -> Cycle:
        return ThickRestartLanczos(name, operator, M, start_block(key, n, b, dtype), k, kept, m, wanted)

    Q, iterations, history, code = found(Method(name, start), rtol, max_iterations)
    rest = dimensions(n - k, b, block, size)
    if complete and code == CONVERGED and rest is not None:
        _, others_kept, most = rest

        def begin(T: Any, first: Any) -> Cycle:
            return ThickRestartLanczos(name, T, M, first, b, others_kept, most, wanted)

        columns = start_block(key, n, 2 * b, dtype)[:, b:]
        Q, code = completed(name, operator, M, Q, begin, columns, wanted, rtol, max_iterations)
    elif complete and code == CONVERGED:
        Q = dense_basis(name, A, M, k, which, sigma)
    return result(problem, Q, iterations, history, code, which, sigma, vectors)


class ThickRestartLanczos(KrylovSpace):
    """A Krylov space of a self-adjoint operator, which is restarted with its wanted Ritz vectors."""

    def __init__(self, name: str, A: Any, M: Any, start: Any, k: int, kept: int, size: int, which: str) -> None:
        self.which = which
        super().__init__(name, A, M, start, k, kept, size)

    def find(self) -> None:
        T = self.projected()[: self.size]
        values, Y = np.linalg.eigh(0.5 * (T + np.conj(T.T)))
        self.scale = np.max(np.abs(values))
        self.Y = Y[:, order_of(values, self.which, None)]
        self.norms = self.residuals(self.Y[:, : self.k])

    def step(self) -> None:
        self.shrink(self.Y[:, : self.kept])
        # The coupling of the kept vectors to the last block, which orthogonalisation finds again.
        self.expand(self.kept)

    def basis(self) -> Any:
        return self.vectors()[:, : self.size] @ self.Y[:, : self.k]
