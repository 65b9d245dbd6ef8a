"""Linear operators: matrices given by their product with a vector, with structure, algebra and transposes."""

from .banded import Banded, Triangular, tridiagonal
from .block import Block, BlockDiagonal
from .composed import Kronecker, LowRankUpdate
from .dense import Dense, Diagonal, Identity
from .function_operator import FunctionOperator, Transpose
from .jacobian import Jacobian, JacobianTranspose
from .linear_operator import Conjugate, LinearOperator, Product, Scaled, Sum, as_operator
from .scipy_operator import ScipyOperator, ScipyTranspose
from .sparse import Sparse
from .toeplitz import Circulant, Toeplitz

__all__ = [
    "Banded",
    "Block",
    "BlockDiagonal",
    "Circulant",
    "Conjugate",
    "Dense",
    "Diagonal",
    "FunctionOperator",
    "Identity",
    "Jacobian",
    "JacobianTranspose",
    "Kronecker",
    "LinearOperator",
    "LowRankUpdate",
    "Product",
    "Scaled",
    "ScipyOperator",
    "ScipyTranspose",
    "Sparse",
    "Sum",
    "Toeplitz",
    "Transpose",
    "Triangular",
    "as_operator",
    "tridiagonal",
]


def __dir__() -> list[str]:
    return sorted(__all__)
