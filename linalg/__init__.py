"""Linear operators, and solvers whose gradient comes from the equation they solve instead of from their iterations.

A ``LinearOperator`` has a shape, a dtype and a product with a vector; operators can be added, multiplied, scaled and
transposed. Iterative methods take operators, arrays, matrices of ``scipy.sparse``, SciPy's operators and functions: ``cg``
solves A x = b for a Hermitian positive definite A. One more solve gives the gradient with respect to b and to the arrays
that define A.
"""

from .krylov import Solution, Status, cg
from .operators import (
    Conjugate,
    Dense,
    Diagonal,
    FunctionOperator,
    Identity,
    LinearOperator,
    Product,
    Scaled,
    ScipyOperator,
    Sparse,
    Sum,
    Transpose,
    as_operator,
)

__all__ = [
    "Conjugate",
    "Dense",
    "Diagonal",
    "FunctionOperator",
    "Identity",
    "LinearOperator",
    "Product",
    "Scaled",
    "ScipyOperator",
    "Solution",
    "Sparse",
    "Status",
    "Sum",
    "Transpose",
    "as_operator",
    "cg",
]


def __dir__() -> list[str]:
    return sorted(__all__)
