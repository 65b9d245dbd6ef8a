"""Linear operators: matrices given by their product with a vector, with structure, algebra and transposes."""

from .block import Block
from .dense import Dense, Diagonal, Identity
from .function_operator import FunctionOperator, Transpose
from .linear_operator import Conjugate, LinearOperator, Product, Scaled, Sum, as_operator
from .scipy_operator import ScipyOperator, ScipyTranspose
from .sparse import Sparse

__all__ = [
    "Block",
    "Conjugate",
    "Dense",
    "Diagonal",
    "FunctionOperator",
    "Identity",
    "LinearOperator",
    "Product",
    "Scaled",
    "ScipyOperator",
    "ScipyTranspose",
    "Sparse",
    "Sum",
    "Transpose",
    "as_operator",
]


def __dir__() -> list[str]:
    return sorted(__all__)
