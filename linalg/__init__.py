"""Linear operators, iterative and direct solves with gradients from the equation they solve, functions of matrices.

A ``LinearOperator`` has a shape, a dtype and a product with a vector; operators can be added, multiplied, scaled and
transposed. Iterative methods take operators, arrays, matrices of ``scipy.sparse``, SciPy's operators and functions: ``cg``
for Hermitian positive definite matrices, ``minres`` and ``symmlq`` for Hermitian ones, ``gmres``, ``bicgstab`` and
``idrs`` for all square ones, ``lsqr`` and ``lsmr`` for least squares, ``richardson`` for a preconditioner that is a solver.
``block_cg`` and ``block_gmres`` let several right-hand sides share one Krylov space. ``preconditioners`` speed them up; among them are two multigrid methods. ``solve`` chooses between them and the direct
methods of structured operators. One more solve gives the gradient with respect to b and to the arrays that define A.
``functions`` estimates traces and log-determinants, and multiplies functions of matrices with vectors. ``eigen`` finds some
eigenpairs or singular triplets of large matrices: ``eigsh``, ``eigs``, ``lobpcg``, ``svds``, ``randomised_svd``. ``tensors``
holds decompositions of tensors: ``tensor_train``, ``tucker``, ``cp``.
"""

from . import eigen, functions, preconditioners, tensors
from .eigen import Eigenpairs, SingularTriplets, eigs, eigsh, lobpcg, randomised_svd, svds
from .krylov import (
    Solution,
    Status,
    bicgstab,
    block_cg,
    block_gmres,
    cg,
    gmres,
    idrs,
    lsmr,
    lsqr,
    minres,
    richardson,
    symmlq,
)
from .operators import (
    Banded,
    Block,
    BlockDiagonal,
    Circulant,
    Conjugate,
    Dense,
    Diagonal,
    FunctionOperator,
    Identity,
    Jacobian,
    Kronecker,
    LinearOperator,
    LowRankUpdate,
    Product,
    Scaled,
    ScipyOperator,
    Sparse,
    Sum,
    Toeplitz,
    Transpose,
    Triangular,
    as_operator,
    tridiagonal,
)
from .solving import Inverse, solve
from .tensors import Canonical, TensorTrain, Tucker, cp, fold, tensor_train, tucker, unfold

__all__ = [
    "Banded",
    "Block",
    "BlockDiagonal",
    "Canonical",
    "Circulant",
    "Conjugate",
    "Dense",
    "Diagonal",
    "Eigenpairs",
    "FunctionOperator",
    "Identity",
    "Inverse",
    "Jacobian",
    "Kronecker",
    "LinearOperator",
    "LowRankUpdate",
    "Product",
    "Scaled",
    "ScipyOperator",
    "SingularTriplets",
    "Solution",
    "Sparse",
    "Status",
    "Sum",
    "TensorTrain",
    "Toeplitz",
    "Transpose",
    "Triangular",
    "Tucker",
    "as_operator",
    "bicgstab",
    "block_cg",
    "block_gmres",
    "cg",
    "cp",
    "eigen",
    "eigs",
    "eigsh",
    "fold",
    "functions",
    "gmres",
    "idrs",
    "lobpcg",
    "lsmr",
    "lsqr",
    "minres",
    "preconditioners",
    "randomised_svd",
    "richardson",
    "solve",
    "svds",
    "symmlq",
    "tensor_train",
    "tensors",
    "tridiagonal",
    "tucker",
    "unfold",
]


def __dir__() -> list[str]:
    return sorted(__all__)
