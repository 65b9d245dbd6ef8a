"""Copies of repeated eigenvalues that a Krylov space misses: another run in the complement of what has been found.

A block Krylov space holds at most as many copies of an eigenvalue as the block has columns. A run in the complement of the
pairs that were found finds others that are wanted more than the last of these; this is repeated until there are none.
B.N. Parlett, The Symmetric Eigenvalue Problem (1998), section 13.10, on deflation of vectors that have been found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import constant
from ..operators import LinearOperator
from .bases import dagger, orthonormal, times
from .invariant_subspace import RESOLUTION
from .loop import Cycle, Method, iterate
from .ordering import order_of


class Complement(LinearOperator):
    """P T P, with P = I - Q Q^H M the projection onto the complement of the columns of Q, for T self-adjoint with M."""

    def __init__(self, T: LinearOperator, M: Any, Q: Any, MQ: Any) -> None:
        self.T_, self.M, self.Q, self.MQ = T, M, Q, MQ

    @property
    def shape(self) -> tuple[int, int]:
        return self.T_.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.T_.dtype, self.Q)

    def matvec(self, x: Any) -> Any:
        return self.project(self.T_ @ self.project(x))

    def matmat(self, x: Any) -> Any:
        return self.matvec(x)

    def transpose(self) -> LinearOperator:
        return Complement(self.T_.T, None if self.M is None else self.M.T, np.conj(self.MQ), np.conj(self.Q))

    def project(self, x: Any) -> Any:
        """Return the part of x in the complement."""
        return x - self.Q @ (dagger(self.MQ) @ x)


@constant
def completed(
    name: str,
    operator: LinearOperator,
    M: Any,
    Q: Any,
    start: Callable[[LinearOperator, Any], Cycle],
    block: Any,
    which: str,
    rtol: float,
    limit: int,
) -> tuple[Any, int]:
    """Return a basis like Q of the wanted space, with all copies of its eigenvalues, and the code of the last run's status.

    operator: self-adjoint in the inner product of M; its wanted eigenvalues are those that ``which`` names.
    start: begins a run with an operator and a first block, for as many pairs as the block has columns.
    block: random columns (n, b).
    """

    def found_in(rest: Complement) -> tuple[Any, int, Any, int]:
        return iterate(Method(name, lambda: start(rest, rest.project(block))), rtol, limit)

    k, code = Q.shape[1], 0
    for _ in range(k):
        rest = Complement(operator, M, Q, times(M, Q))
        found, _, _, code = found_in(rest)
        both = orthonormal(np.concatenate([Q, rest.project(found)], axis=1), M, name)[0]
        G = dagger(both) @ times(M, operator @ both)
        G = 0.5 * (G + dagger(G))
        known = np.linalg.eigvalsh(G[:k, :k])
        values, Y = np.linalg.eigh(G)
        order = order_of(values, which, None)[:k]
        gain = np.max(np.abs(values[order] - known[order_of(known, which, None)]))
        if gain <= RESOLUTION * np.finfo(values.dtype).eps * np.max(np.abs(values)):
            break
        Q = both @ Y[:, order]
    return Q, code
