"""Linear algebra with operators: solves that are differentiated by the equation they solve, not step by step.

A ``LinearOperator`` knows its shape, its type and what it does to a vector; operators add, multiply, scale and transpose.
``cg`` solves A x = b for a Hermitian positive definite A, and its gradient, by a second solve, reaches b and what A is made of.
"""

from .cg import Solution, cg
from .operators import (
    Conjugate,
    Dense,
    Diagonal,
    FunctionOperator,
    Identity,
    LinearOperator,
    Product,
    Scaled,
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
    "Solution",
    "Sum",
    "Transpose",
    "as_operator",
    "cg",
]
