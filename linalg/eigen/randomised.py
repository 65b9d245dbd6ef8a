"""``randomised_svd``: a truncated singular value decomposition from the range that A gives random vectors.

N. Halko, P.G. Martinsson and J.A. Tropp, "Finding structure with randomness: probabilistic algorithms for constructing
approximate matrix decompositions", SIAM Rev. 53 (2011) 217-288, algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, MorulaError, constant
from ..operators import LinearOperator, as_operator
from .bases import dagger, start_block
from .hermitian import check_iteration, check_k
from .loop import CONVERGED, MAX_ITERATIONS
from .results import SingularTriplets
from .singular import result

ADJOINTS = ("implicit", "unrolled")
REMEDY = 'raise power or rtol, or pass adjoint="unrolled"'


def randomised_svd(
    A: Any,
    k: int = 6,
    power: int = 2,
    oversampling: int = 10,
    vectors: bool = True,
    key: Any = 0,
    rtol: float = 1e-8,
    adjoint: str = "implicit",
) -> SingularTriplets:
    """Return approximations to the k largest singular values of A and their vectors, with 2 power + 2 block products.

    The error falls with the ratio of the singular values k + oversampling + 1 and k, to the power 2 power + 1: use it where
    they decay, or where a rough answer will do, and ``svds`` where a tolerance has to be met.

    Args:
        A: operator or anything that ``as_operator`` takes, of any shape (m, n).
        k: the number of triplets, at most min(m, n).
        power: the number of power iterations, each one product with A^H and one with A.
        oversampling: the number of random vectors beyond k, as far as min(m, n) allows.
        vectors: whether to return vectors.
        key: an int or a ``mo.random.Generator``, for the random vectors.
        rtol: the status is ``CONVERGED`` if each residual norm is at most ``rtol`` times the largest singular value.
        adjoint: ``"implicit"`` differentiates the equations of the triplets, as ``svds`` does; it needs the status
            ``CONVERGED``. ``"unrolled"`` differentiates the algorithm, for a result of any accuracy; it needs matrices whose
            rank is at least k + oversampling.

    Returns:
        ``SingularTriplets``; its history holds the largest residual norm only.

    Raises:
        BadInput: k or an option is out of range, or A is no matrix.
        MorulaError: a gradient is taken with ``"implicit"``, and the residuals exceed ``rtol``.

    Source: Halko, Martinsson and Tropp (2011).

    >>> found = randomised_svd(np.diag(0.1 ** np.arange(50.0)), k=2)
    >>> found.values.round(9).tolist(), found.converged
    ([1.0, 0.1], True)
    """
    name = "randomised_svd"
    A = as_operator(A, f"{name}: A")
    m, n = A.shape
    check_k(name, k, min(m, n))
    check_iteration(name, rtol, power)
    if oversampling < 0:
        raise BadInput(f"{name}: oversampling is {oversampling!r}, expected a number that is not negative")
    if adjoint not in ADJOINTS:
        raise BadInput(f'{name}: adjoint is {adjoint!r}, expected "implicit" or "unrolled"')
    columns = min(k + oversampling, m, n)
    U, values, Vh = (_triplets if adjoint == "unrolled" else _found)(A, columns, power, key)
    U, values, Vh = U[:, :k], values[:k], Vh[:k]
    norms = _residual_norms(A, U, values, Vh)
    code = CONVERGED if np.max(norms) <= rtol * np.max(values) else MAX_ITERATIONS
    history = np.full(1, np.max(norms))
    if adjoint == "implicit":
        return result(name, A, U, dagger(Vh), power, history, code, "largest", vectors, REMEDY)
    return SingularTriplets(U if vectors else None, values, Vh if vectors else None, power, norms, history, code, name)


def _triplets(A: LinearOperator, columns: int, power: int, key: Any) -> tuple[Any, Any, Any]:
    Q = np.linalg.qr(A @ start_block(key, A.shape[1], columns, np.result_type(A.dtype, np.float32)))[0]
    for _ in range(power):
        Q = np.linalg.qr(A.H @ Q)[0]
        Q = np.linalg.qr(A @ Q)[0]
    B = dagger(A.H @ Q)
    if not np.all(np.isfinite(B)):
        raise MorulaError("randomised_svd: A applied to a finite vector gave NaN or Inf")
    U, values, Vh = np.linalg.svd(B, full_matrices=False)
    return Q @ U, values, Vh


@constant
def _residual_norms(A: LinearOperator, U: Any, values: Any, Vh: Any) -> Any:
    V = dagger(Vh)
    both = np.concatenate([A @ V - U * values, A.H @ U - V * values])
    return np.linalg.norm(both, axis=0) / 2.0**0.5


_found = constant(_triplets)
