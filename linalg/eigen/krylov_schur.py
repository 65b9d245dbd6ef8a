"""``eigs``: eigenvalues of general matrices by the Krylov-Schur method, in blocks.

G.W. Stewart, "A Krylov-Schur algorithm for large eigenproblems", SIAM J. Matrix Anal. Appl. 23 (2001) 601-614. The basis is
complex for real matrices too, so that one code serves both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, stop_gradient
from ..operators import LinearOperator, Scaled, Sum, as_operator
from .bases import start_block
from .general import Complexified, dense_basis, result, without_mass
from .hermitian import check_iteration, found, square
from .invariant_subspace import Problem
from .inverse import Differentiated, inverse_of
from .krylov_space import KrylovSpace, dimensions
from .loop import Cycle, Method
from .ordering import GENERAL, check_which, order_of
from .results import Eigenpairs


def eigs(
    A: Any,
    k: int = 6,
    which: str = "magnitude",
    M: Any = None,
    sigma: complex | None = None,
    inverse: Any = None,
    vectors: bool = True,
    key: Any = 0,
    block: int | None = None,
    size: int | None = None,
    rtol: float = 1e-12,
    max_iterations: int = 300,
) -> Eigenpairs:
    """Return k eigenpairs of A x = lambda x, or A x = lambda M x, for a square A that need not be Hermitian.

    Args:
        A: operator or anything that ``as_operator`` takes, (n, n).
        k: the number of pairs. Of a real matrix, let it not cut a pair of conjugate eigenvalues; of such a pair, the one
            with positive imaginary part comes first.
        which: ``"magnitude"``: the largest by absolute value; ``"largest real"``, ``"smallest real"``,
            ``"largest imaginary"`` or ``"smallest imaginary"``: by the part.
        M: operator or matrix (n, n), that need not be Hermitian; None for the identity. Without ``sigma`` it must be
            invertible, since each product is followed by a solve with it. With ``sigma`` it may be singular; the infinite
            eigenvalues are the farthest ones.
        sigma: a number; the eigenvalues nearest to it are found, by shift-invert, and ``which`` is not used.
        inverse: operator or matrix (n, n) that applies the inverse of A - sigma M; by default it is made, see ``eigsh``.
        vectors, key, block, size, rtol, max_iterations: as for ``eigsh``.

    Returns:
        ``Eigenpairs``, complex; vectors have norm 1, and an arbitrary phase. An iteration that has not converged is
        returned as well, but its derivative is an error. If n is so small that the Krylov space would be whole, all
        eigenvalues of the dense matrix are computed.

        The derivative is implicit: one deflated solve with GMRES, with the inverse as a preconditioner for shift-invert. It
        needs a gap between the eigenvalues that are returned and the others. Vectors turn by parallel transport: x·dx is
        zero. A derivative of vectors of repeated eigenvalues, or of defective matrices, is an error.

    Raises:
        BadInput: shapes do not match, or an option is out of range.
        MorulaError, LinAlgError: A gives NaN or Inf, or M or A - sigma M is singular; or a gradient is taken and the iteration or the
            deflated solve has not converged, or eigenvectors are linearly dependent.

    Source: Stewart (2001).

    >>> found = eigs(np.diag(np.arange(100.0)) + np.diag(np.ones(99), 1), k=2)
    >>> found.values.real.round(9).tolist(), found.converged
    ([99.0, 98.0], True)
    """
    name = "eigs"
    A, M = square(name, A, k, M)
    check_which(name, which, GENERAL)
    check_iteration(name, rtol, max_iterations)
    if sigma is not None and np.ndim(sigma) != 0:
        raise BadInput(f"{name}: sigma has shape {np.shape(sigma)}, expected a number")
    if sigma is None and inverse is not None:
        raise BadInput(f"{name}: inverse is given without sigma; give the sigma for which it inverts A - sigma M")
    n = A.shape[0]
    dims = dimensions(n, k, block, size)
    is_inverse = M is not None and sigma is not None
    T: Any = None
    if sigma is not None and (is_inverse or dims is not None):
        T = inverse_of(name, A, M, sigma, False) if inverse is None else as_operator(inverse, f"{name}: inverse")
    if M is not None and sigma is not None:  # M may be singular
        standard = Differentiated(Sum(A, Scaled(-stop_gradient(sigma), M)), T) @ M
    else:
        standard = A if M is None else without_mass(A, M)
    dtype = np.result_type(standard.dtype, np.complex64)
    problem = Problem(name, Complexified(standard), None, False)
    shift = sigma if is_inverse else None
    if dims is None:
        Q = dense_basis(name, standard, k, "magnitude" if is_inverse else which, None if is_inverse else sigma)
        return result(problem, A, M, Q, 0, np.zeros(1), 0, which, sigma, vectors, shift)
    b, kept, m = dims
    operator: LinearOperator = problem.A
    wanted = which
    if T is not None:
        operator = Complexified(T if M is None else T @ M)
        problem.preconditioner = None if is_inverse else operator
        wanted = "magnitude"

    def start() -> Cycle:
        return KrylovSchur(name, operator, start_block(key, n, b, dtype), k, kept, m, wanted)

    Q, iterations, history, code = found(Method(name, start), rtol, max_iterations)
    return result(problem, A, M, Q, iterations, history, code, which, sigma, vectors, shift)


class KrylovSchur(KrylovSpace):
    """A Krylov space that is restarted with the span of its wanted Ritz vectors, an invariant space of H."""

    def __init__(self, name: str, A: Any, start: Any, k: int, kept: int, size: int, which: str) -> None:
        self.which = which
        super().__init__(name, A, None, start, k, kept, size)

    def find(self) -> None:
        values, Y = np.linalg.eig(self.projected()[: self.size])
        Y = Y[:, order_of(values, self.which, None)]
        self.scale = np.max(np.abs(values))
        self.norms = self.residuals(Y[:, : self.k])
        self.Y = np.linalg.qr(Y[:, : self.kept])[0]

    def step(self) -> None:
        self.shrink(self.Y)
        self.expand(self.kept)

    def basis(self) -> Any:
        return self.vectors()[:, : self.size] @ self.Y[:, : self.k]
