"""``solve``: a direct method where the structure of the operator has one, else an iterative method; ``Inverse``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import BadInput, MorulaError
from .krylov import Solution, bicgstab, block_cg, block_gmres, cg, gmres, idrs, lsmr, lsqr, minres, richardson, symmlq
from .operators import FunctionOperator, LinearOperator, as_operator
from .operators.linear_operator import check_right_hand_side

HERMITIAN = {"cg": cg, "minres": minres, "symmlq": symmlq, "block_cg": block_cg}
SQUARE = {
    **HERMITIAN,
    "gmres": gmres,
    "block_gmres": block_gmres,
    "bicgstab": bicgstab,
    "idrs": idrs,
    "richardson": richardson,
}
LEAST_SQUARES = {"lsqr": lsqr, "lsmr": lsmr}
ASSUMPTIONS = (None, "hermitian", "positive definite")


def solve(
    A: Any,
    b: Any,
    method: str = "auto",
    assume: str | None = None,
    preconditioner: Any = None,
    rtol: float = 1e-10,
    atol: float = 0.0,
    max_iterations: int | None = None,
) -> Solution:
    """Solve A x = b, or minimise ``|b - A x|`` if A is not square, by a method that fits the structure of A.

    Args:
        A: operator or anything that ``as_operator`` takes, (m, n); or a linear function of a vector (n,).
        b: right-hand side (m,), or several as the columns of (m, k).
        method: ``"auto"``: the direct method of the operator where its structure has one (``is_solvable``), ``"lsqr"`` if
            it is not square, and else the iterative method for what ``assume`` says: ``"cg"``, ``"minres"`` or
            ``"gmres"``. Or ``"direct"``, ``"cg"``, ``"minres"``, ``"symmlq"``, ``"gmres"``, ``"bicgstab"``, ``"idrs"``,
            ``"richardson"``, ``"lsqr"``, ``"lsmr"``, and for columns ``"block_cg"``, ``"block_gmres"``.
        assume: None, ``"hermitian"`` or ``"positive definite"`` (and Hermitian): what is known of A beside its structure.
            Direct methods of arrays and sparse matrices are about twice as fast for positive definite matrices.
        preconditioner: for the iterative methods: operator or matrix (n, n), or function, that approximates the inverse of A
            (of A^H A for ``"lsqr"`` and ``"lsmr"``).
        rtol, atol, max_iterations: for the iterative methods.

    Returns:
        A ``Solution``; ``method`` names the method. It is differentiable with respect to A and b.

    Raises:
        BadInput: shapes do not match, or an option is unknown or does not fit.
        MorulaError, LinAlgError: A is singular or does not meet the assumption; or a gradient is taken of a solve that has
            not converged.

    >>> from morula.linalg import Diagonal, FunctionOperator
    >>> solve(Diagonal(np.array([2.0, 4.0])), np.ones(2)).method
    'direct'
    >>> found = solve(lambda x: 3.0 * x, np.ones(2))
    >>> found.method, found.x.tolist(), found.converged
    ('gmres', [0.3333333333333333, 0.3333333333333333], True)
    """
    if assume not in ASSUMPTIONS:
        raise BadInput(f'solve: assume is {assume!r}, expected None, "hermitian" or "positive definite"')
    names = ("auto", "direct", *SQUARE, *LEAST_SQUARES)
    if method not in names:
        raise BadInput(f"solve: method is {method!r}, expected one of {', '.join(names)}")
    b = b if isinstance(b, np.ndarray) else np.asarray(b)
    if callable(A) and not isinstance(A, LinearOperator) and not hasattr(A, "shape"):
        A = FunctionOperator(A, (len(b), len(b)), dtype=np.result_type(b, np.float32))
    A = as_operator(A, "solve: A")
    chosen = _chosen(A, assume) if method == "auto" else method
    if chosen == "direct":
        x = A.solve_positive_definite(b) if assume == "positive definite" else A.solve(b)
        norm = np.linalg.norm(b - A @ x, axis=0)
        if not np.all(np.isfinite(norm)):
            raise MorulaError("solve: the direct method gave NaN or Inf: A or b holds it, or A is singular")
        return Solution(x, 0, norm, norm[None], 0, "direct")
    options = {"rtol": rtol, "atol": atol, "max_iterations": max_iterations}
    if chosen in LEAST_SQUARES:
        return LEAST_SQUARES[chosen](A, b, preconditioner=preconditioner, **options)
    if preconditioner is None and chosen not in HERMITIAN:  # these need a definite one
        preconditioner = A.approximate_inverse()
    return SQUARE[chosen](A, b, preconditioner=preconditioner, **options)


class Inverse(LinearOperator):
    """The inverse of an operator: a product is a solve, by the method that ``solve`` chooses.

    Args:
        operator: operator or anything that ``as_operator`` takes, (n, n), invertible; gradients reach it.
        method, assume, preconditioner, rtol: as for ``solve``.

    Raises:
        BadInput: the operator is not square; or, when applied, an option does not fit.
        MorulaError, LinAlgError: when applied: the operator is singular, or an iterative solve has not converged.

    >>> A = Inverse(np.array([[2.0, 0.0], [1.0, 1.0]]))
    >>> (A @ np.array([2.0, 3.0])).tolist(), float(np.exp(A.logdet()))
    ([1.0, 2.0], 0.5)
    """

    def __init__(
        self,
        operator: Any,
        method: str = "auto",
        assume: str | None = None,
        preconditioner: Any = None,
        rtol: float = 1e-10,
    ) -> None:
        self.operator = as_operator(operator, "Inverse: operator")
        if self.operator.shape[0] != self.operator.shape[1]:
            raise BadInput(f"Inverse: operator has shape {self.operator.shape}, expected a square operator")
        self.method, self.assume, self.preconditioner, self.rtol = method, assume, preconditioner, rtol

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.operator.dtype

    def matvec(self, x: Any) -> Any:
        found = solve(self.operator, x, self.method, self.assume, self.preconditioner, self.rtol)
        if not found.converged:
            raise MorulaError(
                f"Inverse: {found.method} did not solve with the operator of shape {self.shape} (residual norm"
                f" {np.max(found.residual_norm):.3g}): {found.message}; give a preconditioner, a method or a larger rtol"
            )
        return found.x

    def matmat(self, x: Any) -> Any:
        return self.matvec(x)

    def transpose(self) -> LinearOperator:
        M = self.preconditioner
        M = None if M is None else as_operator(M, "Inverse: preconditioner").T
        return Inverse(self.operator.T, self.method, self.assume, M, self.rtol)

    @property
    def is_solvable(self) -> bool:
        return True

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        return self.operator @ b

    def logdet(self) -> Any:
        return -self.operator.logdet()


def _chosen(A: LinearOperator, assume: str | None) -> str:
    if A.is_solvable:
        return "direct"
    if A.shape[0] != A.shape[1]:
        return "lsqr"
    return {None: "gmres", "hermitian": "minres", "positive definite": "cg"}[assume]
