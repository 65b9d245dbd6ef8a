"""``solve``: a direct method where the structure of the operator has one, else an iterative method."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import BadInput, MorulaError
from .krylov import Solution, bicgstab, cg, gmres, idrs, lsmr, lsqr, minres, richardson, symmlq
from .operators import FunctionOperator, LinearOperator, as_operator

HERMITIAN = {"cg": cg, "minres": minres, "symmlq": symmlq}
SQUARE = {**HERMITIAN, "gmres": gmres, "bicgstab": bicgstab, "idrs": idrs, "richardson": richardson}
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
            ``"richardson"``, ``"lsqr"``, ``"lsmr"``.
        assume: None, ``"hermitian"`` or ``"positive definite"`` (and Hermitian): what is known of A beside its structure.
            Direct methods of arrays and sparse matrices are about twice as fast for positive definite matrices.
        preconditioner, rtol, atol, max_iterations: for the iterative methods.

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
        if preconditioner is not None:
            raise BadInput(f"solve: {chosen} takes no preconditioner; leave it out, or choose another method")
        return LEAST_SQUARES[chosen](A, b, **options)
    if preconditioner is None and chosen not in HERMITIAN:  # these need a definite one
        preconditioner = A.approximate_inverse()
    return SQUARE[chosen](A, b, preconditioner=preconditioner, **options)


def _chosen(A: LinearOperator, assume: str | None) -> str:
    if A.is_solvable:
        return "direct"
    if A.shape[0] != A.shape[1]:
        return "lsqr"
    return {None: "gmres", "hermitian": "minres", "positive definite": "cg"}[assume]
